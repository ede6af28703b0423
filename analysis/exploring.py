"""Exploration: each learner with other ways to explore, against itself with the paper's epsilon of 0.1."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, legend_outside
from analysis.section import Picture, Section, signed
from analysis.tidy import count_text
from analysis.wins import Rule, compare, outcome_counts, outcome_text

__all__ = ["draw_exploring", "exploring_section", "exploring_table"]

PAPER = "epsilon 0.1"
LOOKS = (("black", "o"), (BLUE, "s"), (VERMILION, "D"), (GREEN, "^"), (PURPLE, "v"), (ORANGE, "P"))


def exploring_table(finals: pd.DataFrame, cast: Cast, rule: Rule | None = None) -> pd.DataFrame:
    """Compare learners that differ in their exploration alone with the one that explores as in the paper.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    cast : Cast
        The learners; how each explores is taken from its parameters.
    rule : Rule, optional
        When a difference is a win.

    Returns
    -------
    DataFrame
        Columns line (the learner, but for its exploration), explores, learner, reward (mean over datasets), difference
        (to the same with epsilon 0.1, paired by seed; se over datasets), wins, ties, losses and undecided against it,
        datasets, fewest_seeds and most_seeds.
    """
    rows: list[dict[str, Any]] = []
    for line, found in _lines(cast).items():
        for explores, name in found.items():
            pair = compare(finals, name, found[PAPER], rule)
            if len(pair):
                rows.append({"line": line, "explores": explores, "learner": name})
                rows[-1] |= {"reward": pair["first_reward"].mean(), "difference": pair["mean"].mean()}
                rows[-1] |= {"se": pair["mean"].sem(), **outcome_counts(pair), "datasets": len(pair)}
                rows[-1] |= {"fewest_seeds": pair["seeds"].min(), "most_seeds": pair["seeds"].max()}
    return pd.DataFrame(rows)


def _lines(cast: Cast) -> dict[str, dict[str, str]]:
    """Return, by what learners have in common, those of each exploration; only where the paper's is among them."""
    lines: dict[str, tuple[str, dict[str, str]]] = {}
    for name in cast.order():
        params = dict(cast.members[name].params)
        if "explore" in params and "epsilon" in params:
            explores = _words(params.pop("explore"), params.pop("epsilon"))
            key = json.dumps(params, sort_keys=True)
            lines.setdefault(key, (cast.label(cast.members[name].base), {}))[1].setdefault(explores, name)
    return {label: found for label, found in lines.values() if PAPER in found and len(found) > 1}


def _words(explore: Any, epsilon: float) -> str:
    kind, numbers = (explore, {}) if isinstance(explore, str) else (explore["kind"], dict(explore))
    numbers.pop("kind", None)
    if kind == "epsilon":
        return f"epsilon {epsilon:g}"
    said = ", ".join(f"{key} {value:g}" for key, value in numbers.items())
    return {"squarecb": "SquareCB", "linucb": "LinUCB's bonus"}.get(kind, str(kind)) + (f" ({said})" if said else "")


def draw_exploring(table: pd.DataFrame) -> Figure:
    """Draw what each learner earns, and what it earns more than with epsilon 0.1, by its exploration."""
    lines, ways = list(dict.fromkeys(table["line"])), list(dict.fromkeys(table["explores"]))
    figure = Figure(figsize=(7.2, 1.5 + 0.42 * len(lines)), layout="constrained")
    earned, gained = figure.subplots(1, 2, sharey=True)
    for place, explores in enumerate(ways):
        part = table[table["explores"] == explores]
        heights = [lines.index(line) + 0.12 * (place - (len(ways) - 1) / 2) for line in part["line"]]
        colour, marker = LOOKS[place % len(LOOKS)]
        earned.plot(part["reward"], heights, marker, color=colour, markersize=4, label=explores)
        if explores != PAPER:
            bars = {"xerr": part["se"].fillna(0), "fmt": marker, "color": colour, "markersize": 4, "elinewidth": 1}
            gained.errorbar(part["difference"], heights, **bars)
    gained.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    earned.set_yticks(range(len(lines)), lines)
    earned.set_ylim(len(lines) - 0.5, -0.5)
    earned.set_xlabel("mean reward")
    gained.set_xlabel(f"mean reward − the same with {PAPER}\n(bars: 1 SE over datasets)")
    figure.suptitle(_count(table), fontsize=9)
    legend_outside(figure, earned.get_legend_handles_labels()[0], 5)
    return figure


def _count(table: pd.DataFrame) -> str:
    return count_text(table["datasets"].max(), table["fewest_seeds"].min(), table["most_seeds"].max())


def exploring_section(finals: pd.DataFrame, cast: Cast, rule: Rule) -> Section | None:
    """Return what a study says of exploration; None where no learner explores in two ways."""
    table = exploring_table(finals, cast, rule) if len(finals) else pd.DataFrame()
    if table.empty:
        return None
    return Section(
        heading="Exploration other than epsilon 0.1",
        sentences=_sentences(table),
        files={"exploring.csv": table},
        tables={
            f"Mean reward, and its difference to the same learner with {PAPER} (± SE over datasets)": _shown(table)
        },
        pictures=[Picture("exploring", "What learners earn by how they explore", partial(draw_exploring, table))],
        parameters=frozenset({"epsilon", "explore"}),
    )


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for row in table.to_dict("records"):
        own = row["explores"] == PAPER
        rows.append({"learner": row["line"], "explores by": row["explores"], "mean reward": f"{row['reward']:.4f}"})
        rows[-1] |= {"difference": "" if own else signed(row["difference"], row["se"])}
        counts = f"{row['wins']} / {row['ties']} / {row['losses']}"
        rows[-1] |= {"wins / ties / losses": "" if own else counts, "datasets": row["datasets"]}
    return pd.DataFrame(rows)


def _sentences(table: pd.DataFrame) -> list[str]:
    best = table.sort_values("reward", ascending=False, kind="stable").iloc[0]
    said = [f"Over {_count(table)}, {best['line']} with {best['explores']} earns most: {best['reward']:.4f}."]
    for line, part in table.groupby("line", sort=False):
        top = part.sort_values("difference", ascending=False, kind="stable").iloc[0]
        if top["explores"] == PAPER:
            said.append(f"{line} earns most as it explores in the paper, with {PAPER}.")
        else:
            said.append(
                f"{line} earns most with {top['explores']}: {signed(top['difference'], top['se'])} against {PAPER} "
                f"({outcome_text(top)})."
            )
    return said
