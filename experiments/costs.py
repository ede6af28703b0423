"""What runs cost: known from those that are done, and from it the time that others will take."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from experiments.plan import Plan

__all__ = ["Costs", "duration", "known_costs", "total_cost", "wall_clock", "work_left"]


class Costs:
    """Seconds of a run, from the interactions that were measured."""

    def __init__(self) -> None:
        self._measured: dict[tuple[str | None, str], tuple[int, float]] = {}  # interactions and seconds

    def add(self, dataset: str, learner: str, n_steps: int, seconds: float) -> None:
        """Take note of a run."""
        for key in ((dataset, learner), (None, learner)):
            steps, total = self._measured.get(key, (0, 0.0))
            self._measured[key] = steps + n_steps, total + seconds

    def seconds(self, dataset: str, learner: str, n_steps: int) -> float | None:
        """Return what a run is likely to take; None as long as nothing of its learner was measured.

        Examples
        --------
        >>> costs = Costs()
        >>> costs.add("digits", "emt", n_steps=1000, seconds=2.0)
        >>> costs.seconds("digits", "emt", 500), costs.seconds("wine", "emt", 100), costs.seconds("wine", "cmt", 100)
        (1.0, 0.2, None)
        """
        steps, total = self._measured.get((dataset, learner)) or self._measured.get((None, learner)) or (0, 0.0)
        return total / steps * n_steps if steps else None


def known_costs(log: pd.DataFrame) -> Costs:
    """Return what the runs in a log have cost."""
    costs = Costs()
    done = log[log["status"] == "done"]
    columns = (done[name].tolist() for name in ("dataset", "learner", "n_steps", "seconds"))
    for dataset, learner, n_steps, seconds in zip(*columns, strict=True):
        costs.add(dataset, learner, n_steps, seconds)
    return costs


def work_left(plan: Plan, left: Counter[tuple[str, str]], costs: Costs) -> tuple[float, int]:
    """Return how long the runs left are likely to take one after the other, and how many nothing is known of.

    Parameters
    ----------
    plan : Plan
        The study.
    left : Counter
        How many runs there are left of each dataset and learner.
    costs : Costs
        What is known.
    """
    total, unknown = 0.0, 0
    for (dataset, learner), n_runs in left.items():
        seconds = costs.seconds(dataset, learner, plan.n_steps(dataset))
        if seconds is None:
            unknown += n_runs
        else:
            total += n_runs * seconds
    return total, unknown


def total_cost(log: pd.DataFrame) -> dict[str, Any]:
    """Return what the runs in a log have cost together, on which kinds of CPU.

    Returns
    -------
    dict
        Keys runs, failed, interactions, core_hours (of the learners' own loops), wall_clock_hours, peak_memory (bytes,
        of the process of one run) and cpus.
    """
    done = log[log["status"] == "done"]
    return {
        "runs": len(done),
        "failed": len(log) - len(done),
        "interactions": int(done["n_steps"].sum()),
        "core_hours": round(float(log["seconds"].sum()) / 3600, 4),
        "wall_clock_hours": round(wall_clock(log) / 3600, 4),
        "peak_memory": int(log["peak_memory"].max()) if len(log) else 0,
        "cpus": sorted(log["cpu"].unique()),
    }


def wall_clock(log: pd.DataFrame) -> float:
    """Return for how many seconds at least one of the runs in a log was being played, whenever and wherever.

    Examples
    --------
    >>> wall_clock(pd.DataFrame({"ended": [10.0, 11.0, 20.0], "seconds": [2.0, 2.0, 1.0]}))
    4.0
    """
    ended = log["ended"].to_numpy(float)
    started = ended - log["seconds"].to_numpy(float)
    order = np.argsort(started)
    started, ended = started[order], ended[order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(ended)[:-1]])[: len(ended)]
    return float(np.maximum(ended - np.maximum(started, before), 0).sum())


def duration(seconds: float) -> str:
    """Return a length of time for readers.

    Examples
    --------
    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
