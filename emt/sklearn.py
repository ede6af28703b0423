"""scikit-learn estimators on an Eigen Memory Tree: ``pip install 'emt[sklearn]'``.

They predict from the most similar memories of a leaf, learn row by row, and keep to scikit-learn's conventions: its
``check_estimator`` passes, in full.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from emt.arguments import check_counts
from emt.extras import needs
from emt.tree import EigenMemoryTree

with needs("sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["EigenMemoryClassifier", "EigenMemoryRegressor"]


class _EigenMemory(BaseEstimator):  # type: ignore[misc]
    """What the two estimators have in common."""

    tree_: EigenMemoryTree
    n_features_in_: int

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        leaf_capacity: int = 100,
        budget: int | None = None,
        variant: str = "as_run",
        router: str = "eigen",
        duplicates: str = "last",
        random_state: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.leaf_capacity = leaf_capacity
        self.budget = budget
        self.variant = variant
        self.router = router
        self.duplicates = duplicates
        self.random_state = random_state

    def _begin(self) -> None:
        """Forget everything."""
        check_counts(1, n_neighbors=self.n_neighbors)
        self.tree_ = EigenMemoryTree(
            self.n_features_in_,
            leaf_capacity=self.leaf_capacity,
            budget=self.budget,
            variant=self.variant,
            router=self.router,
            duplicates=self.duplicates,
            seed=int(check_random_state(self.random_state).randint(2**31)),
        )

    def _nearest(self, X: Any) -> np.ndarray:
        """Return the values of each row's nearest memories, NaN where there are fewer; the memory stays as it is."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.tree_.neighbours_many(X, self.n_neighbors).y

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")


class EigenMemoryRegressor(RegressorMixin, _EigenMemory):  # type: ignore[misc]
    """A regressor that predicts the mean of the most similar memories.

    Parameters
    ----------
    n_neighbors : int
        How many of the most similar memories of a leaf have a say.
    leaf_capacity : int
        A leaf that outgrows it is split. Larger leaves are slower, and miss fewer of the true neighbours.
    budget : int, optional
        The most memories to keep; the least recently used is forgotten. What `predict` finds does not count as used,
        what learning finds does. None keeps all.
    variant, router
        Of the memory: see `emt.EigenMemoryTree`.
    duplicates : {"last", "first", "both"}
        What is kept of a row that is learned again: its last value, its first, or a memory for each.
    random_state : int, RandomState instance or None
        Where the memory's random stream starts.

    Attributes
    ----------
    tree_ : EigenMemoryTree
        The memory.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where X has names.

    Notes
    -----
    Before anything is learned, memories are compared by their distance: scale the features, for example with
    `MinMaxScaler`. Distances far above 30 cannot be told apart.

    The order of rows matters, as it does in every online memory. There is no ``sample_weight``: a memory is there or
    it is not.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = make_pipeline(MinMaxScaler(), EigenMemoryRegressor(n_neighbors=15, random_state=0))
    >>> model = model.fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.3)
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn from rows X and targets y, one after the other."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._begin()
        self.tree_.learn_many(X, y)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows."""
        first = not hasattr(self, "tree_")
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=first)
        if first:
            self._begin()
        self.tree_.learn_many(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean target of each row's nearest memories."""
        return np.asarray(np.nanmean(self._nearest(X), axis=1))


class EigenMemoryClassifier(ClassifierMixin, _EigenMemory):  # type: ignore[misc]
    """A classifier that predicts the class of the most similar memory, or of most of them.

    Parameters
    ----------
    n_neighbors, leaf_capacity, budget, variant, router, duplicates, random_state
        See `EigenMemoryRegressor`; its notes hold here, too.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in order. A memory's value is the number of its class.
    tree_, n_features_in_, feature_names_in_
        See `EigenMemoryRegressor`.

    Notes
    -----
    Where there are three classes or more, the scorer takes two classes as the nearer the nearer their numbers are. On
    the sets that were tried, the order of the classes made no difference.

    Examples
    --------
    Learn from a stream, in batches:

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> X = X / 16
    >>> model = EigenMemoryClassifier(random_state=0)
    >>> for begin in range(0, 1500, 100):
    ...     model = model.partial_fit(X[begin : begin + 100], y[begin : begin + 100], classes=range(10))
    >>> bool(model.score(X[1500:], y[1500:]) > 0.85)
    True
    """

    classes_: np.ndarray

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn from rows X and labels y, one after the other."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = unique_labels(y)
        self._begin()
        self.tree_.learn_many(X, np.searchsorted(self.classes_, y))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows; the first call names all ``classes`` that there will be."""
        first = not hasattr(self, "tree_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=first)
        check_classification_targets(y)
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known = unique_labels(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(unique_labels(classes), known):
            raise ValueError(f"classes is {classes}, which is not the same as on the last call to partial_fit: {known}")
        others = np.setdiff1d(y, known)
        if len(others):
            raise ValueError(f"y has labels that are not among the classes {known}: {others}")
        self.classes_ = known
        if first:
            self._begin()
        self.tree_.learn_many(X, np.searchsorted(known, y))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of each class among each row's nearest memories, in the order of ``classes_``."""
        values = self._nearest(X)
        shares = np.stack([(values == code).sum(axis=1) for code in range(len(self.classes_))], axis=1)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class that most of each row's nearest memories have; of several, the first."""
        most = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most])
