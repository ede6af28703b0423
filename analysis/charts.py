"""The charts of the page, as Vega-Lite specifications; the page gives them the rows that the reader has chosen."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from analysis.cast import Cast
from analysis.contrasts import LINEAR
from analysis.look import BLUE, GREY, SHAPES, line_colours, styles_of
from analysis.metafeatures import FEATURES

__all__ = ["DASHES", "charts_of"]

DASHES = ([1, 0], [6, 3], [6, 2, 2, 2], [10, 2], [3, 2], [1, 2], [12, 3, 2, 3])
VEGA_SHAPES = {"^": "triangle-up", "v": "triangle-down", "o": "circle", "x": "cross"}
WIDTH = "container"
ROWS = alt.NamedData(name="rows")  # what the page fills in

# What hovering a dataset tells; the page puts the learners' names for the words in brackets.
TOLD = [
    alt.Tooltip("name:N", title="dataset"),
    alt.Tooltip("a:Q", title="[first]", format=".4f"),
    alt.Tooltip("b:Q", title="[second]", format=".4f"),
    alt.Tooltip("mean:Q", title="difference", format="+.4f"),
    alt.Tooltip("limit:Q", title="± [bars]", format=".4f"),
    alt.Tooltip("outcome:N"),
    alt.Tooltip("seeds:Q"),
    alt.Tooltip("steps:Q", title="interactions", format=","),
    alt.Tooltip("rows:Q", format=","),
    alt.Tooltip("classes:Q"),
    alt.Tooltip("numeric:Q", title="numeric columns"),
    alt.Tooltip("categorical:Q", title="nominal columns"),
]
OUTCOMES = list(SHAPES)
COLOURS = alt.Scale(domain=OUTCOMES, range=["[first colour]", "[second colour]", "#B5B5B5", "#B5B5B5"])
SHAPE = alt.Scale(domain=OUTCOMES, range=[VEGA_SHAPES[marker] for marker, _ in SHAPES.values()])
# On top, where it has room on narrow screens too; the page gives the number of datasets of each outcome.
LEGEND = alt.Legend(
    orient="top",
    title=None,
    columns=2,
    labelExpr="[counts][datum.label]",
    symbolSize=60,
    symbolOpacity=1,
    values=["[outcomes]"],
)


def charts_of(
    cast: Cast, budgets: pd.DataFrame, swept: Cast, sweeps: dict[str, pd.DataFrame], importances: pd.DataFrame
) -> dict[str, Any]:
    """Return the specifications by name; sweeps and importances with their data."""
    charts: dict[str, Any] = {
        "contrast": _contrast(),
        "contrast_few": _contrast_few(),
        "curves": _curves(cast),
        "feature": _feature(),
    }
    if len(budgets):
        charts |= _budgets(budgets, cast)
    for parameter, table in sweeps.items():
        charts |= _sweep(table, swept, parameter)
    if len(importances):
        charts["importances"] = _importances(importances)
    return {name: chart.to_dict() for name, chart in charts.items()}


def _outcome() -> dict[str, Any]:
    return {
        "color": alt.Color("outcome:N", scale=COLOURS, legend=LEGEND),
        "shape": alt.Shape("outcome:N", scale=SHAPE, legend=LEGEND),
    }


def _symlog(channel: Any) -> Any:
    ticks = [sign * size for size in (0.01, 0.03, 0.1, 0.3, 1) for sign in (-1, 1)]
    axis = alt.Axis(values=[*ticks, 0], format="~g")
    return channel("mean:Q", title="[first] − [second]", scale=alt.Scale(type="symlog", constant=LINEAR), axis=axis)


def _zero() -> Any:
    return alt.Chart(alt.InlineData(values=[{}])).mark_rule(color=GREY).encode(y=alt.YDatum(0))


def _contrast() -> Any:
    base = alt.Chart(ROWS)
    x = alt.X(
        "rank:Q", title="dataset, by difference", scale=alt.Scale(nice=False, padding=6), axis=alt.Axis(grid=False)
    )
    zero = _zero()
    bars = base.mark_rule(opacity=0.45).encode(
        x=x, y=_symlog(alt.Y), y2="high:Q", color=alt.Color("outcome:N", scale=COLOURS, legend=LEGEND)
    )
    bars = bars.transform_calculate(mean="datum.low")
    points = base.mark_point(filled=True, size=42, opacity=1).encode(x=x, y=_symlog(alt.Y), tooltip=TOLD, **_outcome())
    return alt.layer(zero, bars, points).properties(width=WIDTH, height=320)


def _contrast_few() -> Any:
    base = alt.Chart(ROWS)
    y = alt.Y("name:N", sort=["[shown]"], title=None, axis=alt.Axis(labelLimit=240))
    x = alt.X("mean:Q", title="[first] − [second]")
    colour = alt.Color("outcome:N", scale=COLOURS, legend=LEGEND)
    bars = base.mark_bar(height=alt.RelativeBandSize(0.7)).encode(x=x, y=y, color=colour, tooltip=TOLD)
    limits = base.mark_rule().encode(x=alt.X("low:Q", title="[first] − [second]"), x2="high:Q", y=y, tooltip=TOLD)
    points = base.mark_point(filled=True, size=30, color=GREY, opacity=1).encode(
        x=x, y=y, shape=alt.Shape("outcome:N", scale=SHAPE, legend=LEGEND), tooltip=TOLD
    )
    return alt.layer(bars, limits, points).properties(width=WIDTH, height=100)


def _curves(cast: Cast) -> Any:
    styles = styles_of(cast)
    labels = [cast.label(name) for name in styles]
    colours = alt.Scale(domain=labels, range=[style.colour for style in styles.values()])
    dashes = alt.Scale(domain=labels, range=[DASHES[place % len(DASHES)] for place in range(len(labels))])
    legend = alt.Legend(
        orient="top",
        title=None,
        columns=2,
        symbolSize=300,
        symbolStrokeWidth=2,
        symbolType="stroke",
        symbolOpacity=1,
        values=["[shown]"],
    )
    base = alt.Chart(ROWS)
    x = alt.X("step:Q", title="interactions", axis=alt.Axis(grid=False, format=",.0f", tickCount=8))
    y = alt.Y("reward:Q", title="mean progressive reward", scale=alt.Scale(zero=False))
    colour = alt.Color("learner:N", scale=colours, legend=legend)
    band = base.mark_area(opacity=0.12).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    lines = base.mark_line(strokeWidth=2).encode(
        x=x, y=y, color=colour, strokeDash=alt.StrokeDash("learner:N", scale=dashes, legend=legend)
    )
    told = ["learner:N", alt.Tooltip("step:Q", format=","), alt.Tooltip("reward:Q", format=".4f")]
    told += [alt.Tooltip("se:Q", title="SE over datasets", format=".4f"), alt.Tooltip("datasets:Q")]
    points = base.mark_point(size=120, opacity=0).encode(x=x, y=y, tooltip=told)
    return alt.layer(band, lines, points).properties(width=WIDTH, height=340)


def _feature() -> Any:
    zero = _zero()
    axis = alt.Axis(grid=False)
    x = alt.X("value:Q", title="[feature]", scale=alt.Scale(zero=False, nice=False, padding=8), axis=axis)
    told = [alt.Tooltip("value:Q", title="[feature]", format=".4~g"), *TOLD]
    points = alt.Chart(ROWS).mark_point(filled=True, size=42, opacity=0.9)
    return alt.layer(zero, points.encode(x=x, y=_symlog(alt.Y), tooltip=told, **_outcome())).properties(
        width=WIDTH, height=300
    )


def _lines(table: pd.DataFrame, cast: Cast) -> alt.Scale:
    """Return the colours of lines of several learners."""
    colours = line_colours(cast, dict(zip(table["line"], table["learner"], strict=True)))
    lines = list(dict.fromkeys(table["line"]))
    return alt.Scale(domain=lines, range=[colours[line] for line in lines])


def _data(table: pd.DataFrame) -> Any:
    """Return rows as they are, but nothing where a number is missing: JSON has no NaN."""
    rows = table.to_dict("records")
    values = [{str(key): None if pd.isna(value) else value for key, value in row.items()} for row in rows]
    return alt.InlineData(values=values)


def _budgets(table: pd.DataFrame, cast: Cast) -> dict[str, Any]:
    """Return two charts over the share of memory: the loss of reward, and the datasets won and lost."""
    base = alt.Chart(ROWS)
    ticks = alt.Axis(values=sorted(set(100 * table["share"])), format="~g", grid=False)
    x = alt.X("percent:Q", title="memory budget, % of all interactions", axis=ticks)
    x = x.scale(type="log", nice=False, padding=12)
    told = [alt.Tooltip("label:N", title="learner"), alt.Tooltip("budget:Q", format=",")]
    told += [alt.Tooltip("loss:Q", format=".4f"), alt.Tooltip("se:Q", title="SE over datasets", format=".4f")]
    told += [alt.Tooltip(f"{name}:Q") for name in ("wins", "ties", "losses", "datasets")]
    legend = alt.Legend(orient="top", title=None, columns=2, labelLimit=260) if table["line"].nunique() > 1 else None
    colour = alt.Color("line:N", scale=_lines(table, cast), legend=legend)
    loss = alt.Y("loss:Q", title="loss of reward")
    line = base.mark_line(point=True).encode(x=x, y=loss, color=colour, tooltip=told)
    bars = base.mark_rule().encode(x=x, y=alt.Y("low:Q", title="loss of reward"), y2="high:Q", color=colour)
    whole = alt.Axis(tickMinStep=1)
    won = base.mark_line(point=True).encode(
        x=x, y=alt.Y("wins:Q", title="datasets", axis=whole), color=colour, tooltip=told
    )
    lost = base.mark_line(point={"filled": False, "fill": "white"}, strokeDash=[2, 3])
    lost = lost.encode(x=x, y=alt.Y("losses:Q", title="datasets"), color=colour, tooltip=told)
    size = {"width": WIDTH, "height": 200}
    return {"budgets": (line + bars).properties(**size), "budget_wins": (won + lost).properties(**size)}


def _sweep(table: pd.DataFrame, cast: Cast, parameter: str) -> dict[str, Any]:
    """Return two charts over the values: the mean reward, and the difference to the value compared with."""
    order = [str(value) for value in dict.fromkeys(table["value"])]
    shown = table.assign(value=table["value"].map(str), reference=table["reference"].map(str))
    shown["difference"] = shown["difference"].fillna(0)
    bars = shown["difference_se"].fillna(0)
    shown = shown.assign(low=shown["difference"] - bars, high=shown["difference"] + bars).drop(columns="learner")
    base = alt.Chart(_data(shown))
    x = alt.X("value:N", sort=order, title=parameter.replace("_", " "), axis=alt.Axis(labelAngle=0))
    told = [alt.Tooltip("line:N", title="learner"), alt.Tooltip("value:N", title=parameter.replace("_", " "))]
    told += [alt.Tooltip("mean:Q", title="mean reward", format=".4f")]
    told += [alt.Tooltip("difference:Q", format="+.4f"), alt.Tooltip("difference_se:Q", title="its SE", format=".4f")]
    told += [alt.Tooltip("reference:N", title="against")]
    told += [alt.Tooltip(f"{name}:Q") for name in ("wins", "ties", "losses", "datasets")]
    legend = alt.Legend(orient="top", title=None)
    colour = alt.Color("line:N", scale=_lines(table, cast), legend=legend if table["line"].nunique() > 1 else None)
    y = alt.Y("mean:Q", title="mean final reward", scale=alt.Scale(zero=False))
    offset = alt.XOffset("line:N", scale=alt.Scale(type="point", padding=8))  # so that no bar is hidden
    lines = base.mark_line(point=True).encode(x=x, y=y, color=colour, tooltip=told)
    change = alt.Y("difference:Q", title="difference")
    points = base.mark_point(filled=True, size=42, opacity=1)
    points = points.encode(x=x, xOffset=offset, y=change, color=colour, tooltip=told)
    limits = base.mark_rule().encode(
        x=x, xOffset=offset, y=alt.Y("low:Q", title="difference"), y2="high:Q", color=colour
    )
    size = {"width": WIDTH, "height": 200}
    return {
        f"sweep_{parameter}": lines.properties(**size),
        f"sweep_difference_{parameter}": alt.layer(_zero(), limits, points).properties(**size),
    }


def _importances(table: pd.DataFrame) -> Any:
    shown = table.assign(name=table["feature"].map(FEATURES))
    told = ["name:N", alt.Tooltip("mean:Q", format=".3f"), alt.Tooltip("sd:Q", title="sd over trees", format=".3f")]
    told += [alt.Tooltip("chosen:Q", title="chosen by the compact model", format=".0%")]
    y = alt.Y("name:N", sort=shown["name"].tolist(), title=None, axis=alt.Axis(labelLimit=260))
    x = alt.X("mean:Q", title="importance")
    return (
        alt.Chart(_data(shown))
        .mark_bar(color=BLUE)
        .encode(x=x, y=y, tooltip=told)
        .properties(width=WIDTH, height=20 * len(FEATURES))
    )
