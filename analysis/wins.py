"""Who beats whom: the rule of a win, all pairs of learners on all datasets, and the table of counts (Table 1)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

__all__ = [
    "MIN_SEEDS",
    "PAPER",
    "Rule",
    "compare",
    "compare_all",
    "outcome_counts",
    "outcome_text",
    "turned",
    "win_table",
]

MIN_SEEDS = 3  # fewer decide nothing
COUNTS = {"wins": "win", "ties": "tie", "losses": "loss", "undecided": "undecided"}
TURNED = {"win": "loss", "loss": "win"}
COLUMNS = ["dataset", "mean", "se", "limit", "seeds", "first_reward", "second_reward", "outcome"]


@dataclass(frozen=True)
class Rule:
    """When a difference of final progressive reward counts as a win.

    Parameters
    ----------
    test : {"ttest", "paper", "wilcoxon"}
        ``ttest`` and ``wilcoxon``: the two-sided test of the differences, paired by seed, at `level`. ``paper``: their
        mean is more than 1.96 standard errors from 0, which is meant for many seeds (of three it decides 19% of true
        ties).
    level : float
        Level of the tests; the paper's rule has its own.
    holm : bool
        Correct the tests of one pair of learners for the number of datasets (Holm, 1979); not for the paper's rule.
    """

    test: str = "ttest"
    level: float = 0.05
    holm: bool = False

    def __post_init__(self) -> None:
        if self.test not in ("ttest", "paper", "wilcoxon"):
            raise ValueError(f"report.rule must be ttest, paper or wilcoxon, not {self.test!r}")
        if not 0 < self.level < 1:
            raise ValueError(f"report.level must lie between 0 and 1, not {self.level}")

    def __str__(self) -> str:
        if self.test == "paper":
            return "mean difference paired by seed beyond 1.96 standard errors"
        name = {"ttest": "Student's t-test", "wilcoxon": "Wilcoxon signed-rank test"}[self.test]
        correction = ", Holm-corrected over datasets" if self.holm else ""
        return f"two-sided {name} paired by seed at {self.level:.3g}{correction}"

    @property
    def bars(self) -> str:
        """What the bars of a contrast are."""
        return "1.96 SE" if self.test == "paper" else f"{100 * (1 - self.level):.3g}% interval (Student's t)"

    def limits(self, se: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Return the length of the bars: for the paper's rule and Student's t, a bar that reaches 0 is a tie."""
        if self.test == "paper":
            return 1.96 * se
        return np.asarray(stats.t.ppf(1 - self.level / 2, np.maximum(seeds - 1, 1)) * se)


PAPER = Rule("paper")


def compare(finals: pd.DataFrame, first: str, second: str, rule: Rule | None = None) -> pd.DataFrame:
    """Compare two learners on every dataset that both have finished, paired by the seeds that both have.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    first, second : str
        The learners; a positive difference speaks for the first.
    rule : Rule, optional
        When a difference is a win; Student's t at 5% by default.

    Returns
    -------
    DataFrame
        One row a dataset: dataset, mean (of the differences), se, limit (length of the bars), seeds, first_reward,
        second_reward (means over these seeds) and outcome: win, tie or loss of the first; undecided with fewer than
        three seeds.

    Examples
    --------
    >>> finals = pd.DataFrame({"dataset": "iris", "learner": ["emt"] * 3 + ["cmt"] * 3, "seed": [0, 1, 2] * 2,
    ...                        "reward": [0.8, 0.9, 0.8, 0.5, 0.5, 0.6]})
    >>> compare(finals, "emt", "cmt")["outcome"].item()
    'win'
    >>> compare(finals[finals["seed"] < 2], "emt", "cmt")["outcome"].item()
    'undecided'
    """
    return _compare(_by_seed(finals), first, second, rule or Rule())


def compare_all(finals: pd.DataFrame, learners: Sequence[str], rule: Rule | None = None) -> pd.DataFrame:
    """Compare every pair of learners, each once, the earlier of the list first.

    Returns
    -------
    DataFrame
        The rows of `compare` behind the columns first and second.
    """
    wide, rule = _by_seed(finals), rule or Rule()
    pairs = list(combinations(learners, 2))
    tables = [_compare(wide, *pair, rule).assign(first=pair[0], second=pair[1]) for pair in pairs]
    columns = ["first", "second", *COLUMNS]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def turned(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `compare` or `compare_all` from the second learner's side."""
    swapped = {"first_reward": "second_reward", "second_reward": "first_reward", "first": "second", "second": "first"}
    outcome = table["outcome"].map(lambda word: TURNED.get(word, word))
    return table.assign(mean=-table["mean"], outcome=outcome).rename(columns=swapped)[list(table.columns)]


def win_table(pairs: pd.DataFrame, learners: Sequence[str]) -> pd.DataFrame:
    """Count, for each ordered pair of learners, the datasets where the first (row) beats the second (column).

    Parameters
    ----------
    pairs : DataFrame
        As `compare_all` returns it, of all datasets or of some.
    learners : sequence of str
        Those of the table.

    Returns
    -------
    DataFrame
        Columns row, column, wins, ties, losses, undecided, datasets (that both finished), fewest_seeds and most_seeds.
    """
    both = dict(iter(pairs.groupby(["first", "second"], sort=False)))
    both |= {(second, first): turned(part) for (first, second), part in both.items()}
    rows, nothing = [], pairs.iloc[:0]
    for pair in permutations(learners, 2):
        table = both.get(pair, nothing)
        seeds = table["seeds"] if len(table) else pd.Series([0])
        rows.append({"row": pair[0], "column": pair[1], **outcome_counts(table), "datasets": len(table)})
        rows[-1] |= {"fewest_seeds": int(seeds.min()), "most_seeds": int(seeds.max())}
    columns = ["row", "column", *COUNTS, "datasets", "fewest_seeds", "most_seeds"]
    return pd.DataFrame(rows, columns=columns)


def outcome_counts(table: pd.DataFrame) -> dict[str, int]:
    """Return the number of wins, ties, losses and undecided datasets of a table of `compare`.

    Examples
    --------
    >>> outcome_counts(pd.DataFrame({"outcome": ["win", "win", "tie", "loss"]}))
    {'wins': 2, 'ties': 1, 'losses': 1, 'undecided': 0}
    """
    return {name: int((table["outcome"] == word).sum()) for name, word in COUNTS.items()}


def outcome_text(counts: Mapping[Any, Any] | pd.Series) -> str:
    """Say the counts of `outcome_counts` in words; what is not decided is no tie.

    Examples
    --------
    >>> outcome_text({"wins": 2, "ties": 1, "losses": 1, "undecided": 0})
    '2 wins, 1 tie, 1 loss'
    >>> outcome_text({"wins": 0, "ties": 0, "losses": 0, "undecided": 4})
    '4 undecided'
    """
    ones = {"wins": "win", "ties": "tie", "losses": "loss"}
    said = [f"{counts[many]:.0f} {one if counts[many] == 1 else many}" for many, one in ones.items()]
    if not counts["undecided"]:
        return ", ".join(said)
    decided = any(counts[word] for word in ones)
    return ", ".join([*(said if decided else ()), f"{counts['undecided']:.0f} undecided"])


def _by_seed(finals: pd.DataFrame) -> pd.DataFrame:
    """Return the rewards with a row a dataset and a column a learner and seed."""
    return finals.pivot(index="dataset", columns=["learner", "seed"], values="reward")


def _compare(wide: pd.DataFrame, first: str, second: str, rule: Rule) -> pd.DataFrame:
    known = wide.columns.get_level_values("learner")
    if first not in known or second not in known:
        return pd.DataFrame(columns=COLUMNS)
    # Rewards are fractions; without the rounding, equal differences would have a spread of floating-point noise.
    one, other = wide.loc[:, [first]].droplevel("learner", axis=1), wide.loc[:, [second]].droplevel("learner", axis=1)
    differences = (one - other).round(12).dropna(how="all")
    values, paired = differences.to_numpy(float), differences.notna()
    seeds, mean = paired.sum(axis=1).to_numpy(), differences.mean(axis=1).to_numpy(float)
    se = differences.sem(axis=1).to_numpy(float)
    decided = (seeds >= MIN_SEEDS) & _decided(values, mean, se, rule)
    words = np.select(
        [decided & (mean > 0), decided & (mean < 0), seeds < MIN_SEEDS], ["win", "loss", "undecided"], "tie"
    )
    table = pd.DataFrame({"dataset": differences.index, "mean": mean, "se": se, "limit": rule.limits(se, seeds)})
    rewards = [part.reindex(differences.index).where(paired).mean(axis=1).to_numpy() for part in (one, other)]
    return table.assign(seeds=seeds, first_reward=rewards[0], second_reward=rewards[1], outcome=words)


def _decided(values: np.ndarray, mean: np.ndarray, se: np.ndarray, rule: Rule) -> np.ndarray:
    """Say on which datasets (rows of differences, NaN where a seed is missing) a rule finds a difference."""
    if rule.test == "paper":
        return np.asarray(np.abs(mean) > 1.96 * np.nan_to_num(se))
    p, differ = np.ones(len(values)), np.nan_to_num(values).any(axis=1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of rows without spread, and of few seeds
        if rule.test == "ttest":
            found = stats.ttest_1samp(values[differ], 0, axis=1, nan_policy="omit")
        else:
            found = stats.wilcoxon(values[differ], axis=1, nan_policy="omit")
    p[differ] = np.ma.filled(found.pvalue, np.nan)
    p = np.where(np.isnan(p), 1.0, p)  # there is one alone
    if rule.holm:
        return np.asarray(multipletests(p, rule.level, method="holm")[0])
    return np.asarray(p < rule.level)
