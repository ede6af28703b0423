"""The Eigen Memory Tree: the memory of the paper, in the paper's words.

| in the paper | here |
| --- | --- |
| Algorithm 1: Query, Learn | `EigenMemoryTree.query`, `EigenMemoryTree.learn`; compiled in ``_kernels/memory.py``, routes in ``_kernels/route.py`` |
| Algorithm 2: PredictScorer, UpdateScorer | ``_kernels/score.py``, ``_kernels/scorer.py`` |
| Algorithm 3: SplitLeaf, TopEigen | ``_kernels/leaf.py``, ``_kernels/oja.py`` |
| the memory budget | ``_kernels/recency.py`` |
"""  # noqa: E501 (a table)

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from emt._kernels.memory import learn, make_room, query
from emt._kernels.state import NONE, Tree, allocate, room
from emt.arguments import check_choice, check_counts

__all__ = ["EigenMemoryTree", "Memory", "Retrieved", "check_memory", "make_state", "offsets"]

FORMAT = "emt-tree-1"

#: The greatest size of numbers that a tree takes: Oja's method needs their fourth powers, and coin betting more.
GREATEST = {"float64": 1e30, "float32": 1e8}


class Memory(NamedTuple):
    """A memory: its key (numeric coordinates, levels of categorical columns, action) and its value."""

    x: np.ndarray
    categorical: np.ndarray
    action: int | None
    y: float


class Retrieved(NamedTuple):
    """What a query found: the value, the memory behind it and its score (minus infinity for an exact match)."""

    y: float
    memory: Memory
    score: float


class EigenMemoryTree:
    """An online memory: a binary tree that routes by principal components and stores keys and values at its leaves.

    Parameters
    ----------
    n_features : int
        Number of numeric coordinates of a key.
    leaf_capacity : int
        The paper's c: a leaf that outgrows it is split.
    budget : int, optional
        The most memories to keep. None keeps all.
    variant : {"as_run", "as_printed"}
        What produced the paper's numbers, or Algorithms 1-3 to the letter.
    scorer : {"self_consistent", "interaction"}
        The paper's scorer, on differences of keys, or that of its ablation, on all products of their coordinates.
    router : {"eigen", "random"}
        Split along the memories' top eigenvector, or along a random direction.
    seed : int
        Seed of the tree's random stream.
    n_levels : sequence of int
        Number of levels of each categorical column of a key. Levels are given as codes from 0.
    n_actions : int
        Number of actions, where an action is part of the key; 0 where it is not.
    eviction : {"lru", "fifo"}
        Which memory leaves when the budget is exceeded: the least recently used (a query uses what it finds), or the
        oldest.
    eta : float
        Step of the scorer's gradient descent, as printed. As run, coin betting needs none.
    dtype : {"float64", "float32"}
        Precision of keys and weights. In single precision a tree is faster, and keys that round to the same are the
        same.

    Notes
    -----
    *Self-consistency*: a query with a stored key returns the stored value, exactly. As run, a key that is stored
    already is not stored again; as printed it is, and the latest one answers.

    A leaf is split by the median of its memories' projections. Where all projections are equal it cannot be split, and
    holds more than its capacity. A router is fitted to at most 4,096 memories.

    Examples
    --------
    >>> tree = EigenMemoryTree(n_features=2, seed=0)
    >>> tree.learn([0.1, 0.7], 1.0)
    >>> tree.learn([0.9, 0.2], 0.0)
    >>> tree.query([0.1, 0.7])
    1.0
    >>> tree.query([0.8, 0.2])
    0.0
    >>> tree
    EigenMemoryTree(n_features=2) with 2 memories in 1 leaf, depth 0

    Keys may have categorical columns and an action; they are never expanded into indicators.

    >>> tree = EigenMemoryTree(n_features=1, n_levels=[3, 5], n_actions=2)
    >>> tree.learn([0.5], 1.0, categorical=[2, 4], action=1)
    >>> tree.query([0.5], categorical=[2, 4], action=1)
    1.0
    """

    def __init__(
        self,
        n_features: int,
        leaf_capacity: int = 100,
        budget: int | None = None,
        variant: str = "as_run",
        scorer: str = "self_consistent",
        router: str = "eigen",
        seed: int = 0,
        *,
        n_levels: Sequence[int] = (),
        n_actions: int = 0,
        eviction: str = "lru",
        eta: float = 0.001,
        dtype: str = "float64",
    ):
        self._options: dict[str, Any] = {
            "n_features": n_features,
            "leaf_capacity": leaf_capacity,
            "budget": budget,
            "variant": variant,
            "scorer": scorer,
            "router": router,
            "seed": seed,
            "n_levels": tuple(n_levels),
            "n_actions": n_actions,
            "eviction": eviction,
            "eta": eta,
            "dtype": dtype,
        }
        self._tree = make_state(**self._options)
        self._offsets = offsets(n_features, n_levels)

    def learn(
        self,
        x: Sequence[float] | np.ndarray,
        y: float,
        weight: float = 1.0,
        *,
        categorical: Sequence[int] | np.ndarray = (),
        action: int | None = None,
    ) -> None:
        """Store that the key has value y (Algorithm 1, Learn).

        Parameters
        ----------
        x : sequence of float
            The key's numeric coordinates.
        y : float
            Its value.
        weight : float
            Importance of what the scorer learns from this observation.
        categorical : sequence of int
            Codes of the key's categorical columns.
        action : int, optional
            The key's action, where keys have one.
        """
        key = self._key(x, categorical, action)
        greatest = GREATEST[self._options["dtype"]]
        if not abs(y) <= greatest:
            raise ValueError(f"y must be a finite number of size {greatest:g} at most, not {y}")
        if not 0 <= weight <= greatest:
            raise ValueError(f"weight must be a finite number from 0 to {greatest:g}, not {weight}")
        self._tree = make_room(self._tree)
        learn(self._tree, *key, float(y), float(weight), False)

    def query(
        self,
        x: Sequence[float] | np.ndarray,
        *,
        categorical: Sequence[int] | np.ndarray = (),
        action: int | None = None,
        explain: bool = False,
    ) -> Any:
        """Return the value of the most similar memory in the key's leaf (Algorithm 1, Query).

        Parameters
        ----------
        x, categorical, action
            The key, as in `learn`.
        explain : bool
            Return the memory and its score, too.

        Returns
        -------
        float or Retrieved or None
            The value; 0 from an empty tree. With ``explain``, a `Retrieved`, or None from an empty tree.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=1)
        >>> tree.learn([0.5], 1.0)
        >>> tree.query([0.5], explain=True).score
        -inf
        """
        memory, score = query(self._tree, *self._key(x, categorical, action))
        if memory == NONE:
            return None if explain else 0.0
        if explain:
            found = self._memory(memory)
            return Retrieved(found.y, found, float(score))
        return float(self._tree.memories[memory]["value"])

    def __len__(self) -> int:
        return int(self._tree.count["memories"])

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self._tree.count["leaves"])

    @property
    def depth(self) -> int:
        """Number of routers on the longest way from the root to a leaf."""
        deepest, nodes = 0, [(int(self._tree.count["root"]), 0)]
        while nodes:
            node, depth = nodes.pop()
            deepest = max(deepest, depth)
            left, right = self._tree.nodes[node]["left"], self._tree.nodes[node]["right"]
            if left != NONE:
                nodes += [(int(left), depth + 1), (int(right), depth + 1)]
        return deepest

    def memories(self) -> Iterator[Memory]:
        """Yield the memories, in the order of use with the oldest first: the order in which a budget would forget them.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=1, budget=2)
        >>> for value in (1.0, 2.0, 3.0):
        ...     tree.learn([value], value)
        >>> [memory.y for memory in tree.memories()]
        [2.0, 3.0]
        """
        memory = int(self._tree.count["oldest"])
        while memory != NONE:
            yield self._memory(memory)
            memory = int(self._tree.memories[memory]["newer"])

    def save(self, path: str | Path) -> None:
        """Write the tree to a file, which `load` turns back into a tree that goes on exactly as this one would."""
        with open(path, "wb") as file:
            header = {"format": np.array(FORMAT), "options": np.array(json.dumps(self._options))}
            np.savez_compressed(file, allow_pickle=False, **header, **_arrays(self._tree))

    @classmethod
    def load(cls, path: str | Path) -> EigenMemoryTree:
        """Read a tree that `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                contents = {name: file[name] for name in file.files}
            if str(contents.pop("format")) != FORMAT:
                raise ValueError("another format")
            tree = cls(**json.loads(str(contents.pop("options"))))
            tree._tree = _restore(tree._tree, contents)
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            raise
        except Exception as error:  # whatever numpy, zip and JSON make of a damaged file
            raise ValueError(f"{path} is not a tree written by EigenMemoryTree.save, or is damaged: {error}") from error
        return tree

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self._options, "arrays": _arrays(self._tree)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["options"])  # type: ignore[misc]
        self._tree = _restore(self._tree, state["arrays"])

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(EigenMemoryTree).parameters.items()}
        given = ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value != defaults[name])
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves:,} leaves"
        return f"EigenMemoryTree({given}) with {len(self):,} memories in {leaves}, depth {self.depth}"

    def _key(self, x: Any, categorical: Any, action: int | None) -> tuple[np.ndarray, np.ndarray, int]:
        """Return a key in the kernels' form, or refuse it."""
        n_features, n_levels = self._options["n_features"], self._options["n_levels"]
        n_actions = self._options["n_actions"]
        numeric = np.ascontiguousarray(x, dtype=self._tree.numeric.dtype)
        if numeric.shape != (n_features,):
            raise ValueError(f"x must have {n_features} coordinates, not shape {numeric.shape}")
        greatest = GREATEST[self._options["dtype"]]
        if not (np.abs(numeric) <= greatest).all():
            at = int(np.flatnonzero(~(np.abs(numeric) <= greatest))[0])
            found = np.asarray(x)[at]
            raise ValueError(f"x[{at}] is {found}: coordinates must be finite numbers of size {greatest:g} at most")
        codes = np.asarray(categorical)
        if codes.shape != (len(n_levels),):
            raise ValueError(f"categorical must have {len(n_levels)} codes, not shape {codes.shape}")
        for j, n in enumerate(n_levels):
            if not 0 <= codes[j] < n or codes[j] != int(codes[j]):
                raise ValueError(
                    f"categorical[{j}] is {codes[j]}: codes of this column are whole numbers from 0 to {n - 1}"
                )
        if n_actions == 0 and action is not None:
            raise ValueError("this tree's keys have no action: give n_actions when it is made")
        if n_actions > 0 and (action is None or not 0 <= action < n_actions or action != int(action)):
            raise ValueError(f"action is {action}: actions are whole numbers from 0 to {n_actions - 1}")
        return numeric, (codes + self._offsets).astype(np.int32), int(action or 0)

    def _memory(self, memory: int) -> Memory:
        row = self._tree.memories[memory]
        action = int(self._tree.action[memory]) if self._options["n_actions"] else None
        codes = self._tree.codes[memory] - self._offsets
        return Memory(
            self._tree.numeric[memory, : self._options["n_features"]].copy(), codes, action, float(row["value"])
        )


def offsets(n_numeric: int, n_levels: Sequence[int]) -> np.ndarray:
    """Return what turns each categorical column's levels into positions among all coordinates.

    Examples
    --------
    >>> offsets(2, [3, 5])
    array([2, 5], dtype=int32)
    """
    return (n_numeric + np.cumsum([0, *n_levels])[:-1]).astype(np.int32)


def check_memory(leaf_capacity: int, budget: int | None, variant: str, scorer: str, router: str, eviction: str) -> None:
    """Refuse impossible options of a memory, whatever its keys."""
    check_counts(1, leaf_capacity=leaf_capacity, budget=1 if budget is None else budget)
    check_choice(("as_run", "as_printed"), variant=variant)
    check_choice(("self_consistent", "interaction"), scorer=scorer)
    check_choice(("eigen", "random"), router=router)
    check_choice(("lru", "fifo"), eviction=eviction)


def make_state(
    n_features: int,
    leaf_capacity: int,
    budget: int | None,
    variant: str,
    scorer: str,
    router: str,
    seed: int,
    n_levels: Sequence[int],
    n_actions: int,
    eviction: str,
    eta: float,
    dtype: str,
    n_memories: int = 200,
) -> Tree:
    """Check a tree's options and return its empty state, with room for about so many memories before it must grow."""
    check_counts(0, n_features=n_features, n_actions=n_actions)
    check_memory(leaf_capacity, budget, variant, scorer, router, eviction)
    for levels in n_levels:
        check_counts(1, n_levels=levels)
    if n_features + len(n_levels) + n_actions == 0:
        raise ValueError("a key needs something: n_features, n_levels and n_actions are all empty")
    check_choice(("float64", "float32"), dtype=dtype)
    if not (np.isfinite(eta) and eta > 0):
        raise ValueError(f"eta must be a positive number, not {eta}")
    return allocate(
        n_features,
        tuple(int(n) for n in n_levels),
        n_actions,
        leaf_capacity=leaf_capacity,
        budget=budget or 0,
        touches=budget is not None and eviction == "lru",
        as_run=variant == "as_run",
        interaction=scorer == "interaction",
        eigen=router == "eigen",
        eta=eta,
        seed=seed % 2**64,
        dtype=dtype,
        n_memories=min(n_memories, budget or n_memories),
    )


#: What a tree's file and its pickle hold; the rest of the state is room to work in.
_SAVED = (
    *("count", "memories", "numeric", "codes", "action", "square", "own_levels", "pages", "nodes", "router"),
    *("weight", "coin"),
)


def _arrays(tree: Tree) -> dict[str, np.ndarray]:
    return {name: np.asarray(getattr(tree, name)) for name in _SAVED}


def _restore(empty: Tree, arrays: dict[str, np.ndarray]) -> Tree:
    """Return the tree that `_arrays` took apart, on the basis of an empty one with the same options."""
    for name in _SAVED:
        expected, found = np.asarray(getattr(empty, name)), arrays[name]
        rows = 0 if name in ("count", "weight", "coin") else 1  # only these arrays never grow
        if found.dtype != expected.dtype or found.shape[rows:] != expected.shape[rows:]:
            raise ValueError(f"its {name} do not fit its options")
    n = len(arrays["memories"])
    per_row = ("numeric", "codes", "action", "square", "own_levels")
    if any(len(arrays[name]) != n for name in per_row) or len(arrays["nodes"]) != len(arrays["router"]):
        raise ValueError("its arrays differ in length")
    return empty._replace(
        **{name: np.ascontiguousarray(arrays[name]) for name in _SAVED if name != "count"},
        count=arrays["count"].reshape(1).copy()[0],
        **room(n, empty.work.dtype),
    )
