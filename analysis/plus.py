"""PEMT+: what it earns beyond PEMT, what each of its parts is worth, where it does worst and why, and what it costs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import BLUE, GREY, VERMILION
from analysis.section import Picture, Section, signed
from analysis.tidy import count_text
from analysis.wins import Rule, compare, outcome_counts, outcome_text

__all__ = ["draw_parts", "parts_table", "plus_section", "plus_sentences", "worst_table"]

#: The parts that can be switched off: the value of the parameter that does it, and what is missing then.
PARTS = {
    "neighbours": (0, "without the neighbours' mean"),
    "confidence": (False, "without confidence"),
    "ridge": (False, "without the ridge"),
    "guard": (False, "without the guard"),
}
WORST = 8  # datasets that are shown


def _cast_of_parts(cast: Cast) -> tuple[str, str, dict[str, str]] | None:
    """Return PEMT+ with all parts, PEMT with the same memory, and those without one part, by the part."""
    for full, member in cast.members.items():
        params = dict(member.params)
        if params.get("class") != "PEMTPlus" or any(params[part] == off for part, (off, _) in PARTS.items()):
            continue
        rest = {key: value for key, value in params.items() if key not in (*PARTS, "forgetting", "class")}
        pemt = [one for one, other in cast.members.items() if dict(other.params) == {"class": "PEMT", **rest}]
        without = {
            part: one
            for part, (off, _) in PARTS.items()
            for one, other in cast.members.items()
            if dict(other.params) == {**params, part: off}
        }
        if pemt and without:
            return full, pemt[0], without
    return None


def parts_table(finals: pd.DataFrame, cast: Cast, rule: Rule | None = None) -> pd.DataFrame:
    """Compare PEMT+, and what it is without each of its parts, with PEMT; and the whole with what lacks a part.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    cast : Cast
        The learners; which of them lacks what is taken from their parameters.
    rule : Rule, optional
        When a difference is a win.

    Returns
    -------
    DataFrame
        Columns learner, part (that is missing; empty for others), reward (mean over datasets), difference (to PEMT,
        paired by seed; with se over datasets), wins, ties, losses and undecided against PEMT, worst (the least
        difference on a dataset) and worst_on, worth and worth_se (what PEMT+ has more), whole_wins and whole_losses
        (of PEMT+ against it), cost (of a step as a multiple of PEMT's, geometric mean over datasets), datasets,
        fewest_seeds and most_seeds.
    """
    found = _cast_of_parts(cast)
    if found is None:
        return pd.DataFrame()
    full, pemt, without = found
    parts = {name: part for part, name in without.items()}
    # The median over seeds: a process may have had to compile in the first of its runs on a kind of dataset.
    steps = finals.assign(cost=finals["seconds"] / finals["n_steps"])
    costs = steps.groupby(["learner", "dataset"])["cost"].median().unstack("learner")
    others = [name for name in cast.order() if name not in (full, pemt, *parts)]
    rows: list[dict[str, Any]] = []
    for name in [full, *parts, *others]:
        pair, whole = compare(finals, name, pemt, rule), compare(finals, full, name, rule)
        if pair.empty:
            continue
        worst, ratio = pair.iloc[int(pair["mean"].argmin())], (costs[name] / costs[pemt]).dropna()
        rows.append({"learner": name, "part": parts.get(name, ""), "reward": pair["first_reward"].mean()})
        rows[-1] |= {"difference": pair["mean"].mean(), "se": pair["mean"].sem(), **outcome_counts(pair)}
        rows[-1] |= {"worst": worst["mean"], "worst_on": worst["dataset"]}
        if name != full and len(whole):
            counts = outcome_counts(whole)
            rows[-1] |= {"worth": whole["mean"].mean(), "worth_se": whole["mean"].sem()}
            rows[-1] |= {"whole_wins": counts["wins"], "whole_losses": counts["losses"]}
        rows[-1] |= {"cost": float(np.exp(np.log(ratio).mean())), "datasets": len(pair)}
        rows[-1] |= {"fewest_seeds": pair["seeds"].min(), "most_seeds": pair["seeds"].max()}
    return pd.DataFrame(rows)


def worst_table(finals: pd.DataFrame, cast: Cast, rule: Rule | None = None) -> pd.DataFrame:
    """Return the datasets by what PEMT+ earns beyond PEMT, the worst first, and what it would without each part.

    Returns
    -------
    DataFrame
        Columns dataset, pemt and plus (mean rewards), difference, outcome, a column for each part (what PEMT+ earns
        more without it), and culprit: the part without which it would lose least, where it loses.
    """
    found = _cast_of_parts(cast)
    if found is None:
        return pd.DataFrame()
    full, pemt, without = found
    table = compare(finals, full, pemt, rule).set_index("dataset")
    named = {"second_reward": "pemt", "first_reward": "plus", "mean": "difference"}
    table = table.rename(columns=named)[[*named.values(), "outcome"]]
    for part, name in without.items():
        table[part] = compare(finals, name, full, rule).set_index("dataset")["mean"]
    parts = list(without)
    gains = table[parts].max(axis=1)
    blamed = (table["difference"] < 0) & (gains > 0)
    table["culprit"] = np.where(blamed, table[parts].fillna(-np.inf).idxmax(axis=1), "")
    return table.sort_values("difference", kind="stable").reset_index()


def draw_parts(table: pd.DataFrame, cast: Cast) -> Figure:
    """Draw what each learner earns beyond PEMT, and on how many datasets it wins and loses against it."""
    figure = Figure(figsize=(7.2, 1.3 + 0.3 * len(table)), layout="constrained")
    earned, counts = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    places = np.arange(len(table))
    colours = [BLUE if place == 0 else GREY if part == "" else VERMILION for place, part in enumerate(table["part"])]
    earned.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    for place, colour, row in zip(places, colours, table.to_dict("records"), strict=True):
        se = 0.0 if pd.isna(row["se"]) else row["se"]
        earned.errorbar(row["difference"], place, xerr=se, fmt="o", color=colour, markersize=4, elinewidth=1)
        counts.barh(place, row["wins"], 0.6, color=colour)
        counts.barh(place, -row["losses"], 0.6, color=colour, alpha=0.45)
        look: Any = {"textcoords": "offset points", "va": "center", "fontsize": 7}
        counts.annotate(f"{row['wins']}", (row["wins"], place), (2, 0), **look)
        counts.annotate(f"{row['losses']}", (-row["losses"], place), (-2, 0), ha="right", **look)
    earned.set_yticks(places, [_label(row, cast) for row in table.to_dict("records")])
    earned.set_ylim(len(table) - 0.4, -0.6)
    earned.set_xlabel("mean reward − PEMT's\n(bars: 1 SE over datasets)")
    counts.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    most = 1.15 * max(1, int(table[["wins", "losses"]].to_numpy().max()))
    counts.set_xlim(-most, most)
    counts.set_xticks([])
    counts.set_xlabel("datasets lost | won\nagainst PEMT")
    counts.tick_params(left=False)
    counts.spines["left"].set_visible(False)
    figure.suptitle(_count(table), fontsize=9)
    return figure


def _label(row: dict[Any, Any], cast: Cast) -> str:
    return PARTS[row["part"]][1] if row["part"] else cast.label(str(row["learner"]))


def _count(table: pd.DataFrame) -> str:
    return count_text(table["datasets"].max(), table["fewest_seeds"].min(), table["most_seeds"].max())


def plus_section(finals: pd.DataFrame, cast: Cast, rule: Rule) -> Section | None:
    """Return what a study says of PEMT+ and its parts; None where no part is switched off in it, or PEMT is missing."""
    table = parts_table(finals, cast, rule) if len(finals) else pd.DataFrame()
    if table.empty or not table["part"].any():
        return None
    worst = worst_table(finals, cast, rule)
    return Section(
        heading="What the parts of PEMT+ are worth",
        sentences=plus_sentences(table, worst),
        files={"parts.csv": table, "worst.csv": worst},
        tables={
            "Against PEMT: mean reward (± SE over datasets, paired by seed), on how many datasets it is won, tied and "
            "lost, the worst dataset and the cost of a step, as timed in these runs; and what PEMT+ has more than it "
            "is without a part": _shown(table, cast),
            "The datasets on which PEMT+ does worst against PEMT, and what it earns more there without each part": (
                _shown_worst(worst.head(WORST))
            ),
        },
        pictures=[Picture("parts", "PEMT+ without each of its parts, against PEMT", partial(draw_parts, table, cast))],
        parameters=frozenset(PARTS),
    )


def _shown(table: pd.DataFrame, cast: Cast) -> pd.DataFrame:
    rows = []
    for row in table.to_dict("records"):
        rows.append({"learner": _label(row, cast), "mean reward": f"{row['reward']:.4f}"})
        rows[-1] |= {"− PEMT's": signed(row["difference"], row["se"])}
        rows[-1] |= {"wins / ties / losses": f"{row['wins']} / {row['ties']} / {row['losses']}"}
        rows[-1] |= {"worst dataset": f"{signed(row['worst'], None, 3)} ({row['worst_on']})"}
        rows[-1] |= {"cost": f"{row['cost']:.2f}x"}
        known = pd.notna(row["worth"])
        rows[-1] |= {"PEMT+ has more": signed(row["worth"], row["worth_se"]) if known else ""}
        rows[-1] |= {"PEMT+ wins / loses": f"{row['whole_wins']:.0f} / {row['whole_losses']:.0f}" if known else ""}
    return pd.DataFrame(rows)


def _shown_worst(worst: pd.DataFrame) -> pd.DataFrame:
    shown = worst[["dataset", "outcome"]].copy()
    shown["PEMT"], shown["PEMT+"] = (worst[name].map("{:.3f}".format) for name in ("pemt", "plus"))
    shown["difference"] = worst["difference"].map(partial(signed, digits=3))
    for part in PARTS:
        if part in worst:
            shown[PARTS[part][1]] = [signed(gain, None, 3) if pd.notna(gain) else "" for gain in worst[part]]
    return shown


def plus_sentences(table: pd.DataFrame, worst: pd.DataFrame) -> list[str]:
    """Say what PEMT+ earns beyond PEMT, which of its parts are missed, and where it loses, and why."""
    whole = table.iloc[0]
    said = [
        f"Over {_count(table)}, PEMT+ earns {signed(whole['difference'], whole['se'])} of mean reward beyond PEMT "
        f"({outcome_text(whole)}) at {whole['cost']:.2f} times its cost."
    ]
    parts = table[table["part"] != ""]
    clear = parts[parts["worth"].abs() > 2 * parts["worth_se"]].sort_values("worth", ascending=False, kind="stable")
    named = [f"the {row['part']} {signed(row['worth'], row['worth_se'])}" for _, row in clear.iterrows()]
    rest = [str(part) for part in parts["part"] if part not in set(clear["part"])]
    text = f"Beyond two standard errors are, each taken away alone, {', '.join(named)}" if named else ""
    if rest:
        text += (
            f"; not {', '.join(rest)}"
            if named
            else f"No part taken away alone is missed beyond two standard errors: {', '.join(rest)}"
        )
    said.append(f"{text}.")
    lost = worst[worst["outcome"] == "loss"]
    if lost.empty:
        least = worst.iloc[0]
        said.append(
            f"It loses to PEMT nowhere; the least is {signed(least['difference'], None, 3)} on {least['dataset']}."
        )
    else:
        told = [_reason(row) for row in lost.head(WORST).to_dict("records")]
        said.append(f"It loses to PEMT on {'; '.join(told)}.")
    return said


def _reason(row: dict[Any, Any]) -> str:
    text = f"{row['dataset']} ({signed(row['difference'], None, 3)}"
    if row["culprit"]:
        text += f"; {PARTS[row['culprit']][1]} it would earn {signed(row[row['culprit']], None, 3)} more"
    return f"{text})"
