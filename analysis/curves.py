"""Curves: mean progressive reward over interactions, with standard errors over datasets."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import new_figure, style_of
from analysis.tidy import count_text

__all__ = ["curves_of", "draw_curves", "mean_curves"]

# name of the figure: the learners in it; the budgets come from the study
CURVES = {
    "self_consistency": ("emt", "emt_not_self_consistent"),
    "emt_cmt_parametric": ("emt", "cmt", "parametric"),
    "pemt_pcmt_parametric": ("pemt", "pcmt", "parametric"),
}


def curves_of(cast: Cast) -> dict[str, tuple[str, ...]]:
    """Return the figures that a study with these learners can show, each with those of its learners that are there.

    Examples
    --------
    >>> from analysis.cast import Member
    >>> members = {f"b{n}": Member("pemt", {"budget": n}, {"class": "PEMT", "budget": n}) for n in (1000, 32000)}
    >>> curves_of(Cast({"parametric": Member("parametric"), **members}))
    {'budgets': ('b32000', 'b1000', 'parametric')}
    """
    budgets = [name for family in cast.budgets() for name in family]
    figures = CURVES | ({"budgets": (*budgets, "parametric")} if budgets else {})
    chosen = {name: tuple(learner for learner in group if learner in cast.members) for name, group in figures.items()}
    return {name: group for name, group in chosen.items() if len(group) > 1 and group[0] == figures[name][0]}


def mean_curves(curves: pd.DataFrame, learners: Sequence[str]) -> pd.DataFrame:
    """Average the curves over the datasets that all these learners have.

    Parameters
    ----------
    curves : DataFrame
        Thinned curves, as `analysis.tidy.curve_table` returns them.
    learners : sequence of str
        The learners of one figure.

    Returns
    -------
    DataFrame
        Columns learner, step, mean, se (over datasets), datasets, fewest_seeds and most_seeds.

    Examples
    --------
    >>> curves = pd.DataFrame({"dataset": ["a", "b", "a"], "learner": ["emt", "emt", "cmt"], "step": 10,
    ...                        "reward": [0.5, 0.9, 0.4], "seeds": 5})
    >>> mean_curves(curves, ["emt", "cmt"])["mean"].tolist()
    [0.5, 0.4]
    """
    curves = curves[curves["learner"].isin(learners)]
    shared = curves.groupby("dataset")["learner"].nunique() == len(set(learners))
    curves = curves[curves["dataset"].isin(shared.index[shared])]
    groups = curves.groupby(["learner", "step"], sort=False)
    table = groups.agg(
        mean=("reward", "mean"),
        se=("reward", "sem"),
        datasets=("dataset", "size"),
        fewest_seeds=("seeds", "min"),
        most_seeds=("seeds", "max"),
    ).reset_index()
    order = {learner: position for position, learner in enumerate(learners)}
    return table.sort_values(
        ["learner", "step"], key=lambda c: c.map(order) if c.name == "learner" else c, ignore_index=True
    )


def draw_curves(table: pd.DataFrame, cast: Cast, zoom: bool = False) -> Figure:
    """Draw a table of `mean_curves`; with `zoom`, an inset shows the last tenth of the interactions."""
    figure, axes = new_figure(6, 3.6 if zoom else 3.2)
    _lines(axes, table, cast)
    _bars(axes, table)
    axes.set_xlabel("interactions")
    axes.set_ylabel("mean progressive reward")
    count = count_text(table["datasets"].max(), table["fewest_seeds"].min(), table["most_seeds"].max())
    axes.set_title(f"{count}; bars: 1 SE over datasets")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    if not zoom:
        axes.legend(frameon=False)
        return figure
    # The legend goes below, for the empty corner under the curves belongs to the inset.
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    length = table["step"].max()
    last = table[table["step"] >= 0.9 * length]
    inset = axes.inset_axes((0.5, 0.1, 0.46, 0.38))
    _lines(inset, last, cast)
    margin = 0.1 * (last["mean"].max() - last["mean"].min()) + 1e-4
    inset.set(xlim=(0.9 * length, length), ylim=(last["mean"].min() - margin, last["mean"].max() + margin))
    inset.set_xticks([0.9 * length, 0.95 * length, length])
    inset.xaxis.set_major_formatter("{x:,.0f}")
    inset.tick_params(labelsize=7)
    axes.indicate_inset_zoom(inset, edgecolor="grey")
    return figure


def _lines(axes: Axes, table: pd.DataFrame, cast: Cast) -> None:
    for position, (learner, line) in enumerate(table.groupby("learner", sort=False)):
        style = style_of(str(learner), position)
        axes.plot(line["step"], line["mean"], linewidth=1.5, label=cast.label(str(learner)), **style)


def _bars(axes: Axes, table: pd.DataFrame) -> None:
    """Draw standard errors, those of different learners beside each other: they start at different points."""
    for position, (learner, line) in enumerate(table.groupby("learner", sort=False)):
        bars = line.iloc[4 + position :: 10]
        colour = style_of(str(learner), position)["color"]
        axes.errorbar(bars["step"], bars["mean"], bars["se"].fillna(0), fmt="none", ecolor=colour, elinewidth=1)
