"""How far a study is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

from experiments.costs import Costs, duration, work_left
from experiments.plan import Plan, Run

__all__ = ["Progress"]

LINE_SECONDS = 30.0


class Progress:
    """Runs done and failed, interactions per second and the time left, which follows from what each learner costs.

    Parameters
    ----------
    plan : Plan
        The study.
    left : iterable of Run
        What is to be done now.
    costs : Costs
        Kept up to date from the rows that come in.
    """

    def __init__(self, plan: Plan, left: Iterable[Run], costs: Costs):
        self._plan, self._costs = plan, costs
        self._left = Counter((run.dataset, run.learner) for run in left)
        self._total = self._left.total()
        self._started = self._said = time.monotonic()
        self._failed = self._steps = 0
        self._busy = 0.0
        self._bar = tqdm(total=self._total, unit="run", bar_format="{percentage:3.0f}%|{bar}|{postfix}", disable=None)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Take note of runs that are done or failed, and show it."""
        rows = list(rows)
        if not self._steps:  # from the first run on: workers that start are no measure
            self._started = time.monotonic() - sum(row["seconds"] for row in rows)
        for row in rows:
            self._left[row["dataset"], row["learner"]] -= 1
            self._steps += row["n_steps"]
            self._busy += row["seconds"]
            if row["status"] == "done":
                self._costs.add(row["dataset"], row["learner"], row["n_steps"], row["seconds"])
            else:
                self._failed += 1
        if self._bar.disable:
            if time.monotonic() - self._said > LINE_SECONDS:
                self._said = time.monotonic()
                print(self, file=sys.stderr, flush=True)
        else:
            self._bar.set_postfix_str(str(self), refresh=False)
            self._bar.update(len(rows))

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._bar.disable:
            print(self, file=sys.stderr, flush=True)
        self._bar.close()

    def __str__(self) -> str:
        elapsed = max(time.monotonic() - self._started, 1e-9)
        left, unknown = work_left(self._plan, self._left, self._costs)
        speed = self._busy / elapsed  # seconds of runs per second: the workers that are really at work
        remaining = duration(left / speed) if speed and not unknown else "?"
        return (
            f"{self._total - self._left.total():,}/{self._total:,} runs, {self._failed} failed, "
            f"{self._steps / elapsed:,.0f} interactions/s, {remaining} left"
        )
