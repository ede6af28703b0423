"""Who beats whom: the paper's rule of a win, its stricter relatives, and the table of counts (Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from scipy import stats

__all__ = ["Rule", "compare", "outcome_counts", "to_latex", "to_markdown", "win_table"]


@dataclass(frozen=True)
class Rule:
    """When a difference of final progressive reward counts as a win.

    Parameters
    ----------
    test : {"paper", "ttest", "wilcoxon"}
        ``paper``: the mean of the differences, paired by seed, is more than 1.96 standard errors from 0; no correction.
        ``ttest`` and ``wilcoxon``: the two-sided paired test at `level`.
    level : float
        Level of the tests; the paper's rule has its own.
    holm : bool
        Correct the tests of one pair of learners for the number of datasets (Holm, 1979); not for the paper's rule.
    """

    test: str = "paper"
    level: float = 0.05
    holm: bool = True

    def __post_init__(self) -> None:
        if self.test not in ("paper", "ttest", "wilcoxon"):
            raise ValueError(f"report.rule must be paper, ttest or wilcoxon, not {self.test!r}")
        if not 0 < self.level < 1:
            raise ValueError(f"report.level must lie between 0 and 1, not {self.level}")

    def __str__(self) -> str:
        if self.test == "paper":
            return "mean difference paired by seed beyond 1.96 standard errors, no correction"
        name = {"ttest": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test"}[self.test]
        correction = "Holm-corrected over datasets" if self.holm else "no correction"
        return f"two-sided {name} paired by seed at {self.level:g}, {correction}"


def compare(finals: pd.DataFrame, first: str, second: str, rule: Rule | None = None) -> pd.DataFrame:
    """Compare two learners on every dataset that both have finished, paired by the seeds that both have.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    first, second : str
        The learners; a positive difference speaks for the first.
    rule : Rule, optional
        When a difference is a win; the paper's rule by default.

    Returns
    -------
    DataFrame
        One row a dataset: dataset, mean (of the differences), se, seeds and outcome (1 win, 0 tie, -1 loss). With one
        seed there is no standard error, and so no win.

    Examples
    --------
    >>> finals = pd.DataFrame({"dataset": "iris", "learner": ["emt"] * 3 + ["cmt"] * 3, "seed": [0, 1, 2] * 2,
    ...                        "reward": [0.8, 0.9, 0.8, 0.5, 0.5, 0.6]})
    >>> compare(finals, "emt", "cmt")["outcome"].item()
    1
    """
    rule = rule or Rule()
    return _outcomes(_differences(_by_seed(finals), first, second), rule)


def win_table(finals: pd.DataFrame, learners: Sequence[str], rule: Rule | None = None) -> pd.DataFrame:
    """Count, for each ordered pair of learners, the datasets where the first (row) beats the second (column).

    Returns
    -------
    DataFrame
        Columns row, column, wins, ties, losses, datasets (that both finished), fewest_seeds and most_seeds.
    """
    rule, wide = rule or Rule(), _by_seed(finals)
    rows = []
    for row, column in permutations(learners, 2):
        table = _outcomes(_differences(wide, row, column), rule)
        counts = outcome_counts(table)
        seeds = table["seeds"] if len(table) else pd.Series([0])
        rows.append({"row": row, "column": column, **counts, "datasets": len(table)})
        rows[-1] |= {"fewest_seeds": int(seeds.min()), "most_seeds": int(seeds.max())}
    columns = ["row", "column", "wins", "ties", "losses", "datasets", "fewest_seeds", "most_seeds"]
    return pd.DataFrame(rows, columns=columns)


def outcome_counts(table: pd.DataFrame) -> dict[str, int]:
    """Return the number of wins, ties and losses of a table of `compare`.

    Examples
    --------
    >>> outcome_counts(pd.DataFrame({"outcome": [1, 1, 0, -1]}))
    {'wins': 2, 'ties': 1, 'losses': 1}
    """
    return {name: int((table["outcome"] == sign).sum()) for name, sign in (("wins", 1), ("ties", 0), ("losses", -1))}


def _by_seed(finals: pd.DataFrame) -> pd.DataFrame:
    return finals.pivot(index=["dataset", "seed"], columns="learner", values="reward")


def _differences(wide: pd.DataFrame, first: str, second: str) -> pd.Series:
    if first not in wide or second not in wide:
        return pd.Series(dtype=float, index=wide.index[:0])
    return (wide[first] - wide[second]).dropna()


def _outcomes(differences: pd.Series, rule: Rule) -> pd.DataFrame:
    groups = differences.groupby(level="dataset", sort=True)
    mean, seeds = groups.mean(), groups.size()
    se: pd.Series = groups.std(ddof=1) / np.sqrt(seeds)
    # Equal differences have a mean and a standard error of rounding noise only, which must not decide anything.
    se = se.where((se > 1e-12) | se.isna(), 0.0)
    mean = mean.where(mean.abs() > 1e-12, 0.0)
    if rule.test == "paper":
        decided = mean.abs() > 1.96 * se
    elif rule.test == "ttest":
        with np.errstate(divide="ignore", invalid="ignore"):
            p = pd.Series(2 * stats.t.sf(np.abs(mean / se), seeds - 1), index=mean.index)
        decided = _significant(p, rule)
    else:
        p = groups.apply(lambda group: stats.wilcoxon(group).pvalue if np.any(group.abs() > 1e-12) else 1.0)
        decided = _significant(p.astype(float), rule)
    outcome = (np.sign(mean) * decided).astype(int)
    table = pd.DataFrame({"mean": mean, "se": se, "seeds": seeds, "outcome": outcome})
    return table.rename_axis("dataset").reset_index()


def _significant(p: pd.Series, rule: Rule) -> pd.Series:
    """Return where the tests reject, each by itself or all together by Holm's step-down."""
    p = p.fillna(1.0)
    if not rule.holm:
        return p < rule.level
    ordered = p.sort_values(kind="stable")
    corrected = (ordered * np.arange(len(p), 0, -1)).cummax()
    return (corrected < rule.level).reindex(p.index)


def _cells(table: pd.DataFrame, mark: tuple[str, str]) -> tuple[list[str], list[list[str]]]:
    """Return the learners and the matrix of counts as text, the most wins of a column marked."""
    learners = list(dict.fromkeys(table["row"]))
    wins = table.pivot(index="row", columns="column", values="wins").reindex(index=learners, columns=learners)
    best = wins.max()
    return learners, [
        ["---" if row == column else _marked(wins.loc[row, column], best[column], mark) for column in learners]
        for row in learners
    ]


def _standing(table: pd.DataFrame) -> str:
    """Say on how many datasets and seeds the pairs of a table stand."""
    columns = ("datasets", "datasets"), ("fewest_seeds", "most_seeds")
    ranges = [sorted({int(table[low].min()), int(table[high].max())}) if len(table) else [0] for low, high in columns]
    datasets, seeds = (" to ".join(map(str, ends)) for ends in ranges)
    return f"{datasets} datasets, {seeds} seeds"


def _marked(count: float, best: float, mark: tuple[str, str]) -> str:
    return f"{mark[0]}{count:.0f}{mark[1]}" if count == best > 0 else f"{count:.0f}"


def to_markdown(table: pd.DataFrame, label: Callable[[str], str] = str) -> str:
    """Return the counts as a Markdown table: rows beat columns, the most wins of a column in bold.

    Examples
    --------
    >>> counts = pd.DataFrame({"row": ["emt", "cmt"], "column": ["cmt", "emt"], "wins": [3, 1], "datasets": 5})
    >>> print(to_markdown(counts.assign(fewest_seeds=50, most_seeds=50), str.upper))
    | | EMT | CMT |
    | --- | ---: | ---: |
    | EMT | --- | **3** |
    | CMT | **1** | --- |
    <BLANKLINE>
    5 datasets, 50 seeds
    """
    learners, cells = _cells(table, ("**", "**"))
    lines = [f"| | {' | '.join(map(label, learners))} |", f"| --- |{' ---: |' * len(learners)}"]
    lines += [f"| {label(row)} | {' | '.join(line)} |" for row, line in zip(learners, cells, strict=True)]
    return "\n".join([*lines, "", _standing(table)])


def to_latex(table: pd.DataFrame, label: Callable[[str], str] = str) -> str:
    r"""Return the counts as a LaTeX table in the style of booktabs, the most wins of a column in bold.

    Examples
    --------
    >>> counts = pd.DataFrame({"row": ["emt", "cmt"], "column": ["cmt", "emt"], "wins": [3, 1], "datasets": 5})
    >>> print(to_latex(counts.assign(fewest_seeds=50, most_seeds=50), str.upper).splitlines()[4])
    EMT & --- & \textbf{3} \\
    """
    learners, cells = _cells(table, (r"\textbf{", "}"))
    names = [label(learner).replace("_", r"\_") for learner in learners]
    head = [rf"\begin{{tabular}}{{l{'r' * len(names)}}}", r"\toprule", f" & {' & '.join(names)} \\\\", r"\midrule"]
    body = [f"{name} & {' & '.join(line)} \\\\" for name, line in zip(names, cells, strict=True)]
    foot = rf"\multicolumn{{{len(names) + 1}}}{{l}}{{\footnotesize {_standing(table)}}} \\"
    return "\n".join([*head, *body, r"\midrule", foot, r"\bottomrule", r"\end{tabular}", ""])
