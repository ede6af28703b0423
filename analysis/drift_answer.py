"""How robust is EMT to non-stationarity? The paper's open question, answered in sentences made from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.cast import Cast
from analysis.section import signed
from analysis.wins import outcome_text

__all__ = ["answer"]

CONCEPT, CONTEXTS = ("abrupt", "recurring"), ("gradual", "sorted")  # what changes in the stories
ALIKE = 0.03  # of mean reward: a smaller difference of what a change costs is none worth telling


def answer(table: pd.DataFrame, cast: Cast, reference: str, count: str) -> list[str]:
    """Answer the question from a table of `analysis.drift.drift_table`, as far as its stories and learners go.

    Parameters
    ----------
    table : DataFrame
        What each learner earns in each story.
    cast : Cast
        The learners.
    reference : str
        The learner that wins are counted against.
    count : str
        On how many datasets and seeds it stands.
    """
    rows = {(row["story"], row["learner"]): row for row in table.to_dict("records")}
    stories = list(dict.fromkeys(table["story"]))
    said = []
    if "none" in stories and ("none", "emt") in rows:
        said += [*_costs(rows, stories, count), *_fall(rows, cast), *_recovery(rows), *_forgetting(rows, stories, cast)]
    return said + _best(table, stories, cast, reference)


def _costs(rows: dict[Any, Any], stories: list[str], count: str) -> list[str]:
    """Say what each story costs EMT, and whether it is more robust than the parametric learner."""
    told = []
    for kind, words in ((CONCEPT, "what is right in a context changes"), (CONTEXTS, "contexts alone drift")):
        there = [story for story in kind if story in stories]
        if not there:
            continue
        costs = [f"{signed(-rows[s, 'emt']['cost'], rows[s, 'emt']['cost_se'], 3)} ({s})" for s in there]
        beside, verdict = "", ""
        if all((story, "parametric") in rows for story in there):
            other = [rows[story, "parametric"]["cost"] for story in there]
            beside = f"; the other's by {' and '.join(signed(-cost, None, 3) for cost in other)}"
            more = np.mean([rows[story, "emt"]["cost"] for story in there]) - np.mean(other)
            verdict = "less robust than" if more > 0 else "more robust than"
            verdict = f"{verdict if abs(more) >= ALIKE else 'about as robust as'} the parametric learner"
        told.append(f"{verdict or 'moved'} where {words} (its mean reward moves by {' and '.join(costs)}{beside})")
    return [f"Over {count}, EMT is {', and '.join(told)}."] if told else []


def _fall(rows: dict[Any, Any], cast: Cast) -> list[str]:
    """Say how far EMT falls after an abrupt change, and who falls further."""
    plain = [name for name in cast.order() if not cast.members[name].varied and ("abrupt", name) in rows]
    if "emt" not in plain:
        return []
    kept = {name: rows["abrupt", name]["after"] / max(rows["abrupt", name]["before"], 1e-9) for name in plain}
    below = [cast.label(name) for name in plain if kept[name] < kept["emt"]]
    rank = f"; only {', '.join(below)} keeps less" if len(below) == 1 else f"; {', '.join(below)} keep less"
    rank = rank if below else f", the least of the {len(plain)} learners without a budget" if len(plain) > 1 else ""
    own = rows["abrupt", "emt"]
    other = f" (parametric: {kept['parametric']:.0%})" if "parametric" in kept else ""
    return [
        f"In the first sixteenth of the stream after an abrupt change EMT earns {own['after']:.3f}, where it was "
        f"{own['before']:.3f} before: it keeps {kept['emt']:.0%}{other}{rank}."
    ]


def _recovery(rows: dict[Any, Any]) -> list[str]:
    """Say how soon EMT is back after an abrupt change."""
    if ("abrupt", "emt") not in rows:
        return []
    names = [name for name in ("emt", "parametric", "pemt") if ("abrupt", name) in rows]
    words = {"emt": "EMT", "parametric": "parametric", "pemt": "PEMT"}
    parts = []
    for name in names:
        row = rows["abrupt", name]
        median = f"a median of {row['steps']:,.0f} steps" if np.isfinite(row["steps"]) else "no median in the stream"
        parts.append(f"{words[name]} on {row['recovered']:.0%} of the datasets ({median})")
    return [f"Before the stream ends, 90% of what was earned before the change is reached by {', '.join(parts)}."]


def _forgetting(rows: dict[Any, Any], stories: list[str], cast: Cast) -> list[str]:
    """Say what a budget does for EMT where the concept changes, and costs where it does not."""
    bounded = [name for name, member in cast.members.items() if member.base == "emt" and "budget" in member.varied]
    changing = [story for story in CONCEPT if story in stories]
    if not bounded or not changing:
        return []

    def gain(name: str, story: str) -> float:
        return float(rows[story, name]["reward"] - rows[story, "emt"]["reward"])

    best = max(bounded, key=lambda name: sum(gain(name, story) for story in changing))
    gains = ", ".join(f"{signed(gain(best, story), None, 3)} ({story})" for story in changing)
    said = f"Forgetting helps most with {cast.label(best)}: {gains} against EMT without a budget"
    if sum(gain(best, story) for story in changing) <= 0:
        said = f"Forgetting does not help: with the best of the budgets, {cast.label(best)}, it is {gains}"
    said += f", and {signed(gain(best, 'none'), None, 3)} where nothing changes"
    compared = []
    for name in bounded:
        given = cast.members[name].varied
        if given.get("eviction") != "fifo":
            continue
        same = [n for n in bounded if cast.members[n].varied == {**given, "eviction": "lru"}]
        if same and "abrupt" in stories:
            difference = rows["abrupt", name]["reward"] - rows["abrupt", same[0]]["reward"]
            compared.append(f"{signed(difference, None, 3)} with {given['budget']:,} memories")
    if compared:
        said += f"; first in first out against least recently used is {' and '.join(compared)} after an abrupt change"
    return [f"{said}."]


def _best(table: pd.DataFrame, stories: list[str], cast: Cast, reference: str) -> list[str]:
    """Say who earns most, a sentence a story."""
    sentences = []
    for story in stories:
        own = table[table["story"] == story].sort_values("reward", ascending=False, kind="stable").iloc[0]
        against = f" ({outcome_text(own)} against {cast.label(reference)})" if own["learner"] != reference else ""
        sentences.append(
            f"Story {story}: {own['reward']:.3f}, the most, is earned by {cast.label(own['learner'])}{against}."
        )
    return sentences
