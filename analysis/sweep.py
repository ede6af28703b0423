"""Sweeps: studies that differ in one value, side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.style import label, learner_order, new_figure, style_of
from analysis.tidy import count_text

__all__ = ["draw_sweep", "leaf_capacities", "sub_studies", "sweep_table"]


def leaf_capacities(finals: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the final rewards of the learners ``emt_leaf_<n>``, each capacity as a study of its own.

    Examples
    --------
    >>> list(leaf_capacities(pd.DataFrame({"learner": ["emt_leaf_300", "emt_leaf_25", "emt"]})))
    ['leaf_capacity=25', 'leaf_capacity=300']
    """
    found = {name: re.fullmatch(r"emt_leaf_(\d+)", name) for name in finals["learner"].unique()}
    sizes = sorted((int(match.group(1)), name) for name, match in found.items() if match)
    return {f"leaf_capacity={size}": finals[finals["learner"] == name].assign(learner="emt") for size, name in sizes}


def sub_studies(folder: Path) -> dict[str, dict[str, Path]]:
    """Return the folders of a study's sweeps (``leaf_capacity=25``), by the parameters that were swept.

    Examples
    --------
    >>> sub_studies(Path("no/such/study"))
    {}
    """
    found: dict[str, dict[str, Path]] = {}
    for runs in sorted(folder.glob("*=*/runs")):
        name = runs.parent.name
        found.setdefault(re.sub(r"=[^,]*", "", name), {})[name] = runs.parent
    return found


def sweep_table(studies: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the mean final reward of each value and learner, over the datasets that all values have of that learner.

    Parameters
    ----------
    studies : mapping of str to DataFrame
        The final rewards of each study, under its name (``leaf_capacity=25``).

    Returns
    -------
    DataFrame
        Columns value, learner, mean, se (over datasets), datasets, fewest_seeds and most_seeds; values in the order of
        numbers where they are numbers.

    Examples
    --------
    >>> runs = pd.DataFrame({"dataset": "iris", "learner": "emt", "seed": [0, 1], "reward": [0.5, 0.7]})
    >>> sweep_table({"leaf_capacity=25": runs})["mean"].round(3).tolist()
    [0.6]
    """
    parts = [
        finals.groupby(["learner", "dataset"])
        .agg(reward=("reward", "mean"), seeds=("seed", "size"))
        .reset_index()
        .assign(value=value)
        for value, finals in studies.items()
    ]
    means = pd.concat(parts, ignore_index=True)
    shared = means.groupby(["learner", "dataset"])["value"].transform("nunique") == means.groupby("learner")[
        "value"
    ].transform("nunique")
    table = (
        means[shared]
        .groupby(["value", "learner"], sort=False)
        .agg(
            mean=("reward", "mean"),
            se=("reward", "sem"),
            datasets=("reward", "size"),
            fewest_seeds=("seeds", "min"),
            most_seeds=("seeds", "max"),
        )
    )
    return table.reset_index().sort_values(["learner", "value"], key=_order, ignore_index=True)


def _order(column: pd.Series) -> pd.Series:
    if column.name == "learner":
        return column.map({name: place for place, name in enumerate(learner_order(column))})
    values = column.str.split("=").str[-1]
    numbers = pd.to_numeric(values, errors="coerce")
    return numbers if numbers.notna().all() else values


def draw_sweep(table: pd.DataFrame) -> Figure:
    """Draw the mean final reward over the values, a line a learner; they are evenly spaced whatever their size."""
    figure, axes = new_figure(6, 2.5)
    values = list(dict.fromkeys(table["value"]))
    for position, (learner, line) in enumerate(table.groupby("learner", sort=False)):
        places = np.array([values.index(value) for value in line["value"]]) + 0.03 * position
        axes.errorbar(
            places,
            line["mean"],
            line["se"].fillna(0),
            marker="o",
            capsize=2,
            label=label(str(learner)),
            **style_of(str(learner), position),
        )
    axes.set_xticks(range(len(values)), [re.sub(r"[^,=]*=", "", value) for value in values])
    axes.set_xlabel(re.sub(r"=[^,]*", "", values[0]).replace("_", " "))
    axes.set_ylabel("mean final reward")
    count = count_text(table["datasets"].min(), table["fewest_seeds"].min(), table["most_seeds"].max())
    axes.set_title(f"{count}; bars: 1 SE over datasets")
    axes.legend(frameon=False, fontsize=7)
    return figure
