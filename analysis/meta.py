"""Where does EMT beat parametric? A random forest on meta-features, its importances, and a compact model (appendix)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import RepeatedStratifiedKFold

from analysis.look import COLOURS, GREY, in_lines, new_figure
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
    held_out : dict of str to ndarray of bool, shape (repeats, datasets)
        What the full and the compact model predicted of each dataset when it was held out: that EMT wins, or not.
    """

    scores: dict[str, dict[str, float]]
    importances: pd.DataFrame
    wins: int
    others: int
    held_out: dict[str, np.ndarray]

    @property
    def beats_majority(self) -> bool:
        """Whether the full model is above the guess of the majority, with its whole interval."""
        return self.scores["full"]["low"] > self.scores["majority"]["macro_f1"]


def macro_f1(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the mean of the two classes' F1, along the last axis.

    By hand, as scikit-learn's takes one resample at a time, and there are thousands.

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
    models = {"full": full, "compact": compact, "majority": majority}
    scores = {name: _score(truth, predicted) for name, predicted in models.items()}
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
        held_out={"full": full, "compact": compact},
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


def _score(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Return the macro F1, averaged over repeats, and its interval over draws of the datasets."""

    def statistic(rows: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.mean([macro_f1(truth[rows], repeat[rows]) for repeat in predicted], axis=0))

    drawn = stats.bootstrap(
        (np.arange(len(truth)),), statistic, n_resamples=1000, method="percentile", vectorized=True, random_state=0
    )
    low, high = drawn.confidence_interval
    return {"macro_f1": float(macro_f1(truth, predicted).mean()), "low": float(low), "high": float(high)}


def draw_importances(forest: Forest, count: str) -> Figure:
    """Draw the mean decrease in impurity of each feature, the most important on top; `count` says on what it stands."""
    figure, axes = new_figure(6, 3.4)
    table = forest.importances.iloc[::-1]
    names = [FEATURES[feature] for feature in table["feature"]]
    axes.hlines(names, 0, table["mean"], color=COLOURS["emt"], linewidth=5)
    for name, mean, chosen in zip(names, table["mean"], table["chosen"], strict=True):
        axes.annotate(f"{chosen:.0%}", (mean, name), (4, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_xlim(0, 1.12 * table["mean"].max())
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel("mean decrease in impurity")
    figure.suptitle(
        f"{count}; EMT beats parametric on {forest.wins}\n"
        f"%: how often the compact model of {COMPACT} features chose it",
        fontsize=9,
    )
    return figure


def draw_feature(table: pd.DataFrame, feature: str, window: int = 20) -> Figure:
    """Draw the difference of EMT and parametric on each dataset, and below it one feature with its rolling average.

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
    figure = Figure(figsize=(6, 3.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    rank = np.arange(1, len(table) + 1)
    above.axhline(0, color=GREY, linewidth=0.8)
    colours = [COLOURS["emt"] if difference > 0 else COLOURS["parametric"] for difference in table["mean"]]
    above.bar(rank, table["mean"], width=1.0, color=colours)
    above.set_ylabel("reward of EMT\n− Parametric")
    count = count_text(len(table), table["seeds"].min(), table["seeds"].max())
    above.set_title(f"{count}; line: rolling average of {window} datasets")
    below.plot(rank, table[feature], ".", color=GREY, markersize=4)
    below.plot(rank, table[feature].rolling(window, center=True, min_periods=1).mean(), color="black")
    below.set_ylabel(in_lines(FEATURES[feature], 18))
    below.set_xlabel("dataset, by difference")
    return figure
