"""Budgets: what a share of the memory costs in reward, and where it still beats the baseline."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import MARKERS, in_lines, legend_outside, line_colours
from analysis.tidy import count_text
from analysis.wins import Rule, compare, outcome_counts

__all__ = ["BESIDE", "budget_table", "draw_budgets"]

LINE = 34  # characters for which a title has room
BESIDE = 1.06  # by so much the points of one line are to the right of those of the line before, so that none is hidden


def budget_table(
    finals: pd.DataFrame, cast: Cast, horizon: int, rule: Rule | None = None, baseline: str = "parametric"
) -> pd.DataFrame:
    """Compare every budget with the largest one of learners that are otherwise the same, and with the baseline.

    Learners that differ in what they forget first are two lines, but their largest budget is the same: that of both.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    cast : Cast
        The learners; those with a budget among their parameters count, whatever their names.
    horizon : int
        Number of interactions, and so the most memories that a run can have.
    rule : Rule, optional
        When a difference is a win.
    baseline : str
        The learner that a budget still beats, or not.

    Returns
    -------
    DataFrame
        One row a budget, the largest first: line (which of the learners that differ in more than the budget), learner,
        budget (the horizon where there is no limit), share (of the horizon), reference (the learner of the largest
        budget), loss (mean over datasets of the reward that the reference has more), se (of that mean, over datasets),
        datasets, fewest_seeds, most_seeds, and wins, ties, losses and undecided against the baseline on so many
        datasets (versus_baseline).
    """
    rows = []
    for family in cast.budgets():
        reference = cast.largest(family[0])
        for learner in family:
            loss = compare(finals, reference, learner)
            against = compare(finals, learner, baseline, rule)
            budget = cast.value(learner, "budget") or horizon
            rows.append({"line": cast.label(family[0], but="budget"), "learner": learner, "budget": budget})
            rows[-1] |= {"reference": reference}
            rows[-1] |= {"share": min(budget / horizon, 1.0)}
            rows[-1] |= {"loss": loss["mean"].mean(), "se": loss["mean"].sem(), "datasets": len(loss)}
            rows[-1] |= {"fewest_seeds": loss["seeds"].min(), "most_seeds": loss["seeds"].max()}
            rows[-1] |= outcome_counts(against)
            rows[-1] |= {"versus_baseline": len(against)}
    return pd.DataFrame(rows)


def draw_budgets(table: pd.DataFrame, cast: Cast, baseline: str = "Parametric") -> Figure:
    """Draw, over the share of memory, the loss of reward and on how many datasets the budget beats the baseline."""
    figure = Figure(figsize=(6, 2.9), layout="constrained")
    loss, won = figure.subplots(1, 2)
    colours = line_colours(cast, dict(zip(table["line"], table["learner"], strict=True)))
    for position, (line, part) in enumerate(table.groupby("line", sort=False)):
        share = 100 * part["share"] * BESIDE**position
        look = {"color": colours[str(line)], "marker": MARKERS[position % len(MARKERS)], "markersize": 4}
        look |= {"label": str(line)}
        loss.errorbar(share, part["loss"], part["se"].fillna(0), capsize=2, **look)
        won.plot(share, part["wins"], **look)
        won.plot(share, part["losses"], linestyle=":", **(look | {"label": "_", "markerfacecolor": "white"}))
    shares = sorted(set(100 * table["share"]), reverse=True)
    for axes in (loss, won):
        _share_axis(axes, shares)
    n = int(table["versus_baseline"].max())
    loss.set_ylabel("loss of reward against\nthe largest budget")
    loss.set_title("bars: 1 SE over datasets")
    won.set_ylabel(f"datasets, of {n}")
    won.set_ylim(-0.03 * max(n, 1), 1.05 * max(n, 1))
    won.set_title(in_lines(f"beats {baseline} (dotted: loses)", LINE))
    count = count_text(table["datasets"].min(), table["fewest_seeds"].min(), table["most_seeds"].max())
    figure.supxlabel(f"memory budget, share of all interactions ({count})", fontsize=9)
    if table["line"].nunique() > 1:
        legend_outside(figure, loss.get_legend_handles_labels()[0], 3, "outside upper center")
    return figure


def _share_axis(axes: Axes, shares: list[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(shares, [f"{value:.3g}%" for value in shares], fontsize=7)
    axes.minorticks_off()
