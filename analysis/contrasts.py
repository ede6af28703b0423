"""Contrasts: the difference of two learners on each dataset, sorted, with wins, ties and losses in colour."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import BLUE, GREEN, GREY, ORANGE, file_name, new_figure
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
    "cmt_vw": ("cmt", "vw_cmt"),
    "pcmt_vw": ("pcmt", "vw_pcmt"),
}


def contrasts_of(cast: Cast) -> dict[str, tuple[str, str]]:
    """Return the contrasts that a study with these learners can show: names of figures, and pairs of learners.

    Examples
    --------
    >>> from analysis.cast import Member
    >>> members = {f"b{n}": Member("pemt", {"budget": n}, {"class": "PEMT", "budget": n}) for n in (2000, 1000, 32000)}
    >>> contrasts_of(Cast({"parametric": Member("parametric"), **members}))
    {'b1000_parametric': ('b1000', 'parametric'), 'b32000_parametric': ('b32000', 'parametric')}
    """
    extremes = [name for family in cast.budgets() for name in (family[-1], family[0])]
    pairs = CONTRASTS | {f"{file_name(name)}_parametric": (name, "parametric") for name in extremes}
    return {name: pair for name, pair in pairs.items() if cast.members.keys() >= set(pair)}


def draw_contrast(table: pd.DataFrame, first: str, second: str) -> Figure:
    """Draw a table of `analysis.wins.compare`: a dot a dataset, bars of 1.96 standard errors over seeds.

    Blue where the first learner wins, orange where the second does, green ties; both are given by their labels.
    """
    table = table.sort_values(["mean", "dataset"], ignore_index=True)
    figure, axes = new_figure()
    axes.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    names = {-1: f"{second} wins", 0: "ties", 1: f"{first} wins"}
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
    axes.set_ylabel(f"reward of {first}\n− {second}")
    axes.set_xlim(0, len(table) + 1)
    axes.set_xticks(np.unique(np.linspace(1, max(len(table), 1), 6).round().astype(int)))
    seeds = table["seeds"]
    axes.set_title(f"Final progressive reward; {count_text(len(table), seeds.min(), seeds.max())}")
    axes.legend(loc="upper left", frameon=False)
    return figure
