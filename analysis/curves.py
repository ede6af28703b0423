"""Curves: mean progressive reward over interactions, with standard errors over datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.cast import MANY, Cast
from analysis.look import Style, legend_outside, styles_of
from analysis.tidy import count_text

__all__ = ["curves_of", "draw_curves", "mean_curves"]

# name of the figure: the learners in it; the budgets come from the study
CURVES = {
    "self_consistency": ("emt", "emt_not_self_consistent"),
    "emt_cmt_parametric": ("emt", "cmt", "parametric"),
    "pemt_pcmt_parametric": ("pemt", "pcmt", "parametric"),
}


def curves_of(cast: Cast) -> dict[str, tuple[str, ...]]:
    """Return the figures of a study: the paper's with those of their learners that are there, and one of all.

    The one of all learners is left out where the others have every learner, and where there are very many.

    Examples
    --------
    >>> from analysis.cast import Member
    >>> members = {f"b{n}": Member("pemt", {"budget": n}, {"class": "PEMT", "budget": n}) for n in (1000, 32000)}
    >>> curves_of(Cast({"parametric": Member("parametric"), **members}))
    {'budgets': ('b32000', 'b1000', 'parametric')}
    """
    budgets = [name for family in cast.budgets() for name in family]
    budgets = budgets if len(budgets) <= MANY else []
    figures = CURVES | ({"budgets": (*budgets, "parametric")} if budgets else {})
    chosen = {name: tuple(learner for learner in group if learner in cast.members) for name, group in figures.items()}
    chosen = {name: group for name, group in chosen.items() if len(group) > 1 and group[0] == figures[name][0]}
    drawn = {learner for group in chosen.values() for learner in group}
    return chosen if drawn >= cast.members.keys() or len(cast.members) > MANY else chosen | {"all": tuple(cast.order())}


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
    """Draw a table of `mean_curves`; with `zoom`, a second panel shows the last tenth of the interactions."""
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    styles, length = styles_of(cast), table["step"].max()
    panels = figure.subplots(1, 2, width_ratios=(3, 2)) if zoom else [figure.subplots()]
    axes = panels[0]
    _lines(axes, table, cast, styles)
    _bars(axes, table, styles)
    axes.set_xlabel("interactions")
    axes.set_ylabel("mean progressive reward")
    count = count_text(table["datasets"].max(), table["fewest_seeds"].min(), table["most_seeds"].max())
    figure.suptitle(f"{count}; bars: 1 SE over datasets", fontsize=9)
    if zoom:
        axes.xaxis.set_major_locator(MaxNLocator(4))
        _lines(panels[1], table[table["step"] >= 0.9 * length], cast, styles)
        panels[1].set_xlim(0.9 * length, length)
        panels[1].set_xticks([0.9 * length, length])
        panels[1].set_xlabel("the last tenth")
    for panel in panels:
        panel.xaxis.set_major_formatter("{x:,.0f}")
    legend_outside(figure, axes.get_legend_handles_labels()[0], 3)
    return figure


def _lines(axes: Axes, table: pd.DataFrame, cast: Cast, styles: Mapping[str, Style]) -> None:
    for learner, line in table.groupby("learner", sort=False):
        name = str(learner)
        axes.plot(line["step"], line["mean"], linewidth=1.5, label=cast.label(name), **styles[name].line)


def _bars(axes: Axes, table: pd.DataFrame, styles: Mapping[str, Style]) -> None:
    """Draw standard errors, those of different learners beside each other: they start at different points."""
    for position, (learner, line) in enumerate(table.groupby("learner", sort=False)):
        bars, colour = line.iloc[4 + position % 10 :: 10], styles[str(learner)].colour
        axes.errorbar(bars["step"], bars["mean"], bars["se"].fillna(0), fmt="none", ecolor=colour, elinewidth=1)
