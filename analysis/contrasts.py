"""Contrasts: the difference of two learners on each dataset, sorted, with wins, ties and losses in colour."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.style import BLUE, GREEN, GREY, ORANGE, budget_of, label, new_figure
from analysis.tidy import count_text

__all__ = ["contrasts_of", "draw_contrast"]

# name of the figure: (first learner, second learner); the smallest and the largest budget come from the study
CONTRASTS = {
    "self_consistency": ("emt", "emt_not_self_consistent"),
    "emt_cmt": ("emt", "cmt"),
    "emt_parametric": ("emt", "parametric"),
    "pemt_parametric": ("pemt", "parametric"),
    "emt_as_run_as_printed": ("emt", "emt_as_printed"),
    "pemt_as_run_as_printed": ("pemt", "pemt_as_printed"),
    "emt_eigen_random_router": ("emt", "emt_random_router"),
    "parametric_vw": ("parametric", "vw_parametric"),
    "emt_vw": ("emt", "vw_emt"),
    "pemt_vw": ("pemt", "vw_pemt"),
}


def contrasts_of(learners: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the contrasts that a study with these learners can show.

    Examples
    --------
    >>> contrasts_of(["parametric", "pemt_1000", "pemt_2000", "pemt_32000"])
    {'pemt_1000_parametric': ('pemt_1000', 'parametric'), 'pemt_32000_parametric': ('pemt_32000', 'parametric')}
    """
    present = set(learners)
    budgets = sorted((name for name in present if budget_of(name)), key=lambda name: budget_of(name) or 0)
    extremes = {f"{name}_parametric": (name, "parametric") for name in [*budgets[:1], *budgets[-1:]]}
    return {name: pair for name, pair in (CONTRASTS | extremes).items() if present.issuperset(pair)}


def draw_contrast(table: pd.DataFrame, first: str, second: str) -> Figure:
    """Draw a table of `analysis.wins.compare`: a dot a dataset, bars of 1.96 standard errors over seeds.

    Blue where the first learner wins, orange where the second does, green ties.
    """
    table = table.sort_values(["mean", "dataset"], ignore_index=True)
    figure, axes = new_figure()
    axes.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    names = {-1: f"{label(second)} wins", 0: "ties", 1: f"{label(first)} wins"}
    for outcome, colour, marker in ((-1, ORANGE, "v"), (0, GREEN, "o"), (1, BLUE, "^")):
        part = table[table["outcome"] == outcome]
        axes.errorbar(
            part.index + 1,
            part["mean"],
            yerr=1.96 * part["se"].fillna(0),
            fmt=marker,
            color=colour,
            markersize=3,
            elinewidth=0.8,
            label=f"{names[outcome]} ({len(part)})",
        )
    axes.set_xlabel("dataset, by difference")
    axes.set_ylabel(f"reward of {label(first)}\n− {label(second)}")
    axes.set_xlim(0, len(table) + 1)
    axes.set_xticks(np.unique(np.linspace(1, max(len(table), 1), 6).round().astype(int)))
    seeds = table["seeds"]
    axes.set_title(f"Final progressive reward; {count_text(len(table), seeds.min(), seeds.max())}")
    axes.legend(loc="upper left", frameon=False)
    return figure
