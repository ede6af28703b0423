"""Contrasts: the difference of two learners on each dataset, sorted; who wins is said by shape, shade and colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.cast import MANY, Cast
from analysis.look import GREY, SHAPES, Style, faded, file_name, in_lines, legend_outside, new_figure
from analysis.tidy import count_text

__all__ = ["FEW", "baseline_of", "contrasts_of", "draw_contrast"]

FEW = 30  # up to so many datasets are bars with their names
LINEAR = 0.01  # differences up to here are on a linear scale, larger ones on a logarithmic one
LINE = 30  # characters for which the vertical axis has room
TICKS = np.array([0.01, 0.03, 0.1, 0.3, 1.0])

# The pairs of the paper, of the two variants and of the two implementations.
PAIRS = (
    ("emt", "emt_not_self_consistent"),
    ("emt", "cmt"),
    ("pemt", "pcmt"),
    ("pemt", "emt"),
    ("emt", "emt_as_printed"),
    ("pemt", "pemt_as_printed"),
    ("emt", "emt_random_router"),
    ("parametric", "vw_parametric"),
    ("emt", "vw_emt"),
    ("pemt", "vw_pemt"),
    ("cmt", "vw_cmt"),
    ("pcmt", "vw_pcmt"),
)


def baseline_of(cast: Cast, asked: str | None = None) -> str:
    """Return the learner that the others are compared with: the one asked for, parametric, or the study's first.

    Examples
    --------
    >>> from analysis.cast import Member
    >>> baseline_of(Cast({"emt": Member("emt"), "pemt": Member("pemt")}))
    'emt'
    """
    return asked or ("parametric" if "parametric" in cast.members else next(iter(cast.members)))


def contrasts_of(cast: Cast, baseline: str, more: Sequence[tuple[str, str]] = ()) -> dict[str, tuple[str, str]]:
    """Return the contrasts of a study: names of figures, and pairs of learners.

    Each learner against the baseline (unless there are very many), the paper's own pairs where their learners are
    there, ways to forget against each other where nothing else differs, and those asked for.

    Examples
    --------
    >>> from analysis.cast import Member
    >>> cast = Cast({name: Member(name) for name in ("parametric", "emt", "mine")})
    >>> contrasts_of(cast, "parametric", [("mine", "emt")])
    {'emt_parametric': ('emt', 'parametric'), 'mine_parametric': ('mine', 'parametric'), 'mine_emt': ('mine', 'emt')}
    """
    pairs = [(name, baseline) for name in cast.order() if name != baseline and len(cast.members) <= MANY]
    pairs += [pair for pair in PAIRS if pair[::-1] not in pairs]
    pairs += [pair for family in cast.families("eviction") for pair in combinations(family, 2)] + [*more]
    there = [pair for pair in dict.fromkeys(pairs) if cast.members.keys() >= set(pair)]
    return {f"{file_name(first)}_{file_name(second)}": (first, second) for first, second in there}


def draw_contrast(
    table: pd.DataFrame, labels: tuple[str, str], styles: tuple[Style, Style], bars: str = "95% interval (Student's t)"
) -> Figure:
    """Draw a table of `analysis.wins.compare`: a point a dataset, or a bar with its name where there are few.

    Parameters
    ----------
    table : DataFrame
        Of the two learners.
    labels, styles : tuple
        Of the first and the second; a dataset has the colour of the learner that wins it.
    bars : str
        What the bars are.
    """
    table = table.sort_values(["mean", "dataset"], ignore_index=True)
    few = len(table) <= FEW
    figure, axes = new_figure(6, 1.3 + 0.17 * len(table) if few else 3.1)
    place = _rows if few else _points
    handles = {}
    counts = {"win": f"{labels[0]} wins", "loss": f"{labels[1]} wins", "tie": "ties", "undecided": "undecided"}
    for outcome, (marker, left) in reversed(SHAPES.items()):  # ties first: they are under the others
        part = table[table["outcome"] == outcome]
        owner = {"win": styles[0].colour, "loss": styles[1].colour}.get(outcome, GREY)
        if len(part) or outcome in ("win", "tie", "loss"):
            handle = place(axes, part, faded(owner, left), marker)
            handle.set_label(f"{counts[outcome]} ({len(part)})")
            handles[outcome] = handle
    if few:
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
        axes.set_yticks(range(len(table)), table["dataset"], fontsize=7)
        axes.set_ylim(-0.7, len(table) - 0.3)
        axes.set_xlabel(f"reward of {labels[0]} − {labels[1]}")
    else:
        axes.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        _symlog(axes, table)
        axes.set_xlim(0, len(table) + 1)
        axes.set_xticks(np.unique(np.linspace(1, len(table), 6).round().astype(int)))
        axes.set_xlabel(f"dataset, by difference (scale linear to ±{LINEAR:g}, logarithmic beyond)")
        axes.set_ylabel("\n".join(in_lines(text, LINE) for text in (f"reward of {labels[0]}", f"− {labels[1]}")))
    seeds = table["seeds"]
    axes.set_title(f"{count_text(len(table), seeds.min(), seeds.max())}; bars: {bars}")
    legend_outside(figure, [handles[outcome] for outcome in SHAPES if outcome in handles], 4)
    return figure


def _points(axes: Axes, part: pd.DataFrame, colour: str, marker: str) -> Any:
    limits = part["limit"].fillna(0)
    return axes.errorbar(
        part.index + 1, part["mean"], limits, fmt=marker, color=colour, markersize=3.5, elinewidth=0.8, linewidth=0
    )


def _rows(axes: Axes, part: pd.DataFrame, colour: str, marker: str) -> Any:
    axes.barh(part.index, part["mean"], 0.7, color=colour)
    limits = part["limit"].fillna(0)
    axes.errorbar(part["mean"], part.index, xerr=limits, fmt=marker, color="black", markersize=3, elinewidth=0.8)
    return Patch(color=colour)


def _symlog(axes: Axes, table: pd.DataFrame) -> None:
    """Show the many differences near 0 and the few large ones on one axis."""
    axes.set_yscale("symlog", linthresh=LINEAR, linscale=1)
    low, high = (table["mean"] - table["limit"].fillna(0)).min(), (table["mean"] + table["limit"].fillna(0)).max()
    low, high = min(low, -LINEAR) * 1.2, max(high, LINEAR) * 1.2
    ticks = [tick for tick in (*-TICKS[::-1], 0.0, *TICKS) if low <= tick <= high]
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    axes.minorticks_off()
