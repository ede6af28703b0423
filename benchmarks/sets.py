"""The six sets that speed is measured on."""

from __future__ import annotations

from emt.data import Dataset, from_arrays, load

__all__ = ["SETS", "make"]

SETS = (
    "10 features, 2 classes",
    "wine",
    "breast-cancer-diagnostic",
    "digits",
    "50 features, 10 classes",
    "20 features, 26 classes",
)


def make(name: str, n_rows: int = 4000) -> Dataset:
    """Return an embedded set, or clusters of points with as many features and classes as the name says."""
    if "features" not in name:
        return load(name)
    from sklearn.datasets import make_classification

    n_features, n_classes = int(name.split()[0]), int(name.split()[2])
    x, y = make_classification(
        n_rows,
        n_features,
        n_informative=n_features,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=0,
    )
    return from_arrays(x, y, name=name)
