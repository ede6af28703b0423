"""The twelve meta-features of the paper's appendix by coba's definitions, kept in the store beside each dataset."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

from emt import Environment
from emt.data import DatasetError, load, prepared
from emt.files import write_text

__all__ = ["DESCRIPTIONS", "FEATURES", "feature_table", "meta_features"]

VERSION = 1  # raise it when a definition changes: what is stored is then computed again

# name: what it is called in figures
FEATURES = {
    "top_eigenvector_share": "variance explained by top eigenvector",
    "eigenvectors_95": "eigenvectors for 95 % of variance",
    "mutual_information": "mean mutual information (bits)",
    "one_nn_accuracy": "1-nearest-neighbour accuracy",
    "stump_accuracy": "single-node tree accuracy",
    "naive_bayes_accuracy": "naive Bayes accuracy",
    "label_entropy": "normed label entropy",
    "noise_to_signal": "noise-to-signal ratio",
    "binary_features": "binary feature count",
    "nonzero_share": "share of nonzero features",
    "best_feature_overlap": "overlap of best single feature",
    "fisher": "maximum Fisher's discriminant ratio",
}

# name: what it says, after the table of the paper's appendix; a share lies between 0 and 1
DESCRIPTIONS = {
    "top_eigenvector_share": "share of the variance that the top eigenvector explains",
    "eigenvectors_95": "number of eigenvectors that explain 95 % of the variance",
    "mutual_information": "mutual information of a feature and the label, averaged over features",
    "one_nn_accuracy": "accuracy of a classifier by the nearest neighbour",
    "stump_accuracy": "accuracy of a decision tree with a single node",
    "naive_bayes_accuracy": "accuracy of a naive Bayes classifier",
    "label_entropy": "entropy of the classes, 1 where all are equally frequent",
    "noise_to_signal": "entropy of the features that says nothing of the label, over what says something",
    "binary_features": "number of features with two values; each level of a categorical column counts as one",
    "nonzero_share": "share of the values that are not zero",
    "best_feature_overlap": "rows that the best single feature leaves undecided, averaged over pairs of classes",
    "fisher": "how much classes overlap in the feature that tells them apart best",
}


def meta_features(values: np.ndarray, labels: np.ndarray, n_columns: int | None = None) -> dict[str, float]:
    """Describe a classification set by the twelve meta-features; one that is not defined for it is NaN.

    Definitions are those of coba's ``ClassMetaEvaluator``, except that the nearest neighbour of a row is never the row
    itself (in coba it can be, among equal rows) and that all eigenvectors count (in coba the first 1,000).

    Parameters
    ----------
    values : ndarray of float, shape (n_rows, n_features)
        Numeric columns scaled as learners see them, then an indicator for each level of each categorical column.
    labels : ndarray of int, shape (n_rows,)
        Classes.
    n_columns : int, optional
        How many columns there are when those that are 0 everywhere have been left out of `values`.

    Returns
    -------
    dict of str to float
        By the names in `FEATURES`.

    Examples
    --------
    >>> values = np.array([[0.0, 0.1], [0.0, 0.2], [1.0, 0.2], [1.0, 0.4]])
    >>> meta_features(values, np.array([0, 0, 1, 1]))["nonzero_share"]
    0.75
    """
    values = np.asarray(values, dtype=np.float64)
    labels = np.unique(labels, return_inverse=True)[1]
    n_columns = n_columns or values.shape[1]
    return {
        **_principal_axes(values),
        **_information(values, labels, n_columns),
        "one_nn_accuracy": _one_nn(values, labels),
        "stump_accuracy": _accuracy(
            DecisionTreeClassifier(criterion="entropy", max_depth=1, random_state=0), values, labels
        ),
        "naive_bayes_accuracy": _accuracy(GaussianNB(), values, labels),
        "nonzero_share": float(np.count_nonzero(values) / (len(values) * n_columns)),
        **_separation(values, labels),
    }


def _principal_axes(values: np.ndarray) -> dict[str, float]:
    centred = values - values.mean(axis=0)
    # The smaller of the two Gram matrices has all eigenvalues that are not 0.
    gram = centred.T @ centred if centred.shape[0] > centred.shape[1] else centred @ centred.T
    spectrum = np.clip(np.linalg.eigvalsh(gram)[::-1], 0, None)
    if spectrum.sum() == 0:
        return {"top_eigenvector_share": np.nan, "eigenvectors_95": np.nan}
    shares = spectrum / spectrum.sum()
    return {"top_eigenvector_share": float(shares[0]), "eigenvectors_95": float((np.cumsum(shares) < 0.95).sum() + 1)}


def _information(values: np.ndarray, labels: np.ndarray, n_columns: int) -> dict[str, float]:
    """Entropies in bits of binned columns; a tenth as many bins as rows between the 5th and the 95th percentile."""
    n_classes = int(labels.max()) + 1
    label_entropy = _entropy(labels)
    feature_entropy = mutual = 0.0
    n_binary = 0
    for column in values.T:
        bins, codes = np.unique(_binned(column), return_inverse=True)
        entropy = _entropy(codes)
        feature_entropy += entropy
        mutual += entropy + label_entropy - _entropy(codes * n_classes + labels)
        n_binary += len(bins) == 2
    return {
        "mutual_information": mutual / n_columns,
        "label_entropy": float(label_entropy / np.log2(n_classes)) if n_classes > 1 else 0.0,
        "noise_to_signal": (feature_entropy - mutual) / mutual if mutual > 0 else np.nan,
        "binary_features": float(n_binary),
    }


def _binned(column: np.ndarray) -> np.ndarray:
    ordered = np.sort(column)
    low, high = _percentile(ordered, 0.05), _percentile(ordered, 0.95)
    return np.rint((len(column) / 10 - 1) * (column - low) / ((high - low) or 1.0))


def _percentile(ordered: np.ndarray, share: float) -> float:
    # Numpy interpolates in another order of operations, and a last bit can move a value to the next bin.
    place = share * (len(ordered) - 1)
    below, weight = int(place), place - int(place)
    return float((1 - weight) * ordered[below] + weight * ordered[below + 1]) if weight else float(ordered[below])


def _entropy(codes: np.ndarray) -> float:
    counts = np.bincount(codes)
    shares = counts[counts > 0] / len(codes)
    return float(-(shares * np.log2(shares)).sum())


def _one_nn(values: np.ndarray, labels: np.ndarray) -> float:
    if len(values) < 2:
        return np.nan
    nearest = NearestNeighbors(n_neighbors=1).fit(values).kneighbors(return_distance=False)[:, 0]
    return float((labels[nearest] == labels).mean())


def _accuracy(model: ClassifierMixin, values: np.ndarray, labels: np.ndarray) -> float:
    """Return the accuracy by 5-fold cross-validation, NaN where no class has a row for every fold."""
    if np.bincount(labels).max() < 5:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer than five rows, of columns without variance
        return float(cross_val_score(model, values, labels, scoring="accuracy").mean())


def _separation(values: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """How well single columns tell classes apart: overlap of the best one over pairs of classes, and Fisher's ratio."""
    groups = [values[labels == label] for label in range(int(labels.max()) + 1)]
    low, high = np.array([group.min(axis=0) for group in groups]), np.array([group.max(axis=0) for group in groups])
    first, second = np.triu_indices(len(groups), 1)
    fewest = np.full(len(first), len(values))
    for j, column in enumerate(np.sort(values, axis=0).T):
        start, stop = np.maximum(low[first, j], low[second, j]), np.minimum(high[first, j], high[second, j])
        overlap = np.searchsorted(column, stop, side="right") - np.searchsorted(column, start, side="left")
        fewest = np.minimum(fewest, np.maximum(overlap, 0))
    centre = values.mean(axis=0)
    between = sum(len(group) * (group.mean(axis=0) - centre) ** 2 for group in groups)
    within = sum(((group - group.mean(axis=0)) ** 2).sum(axis=0) for group in groups)
    spread = (high > low).any(axis=0)  # a column that is constant within each class has no ratio
    ratio = np.max(between[spread] / within[spread], initial=0.0)
    return {
        "best_feature_overlap": float(fewest.mean() / len(values)) if len(fewest) else np.nan,
        "fisher": float(1 / (1 + ratio)),
    }


def of_environment(environment: Environment) -> dict[str, float]:
    """Return the meta-features of the rows that a study takes, in the order of its stream.

    Examples
    --------
    >>> features = of_environment(Environment(load("iris"), seed=0))
    >>> round(features["top_eigenvector_share"], 3), features["label_entropy"]
    (0.841, 1.0)
    """
    numeric, categorical = environment.numeric, environment.categorical
    levels = [np.unique(column) for column in categorical.T]
    indicators = [column[:, None] == present for column, present in zip(categorical.T, levels, strict=True)]
    values = np.hstack([numeric.astype(np.float64), *indicators])
    return meta_features(values, environment.labels, numeric.shape[1] + sum(environment.space.n_levels))


def feature_table(
    fingerprints: Mapping[str, str | None], horizon: int, n_jobs: int = -1
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the meta-features of datasets, computed in parallel where the store does not have them yet.

    Parameters
    ----------
    fingerprints : mapping of str to str
        What each dataset was, by its name in the log, when the study was run; None where that is not known.
    horizon : int
        How many rows the study takes.
    n_jobs : int
        Number of processes.

    Returns
    -------
    table : DataFrame
        A column dataset, and one for each of `FEATURES`.
    missing : dict of str to str
        The datasets that cannot be described, and why.
    """
    found = {name: _stored(_path(name, horizon), fingerprint) for name, fingerprint in fingerprints.items()}
    left = [name for name, features in found.items() if features is None]
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    results = run(delayed(_describe)(name, fingerprints[name], horizon) for name in left) if left else ()
    missing = {}
    for name, result in zip(left, results, strict=True):
        if isinstance(result, str):
            missing[name] = result
        else:
            path = _path(name, horizon)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, json.dumps(result, indent=1) + "\n")
            found[name] = result["features"]
    rows = [{"dataset": name, **features} for name, features in found.items() if features is not None]
    return pd.DataFrame(rows, columns=["dataset", *FEATURES]), missing


def _path(name: str, horizon: int) -> Path:
    return prepared.folder() / f"{name}.meta-{horizon}.json"


def _stored(path: Path, fingerprint: str | None) -> dict[str, float] | None:
    """Return features from the store if they are those of this very dataset."""
    try:
        stored = json.loads(path.read_text())
        return stored["features"] if fingerprint and stored["identity"] == [VERSION, fingerprint] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _describe(name: str, fingerprint: str | None, horizon: int) -> dict[str, Any] | str:
    """Compute what the store keeps of one dataset, or say why that cannot be."""
    try:
        dataset = load(int(name.removeprefix("task-")) if name.startswith("task-") else name)
    except DatasetError as error:
        return str(error)
    if fingerprint and dataset.fingerprint != fingerprint:
        return "it was prepared anew, with other content, since the study was run"
    features = of_environment(Environment(dataset, seed=0, horizon=horizon))
    return {"identity": [VERSION, dataset.fingerprint], "features": features}
