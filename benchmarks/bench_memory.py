"""An Eigen Memory Tree as an index of nearest neighbours, beside others: ``python -m benchmarks.bench_memory``.

Each index is filled, all at once where it can be; then come `STEPS` times one insert and one query, one by one through
Python, each timed as processor time of one thread. Writes ``results/memory.csv`` and the table of ``docs/memory.md``.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from emt import EigenMemoryTree

STEPS = 300
SIZES, DIMENSIONS = (1_000, 10_000, 100_000), (10, 64)
REBUILD = 100  # inserts after which a tree that cannot grow is built again; until then they are looked through
PATIENCE = 30.0  # seconds to fill an index; one that would take longer is left out
CLUSTERS = 100
ROOT = Path(__file__).parent.parent
TABLE, PAGE = ROOT / "results" / "memory.csv", ROOT / "docs" / "memory.md"
FIELDS = ("dimensions", "memories", "index", "inserts_per_second", "queries_per_second", "recall")


class Exact:
    """All distances, by numpy."""

    def __init__(self, capacity: int, d: int):
        self.rows, self.squares, self.n = np.zeros((capacity, d), np.float32), np.zeros(capacity, np.float32), 0

    def fill(self, X: np.ndarray) -> None:
        for x in X:
            self.insert(x)

    def insert(self, x: np.ndarray) -> None:
        self.rows[self.n], self.squares[self.n] = x, x @ x
        self.n += 1

    def query(self, x: np.ndarray) -> int:
        return int(np.argmin(self.squares[: self.n] - 2 * (self.rows[: self.n] @ x)))


class Rebuilt:
    """A tree of scikit-learn's, which cannot grow: it is built again, and what has come since is looked through."""

    def __init__(self, kind: Callable[..., Any], capacity: int, d: int):
        self.kind, self.rows, self.n, self.n_built = kind, np.zeros((capacity, d)), 0, 0

    def fill(self, X: np.ndarray) -> None:
        self.rows[: len(X)], self.n = X, len(X)
        self.build()

    def build(self) -> None:
        self.tree, self.n_built = self.kind(self.rows[: self.n]), self.n

    def insert(self, x: np.ndarray) -> None:
        self.rows[self.n] = x
        self.n += 1
        if self.n - self.n_built == REBUILD:
            self.build()

    def query(self, x: np.ndarray) -> int:
        [[distance]], [[row]] = self.tree.query(x[None])
        late = self.rows[self.n_built : self.n] - x
        squares = np.einsum("ij,ij->i", late, late)
        return int(self.n_built + squares.argmin()) if len(late) and squares.min() < distance**2 else int(row)


class Eigen:
    """An Eigen Memory Tree whose scorer learns nothing, and so compares by distance. A memory's value is its number."""

    def __init__(self, leaf_capacity: int, d: int):
        self.tree = EigenMemoryTree(d, leaf_capacity=leaf_capacity)

    def fill(self, X: np.ndarray) -> None:
        self.tree.learn_many(X, np.arange(len(X)), weight=0)

    def insert(self, x: np.ndarray) -> None:
        self.tree.learn(x, len(self.tree), weight=0)

    def query(self, x: np.ndarray) -> int:
        return int(self.tree.query(x))


class HNSW:
    """A graph of hnswlib's, with 16 links and 100 candidates to insert, 50 to query."""

    def __init__(self, capacity: int, d: int):
        import hnswlib

        self.index = hnswlib.Index("l2", d)
        self.index.init_index(capacity, M=16, ef_construction=100, random_seed=0)
        self.index.set_ef(50)
        self.index.set_num_threads(1)

    def fill(self, X: np.ndarray) -> None:
        self.index.add_items(X)

    def insert(self, x: np.ndarray) -> None:
        self.index.add_items(x)

    def query(self, x: np.ndarray) -> int:
        [[row]], _ = self.index.knn_query(x, k=1)
        return int(row)


class Swinn:
    """river's graph, with its own settings, but for a window that holds all."""

    def __init__(self, capacity: int, d: int):
        from river.neighbors import SWINN

        self.index, self.numbers = SWINN(maxlen=capacity, seed=0), {}

    def fill(self, X: np.ndarray) -> None:
        started = time.process_time()
        for k, x in enumerate(X, start=1):
            self.insert(x)
            spent = time.process_time() - started
            if spent > 2 and spent * len(X) / k > PATIENCE:
                raise TimeoutError

    def insert(self, x: np.ndarray) -> None:
        item = dict(enumerate(x.tolist()))
        self.numbers[id(item)] = len(self.numbers)
        self.index.append(item)

    def query(self, x: np.ndarray) -> int:
        [item], _ = self.index.search(dict(enumerate(x.tolist())), n_neighbors=1)
        return self.numbers[id(item)]


def indices(capacity: int, d: int) -> dict[str, Callable[[], Any]]:
    """Return what makes each index, by name; the exact one comes first, for the others are compared with it."""
    from sklearn.neighbors import BallTree, KDTree

    return {
        "exact (numpy)": lambda: Exact(capacity, d),
        "EMT, leaves of 100": lambda: Eigen(100, d),
        "EMT, leaves of 1,000": lambda: Eigen(1_000, d),
        "KDTree (scikit-learn)": lambda: Rebuilt(KDTree, capacity, d),
        "BallTree (scikit-learn)": lambda: Rebuilt(BallTree, capacity, d),
        "HNSW (hnswlib)": lambda: HNSW(capacity, d),
        "SWINN (river)": lambda: Swinn(capacity, d),
    }


def points(n: int, d: int) -> np.ndarray:
    """Return points around centres: data has structure, and without any the nearest of 64 dimensions means little."""
    rng = np.random.default_rng(0)
    centres = rng.random((CLUSTERS, d))
    return (centres[rng.integers(CLUSTERS, size=n)] + rng.normal(0, 0.1, (n, d))).astype(np.float32)


def measure(index: Any, X: np.ndarray, n: int) -> tuple[float, float, list[int]]:
    """Return inserts and queries a second at n memories, and what the queries found."""
    index.fill(X[:n])
    inserting = querying = 0.0
    found = []
    for step in range(-5, STEPS):  # the first five of each are not timed: they compile, and warm up
        new, asked = X[n + 5 + step], X[n + 5 + STEPS + step]
        started = time.process_time()
        index.insert(new)
        between = time.process_time()
        found.append(index.query(asked))
        if step >= 0:
            inserting += between - started
            querying += time.process_time() - between
    return STEPS / inserting, STEPS / querying, found


def rows(sizes: tuple[int, ...], dimensions: tuple[int, ...]) -> list[dict[str, Any]]:
    """Measure every index at every size."""
    table = []
    for n in sizes:
        for d in dimensions:
            X, truth = points(n + 2 * STEPS + 10, d), []
            for name, make in indices(n + STEPS + 5, d).items():
                try:
                    inserts, queries, found = measure(make(), X, n)
                except TimeoutError:
                    print(f"{n:>7,} d={d:<3} {name:<24} would not be filled in {PATIENCE:.0f} s", flush=True)
                    continue
                truth = truth or found
                recall = float(np.mean(np.array(found) == np.array(truth)))
                values = (d, n, name, round(inserts), round(queries), round(recall, 3))
                table.append(dict(zip(FIELDS, values, strict=True)))
                print(
                    f"{n:>7,} d={d:<3} {name:<24} {inserts:>9,.0f} {queries:>9,.0f} a second, recall {recall:.3f}",
                    flush=True,
                )
    return table


def markdown(table: list[dict[str, Any]]) -> str:
    """Return the table of the page."""
    sizes = sorted({(row["dimensions"], row["memories"]) for row in table})
    cells = {(row["dimensions"], row["memories"], row["index"]): row for row in table}
    names = dict.fromkeys(row["index"] for row in table)
    lines = []
    for d in sorted({d for d, _ in sizes}):
        columns = [n for dim, n in sizes if dim == d]
        lines += [f"d = {d}: inserts a second / queries a second / recall of the true nearest", ""]
        lines += ["| index | " + " | ".join(f"{n:,} memories" for n in columns) + " |"]
        lines += ["| --- |" + " ---: |" * len(columns)]
        for name in names:
            found = [cells.get((d, n, name)) for n in columns]
            texts = [
                "left out"
                if row is None
                else f"{row['inserts_per_second']:,} / {row['queries_per_second']:,} / {row['recall']:.2f}"
                for row in found
            ]
            lines += [f"| {name} | " + " | ".join(texts) + " |"]
        lines += [""]
    return "\n".join(lines)


def write(table: list[dict[str, Any]]) -> None:
    """Write the table, and put it into the page."""
    with TABLE.open("w", newline="", encoding="utf8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    before, _, rest = PAGE.read_text(encoding="utf8").partition("<!-- memory table: begin -->\n")
    _, _, after = rest.partition("<!-- memory table: end -->")
    text = f"{before}<!-- memory table: begin -->\n{markdown(table)}<!-- memory table: end -->{after}"
    PAGE.write_text(text, encoding="utf8")


if __name__ == "__main__":
    sizes = tuple(int(word) for word in sys.argv[1:]) or SIZES
    with threadpool_limits(1):
        measured = rows(sizes, DIMENSIONS)
    if sizes == SIZES:
        write(measured)
