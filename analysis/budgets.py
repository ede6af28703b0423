"""Budgets: what a share of the memory costs in reward, and where it still beats parametric."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from analysis.style import BLUE, ORANGE, budget_of, learner_order, new_figure
from analysis.tidy import count_text
from analysis.wins import Rule, compare, outcome_counts

__all__ = ["budget_table", "draw_budgets"]


def budget_table(finals: pd.DataFrame, horizon: int, rule: Rule | None = None) -> pd.DataFrame:
    """Compare every budget with the largest one and with parametric.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    horizon : int
        Number of interactions, and so the most memories that a run can have.
    rule : Rule, optional
        When a difference is a win.

    Returns
    -------
    DataFrame
        One row a budget, the largest first: learner, budget, share (of the horizon), loss (mean over datasets of the
        reward that the largest budget has more), se (over datasets), datasets, fewest_seeds, most_seeds, and wins, ties
        and losses against parametric on so many datasets (versus_parametric).
    """
    learners = [learner for learner in learner_order(finals["learner"]) if budget_of(learner)]
    rows = []
    for learner in learners:
        loss = compare(finals, learners[0], learner)
        against = compare(finals, learner, "parametric", rule)
        budget = budget_of(learner) or 0
        rows.append({"learner": learner, "budget": budget, "share": min(budget / horizon, 1.0)})
        rows[-1] |= {"loss": loss["mean"].mean(), "se": loss["mean"].sem(), "datasets": len(loss)}
        rows[-1] |= {"fewest_seeds": loss["seeds"].min(), "most_seeds": loss["seeds"].max()}
        rows[-1] |= outcome_counts(against)
        rows[-1] |= {"versus_parametric": len(against)}
    return pd.DataFrame(rows)


def draw_budgets(table: pd.DataFrame) -> Figure:
    """Draw, over the share of memory, the loss of reward and on how many datasets the budget beats parametric."""
    figure, axes = new_figure(6, 2.5)
    share = 100 * table["share"]
    axes.errorbar(share, table["loss"], table["se"].fillna(0), color=BLUE, marker="o", capsize=2)
    axes.set_xscale("log")
    axes.set_xticks(share, [f"{value:.3g} %" for value in share])
    axes.minorticks_off()
    axes.set_xlabel("memory budget, share of all interactions")
    axes.set_ylabel("loss of reward against\nthe largest budget", color=BLUE)
    count = count_text(table["datasets"].min(), table["fewest_seeds"].min(), table["most_seeds"].max())
    axes.set_title(f"{count}; bars: 1 SE over datasets")
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    right.plot(share, table["wins"], color=ORANGE, marker="s", linestyle="--")
    right.set_ylabel("datasets where the budget\nbeats parametric", color=ORANGE)
    right.set_ylim(0, max(int(table["versus_parametric"].max()), 1) * 1.05)
    return figure
