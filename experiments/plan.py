"""From a study to its runs: which there are, what identifies each, and in which order they are best done."""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from emt.data import DatasetError, load
from emt.seeds import digest
from experiments.config import Study, instantiate
from experiments.store import FORMAT

__all__ = ["Block", "Costs", "Plan", "Run", "Source", "blocks", "plan", "run_key"]

BLOCK_SECONDS = 3.0  # long enough to make a worker's trip worthwhile, short enough to lose little with a worker


class Source(NamedTuple):
    """A dataset that takes part: what the suite calls it, and what decides the runs on it."""

    reference: str | int
    name: str
    n_rows: int
    fingerprint: str


class Run(NamedTuple):
    """One learner on one dataset with one seed."""

    dataset: str
    learner: str
    seed: int

    @property
    def id(self) -> str:
        """A name for readers.

        Examples
        --------
        >>> Run("task-3022", "emt", 7).id
        'emt/task-3022/seed-07'
        """
        return f"{self.learner}/{self.dataset}/seed-{self.seed:02d}"


@dataclass(frozen=True)
class Block:
    """What a worker is sent: names, never data."""

    source: Source
    learner: str
    config: dict[str, Any]
    params: dict[str, Any]
    seeds: tuple[int, ...]
    horizon: int

    def split(self) -> list[Block]:
        """Return a block for each run."""
        return [replace(self, seeds=(seed,)) for seed in self.seeds]


def run_key(fingerprint: str, horizon: int, params: dict[str, Any], seed: int) -> str:
    """Return the hash of everything that decides the rewards of a run."""
    return digest("run", FORMAT, fingerprint, {"horizon": horizon}, params, seed)


@dataclass
class Plan:
    """A study's datasets and runs.

    Attributes
    ----------
    study : Study
        What was asked for.
    sources : dict of str to Source
        The datasets that take part, by name.
    missing : dict of str to str
        Datasets that are not ready, by name, and why.
    params : dict of str to dict
        Each learner's identity.
    """

    study: Study
    sources: dict[str, Source]
    missing: dict[str, str]
    params: dict[str, dict[str, Any]]

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the meaning of the runs, by names: a log whose names mean something else is refused."""
        return {
            "format": FORMAT,
            "horizon": self.study.horizon,
            "learners": self.params,
            "datasets": {name: source.fingerprint for name, source in self.sources.items()},
        }

    def runs(self) -> dict[Run, str]:
        """Return all runs of the study with their keys; a learner with two names has each run, and its key, twice."""
        return {
            Run(source.name, learner, seed): run_key(source.fingerprint, self.study.horizon, params, seed)
            for source in self.sources.values()
            for learner, params in self.params.items()
            for seed in range(self.study.seeds)
        }

    def left(self, log: pd.DataFrame) -> list[Run]:
        """Return the runs that a log does not have."""
        logged = set(zip(log["id"], log["key"], strict=True))
        return [run for run, key in self.runs().items() if (run.id, key) not in logged]

    def of_study(self, log: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a log that are of this study."""
        ours = {(run.id, key) for run, key in self.runs().items()}
        return log[np.array([row in ours for row in zip(log["id"], log["key"], strict=True)], dtype=bool)]

    def n_steps(self, run: Run) -> int:
        """Return how many interactions a run has."""
        return min(self.sources[run.dataset].n_rows, self.study.horizon)

    def n_bytes(self, run: Run) -> int:
        """Return about how many bytes of the log a run takes."""
        return self.n_steps(run) // 8 + 200

    def block(self, dataset: str, learner: str, seeds: tuple[int, ...]) -> Block:
        """Return what a worker needs to play these runs."""
        config, params = self.study.learners[learner], self.params[learner]
        return Block(self.sources[dataset], learner, config, params, seeds, self.study.horizon)

    def in_shard(self, run: Run) -> bool:
        """Say whether a run belongs to this shard, whatever else is run, done or missing."""
        part, n_parts = self.study.shard
        return (zlib.crc32(f"{run.learner}/{run.dataset}".encode()) + run.seed) % n_parts == part - 1


def plan(study: Study) -> Plan:
    """Look up a study's datasets and learners."""
    sources, missing = {}, {}
    for reference in study.suite.datasets:
        try:
            dataset = load(reference)
        except DatasetError as error:
            missing[reference if isinstance(reference, str) else f"task-{reference}"] = str(error)
            continue
        if len(dataset) >= study.suite.min_rows:
            sources[dataset.name] = Source(reference, dataset.name, len(dataset), dataset.fingerprint)
    params = {name: instantiate(name, config).params for name, config in study.learners.items()}
    return Plan(study, sources, missing, params)


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


def blocks(plan: Plan, runs: Iterable[Run], costs: Costs) -> Iterator[Block]:
    """Yield the runs in blocks whose length follows from what their costs are known to be by then.

    The number of seeds doubles from stage to stage, for all datasets and learners alike, so that half a study is a
    study with fewer seeds. Within a stage what takes long comes first, so that the workers end together.
    """
    stages: dict[int, dict[tuple[str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for run in sorted(runs, key=lambda run: run.seed):
        stages[run.seed.bit_length()][run.dataset, run.learner].append(run.seed)

    def seconds(pair: tuple[str, str]) -> float:
        known = costs.seconds(*pair, plan.n_steps(Run(*pair, 0)))
        return math.inf if known is None else known

    for _, pairs in sorted(stages.items()):
        for pair in sorted(pairs, key=seconds, reverse=True):
            seeds = pairs[pair]
            while seeds:
                n = max(1, int(BLOCK_SECONDS / max(seconds(pair), 1e-6)))
                yield plan.block(*pair, tuple(seeds[:n]))
                seeds = seeds[n:]
