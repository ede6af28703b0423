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

from emt._kernels.eigen.memory import learn_key, make_room, query_key
from emt._kernels.eigen.packing import pack, unpack
from emt._kernels.eigen.state import NONE, Tree, allocate
from emt._kernels.vector import offsets
from emt.array_files import load_arrays, naming, save_arrays
from emt.options import GREATEST, TreeOptions

__all__ = ["EigenMemoryTree", "Memory", "Retrieved"]

FORMAT = "emt-tree-2"
FEW = 200  # memories that a new tree has room for


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
        What a key keeps that is learned again: its first value, its last, or both, of which the last answers.
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
        greatest = GREATEST[self._options.dtype]
        if not abs(y) <= greatest:
            raise ValueError(f"y must be a finite number of size {greatest:g} at most, not {y}")
        if not 0 <= weight <= greatest:
            raise ValueError(f"weight must be a finite number from 0 to {greatest:g}, not {weight}")
        self._tree = make_room(self._tree)
        learn_key(self._tree, *key, float(y), float(weight))

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
        memory, score = query_key(self._tree, *self._key(x, categorical, action))
        if memory == NONE:
            return None if explain else 0.0
        if explain:
            found = self._memory(memory)
            return Retrieved(found.y, found, float(score))
        return float(self._tree.memories.record[memory].value)

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

    def _key(self, x: Any, categorical: Any, action: int | None) -> tuple[np.ndarray, np.ndarray, int]:
        """Return a key in the kernels' form, or refuse it."""
        options = self._options
        n_features, n_levels, n_actions = options.n_features, options.n_levels, options.n_actions
        numeric = np.ascontiguousarray(x, dtype=options.dtype)
        if numeric.shape != (n_features,):
            raise ValueError(f"x must have {n_features} coordinates, not shape {numeric.shape}")
        greatest = GREATEST[options.dtype]
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

    def _memory(self, row: int) -> Memory:
        memories, options = self._tree.memories, self._options
        return Memory(
            memories.numeric[row, : options.n_features].copy(),
            memories.codes[row] - self._offsets,
            int(memories.action[row]) if options.n_actions else None,
            float(memories.record[row].value),
        )
