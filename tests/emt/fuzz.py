"""Random operations on random trees, each tree checked from inside at its end.

``NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=<a folder of its own> python tests/emt/fuzz.py 1000000 [seed]`` does so many with
every index checked, after a wrong index on purpose has shown that they are.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import inside

from emt import EigenMemoryTree

DTYPES = ("float64", "float32")


def random_tree(rng: np.random.Generator, dtypes: tuple[str, ...] = DTYPES) -> EigenMemoryTree:
    """A tree of up to 60 memories, small enough to be made and used in a moment."""
    tree = EigenMemoryTree(
        n_features=int(rng.integers(1, 12)),
        n_levels=[int(n) for n in rng.integers(1, 5, rng.integers(3))],
        n_actions=int(rng.integers(4)),
        leaf_capacity=int(rng.integers(1, 8)),
        budget=[None, 20][rng.integers(2)],
        variant=["as_run", "as_printed"][rng.integers(2)],
        scorer=["self_consistent", "interaction"][rng.integers(2)],
        router=["eigen", "random"][rng.integers(2)],
        duplicates=["first", "last", "both"][rng.integers(3)],
        eviction=["lru", "fifo"][rng.integers(2)],
        dtype=dtypes[rng.integers(len(dtypes))],
    )
    for _ in range(rng.integers(60)):
        tree.learn(y=float(rng.normal()), **random_key(rng, tree))
    return tree


def random_key(rng: np.random.Generator, tree: EigenMemoryTree) -> dict:
    options = tree._options
    return {
        "x": rng.integers(0, 4, options.n_features) * 0.5,
        "categorical": [int(rng.integers(n)) for n in options.n_levels],
        "action": int(rng.integers(options.n_actions)) if options.n_actions else None,
    }


def operate(rng: np.random.Generator, tree: EigenMemoryTree, n: int) -> None:
    """Do so many random things with a tree."""
    for kind in rng.random(n):
        key = random_key(rng, tree)
        if kind < 0.5:
            tree.learn(y=float(rng.normal()), weight=float(rng.integers(3)), id=int(rng.integers(20)), **key)
        elif kind < 0.9:
            tree.query(k=int(rng.integers(1, 3)), **key)
        elif kind < 0.95:
            tree.neighbours(k=3, **key)
        elif kind < 0.98:
            tree.forget(**key)
        else:
            tree.forget(id=int(rng.integers(20)))


def fuzz(n_operations: int, seed: int, dtypes: tuple[str, ...] = DTYPES, per_tree: int = 200) -> None:
    """Do so many random things with random trees, and check each tree at its end."""
    rng = np.random.default_rng(seed)
    for _ in range(0, n_operations, per_tree):
        tree = random_tree(rng, dtypes)
        operate(rng, tree, per_tree)
        inside.assert_sound(pickle.loads(pickle.dumps(tree)), unlike=False)


def bounds_are_checked() -> bool:
    """Whether a kernel says so that is led out of an array on purpose: it reads one weight too far."""
    tree = EigenMemoryTree(0, n_levels=[2])
    tree.learn([], 1.0, categorical=[1])
    tree._tree = tree._tree._replace(scorer=tree._tree.scorer._replace(weight=tree._tree.scorer.weight[:1]))
    try:
        tree.query([], categorical=[1])
    except IndexError:
        return True
    return False


if __name__ == "__main__":
    assert bounds_are_checked(), "set NUMBA_BOUNDSCHECK=1, and NUMBA_CACHE_DIR to a folder of its own"
    fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"{int(sys.argv[1]):,} operations, and no index out of bounds")
