"""Details: what each choice in which as run differs from as printed is worth, alone, from both sides."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import BLUE, GREY, VERMILION, legend_outside
from analysis.section import Picture, Section, signed
from analysis.tidy import count_text
from analysis.wins import Rule, compare, outcome_counts, outcome_text
from emt.options import CHOICES, VARIANTS

__all__ = ["details_section", "details_table", "draw_details"]

#: The choices in which the variants differ, in the order of the algorithms, and what each is about.
TOPICS = {choice.name: choice.topic for choice in CHOICES if choice.as_run != choice.as_printed}
ALL = "all eight"
SIDES = {"as run": (BLUE, "o"), "as printed": (VERMILION, "s")}  # the other choices: colour and marker


def details_table(finals: pd.DataFrame, cast: Cast, rule: Rule | None = None) -> pd.DataFrame:
    """Compare each choice as run with the same choice as printed, the others all as run or all as printed.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    cast : Cast
        The learners; which choices each has is taken from its parameters, whatever its name.
    rule : Rule, optional
        When a difference is a win.

    Returns
    -------
    DataFrame
        Columns line (the learner), choice, others (as run or as printed; both where all are changed), worth (mean over
        datasets of the reward that as run has more, paired by seed), se (over datasets), wins, ties, losses and
        undecided of as run, datasets, fewest_seeds and most_seeds.
    """
    rows: list[dict[str, Any]] = []
    for line, found in _lines(cast).items():
        for choice, others, run, printed in _pairs(found):
            table = compare(finals, run, printed, rule)
            if len(table):
                rows.append({"line": line, "choice": choice, "others": others})
                rows[-1] |= {"worth": table["mean"].mean(), "se": table["mean"].sem(), **outcome_counts(table)}
                rows[-1] |= {"datasets": len(table)}
                rows[-1] |= {"fewest_seeds": table["seeds"].min(), "most_seeds": table["seeds"].max()}
    return pd.DataFrame(rows)


def _lines(cast: Cast) -> dict[str, dict[frozenset[str], str]]:
    """Return, by what learners have in common, those of each set of choices that are as printed."""
    lines: dict[str, tuple[str, dict[frozenset[str], str]]] = {}
    for name, member in cast.members.items():
        params = dict(member.params)
        if not params.keys() >= TOPICS.keys():
            continue
        values = {choice: params.pop(choice) for choice in TOPICS}
        params.pop("variant", None)
        as_printed = frozenset(choice for choice, value in values.items() if value == VARIANTS["as_printed"][choice])
        if all(values[choice] == VARIANTS["as_run"][choice] for choice in values.keys() - as_printed):
            label = cast.label(member.base) if not as_printed else name
            line = lines.setdefault(json.dumps(params, sort_keys=True), (label, {}))
            if not as_printed:
                line = lines[json.dumps(params, sort_keys=True)] = (label, line[1])
            line[1].setdefault(as_printed, name)
    return {label: found for label, found in lines.values() if len(found) > 1}


def _pairs(found: dict[frozenset[str], str]) -> list[tuple[str, str, str, str]]:
    """Return the comparisons that can be made: the choice, what the others are, the learner as run, and as printed."""
    none, every = frozenset[str](), frozenset(TOPICS)
    pairs = []
    for choice in TOPICS:
        sides = {"as run": (none, none | {choice}), "as printed": (every - {choice}, every)}
        pairs += [(choice, others, *sets) for others, sets in sides.items()]
    pairs.append((ALL, "both", none, every))
    return [
        (choice, others, found[run], found[printed])
        for choice, others, run, printed in pairs
        if run in found and printed in found
    ]


def draw_details(table: pd.DataFrame) -> Figure:
    """Draw what each choice is worth in mean reward, and on how many datasets as run wins and loses."""
    lines = list(dict.fromkeys(table["line"]))
    choices = [choice for choice in (*TOPICS, ALL) if choice in set(table["choice"])]
    figure = Figure(figsize=(6.6, 0.9 + 2.4 * len(lines)), layout="constrained")
    panels = figure.subplots(len(lines), 2, squeeze=False, sharey=True)
    for (worth, counts), line in zip(panels, lines, strict=True):
        part = table[table["line"] == line]
        _draw_worth(worth, part, choices)
        _draw_counts(counts, part, choices)
        worth.set_yticks(range(len(choices)), [choice.replace("_", " ") for choice in choices])
        worth.set_ylim(len(choices) - 0.5, -0.5)
        worth.locator_params(axis="x", nbins=5)
        worth.set_title(line, loc="left", fontweight="bold")
    panels[-1, 0].set_xlabel("mean reward, as run − as printed\n(bars: 1 SE over datasets)")
    panels[-1, 1].set_xlabel("datasets where as run loses | wins")
    seeds = table["fewest_seeds"].min(), table["most_seeds"].max()
    figure.suptitle(count_text(table["datasets"].max(), *seeds), fontsize=9)
    legend_outside(figure, panels[0, 0].get_legend_handles_labels()[0], 3)
    return figure


def _places(part: pd.DataFrame, choices: list[str], others: str) -> list[float]:
    """Return the heights of rows: two sides of a choice lie beside each other."""
    shift = {"as run": -0.18, "as printed": 0.18}.get(others, 0.0)
    return [choices.index(choice) + shift for choice in part["choice"]]


def _looks(part: pd.DataFrame) -> list[tuple[pd.DataFrame, str, str, str, str]]:
    sides = [(others, *look, f"the others {others}") for others, look in SIDES.items()]
    sides.append(("both", "black", "D", "all eight at once"))
    return [(part[part["others"] == others], others, colour, marker, label) for others, colour, marker, label in sides]


def _draw_worth(axes: Axes, part: pd.DataFrame, choices: list[str]) -> None:
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    for rows, others, colour, marker, label in _looks(part):
        axes.errorbar(
            rows["worth"],
            _places(rows, choices, others),
            xerr=rows["se"].fillna(0),
            fmt=marker,
            color=colour,
            markersize=4,
            elinewidth=1,
            label=label,
        )


def _draw_counts(axes: Axes, part: pd.DataFrame, choices: list[str]) -> None:
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    for rows, others, colour, _, _ in _looks(part):
        places = _places(rows, choices, others)
        axes.barh(places, rows["wins"], 0.3, color=colour)
        axes.barh(places, -rows["losses"], 0.3, color=colour, alpha=0.45)
        for place, wins, losses in zip(places, rows["wins"], rows["losses"], strict=True):
            axes.annotate(f"{wins}", (wins, place), (2, 0), textcoords="offset points", va="center", fontsize=6)
            axes.annotate(
                f"{losses}", (-losses, place), (-2, 0), textcoords="offset points", va="center", ha="right", fontsize=6
            )
    most = max(1, int(part["datasets"].max()))
    axes.set_xlim(-most, most)
    ticks = axes.get_xticks()
    axes.set_xticks(ticks, [f"{abs(tick):.0f}" for tick in ticks])
    axes.set_xlim(-most, most)


def details_section(finals: pd.DataFrame, cast: Cast, rule: Rule) -> Section | None:
    """Return what a study says of the choices; None where it has none alone."""
    table = details_table(finals, cast, rule) if len(finals) else pd.DataFrame()
    if table.empty or set(table["choice"]) <= {ALL}:
        return None
    return Section(
        heading="What each of the choices is worth",
        sentences=[sentence for line in dict.fromkeys(table["line"]) for sentence in _sentences(table, line)],
        files={"details.csv": table},
        tables={
            "What each choice is worth as run against as printed, in mean reward (± SE over datasets, paired by seed), "
            "and on how many datasets as run wins, ties and loses": _shown(table)
        },
        pictures=[Picture("details", "What each choice is worth, alone", partial(draw_details, table))],
        parameters=frozenset(TOPICS),
    )


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in table.to_dict("records"):
        line, choice = str(row["line"]), str(row["choice"])
        shown = rows.setdefault((line, choice), {"learner": line, "choice": choice, "about": TOPICS.get(choice, "")})
        for others in SIDES if row["others"] == "both" else [str(row["others"])]:
            shown[f"worth, the others {others}"] = signed(row["worth"], row["se"])
            shown[f"wins / ties / losses, the others {others}"] = f"{row['wins']} / {row['ties']} / {row['losses']}"
        seeds = count_text(1, row["fewest_seeds"], row["most_seeds"]).partition(", ")[2]
        shown["datasets and seeds"] = f"{row['datasets']}, {seeds}"
    frame = pd.DataFrame(list(rows.values()))
    last = "datasets and seeds"
    return frame[[*(column for column in frame if column != last), last]].fillna("")


def _sentences(table: pd.DataFrame, line: str) -> list[str]:
    """Say what all are worth, which choices it comes from, and which do not matter."""
    part = table[table["line"] == line]
    alone, both = part[part["choice"] != ALL], part[part["choice"] == ALL]
    said = []
    if len(both):
        row = both.iloc[0]
        count = count_text(row["datasets"], row["fewest_seeds"], row["most_seeds"])
        said.append(
            f"{line}: all choices as run are worth {signed(row['worth'], row['se'])} of mean reward over all as "
            f"printed ({outcome_text(row)}; {count})."
        )
    for others, side in alone.groupby("others", sort=False):
        clear = side[side["worth"].abs() > 2 * side["se"]].sort_values("worth", key=abs, ascending=False, kind="stable")
        named = [f"{row['choice']} {signed(row['worth'], row['se'])}" for _, row in clear.iterrows()]
        rest = [choice for choice in side["choice"] if choice not in set(clear["choice"])]
        text = f"{line}, one choice at a time with the others {others}: "
        text += f"beyond two standard errors are {', '.join(named)}" if named else "none is beyond two standard errors"
        text += f"; not {', '.join(rest)}" if rest and named else ""
        said.append(f"{text}; the {len(side)} add up to {signed(side['worth'].sum())}.")
    return said
