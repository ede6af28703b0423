"""Search: what the tree costs in reward against exact search of the same memory, and what it saves in time."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.cast import Cast
from analysis.look import BLUE, GREY, VERMILION, legend_outside, styles_of
from analysis.section import Picture, Section, signed
from analysis.tidy import count_text
from analysis.wins import Rule, compare, outcome_counts, outcome_text

__all__ = ["draw_search", "miss_table", "search_section", "search_sentences", "search_table"]

AUDITED = "AuditedEMT"  # the learner that counts misses, and is slow: its time is no measure
USUAL = 100  # the paper's leaf capacity


def miss_table(log: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of routing misses, and of answers that differ for it, of each audited learner on each dataset.

    Parameters
    ----------
    log : DataFrame
        The run log, as `experiments.store.read` returns it.

    Returns
    -------
    DataFrame
        Columns learner, dataset, misses and different, means over seeds.

    Examples
    --------
    >>> row = {"status": "done", "learner": "emt", "dataset": "iris", "story": "none"}
    >>> counted = '{"queries": 10, "misses": 4, "different": 1}'
    >>> miss_table(pd.DataFrame([row | {"measures": counted}]))[["misses", "different"]].values.tolist()
    [[0.4, 0.1]]
    """
    rows = []
    for row in log[log["status"] == "done"].itertuples():
        counted = json.loads(str(row.measures))
        if counted.get("queries"):
            rows.append({"learner": row.learner, "dataset": row.dataset})
            rows[-1] |= {name: counted.get(name, 0) / counted["queries"] for name in ("misses", "different")}
    if not rows:
        return pd.DataFrame(columns=["learner", "dataset", "misses", "different"])
    return pd.DataFrame(rows).groupby(["learner", "dataset"], sort=False).mean().reset_index()


def search_table(
    finals: pd.DataFrame, misses: pd.DataFrame, cast: Cast, horizon: int, rule: Rule | None = None
) -> pd.DataFrame:
    """Compare learners with EMT in reward, time and routing misses.

    Parameters
    ----------
    finals : DataFrame
        Final rewards, as `analysis.tidy.final_rewards` returns them.
    misses : DataFrame
        As `miss_table` returns it.
    cast : Cast
        The learners; which of them is an audit of which is taken from their parameters.
    horizon : int
        Number of interactions: a leaf that holds so many memories is never split.
    rule : Rule, optional
        When a difference is a win.

    Returns
    -------
    DataFrame
        Columns learner, line (leaves for the EMT that differ in their leaves alone, exact among them), capacity, reward
        (mean over datasets), difference (to the EMT with the usual leaf, paired by seed; with its standard error over
        datasets, se), wins, ties, losses and undecided against it, microseconds (of a step, median over seeds), cost
        (of a step as a multiple of that of the usual EMT, geometric mean over datasets), misses, different, datasets,
        fewest_seeds and most_seeds. Audited learners have no row of their own.
    """
    leaves = _leaves(cast)
    if not leaves:
        return pd.DataFrame()
    usual = min(leaves, key=lambda name: abs(cast.value(name, "leaf_capacity") - USUAL))
    per_step = finals.assign(cost=1e6 * finals["seconds"] / finals["n_steps"])
    # The median over seeds: a process may have had to compile in the first of its runs on a kind of dataset.
    costs = per_step.groupby(["learner", "dataset"])["cost"].median().unstack("learner")
    counted = misses.groupby("learner")[["misses", "different"]].mean()
    rows: list[dict[str, Any]] = []
    for name in [*leaves, *(one for one in cast.order() if one not in leaves and _class(cast, one) != AUDITED)]:
        pair, capacity = compare(finals, name, usual, rule), cast.value(name, "leaf_capacity")
        if pair.empty:
            continue
        exact = name in leaves and capacity >= horizon
        rows.append({"learner": name, "line": "leaves" if name in leaves else "", "exact": exact})
        rows[-1] |= {"capacity": capacity, "reward": pair["first_reward"].mean()}
        rows[-1] |= {"difference": pair["mean"].mean(), "se": pair["mean"].sem(), **outcome_counts(pair)}
        ratio = (costs[name] / costs[usual]).dropna()
        rows[-1] |= {"microseconds": costs[name].mean(), "cost": float(np.exp(np.log(ratio).mean()))}
        audit = _audit_of(cast, name) if name in leaves else ""
        for what in ("misses", "different"):
            rows[-1][what] = counted[what].get(audit, 0.0 if exact else np.nan)
        rows[-1] |= {"datasets": len(pair), "fewest_seeds": pair["seeds"].min(), "most_seeds": pair["seeds"].max()}
    return pd.DataFrame(rows)


def _class(cast: Cast, name: str) -> Any:
    return cast.members[name].params.get("class")


def _leaves(cast: Cast) -> list[str]:
    """Return the EMT that differ in their leaves alone, if there is such a family, from the smallest."""
    families = [family for family in cast.families("leaf_capacity") if _class(cast, family[0]) == "EMT"]
    largest = max(families, key=len, default=[])
    return sorted(largest, key=lambda name: cast.value(name, "leaf_capacity")) if len(largest) > 1 else []


def _audit_of(cast: Cast, name: str) -> str:
    """Return the audited learner that has the rewards of a learner, or nothing."""
    wanted = {**cast.members[name].params, "class": AUDITED}
    return next((one for one, member in cast.members.items() if member.params == wanted), "")


def draw_search(table: pd.DataFrame, cast: Cast) -> Figure:
    """Draw reward over the cost of a step, and routing misses over the capacity of leaves."""
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    pareto, missed = figure.subplots(1, 2, width_ratios=(3, 2))
    leaves, others = table[table["line"] == "leaves"], table[table["line"] == ""]
    bars = {"capsize": 2, "elinewidth": 0.8, "markersize": 4}
    pareto.errorbar(leaves["cost"], leaves["difference"], leaves["se"].fillna(0), fmt="o-", color=BLUE, **bars)
    for row in leaves.to_dict("records"):
        text = "exact" if row["exact"] else f"{row['capacity']:,.0f}"
        below = row["difference"] - (0.0 if pd.isna(row["se"]) else row["se"])  # where no bar is
        look: Any = {"textcoords": "offset points", "fontsize": 7, "color": BLUE, "va": "top"}
        if row["exact"]:  # above its bar, clear of the name before it
            pareto.annotate(
                text, (row["cost"], 2 * row["difference"] - below), (0, 2), **look | {"va": "bottom", "ha": "center"}
            )
        else:
            pareto.annotate(text, (row["cost"], below), (3, 0), **look)
    styles = styles_of(cast.only(others["learner"]))
    for row in others.to_dict("records"):
        style, se = styles[row["learner"]], 0.0 if pd.isna(row["se"]) else row["se"]
        drawn = {"color": style.colour, "marker": style.marker, "linestyle": "none"}
        pareto.errorbar(row["cost"], row["difference"], se, label=cast.label(row["learner"]), **drawn, **bars)
    pareto.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    pareto.set_xscale("log")
    ticks = [
        tick for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if _within(tick, table["cost"])
    ]
    pareto.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    pareto.minorticks_off()
    pareto.margins(x=0.1)
    pareto.set_xlabel("cost of a step, as a multiple of EMT's (log scale)")
    pareto.set_ylabel("mean reward − EMT's")
    pareto.set_title("EMT by leaf capacity (line), bars: 1 SE over datasets")
    known = leaves[leaves["misses"].notna()]
    places = range(len(known))
    missed.plot(places, 100 * known["misses"], "o-", color=BLUE, markersize=4, label="the best is in another leaf")
    missed.plot(places, 100 * known["different"], "s--", color=VERMILION, markersize=4, label="and its reward differs")
    names = ["all" if exact else f"{n:,.0f}" for exact, n in zip(known["exact"], known["capacity"], strict=True)]
    missed.set_xticks(places, names, fontsize=7)
    missed.set_ylim(bottom=0)
    missed.set_xlabel("leaf capacity (all: exact search)")
    missed.set_ylabel("% of queries")
    missed.set_title("Routing misses")
    missed.legend(frameon=False, fontsize=7)
    if handles := pareto.get_legend_handles_labels()[0]:
        legend_outside(figure, handles, 6)
    figure.suptitle(_count(table), fontsize=9)
    return figure


def _within(tick: float, costs: pd.Series) -> bool:
    return bool(costs.min() / 1.6 <= tick <= costs.max() * 1.6)


def _count(table: pd.DataFrame) -> str:
    return count_text(table["datasets"].max(), table["fewest_seeds"].min(), table["most_seeds"].max())


def search_section(log: pd.DataFrame, finals: pd.DataFrame, cast: Cast, horizon: int, rule: Rule) -> Section | None:
    """Return what a study says of the tree as a search; None where it has no exact search and no audit."""
    table = search_table(finals, miss_table(log), cast, horizon, rule) if len(finals) else pd.DataFrame()
    if table.empty or not (table["exact"].any() or table["misses"].notna().any()):
        return None
    return Section(
        heading="Is the tree worth it?",
        sentences=search_sentences(table, cast),
        files={"search.csv": table},
        tables={
            "Reward, routing misses (how often another leaf holds a memory that is less unlike, by the scorer of the "
            "moment, and how often its reward differs from the answer) and the cost of a step, as timed in these runs; "
            f"against {cast.label(_usual(table))}": _shown(table, cast)
        },
        pictures=[
            Picture("search", "Reward over the cost of a step, and routing misses", partial(draw_search, table, cast))
        ],
        parameters=frozenset({"leaf_capacity"}),
    )


def _usual(table: pd.DataFrame) -> str:
    leaves = table[table["line"] == "leaves"]
    return str(leaves.iloc[(leaves["capacity"] - USUAL).abs().argmin()]["learner"])


def _shown(table: pd.DataFrame, cast: Cast) -> pd.DataFrame:
    rows = []
    for row in table.to_dict("records"):
        label = cast.label(row["learner"])
        rows.append({"learner": f"{label} (one leaf: exact)" if row["exact"] else label})
        rows[-1] |= {"mean reward": f"{row['reward']:.4f}", "difference": signed(row["difference"], row["se"])}
        rows[-1] |= {"wins / ties / losses": f"{row['wins']} / {row['ties']} / {row['losses']}"}
        for what, words in (("misses", "misses"), ("different", "and another reward")):
            rows[-1][words] = "" if pd.isna(row[what]) else f"{row[what]:.1%}"
        rows[-1] |= {"cost": f"{row['cost']:.2f}x", "µs a step": f"{row['microseconds']:.1f}"}
    return pd.DataFrame(rows)


def search_sentences(table: pd.DataFrame, cast: Cast) -> list[str]:
    """Say how often the tree misses, what exact search and larger leaves are worth, and who is on the Pareto front."""
    usual = table[table["learner"] == _usual(table)].iloc[0]
    leaves = table[table["line"] == "leaves"]
    said = []
    if pd.notna(usual["misses"]):
        said.append(
            f"Over {_count(table)}, the leaf of a query of EMT (leaves of {usual['capacity']:,.0f}) does not hold the "
            f"memory that is least unlike in {usual['misses']:.1%} of the queries, and in {usual['different']:.1%} "
            "that memory has another reward than the answer."
        )
    for row in leaves[leaves["exact"]].to_dict("records"):
        said.append(
            f"Exact search of the same memory is worth {signed(row['difference'], row['se'])} of mean reward "
            f"({outcome_text(row)}) at {row['cost']:.1f} times the cost."
        )
    best = leaves[~leaves["exact"]].sort_values("difference", ascending=False, kind="stable")
    if len(best):
        tree = best.iloc[0]
        said.append(
            f"Of the trees, leaves of {tree['capacity']:,.0f} earn most: {signed(tree['difference'], tree['se'])} at "
            f"{tree['cost']:.1f} times the cost."
        )
    ahead = [cast.label(str(row["learner"])) for _, row in table.iterrows() if not _dominated(table, row)]
    said.append(f"Nothing here is both cheaper and better than any of {'; '.join(ahead)}: the Pareto front.")
    return said


def _dominated(table: pd.DataFrame, row: pd.Series) -> bool:
    better = (table["cost"] <= row["cost"]) & (table["reward"] >= row["reward"])
    strictly = (table["cost"] < row["cost"]) | (table["reward"] > row["reward"])
    return bool((better & strictly).any())
