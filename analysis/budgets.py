"""Budgets: what a share of the memory costs in reward, and where it still beats parametric."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import BLUE, ORANGE, new_figure
from analysis.tidy import count_text
from analysis.wins import Rule, compare, outcome_counts

__all__ = ["budget_table", "draw_budgets"]

MARKERS = (("o", "s"), ("v", "^"), ("D", "P"), ("<", ">"))  # of each line: loss of reward, datasets won


def budget_table(finals: pd.DataFrame, cast: Cast, horizon: int, rule: Rule | None = None) -> pd.DataFrame:
    """Compare every budget with the largest one of learners that are otherwise the same, and with parametric.

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

    Returns
    -------
    DataFrame
        One row a budget, the largest first: line (which of the learners that differ in more than the budget), learner,
        budget (the horizon where there is no limit), share (of the horizon), loss (mean over datasets of the reward
        that the largest budget has more), se (over datasets), datasets, fewest_seeds, most_seeds, and wins, ties and
        losses against parametric on so many datasets (versus_parametric).
    """
    rows = []
    for family in cast.budgets():
        for learner in family:
            loss = compare(finals, family[0], learner)
            against = compare(finals, learner, "parametric", rule)
            budget = cast.value(learner, "budget") or horizon
            rows.append({"line": cast.label(family[0], but="budget"), "learner": learner, "budget": budget})
            rows[-1] |= {"share": min(budget / horizon, 1.0)}
            rows[-1] |= {"loss": loss["mean"].mean(), "se": loss["mean"].sem(), "datasets": len(loss)}
            rows[-1] |= {"fewest_seeds": loss["seeds"].min(), "most_seeds": loss["seeds"].max()}
            rows[-1] |= outcome_counts(against)
            rows[-1] |= {"versus_parametric": len(against)}
    return pd.DataFrame(rows)


def draw_budgets(table: pd.DataFrame) -> Figure:
    """Draw, over the share of memory, the loss of reward and on how many datasets the budget beats parametric."""
    figure, axes = new_figure(6, 2.5)
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    for (line, part), (left_marker, right_marker) in zip(table.groupby("line", sort=False), cycle(MARKERS)):
        share, bars = 100 * part["share"], part["se"].fillna(0)
        axes.errorbar(share, part["loss"], bars, color=BLUE, marker=left_marker, capsize=2, label=str(line))
        right.plot(share, part["wins"], color=ORANGE, marker=right_marker, linestyle="--")
    axes.set_xscale("log")
    shares = sorted(set(100 * table["share"]), reverse=True)
    axes.set_xticks(shares, [f"{value:.3g} %" for value in shares])
    axes.minorticks_off()
    axes.set_xlabel("memory budget, share of all interactions")
    axes.set_ylabel("loss of reward against\nthe largest budget", color=BLUE)
    count = count_text(table["datasets"].min(), table["fewest_seeds"].min(), table["most_seeds"].max())
    axes.set_title(f"{count}; bars: 1 SE over datasets")
    right.set_ylabel("datasets where the budget\nbeats parametric", color=ORANGE)
    right.set_ylim(0, max(int(table["versus_parametric"].max()), 1) * 1.05)
    if table["line"].nunique() > 1:
        axes.legend(frameon=False, fontsize=7)
    return figure
