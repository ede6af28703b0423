"""Drift: what learners earn while the world changes, how far they fall after a change, and how soon they are back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.drift_answer import answer
from analysis.look import BLUE, GREEN, GREY, ORANGE, VERMILION, styles_of
from analysis.section import Picture, Section
from analysis.tidy import count_text, final_rewards
from analysis.wins import Rule, compare, outcome_counts
from emt.stories import STORIES, change_steps
from experiments.store import unpack

__all__ = ["Windows", "draw_drift", "draw_forgetting", "drift_section", "drift_table", "windows_of"]

WINDOWS = 16  # of a stream: the figure's points
PARTS = 64  # of a stream: how finely it is seen when a learner is back; four are a window
WINDOW = PARTS // WINDOWS
BACK = 0.9  # of what it was
COLOURS_OF_BUDGETS = (VERMILION, BLUE, GREEN, ORANGE)  # from the smallest


@dataclass(frozen=True)
class Windows:
    """Mean rewards, over seeds, in each 64th of the streams, on the datasets that every learner has in every story.

    Attributes
    ----------
    stories, learners, datasets : tuple of str
        What there is.
    parts : dict of (str, str) to ndarray
        By story and learner, a row a dataset and a column a 64th.
    n_steps : ndarray
        The length of each dataset's stream.
    seeds : tuple of int
        The fewest and the most seeds of a mean.
    """

    stories: tuple[str, ...]
    learners: tuple[str, ...]
    datasets: tuple[str, ...]
    parts: dict[tuple[str, str], np.ndarray]
    n_steps: np.ndarray
    seeds: tuple[int, int]

    @property
    def count(self) -> str:
        """On how many datasets and seeds they stand."""
        return count_text(len(self.datasets), *self.seeds)

    def rewards(self, story: str, learner: str) -> np.ndarray:
        """Return the mean reward over the whole stream of each dataset."""
        sizes = np.diff(_edges(self.n_steps[:, None]), axis=1)
        return np.asarray((self.parts[story, learner] * sizes).sum(axis=1) / self.n_steps)


def _edges(n_steps: Any) -> np.ndarray:
    return np.asarray(np.arange(PARTS + 1) * n_steps // PARTS)


def windows_of(log: pd.DataFrame) -> Windows:
    """Return the windows of a run log, as `experiments.store.read` returns it."""
    done = log[(log["status"] == "done") & (log["n_steps"] >= PARTS)].drop_duplicates("id", keep="last")
    means: dict[tuple[str, str, str], np.ndarray] = {}
    seeds: dict[tuple[str, str, str], int] = {}
    lengths = dict(zip(done["dataset"], done["n_steps"], strict=True))
    for (story, learner, dataset), runs in done.groupby(["story", "learner", "dataset"], sort=False):
        edges, key = _edges(lengths[dataset]), (str(story), str(learner), str(dataset))
        rewards = np.sum([unpack(bits, edges[-1]) for bits in runs["rewards"]], axis=0)
        means[key] = np.add.reduceat(rewards, edges[:-1]) / np.diff(edges) / len(runs)
        seeds[key] = len(runs)
    stories = tuple(story for story in STORIES if story in set(done["story"]))
    learners = tuple(dict.fromkeys(done["learner"]))
    streams = list(product(stories, learners))
    datasets = tuple(one for one in dict.fromkeys(done["dataset"]) if all((*s, one) in means for s in streams))
    counts = [seeds[(*stream, dataset)] for stream in streams for dataset in datasets] or [0]
    return Windows(
        stories=stories,
        learners=learners,
        datasets=datasets,
        parts={s: np.array([means[(*s, dataset)] for dataset in datasets]).reshape(-1, PARTS) for s in streams},
        n_steps=np.array([lengths[dataset] for dataset in datasets], dtype=int),
        seeds=(min(counts), max(counts)),
    )


def drift_table(
    windows: Windows, log: pd.DataFrame, cast: Cast, reference: str, rule: Rule | None = None
) -> pd.DataFrame:
    """Return for each story and learner what it earns, and how it takes a change of what is right in a context.

    Parameters
    ----------
    windows : Windows
        Of the log.
    log : DataFrame
        The run log.
    cast : Cast
        The learners.
    reference : str
        The learner that all are compared with.
    rule : Rule, optional
        When a difference is a win.

    Returns
    -------
    DataFrame
        Columns story, learner, reward (mean over datasets), cost (of the story: the mean reward with none, less this;
        with its standard error over datasets, cost_se), before and after (mean reward in the last sixteenth of the
        stream before a change and in the first after it), steps (until a sixteenth of the stream has 90% of what was
        earned before, the median over datasets; infinite where it is not before the next change or the end), recovered
        (share of the datasets where it is), wins, ties, losses and undecided against the reference, datasets,
        fewest_seeds and most_seeds. Where a story has several changes all of them count.
    """
    rows: list[dict[str, Any]] = []
    for story in windows.stories:
        finals = final_rewards(log[log["story"] == story])
        for learner in cast.order(windows.learners):
            own = windows.rewards(story, learner)
            cost = pd.Series(windows.rewards("none" if "none" in windows.stories else story, learner) - own)
            rows.append({"story": story, "learner": learner, "reward": own.mean()})
            rows[-1] |= {"cost": cost.mean(), "cost_se": cost.sem()}
            rows[-1] |= _changes(story, windows.parts[story, learner], windows.n_steps)
            pair = compare(finals, learner, reference, rule)
            rows[-1] |= {**outcome_counts(pair), "datasets": len(own)}
            rows[-1] |= {"fewest_seeds": windows.seeds[0], "most_seeds": windows.seeds[1]}
    return pd.DataFrame(rows)


def _changes(story: str, parts: np.ndarray, n_steps: np.ndarray) -> dict[str, float]:
    """Return how far learners fall after the changes of a story, and how soon they are back."""
    changes = change_steps(story, PARTS)
    if not changes:
        return {"before": np.nan, "after": np.nan, "steps": np.nan, "recovered": np.nan}
    lasting = np.cumsum(np.column_stack([np.zeros(len(parts)), parts]), axis=1)
    window = (lasting[:, WINDOW:] - lasting[:, :-WINDOW]) / WINDOW  # window k: parts k to k + WINDOW - 1
    before, after, steps = [], [], []
    for change, end in zip(changes, (*changes[1:], PARTS), strict=True):
        before.append(window[:, change - WINDOW])
        after.append(window[:, change])
        back = window[:, change : end - WINDOW + 1] >= BACK * before[-1][:, None]
        first = np.where(back.any(axis=1), back.argmax(axis=1) + WINDOW, np.inf)
        steps.append(first * n_steps / PARTS)
    taken = np.concatenate(steps)
    middle = float(np.sort(taken)[len(taken) // 2])  # a median that may be infinite
    return {
        "before": float(np.mean(before)),
        "after": float(np.mean(after)),
        "steps": middle,
        "recovered": float(np.isfinite(taken).mean()),
    }


def draw_drift(windows: Windows, cast: Cast) -> Figure:
    """Draw the mean reward in sixteenths of the stream, a panel a story, dotted lines where what is right changes."""
    n_columns = min(3, len(windows.stories) + 1)
    n_rows = -(-(len(windows.stories) + 1) // n_columns)  # one panel is for the legend
    figure = Figure(figsize=(7.2, 0.5 + 2.2 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False).ravel()
    styles = styles_of(cast)
    lines = {name: styles[name].line | {"label": cast.label(name)} for name in cast.order()}
    for axes, story in zip(panels, windows.stories, strict=False):
        _panel(axes, windows, story, lines)
        axes.set_title(story)
    for axes in panels[len(windows.stories) :]:
        axes.set_axis_off()
    panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="center", frameon=False)
    for axes in panels[::n_columns]:
        axes.set_ylabel("mean reward")
    _entitle(figure, windows)
    return figure


def draw_forgetting(windows: Windows, cast: Cast, families: list[list[str]]) -> Figure:
    """Draw the same for learners that forget beside the same without: a row a learner, a column a story."""
    stories = [story for story in ("none", "abrupt", "recurring") if story in windows.stories]
    figure = Figure(figsize=(7.4, 0.5 + 2.2 * len(families)), layout="constrained")
    panels = figure.subplots(len(families), len(stories), sharey=True, sharex=True, squeeze=False)
    for place, (row, family) in enumerate(zip(panels, families, strict=True)):
        lines = _forgetting_lines(cast, family)
        for axes, story in zip(row, stories, strict=True):
            _panel(axes, windows, story, lines)
            if not place:
                axes.set_title(story)
        row[0].set_ylabel(f"mean reward of {cast.label(cast.members[family[0]].base)}")
        row[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=7)
    _entitle(figure, windows)
    return figure


def _forgetting_lines(cast: Cast, family: list[str]) -> dict[str, dict[str, Any]]:
    """Return how learners that differ in what they forget are drawn: a colour a budget, dashed if the unused goes."""
    budgets = sorted({cast.value(name, "budget") for name in family} - {None})
    lines: dict[str, dict[str, Any]] = {}
    for name in family:
        member, budget = cast.members[name], cast.value(name, "budget")
        colour = COLOURS_OF_BUDGETS[budgets.index(budget) % len(COLOURS_OF_BUDGETS)] if budget else "black"
        lines[name] = {"color": colour, "linestyle": "--" if member.varied.get("eviction") == "lru" else "-"}
        if member.varied.keys() - {"budget", "eviction"}:
            lines[name] |= {"marker": "o", "markersize": 2.5}
        lines[name]["label"] = cast.label(name).partition(", ")[2] or "never forgets"
    return lines


def _panel(axes: Axes, windows: Windows, story: str, lines: dict[str, dict[str, Any]]) -> None:
    middles = (np.arange(WINDOWS) + 0.5) / WINDOWS
    changes = [change // WINDOW for change in change_steps(story, PARTS)]
    for learner, look in lines.items():
        parts = windows.parts[story, learner]
        means = parts.reshape(len(parts), WINDOWS, WINDOW).mean(axis=(0, 2))
        gaps = [np.nan] * len(changes)  # a line does not go on through a change
        axes.plot(np.insert(middles, changes, gaps), np.insert(means, changes, gaps), linewidth=1.3, **look)
    for change in changes:
        axes.axvline(change / WINDOWS, color=GREY, linestyle=":", linewidth=1)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])


def _entitle(figure: Figure, windows: Windows) -> None:
    figure.supxlabel("share of the stream", fontsize=9)
    figure.suptitle(f"{windows.count}; mean reward in windows of T/{WINDOWS}", fontsize=9)


def drift_section(log: pd.DataFrame, cast: Cast, rule: Rule) -> Section | None:
    """Return what a study says of worlds that change; None where nothing changes, or no dataset is whole."""
    if log["story"].nunique() < 2:
        return None
    windows = windows_of(log)
    if not windows.datasets:
        return None
    present = cast.only(windows.learners)
    reference = "pemt" if "pemt" in present.members else next(iter(present.members))
    table = drift_table(windows, log, present, reference, rule)
    plain = present.only(name for name, member in present.members.items() if not member.varied)
    families = [
        family
        for base in plain.order()
        if len(family := [name for name in present.order() if present.members[name].base == base]) > 1
    ]
    pictures = [
        Picture("drift", "Mean reward while the world changes", partial(draw_drift, windows, plain)),
        Picture(
            "drift_forgetting",
            "Learners that forget, beside the same without",
            partial(draw_forgetting, windows, present, families),
        ),
    ]
    label = present.label(reference)
    return Section(
        heading="How robust are they to non-stationarity?",
        sentences=answer(table, present, reference, windows.count),
        files={"drift.csv": table},
        tables={
            f"Mean reward over the whole stream in each story; in brackets wins and losses against {label}": _stories(
                table, present, reference
            ),
            f"Around a change of what is right in a context (mean reward in the last T/{WINDOWS} steps before it and "
            f"in the first after it; median steps until T/{WINDOWS} steps have {BACK:.0%} of the reward before; on "
            "which share of the datasets that is before the next change or the end)": _around(table, present),
        },
        pictures=pictures[: 2 if families else 1],
        parameters=frozenset({"budget", "eviction", "forgetting"}),
    )


def _stories(table: pd.DataFrame, cast: Cast, reference: str) -> pd.DataFrame:
    rows: dict[str, dict[str, str]] = {}
    for row in table.to_dict("records"):
        learner = str(row["learner"])
        counts = f" ({row['wins']}/{row['losses']})" if learner != reference else ""
        shown = rows.setdefault(learner, {"learner": cast.label(learner)})
        shown[str(row["story"])] = f"{row['reward']:.3f}{counts}"
    return pd.DataFrame(list(rows.values()))


def _around(table: pd.DataFrame, cast: Cast) -> pd.DataFrame:
    rows = []
    for row in table[table["before"].notna()].to_dict("records"):
        rows.append({"story": row["story"], "learner": cast.label(row["learner"])})
        rows[-1] |= {"before": f"{row['before']:.3f}", "after": f"{row['after']:.3f}"}
        rows[-1] |= {"steps": f"{row['steps']:,.0f}" if np.isfinite(row["steps"]) else "not"}
        rows[-1] |= {"back": f"{row['recovered']:.0%}"}
    return pd.DataFrame(rows)
