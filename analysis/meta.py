"""Where does EMT beat parametric? A random forest on meta-features, its importances, and a compact model (appendix)."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import RepeatedStratifiedKFold

from analysis.look import BLUE, GREY, ORANGE, new_figure
from analysis.metafeatures import FEATURES
from analysis.tidy import count_text

__all__ = ["Forest", "draw_feature", "draw_importances", "fit_forest", "macro_f1"]

FOLDS, REPEATS, TREES, COMPACT = 5, 5, 50, 3
# Two datasets of each class in every fold, or the score says nothing.
MIN_OF_CLASS = 2 * FOLDS
# The features of the paper's compact model.
PAPER_COMPACT = ("top_eigenvector_share", "nonzero_share", "mutual_information")


@dataclass(frozen=True)
class Forest:
    """What the forest found.

    Attributes
    ----------
    scores : dict of str to dict
        Of the models full, compact and majority: macro_f1 on held-out datasets and its 95 % interval (low, high).
    importances : DataFrame
        For each feature the mean decrease in impurity (mean, sd over trees) and in how many of the training splits the
        compact model chose it (chosen, a share).
    wins, others : int
        How many datasets there are of each class.
    """

    scores: dict[str, dict[str, float]]
    importances: pd.DataFrame
    wins: int
    others: int

    @property
    def beats_majority(self) -> bool:
        """Whether the full model is above the guess of the majority, with its whole interval."""
        return self.scores["full"]["low"] > self.scores["majority"]["macro_f1"]


def macro_f1(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the mean of the two classes' F1, along the last axis.

    Examples
    --------
    >>> float(macro_f1(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])).round(3))
    0.733
    """
    right, scores = truth == predicted, []
    for label in (False, True):
        hits = (right & (truth == label)).sum(axis=-1)
        total = (truth == label).sum(axis=-1) + (predicted == label).sum(axis=-1)
        scores.append(np.where(total > 0, 2 * hits / np.maximum(total, 1), 0.0))
    return np.asarray(np.mean(scores, axis=0))


def fit_forest(features: pd.DataFrame, wins: np.ndarray, n_jobs: int = -1) -> Forest | None:
    """Predict where EMT beats parametric from meta-features; None where there are too few datasets of a class.

    Scores come from repeated stratified k-fold cross-validation. The compact model chooses its features inside each
    training split. Intervals are those of the bootstrap over datasets: they say how much the score hangs on which
    datasets there are.

    Parameters
    ----------
    features : DataFrame
        A row a dataset with the columns of `analysis.metafeatures.FEATURES`.
    wins : ndarray of bool
        Where EMT wins under the rule in use; ties and losses are the other class.
    n_jobs : int
        Number of threads.
    """
    values, truth = features[list(FEATURES)].to_numpy(float), np.asarray(wins, dtype=bool)
    if min(truth.sum(), (~truth).sum()) < MIN_OF_CLASS:
        return None
    splits = list(RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0).split(values, truth))
    results = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(_split)(values, truth, *split) for split in splits)
    full, compact = np.zeros((REPEATS, len(truth)), bool), np.zeros((REPEATS, len(truth)), bool)
    chosen = np.zeros(len(FEATURES))
    for number, ((_, test), (by_full, by_compact, best)) in enumerate(zip(splits, results, strict=True)):
        full[number // FOLDS, test], compact[number // FOLDS, test] = by_full, by_compact
        chosen[best] += 1 / len(splits)
    majority = np.full((1, len(truth)), truth.mean() > 0.5)
    draws = np.random.default_rng(0).integers(len(truth), size=(1000, len(truth)))
    models = {"full": full, "compact": compact, "majority": majority}
    scores = {name: _score(truth, predicted, draws) for name, predicted in models.items()}
    forest = _forest().fit(values, truth)
    spread = np.std([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    importances = pd.DataFrame(
        {"feature": list(FEATURES), "mean": forest.feature_importances_, "sd": spread, "chosen": chosen}
    )
    return Forest(
        scores=scores,
        importances=importances.sort_values(["mean", "feature"], ascending=[False, True], ignore_index=True),
        wins=int(truth.sum()),
        others=int((~truth).sum()),
    )


def _forest() -> RandomForestClassifier:
    # Balanced weights: EMT wins on a minority of the datasets.
    return RandomForestClassifier(n_estimators=TREES, class_weight="balanced", random_state=0)


def _split(values: np.ndarray, truth: np.ndarray, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any, np.ndarray]:
    """Return what the full and the compact model predict for a test split, and the features of the compact one."""
    full = _forest().fit(values[train], truth[train])
    best = np.argsort(-full.feature_importances_, kind="stable")[:COMPACT]
    compact = _forest().fit(values[train][:, best], truth[train])
    return full.predict(values[test]), compact.predict(values[test][:, best]), best


def _score(truth: np.ndarray, predicted: np.ndarray, draws: np.ndarray) -> dict[str, float]:
    """Return the macro F1, averaged over repeats, and its interval over draws of the datasets."""
    resampled = np.mean([macro_f1(truth[draws], repeat[draws]) for repeat in predicted], axis=0)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return {"macro_f1": float(macro_f1(truth, predicted).mean()), "low": float(low), "high": float(high)}


def draw_importances(forest: Forest, count: str) -> Figure:
    """Draw the mean decrease in impurity of each feature, the most important on top; `count` says on what it stands."""
    figure, axes = new_figure(6, 3)
    table = forest.importances.iloc[::-1]
    names = [FEATURES[feature] for feature in table["feature"]]
    axes.barh(names, table["mean"], xerr=table["sd"], color=BLUE, ecolor=GREY, error_kw={"elinewidth": 1})
    axes.set_xlim(left=0)
    axes.set_xlabel("mean decrease in impurity (bars: sd over trees)")
    axes.set_title(f"{count}; EMT beats parametric on {forest.wins}")
    return figure


def draw_feature(table: pd.DataFrame, feature: str, window: int = 20) -> Figure:
    """Draw one feature's value on each dataset, and its rolling average, under the difference of EMT and parametric.

    Parameters
    ----------
    table : DataFrame
        A row a dataset: mean (the difference), seeds, and the feature.
    feature : str
        One of `analysis.metafeatures.FEATURES`.
    window : int
        How many datasets the rolling average takes; fewer where there are few.
    """
    table = table.sort_values(["mean", "dataset"], ignore_index=True)
    window = max(min(window, len(table) // 3), 1)
    figure, axes = new_figure(6, 2.8)
    rank = np.arange(1, len(table) + 1)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.plot(rank, table["mean"], color=BLUE, linewidth=1.5)
    axes.set_xlabel("dataset, by difference")
    axes.set_ylabel("reward of EMT\n− Parametric", color=BLUE)
    count = count_text(len(table), table["seeds"].min(), table["seeds"].max())
    axes.set_title(f"{count}; orange line: rolling average of {window}")
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    right.plot(rank, table[feature], ".", color=ORANGE, markersize=4)
    right.plot(rank, table[feature].rolling(window, center=True, min_periods=1).mean(), color=ORANGE, linestyle="--")
    right.set_ylabel(textwrap.fill(FEATURES[feature], 24), color=ORANGE)
    return figure
