"""Sweeps: learners that differ in one parameter, of one study or of several, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.cast import Cast, Member, cast_of
from analysis.look import GREY, MARKERS, legend_outside, line_colours
from analysis.section import signed
from analysis.tidy import count_text, final_rewards
from analysis.wins import Rule, compare, outcome_counts, outcome_text
from experiments import store
from experiments.config import ConfigError, Study, swept
from experiments.plan import recorded_plan

__all__ = ["draw_sweep", "pooled", "sub_studies", "sweep_rows", "sweep_sentence", "sweep_table", "swept_parameters"]


def sub_studies(study: Study) -> list[tuple[Cast, pd.DataFrame]]:
    """Return the learners and final rewards of a study's sweeps: the same command with ``learner.epsilon=0.05``."""
    found = []
    for path in sorted(study.folder.glob("*=*/manifest.json")):
        values = (store.read_manifest(path.parent) or {}).get("sweep", {})
        try:
            sub_study = swept(study, values)
        except ConfigError:
            continue  # a sweep of other learners
        log = recorded_plan(sub_study).of_study(store.read(sub_study.folder))
        log = log[log["story"] == sub_study.stories[0]]
        cast = cast_of(sub_study.learners, log)
        members = {
            name: replace(one, varied={**one.varied, **_given(one, values)}) for name, one in cast.members.items()
        }
        found.append((Cast(members), final_rewards(log)))
    return found


def _given(member: Member, values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key in member.params}


def pooled(studies: Iterable[tuple[Cast, pd.DataFrame]]) -> tuple[Cast, pd.DataFrame]:
    """Put studies together: a learner that several of them have, with the same parameters, is one.

    Examples
    --------
    >>> emt = Cast({"emt": Member("emt", {}, {"class": "EMT", "epsilon": 0.1})})
    >>> runs = pd.DataFrame({"dataset": "iris", "learner": "emt", "seed": [0, 1], "reward": [0.5, 0.7]})
    >>> cast, finals = pooled([(emt, runs), (emt, runs)])
    >>> list(cast.members), len(finals)
    (['0/emt'], 2)
    """
    members: dict[str, Member] = {}
    parts = []
    for number, (cast, finals) in enumerate(studies):
        names = {}
        for name, member in cast.members.items():
            if member.params:
                same = (known for known, other in members.items() if other.params == member.params)
                names[name] = next(same, f"{number}/{name}")
                members.setdefault(names[name], member)
        parts.append(finals[finals["learner"].isin(names)].assign(learner=finals["learner"].map(names)))
    finals = pd.concat(parts, ignore_index=True)
    return Cast(members), finals.drop_duplicates(["dataset", "learner", "seed"], ignore_index=True)


def swept_parameters(cast: Cast) -> list[str]:
    """Return the parameters in which learners differ that are otherwise the same.

    Those whose values are numbers count, and those that a name or a sweep gives values to.

    Examples
    --------
    >>> leaves = {f"leaf{n}": Member("emt", {}, {"class": "EMT", "leaf_capacity": n}) for n in (25, 100)}
    >>> swept_parameters(Cast(leaves))
    ['leaf_capacity']
    """
    parameters = dict.fromkeys(key for member in cast.members.values() for key in member.params if key != "class")
    return [parameter for parameter in parameters if _lines(cast, parameter)]


def _lines(cast: Cast, parameter: str) -> list[list[str]]:
    """Return the families of learners that are worth a line over a parameter, each in the order of its values."""

    def differ(family: list[str]) -> bool:
        values = [cast.value(name, parameter) for name in family]
        numbers = all(value is None or (isinstance(value, float | int) and value is not True) for value in values)
        named = any(parameter in cast.members[name].varied for name in family)
        return len(set(map(str, values))) > 1 and (numbers or named)

    return [
        sorted(family, key=lambda name: _place(cast.value(name, parameter)))
        for family in cast.families(parameter)
        if differ(family)
    ]


def _place(value: Any) -> tuple[bool, float, str]:
    """Return what puts values in order: numbers by size, then words, then none."""
    number = float(value) if isinstance(value, float | int) else np.inf
    return value is None, number, str(value)


def sweep_table(finals: pd.DataFrame, cast: Cast, parameter: str, rule: Rule | None = None) -> pd.DataFrame:
    """Return the mean final reward of each value of a parameter, over the datasets that all values of a line have.

    Each value is compared with one of them, the reference: that of a learner whose name does not give the parameter,
    or else the first. That difference is paired by dataset and seed.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    cast : Cast
        The learners.
    parameter : str
        One of `swept_parameters`.
    rule : Rule, optional
        When a difference is a win.

    Returns
    -------
    DataFrame
        Columns line (the learner, but for the parameter), learner, value, reference (a value), mean, difference (to
        the reference; none for itself) and difference_se (over datasets), wins, ties, losses and undecided against
        it, datasets, fewest_seeds and most_seeds.

    Examples
    --------
    >>> leaves = {f"leaf{n}": Member("emt", {}, {"class": "EMT", "leaf_capacity": n}) for n in (25, 100)}
    >>> runs = pd.DataFrame({"dataset": "iris", "learner": ["leaf25", "leaf100"], "seed": 0, "reward": [0.5, 0.7]})
    >>> sweep_table(runs, Cast(leaves), "leaf_capacity")["mean"].tolist()
    [0.5, 0.7]
    """
    means = finals.groupby(["learner", "dataset"]).agg(reward=("reward", "mean"), seeds=("seed", "size")).reset_index()
    rows: list[dict[str, Any]] = []
    for family in _lines(cast, parameter):
        part = means[means["learner"].isin(family)]
        counts = part.groupby("dataset")["learner"].nunique()
        part = part[part["dataset"].isin(counts.index[counts == part["learner"].nunique()])]
        family = [learner for learner in family if (part["learner"] == learner).any()]
        if not family:
            continue
        reference = next((name for name in family if parameter not in cast.members[name].varied), family[0])
        shared = finals[finals["dataset"].isin(part["dataset"]) & finals["learner"].isin(family)]
        for learner in family:
            one, table = part[part["learner"] == learner], compare(shared, learner, reference, rule)
            if learner == reference:
                table = table.iloc[:0]
            rows.append({"line": cast.label(reference, but=parameter), "learner": learner})
            rows[-1] |= {"value": _said(cast.value(learner, parameter))}
            rows[-1] |= {"reference": _said(cast.value(reference, parameter)), "mean": one["reward"].mean()}
            rows[-1] |= {"difference": table["mean"].mean(), "difference_se": table["mean"].sem()}
            rows[-1] |= {**outcome_counts(table), "datasets": len(one)}
            rows[-1] |= {"fewest_seeds": one["seeds"].min(), "most_seeds": one["seeds"].max()}
    return pd.DataFrame(rows)


def _said(value: Any) -> Any:
    return "none" if value is None else value


def sweep_rows(table: pd.DataFrame, parameter: str) -> list[dict[str, Any]]:
    """Return a table of `sweep_table` as it is read."""
    return [
        {
            "learner": row["line"],
            parameter.replace("_", " "): str(row["value"]),
            "mean reward": f"{row['mean']:.4f}",
            "difference": "" if pd.isna(row["difference"]) else signed(row["difference"]),
            "its SE": "" if pd.isna(row["difference_se"]) else f"{row['difference_se']:.4f}",
            "against": "" if pd.isna(row["difference"]) else str(row["reference"]),
            "wins, ties, losses": "" if pd.isna(row["difference"]) else outcome_text(row),
            "datasets": row["datasets"],
        }
        for row in table.to_dict("records")
    ]


def sweep_sentence(table: pd.DataFrame, parameter: str) -> str:
    """Say which value of a parameter earns most.

    Examples
    --------
    >>> leaves = {f"leaf{n}": Member("emt", {"leaf_capacity": n}, {"leaf_capacity": n}) for n in (9, 99)}
    >>> runs = pd.DataFrame({"dataset": "iris", "learner": ["leaf9", "leaf99"] * 3, "seed": [0, 0, 1, 1, 2, 2],
    ...                      "reward": [0.5, 0.7, 0.6, 0.81, 0.7, 0.9]})
    >>> sweep_sentence(sweep_table(runs, Cast(leaves), "leaf_capacity"), "leaf_capacity")
    'Of leaf capacity, EMT earns most with 99 (+0.2033 against 9: 1 win, 0 ties, 0 losses).'
    """
    said = []
    for line, part in table.groupby("line", sort=False):
        best = part.sort_values("mean", ascending=False, kind="stable").iloc[0]
        text = f"{line} earns most with {best['value']}"
        if pd.notna(best["difference"]):
            gain = signed(best["difference"], best["difference_se"])
            text += f" ({gain} against {best['reference']}: {outcome_text(best.to_dict())})"
        said.append(text)
    return f"Of {parameter.replace('_', ' ')}, {'; '.join(said)}."


def draw_sweep(table: pd.DataFrame, cast: Cast, parameter: str) -> Figure:
    """Draw the mean final reward over the values, a line a learner, and beside it the difference to the reference.

    Values are evenly spaced whatever their size.
    """
    figure = Figure(figsize=(6, 3), layout="constrained")
    means, differences = figure.subplots(1, 2)
    values = sorted(dict.fromkeys(table["value"]), key=lambda value: _place(None if value == "none" else value))
    colours = line_colours(cast, dict(zip(table["line"], table["learner"], strict=True)))
    for position, (line, part) in enumerate(table.groupby("line", sort=False)):
        places = np.array([values.index(value) for value in part["value"]]) + 0.03 * position
        look: dict[str, Any] = {"color": colours[str(line)], "marker": MARKERS[position % len(MARKERS)]}
        look |= {"markersize": 4, "label": str(line)}
        means.plot(places, part["mean"], **look)
        bars = part["difference_se"].fillna(0)
        differences.errorbar(places, part["difference"].fillna(0), bars, capsize=2, **look)
    differences.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    for axes in (means, differences):
        axes.set_xticks(range(len(values)), [str(value) for value in values])
        axes.set_xlabel(parameter.replace("_", " "))
    means.set_ylabel("mean final reward")
    references = table["reference"].map(str).unique()
    own = references[0] if len(references) == 1 else "the reference"
    differences.set_ylabel(f"difference to {own}")
    differences.set_title("bars: 1 SE over datasets")
    means.set_title(count_text(table["datasets"].min(), table["fewest_seeds"].min(), table["most_seeds"].max()))
    legend_outside(figure, means.get_legend_handles_labels()[0], 3)
    return figure
