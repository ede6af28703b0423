"""river models on an Eigen Memory Tree: ``pip install 'emt[river]'``.

The features of a river observation may come and go. A feature has a coordinate in the memory's keys from the first time
that it is learned: `emt.EigenMemoryTree.widen` makes keys longer, with zeros in what is stored already. A feature that
is absent is 0, one that was never learned is ignored, and text is a feature of its own for each value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from numbers import Real
from typing import Any

import numpy as np

from emt.arguments import check_counts
from emt.extras import needs
from emt.tree import EigenMemoryTree

with needs("river"):
    from river import base

__all__ = ["EigenMemoryClassifier", "EigenMemoryRegressor"]


class _EigenMemory(base.Estimator):
    """What the two models have in common: a memory whose keys are dicts."""

    def __init__(
        self,
        n_neighbors: int = 1,
        leaf_capacity: int = 100,
        budget: int | None = 10_000,
        variant: str = "as_run",
        router: str = "eigen",
        duplicates: str = "last",
        seed: int = 0,
    ):
        check_counts(1, n_neighbors=n_neighbors)
        self.n_neighbors = n_neighbors
        self.leaf_capacity = leaf_capacity
        self.budget = budget
        self.variant = variant
        self.router = router
        self.duplicates = duplicates
        self.seed = seed
        self._places: dict[Hashable, int] = {}  # of the features among the coordinates of a key
        self._classes: list[base.typing.ClfTarget] = []  # of a classifier, in the order in which they came up
        self._tree = EigenMemoryTree(
            1,  # a key needs something
            leaf_capacity=leaf_capacity,
            budget=budget,
            variant=variant,
            router=router,
            duplicates=duplicates,
            seed=seed,
        )

    def _learn(self, x: dict[Any, Any], value: float) -> None:
        """Store a value; features that are new get places, in an order that is not the dict's."""
        new = sorted((name for name, _ in _numbers(x) if name not in self._places), key=repr)
        if new:
            self._places |= {name: len(self._places) + k for k, name in enumerate(new)}
            self._tree.widen(len(self._places))
        self._tree.learn(self._key(x), value)

    def _nearest(self, x: dict[Any, Any]) -> list[float]:
        """Return the values of the nearest memories; the memory stays as it is."""
        return [found.y for found in self._tree.neighbours(self._key(x), self.n_neighbors)]

    def _key(self, x: dict[Any, Any]) -> np.ndarray:
        key = np.zeros(max(len(self._places), 1))
        for name, number in _numbers(x):
            if name in self._places:
                key[self._places[name]] = number
        return key


class EigenMemoryRegressor(_EigenMemory, base.Regressor):
    """An online regressor that predicts the mean of the most similar memories.

    Parameters
    ----------
    n_neighbors
        How many of the most similar memories of a leaf have a say.
    leaf_capacity
        A leaf that outgrows it is split. Larger leaves are slower, and miss fewer of the true neighbours.
    budget
        The most memories to keep; the least recently used is forgotten. What a prediction finds does not count as used,
        what learning finds does. None keeps all.
    variant, router
        Of the memory: see `emt.EigenMemoryTree`.
    duplicates
        What is kept of an observation that is learned again: its "last" value, its "first", or a memory for each
        ("both").
    seed
        Where the memory's random stream starts.

    Notes
    -----
    Before anything is learned, memories are compared by their distance: scale the features, for example with
    `river.preprocessing.StandardScaler`. Distances far above 30 cannot be told apart.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | EigenMemoryRegressor()
    >>> error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> error.get() < 0.6
    True
    """

    def learn_one(self, x: dict[Any, Any], y: float) -> None:
        """Remember the target of an observation."""
        self._learn(x, float(y))

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return the mean target of the nearest memories; 0 before there is any."""
        values = self._nearest(x)
        return sum(values) / max(len(values), 1)


class EigenMemoryClassifier(_EigenMemory, base.Classifier):
    """An online classifier that predicts the class of the most similar memory, or of most of them.

    Parameters
    ----------
    n_neighbors, leaf_capacity, budget, variant, router, duplicates, seed
        See `EigenMemoryRegressor`; its notes hold here, too.

    Notes
    -----
    A memory's value is the number of its class, in the order in which the classes came up. Where there are three or
    more, the scorer takes two classes as the nearer the nearer their numbers are.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | EigenMemoryClassifier()
    >>> accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> accuracy.get() > 0.85
    True

    Features may come and go, and be text:

    >>> model = EigenMemoryClassifier()
    >>> model.learn_one({"weight": 0.2, "colour": "red"}, "apple")
    >>> model.learn_one({"weight": 0.1, "colour": "red", "stone": 1}, "cherry")
    >>> model.predict_one({"stone": 1}), model.predict_one({"weight": 0.3, "colour": "red"})
    ('cherry', 'apple')
    """

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: base.typing.ClfTarget) -> None:
        """Remember the class of an observation."""
        if y not in self._classes:
            self._classes.append(y)
        self._learn(x, self._classes.index(y))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[base.typing.ClfTarget, float]:
        """Return the share of each class that has come up among the nearest memories."""
        values = self._nearest(x)
        votes = Counter(values)
        return {y: votes[code] / len(values) for code, y in enumerate(self._classes)} if values else {}


def _numbers(x: dict[Any, Any]) -> Iterator[tuple[Hashable, float]]:
    """Yield the features of an observation as numbers."""
    for name, value in x.items():
        if isinstance(value, str):
            yield (name, value), 1.0
        elif isinstance(value, Real | np.bool_) and math.isfinite(value):
            yield name, float(value)
        else:
            raise ValueError(f"feature {name!r} is {value!r}: features are finite numbers, or text")
