"""The Eigen Memory Tree: the memory of the paper, in the paper's words.

| in the paper | plain | compiled, in ``_kernels/eigen/`` |
| --- | --- | --- |
| Algorithm 1: Query, Learn | `emt.reference.eigen` | ``memory.py``, ``route.py`` |
| Algorithm 2: PredictScorer, UpdateScorer | | ``predict_scorer.py``, ``update_scorer.py`` |
| Algorithm 3: SplitLeaf, TopEigen | | ``split.py``, ``oja.py`` |
| the memory budget | | ``recency.py`` |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from emt._kernels.eigen import (
    NONE,
    Keys,
    Tree,
    allocate,
    forget_id,
    forget_key,
    learn_keys,
    make_room,
    nearest,
    query_keys,
    unpack,
    use_memories,
    widen,
)
from emt._kernels.parts import pack
from emt._kernels.vector import offsets
from emt.arguments import check_counts
from emt.array_files import load_arrays, naming, save_arrays
from emt.keys import many_keys, many_observations, one_key, one_observation
from emt.options import TreeOptions

__all__ = ["EigenMemoryTree", "Memory", "Neighbours", "Retrieved"]

FORMAT = "emt-tree-2"
FEW = 200  # memories that a new tree has room for


class Memory(NamedTuple):
    """A memory: its key (numeric coordinates, levels of categorical columns, action), its value and its identifier."""

    x: np.ndarray
    categorical: np.ndarray
    action: int | None
    y: float
    id: int | None


class Retrieved(NamedTuple):
    """A memory that was found, and its score: the less, the more alike; minus infinity for an exact match."""

    memory: Memory
    score: float

    @property
    def y(self) -> float:
        """The memory's value."""
        return self.memory.y

    @property
    def id(self) -> int | None:
        """The memory's identifier."""
        return self.memory.id


class Neighbours(NamedTuple):
    """The most similar memories of many keys: for each key a row, the least score first.

    Where a leaf has fewer memories, the rest of its row is NaN, infinity and -1. An identifier not given is -1.
    """

    y: np.ndarray
    score: np.ndarray
    id: np.ndarray


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
    initial_score : {"distance", "zero"}
        Scores start from 1 - exp(-distance) and are clipped to [0, 3], or from 0 and are clipped below alone.
    learning : {"coin", "gradient"}
        The scorer's weights start at 0 and learn by coin betting, or at random and learn by gradient descent.
    crossed : bool
        Whether the scorer sees the products of context and action, too.
    weighted : bool
        Whether the scorer heeds the importance weight of what it learns.
    epochs : int
        Passes of Oja's method over a leaf that is split: one in the order of its memories, from any direction, or
        several, each reshuffled, from a non-negative direction.
    boundary : {"left", "right"}
        Where a key goes that a router projects onto its very boundary.
    splits_at : {"capacity", "above"}
        Whether a leaf is split when it has as many memories as its capacity, or one more.
    duplicates : {"first", "last", "both"}
        What a key keeps that is learned again. "first", as run: its first value, whatever comes later; the scorer still
        learns from it, and that it was used is noted. "last": its last value. "both", as printed: a memory for each,
        of which the last answers; a leaf of equal keys cannot be split and grows. Where a key's value may change, or
        is noisy, take "last" or "both".
    cross_terms : {"absolute", "signed"}
        Whether a coordinate that only one of two keys has (the other's is 0) enters the scorer with its absolute value,
        as in the paper's time, or with its sign, as in Vowpal Wabbit today.
    eta : float
        Step of the scorer's gradient descent; coin betting needs none.
    dtype : {"float64", "float32"}
        Precision of keys and weights. In single precision a tree is faster, and keys that round to the same are the
        same.

    Notes
    -----
    The choices from ``initial_score`` to ``cross_terms`` are those of the variant unless given: `emt.options`.

    *Self-consistency*: a query with a stored key returns the stored value, exactly. Of several observations of one key,
    that is the first as run and the last as printed: see ``duplicates``.

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

    _options: TreeOptions
    _tree: Tree

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
        initial_score: str | None = None,
        learning: str | None = None,
        crossed: bool | None = None,
        weighted: bool | None = None,
        epochs: int | None = None,
        boundary: str | None = None,
        splits_at: str | None = None,
        duplicates: str | None = None,
        cross_terms: str | None = None,
        eta: float = 0.001,
        dtype: str = "float64",
    ):
        given = {name: value for name, value in locals().items() if name != "self"}
        options = TreeOptions(**given | {"n_levels": tuple(n_levels)})
        self._hold(options, allocate(options, FEW))

    def learn(
        self,
        x: Sequence[float] | np.ndarray,
        y: float,
        weight: float = 1.0,
        *,
        categorical: Sequence[int] | np.ndarray = (),
        action: int | None = None,
        id: int | None = None,
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
        id : int, optional
            Any whole number from 0, to know the memory by: `retrieve` gives it back, `forget` takes it. Several
            memories may have the same.
        """
        self._learn(one_key(self._options, x, categorical, action), *one_observation(self._options, y, weight, id))

    def learn_many(
        self,
        X: Sequence[Sequence[float]] | np.ndarray,
        y: Sequence[float] | np.ndarray,
        weight: float | Sequence[float] | np.ndarray = 1.0,
        *,
        categorical: Sequence[Sequence[int]] | np.ndarray | None = None,
        action: Sequence[int] | np.ndarray | None = None,
        id: Sequence[int] | np.ndarray | None = None,
    ) -> None:
        """Learn many observations, one after the other: the same, to the bit, as calls of `learn`, and faster.

        Parameters
        ----------
        X, y, weight, categorical, action, id
            As in `learn`, with a row or a number for each observation; a single weight is that of all. If any is
            refused, none is learned.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=2)
        >>> tree.learn_many([[0.1, 0.7], [0.9, 0.2]], [1.0, 0.0])
        >>> tree.query_many([[0.9, 0.2], [0.1, 0.7], [0.2, 0.7]])
        array([0., 1., 1.])
        """
        keys = many_keys(self._options, X, categorical, action)
        self._learn(keys, *many_observations(self._options, len(keys.numeric), y, weight, id))

    def query(
        self,
        x: Sequence[float] | np.ndarray,
        *,
        categorical: Sequence[int] | np.ndarray = (),
        action: int | None = None,
        k: int = 1,
    ) -> float:
        """Return the value of the most similar memory in the key's leaf (Algorithm 1, Query).

        Parameters
        ----------
        x, categorical, action
            The key, as in `learn`.
        k : int
            If more than 1: the mean of the values of so many most similar memories, or of all in the leaf if those are
            fewer. All of them count as used, the most similar last.

        Returns
        -------
        float
            The value; 0 from an empty tree.
        """
        check_counts(1, k=k)
        return float(self._query(one_key(self._options, x, categorical, action), k)[0])

    def query_many(
        self,
        X: Sequence[Sequence[float]] | np.ndarray,
        *,
        categorical: Sequence[Sequence[int]] | np.ndarray | None = None,
        action: Sequence[int] | np.ndarray | None = None,
        k: int = 1,
    ) -> np.ndarray:
        """Return the value of each key, one query after the other: the same as calls of `query`, and faster."""
        check_counts(1, k=k)
        return self._query(many_keys(self._options, X, categorical, action), k)

    def retrieve(
        self,
        x: Sequence[float] | np.ndarray,
        *,
        categorical: Sequence[int] | np.ndarray = (),
        action: int | None = None,
    ) -> Retrieved | None:
        """Return the memory whose value `query` would return, and its score; None from an empty tree.

        It is a query in all else: what it finds counts as used, and ties are broken at random.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=1)
        >>> tree.learn([0.5], 1.0, id=17)
        >>> found = tree.retrieve([0.5])
        >>> found.y, found.id, found.score, found.memory.x
        (1.0, 17, -inf, array([0.5]))
        """
        key, score = one_key(self._options, x, categorical, action), np.zeros(1, self._options.dtype)
        row = np.full(1, NONE)
        query_keys(self._tree, key, row, score)
        return None if row[0] == NONE else Retrieved(self._memory(int(row[0])), float(score[0]))

    def neighbours(
        self,
        x: Sequence[float] | np.ndarray,
        k: int,
        *,
        categorical: Sequence[int] | np.ndarray = (),
        action: int | None = None,
    ) -> list[Retrieved]:
        """Return the k memories with the least scores in the key's leaf, the least first; or all, if those are fewer.

        Looking changes nothing: no memory counts as used, and no random number is drawn. Of equal scores, the memory
        that was stored last comes first.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=1)
        >>> tree.learn_many([[0.0], [1.0], [3.0]], [0.0, 10.0, 30.0], weight=0)
        >>> [(found.y, round(found.score, 2)) for found in tree.neighbours([0.9], k=2)]
        [(10.0, 0.1), (0.0, 0.59)]
        """
        check_counts(1, k=k)
        rows, scores = nearest(self._tree, one_key(self._options, x, categorical, action), k)
        found = zip(rows[0], scores[0], strict=True)
        return [Retrieved(self._memory(int(row)), float(score)) for row, score in found if row != NONE]

    def neighbours_many(
        self,
        X: Sequence[Sequence[float]] | np.ndarray,
        k: int,
        *,
        categorical: Sequence[Sequence[int]] | np.ndarray | None = None,
        action: Sequence[int] | np.ndarray | None = None,
    ) -> Neighbours:
        """Return what `neighbours` does, for many keys at once, as arrays: a row for each key.

        No row is longer than the largest leaf.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=1)
        >>> tree.learn_many([[0.0], [1.0], [3.0]], [0.0, 10.0, 30.0], weight=0, id=[7, 8, 9])
        >>> tree.neighbours_many([[0.9], [9.0]], k=2).id
        array([[8, 7],
               [9, 8]])
        """
        check_counts(1, k=k)
        rows, scores = nearest(self._tree, many_keys(self._options, X, categorical, action), k)
        memories = self._tree.memories
        values, ids = memories.value[rows], memories.record["id"][rows]
        return Neighbours(np.where(rows == NONE, np.nan, values), scores, np.where(rows == NONE, NONE, ids))

    def forget(
        self,
        x: Sequence[float] | np.ndarray | None = None,
        *,
        categorical: Sequence[int] | np.ndarray = (),
        action: int | None = None,
        id: int | None = None,
    ) -> int:
        """Forget all memories with a key, or all with an identifier; return how many there were.

        The scorer keeps what it has learned from them. To find an identifier takes a look at every memory.

        Parameters
        ----------
        x, categorical, action
            The key, as in `learn`.
        id : int, optional
            The identifier, in place of a key.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=1)
        >>> tree.learn_many([[0.0], [1.0], [3.0]], [0.0, 10.0, 30.0], id=[0, 1, 2])
        >>> tree.forget(id=1), tree.forget([3.0]), tree.forget([7.0])
        (1, 1, 0)
        >>> [memory.id for memory in tree.memories()]
        [0]
        """
        if (x is None) == (id is None):
            raise ValueError("give the key, or the id, of what is to be forgotten")
        if id is None:
            return int(forget_key(self._tree, one_key(self._options, x, categorical, action)))
        check_counts(0, 2**63 - 1, id=id)
        return int(forget_id(self._tree, id))

    def widen(self, n_features: int) -> None:
        """Give keys more numeric coordinates, which are 0 in every memory so far.

        What is stored under a key is found under it, with zeros, as before. Routers that are there do not see the new
        coordinates, those of later splits do.

        Parameters
        ----------
        n_features : int
            The new number of numeric coordinates.

        Examples
        --------
        >>> tree = EigenMemoryTree(n_features=1)
        >>> tree.learn([0.5], 1.0)
        >>> tree.widen(2)
        >>> tree.learn([0.5, 9.0], 2.0)
        >>> tree.query([0.5, 0.0]), tree.query([0.5, 8.0])
        (1.0, 2.0)
        """
        check_counts(self._options.n_features, n_features=n_features)
        wider = dataclasses.replace(self._options, n_features=int(n_features))
        self._hold(wider, unpack(wider, widen(self._options, wider, pack(self._tree))))

    def __len__(self) -> int:
        return int(self._tree.counts.memories)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self._tree.counts.leaves)

    @property
    def depth(self) -> int:
        """Number of routers on the longest way from the root to a leaf."""
        deepest, left = 0, [(int(self._tree.counts.root), 0)]
        while left:
            place, depth = left.pop()
            deepest, node = max(deepest, depth), self._tree.nodes.node[place]
            if node.left != NONE:
                left += [(int(node.left), depth + 1), (int(node.right), depth + 1)]
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
        memory = int(self._tree.counts.oldest)
        while memory != NONE:
            yield self._memory(memory)
            memory = int(self._tree.memories.record[memory].newer)

    def save(self, path: str | Path) -> None:
        """Write the tree to a file, which `load` turns back into a tree that goes on exactly as this one would."""
        about = {"format": FORMAT, "options": dataclasses.asdict(self._options)}
        save_arrays(path, about, pack(self._tree))

    @classmethod
    def load(cls, path: str | Path) -> EigenMemoryTree:
        """Read a tree that `save` wrote. A file from anywhere is safe to read: it is a sound tree, or it is refused."""
        with naming(path, "a tree written by EigenMemoryTree.save"):
            about, arrays = load_arrays(path)
            if about.get("format") != FORMAT:
                raise ValueError(f"its format is {about.get('format')!r}, not {FORMAT!r}")
            tree = cls.__new__(cls)
            tree.__setstate__({"options": about["options"], "arrays": arrays})
        return tree

    def __getstate__(self) -> dict[str, Any]:
        return {"options": dataclasses.asdict(self._options), "arrays": pack(self._tree)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        options = TreeOptions(**state["options"])
        self._hold(options, unpack(options, state["arrays"]))

    def _hold(self, options: TreeOptions, tree: Tree) -> None:
        self._options, self._tree = options, tree
        self._offsets = offsets(options.n_features, options.n_levels)

    def __repr__(self) -> str:
        plain = dataclasses.asdict(TreeOptions(n_features=1, variant=self._options.variant))
        plain |= {"n_features": None, "variant": "as_run"}
        options = dataclasses.asdict(self._options).items()
        given = ", ".join(f"{name}={value!r}" for name, value in options if value != plain[name])
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves:,} leaves"
        return f"EigenMemoryTree({given}) with {len(self):,} memories in {leaves}, depth {self.depth}"

    def _learn(self, keys: Keys, values: np.ndarray, weights: np.ndarray, ids: np.ndarray) -> None:
        step = learn_keys(self._tree, keys, values, weights, ids, 0)
        while step < len(values):
            self._tree = make_room(self._tree)
            step = learn_keys(self._tree, keys, values, weights, ids, step)

    def _query(self, keys: Keys, k: int) -> np.ndarray:
        if k == 1:
            rows, scores = np.full(len(keys.numeric), NONE), np.zeros(len(keys.numeric), self._options.dtype)
            query_keys(self._tree, keys, rows, scores)
            return np.where(rows == NONE, 0.0, self._tree.memories.value[rows])
        rows, _ = nearest(self._tree, keys, k)
        there = rows != NONE
        use_memories(self._tree, rows[:, ::-1][there[:, ::-1]])
        values = np.where(there, self._tree.memories.value[rows], 0.0)
        return np.asarray(values.sum(axis=1) / np.maximum(there.sum(axis=1), 1))

    def _memory(self, row: int) -> Memory:
        memories, options = self._tree.memories, self._options
        return Memory(
            memories.numeric[row, : options.n_features].copy(),
            memories.codes[row, : len(self._offsets)] - self._offsets,
            int(memories.action[row]) if options.n_actions else None,
            float(memories.value[row]),
            int(memories.record[row].id) if memories.record[row].id != NONE else None,
        )
