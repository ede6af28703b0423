"""From a study to its runs: which belong to it, what identifies each, and in which order they are best done.

`Plan.runs` decides which runs belong to a study, for every verb: run and status look the datasets up in the store
(`plan`), a report takes them as the log knows them (`recorded_plan`), and so needs no prepared datasets.
"""

from __future__ import annotations

import json
import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from emt.data import DatasetError, load
from emt.data.load import name_of
from emt.seeds import digest
from experiments import store
from experiments.config import ConfigError, Study
from experiments.costs import Costs
from experiments.learners import Entry, params_of

__all__ = ["Block", "Plan", "Run", "Source", "blocks", "plan", "recorded_plan", "refuse_mismatch", "run_key"]

MANY_RUNS = 5_000_000  # all of which are held in memory
BLOCK_SECONDS = 3.0  # long enough to make a worker's trip worthwhile, short enough to lose little with a worker


class Source(NamedTuple):
    """A dataset that takes part: what the suite calls it, and what decides the runs on it."""

    reference: str | int
    name: str
    n_rows: int
    fingerprint: str


class Run(NamedTuple):
    """One learner on one dataset with one seed, whose world may change as a story has it."""

    dataset: str
    learner: str
    seed: int
    story: str = "none"

    @property
    def id(self) -> str:
        """A name for readers.

        Examples
        --------
        >>> Run("task-3022", "pemt[budget=1000]", 7).id
        'pemt[budget=1000]/task-3022/seed-07'
        >>> Run("task-3022", "emt", 7, "abrupt").id
        'emt/task-3022/abrupt/seed-07'
        """
        return f"{self.stream}/seed-{self.seed:02d}"

    @property
    def stream(self) -> str:
        """The name of what all seeds have in common."""
        return "/".join([self.learner, self.dataset, *([self.story] if self.story != "none" else [])])


@dataclass(frozen=True)
class Block:
    """What a worker is sent: names, never data."""

    source: Source
    learner: Entry
    params: dict[str, Any]
    seeds: tuple[int, ...]
    horizon: int
    timeout: float | None = None
    story: str = "none"

    def split(self) -> list[Block]:
        """Return a block for each run."""
        return [replace(self, seeds=(seed,)) for seed in self.seeds]


def run_key(fingerprint: str, horizon: int, params: dict[str, Any], seed: int, story: str = "none") -> str:
    """Return the hash of everything that decides the rewards of a run."""
    environment = {"horizon": horizon} | ({"story": story} if story != "none" else {})
    return digest("run", store.FORMAT, fingerprint, environment, params, seed)


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
        Datasets that are not ready, by name, and why; those that the log knows take part all the same.
    short : dict of str to Source
        Datasets with too few rows to take part, by name.
    params : dict of str to dict
        Each learner's identity.
    """

    study: Study
    sources: dict[str, Source]
    missing: dict[str, str]
    short: dict[str, Source]
    params: dict[str, dict[str, Any]]

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the meaning of the runs, by names: a log whose names mean something else is refused."""
        known = [*self.sources.values(), *self.short.values()]
        return {
            "format": store.FORMAT,
            "horizon": self.study.horizon,
            "learners": self.params,
            "datasets": {s.name: {"fingerprint": s.fingerprint, "rows": s.n_rows} for s in known},
        }

    def runs(self) -> dict[Run, str]:
        """Return all runs of the study with their keys; a learner with two names has each run, and its key, twice."""
        return {
            Run(source.name, learner, seed, story): run_key(source.fingerprint, self.study.horizon, params, seed, story)
            for source in self.sources.values()
            for learner, params in self.params.items()
            for story in self.study.stories
            for seed in range(self.study.seeds)
        }

    def left(self, log: pd.DataFrame) -> dict[Run, str]:
        """Return the runs that a log does not have, with their keys."""
        logged = set(zip(log["id"], log["key"], strict=True))
        return {run: key for run, key in self.runs().items() if (run.id, key) not in logged}

    def of_study(self, log: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a log that are of this study."""
        ours = {(run.id, key) for run, key in self.runs().items()}
        return log[np.array([row in ours for row in zip(log["id"], log["key"], strict=True)], dtype=bool)]

    def n_steps(self, dataset: str) -> int:
        """Return how many interactions a run on a dataset has."""
        return min(self.sources[dataset].n_rows, self.study.horizon)

    def n_bytes(self, run: Run) -> int:
        """Return about how many bytes of the log a run takes."""
        return self.n_steps(run.dataset) // 8 + 200

    def block(self, dataset: str, learner: str, story: str, seeds: tuple[int, ...]) -> Block:
        """Return what a worker needs to play these runs."""
        study = self.study
        source, entry, params = self.sources[dataset], study.learners[learner], self.params[learner]
        return Block(source, entry, params, seeds, study.horizon, study.timeout, story)

    def in_shard(self, run: Run) -> bool:
        """Say whether a run belongs to this shard, whatever else is run, done or missing."""
        part, n_parts = self.study.shard
        return (zlib.crc32(run.stream.encode()) + run.seed) % n_parts == part - 1

    def row(self, run: Run, key: str) -> dict[str, Any]:
        """Return what the log's row of a run says of it, whatever comes of it."""
        return row_of(self.sources[run.dataset], run, key, self.params[run.learner])


def row_of(source: Source, run: Run, key: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of the log that are known before a run is played."""
    return {
        "id": run.id,
        "key": key,
        "task": source.reference if isinstance(source.reference, int) else -1,
        "dataset": run.dataset,
        "learner": run.learner,
        "params": json.dumps(params, sort_keys=True),
        "seed": run.seed,
        "story": run.story,
    }


def plan(study: Study, *, recorded: bool = False) -> Plan:
    """Look up a study's learners, and its datasets in the store.

    Parameters
    ----------
    study : Study
        What was asked for.
    recorded : bool
        Take datasets that are not in the store as the study's log knows them.
    """
    return _plan(study, _stored, _recorded(study) if recorded else {})


def recorded_plan(study: Study) -> Plan:
    """Look up a study's learners, and its datasets in its log; in the store those that the log does not have."""
    known = _recorded(study)
    return _plan(study, lambda reference: known.get(name_of(reference)) or _stored(reference))


def _plan(
    study: Study, find: Callable[[str | int], Source], known: Mapping[str, Source] = MappingProxyType({})
) -> Plan:
    sources: dict[str, Source] = {}
    missing: dict[str, str] = {}
    short: dict[str, Source] = {}
    for reference in study.suite.datasets:
        name = name_of(reference)
        try:
            source = find(reference)
        except DatasetError as error:
            missing[name] = str(error)
            if name not in known:
                continue
            source = known[name]
        (sources if source.n_rows >= study.min_rows else short)[name] = source
    n_runs = len(sources) * study.n_runs
    if n_runs > MANY_RUNS:
        raise ConfigError(f"seeds={study.seeds} makes {n_runs:,} runs; a study has {MANY_RUNS:,} at most")
    params = {name: params_of(entry) for name, entry in study.learners.items()}
    return Plan(study, sources, missing, short, params)


def _stored(reference: str | int) -> Source:
    dataset = load(reference)
    return Source(reference, dataset.name, len(dataset), dataset.fingerprint)


def _recorded(study: Study) -> dict[str, Source]:
    """Return the datasets of a study as they were when it was run."""
    references = {name_of(reference): reference for reference in study.suite.datasets}
    return {
        name: Source(references[name], name, facts["rows"], facts["fingerprint"])
        for identity in store.identities(study.folder)
        for name, facts in identity["datasets"].items()
        if name in references and identity["format"] == store.FORMAT
    }


def refuse_mismatch(todo: Plan) -> None:
    """Refuse a study whose folder has runs under the same names that mean something else."""
    study = todo.study
    for logged in store.identities(study.folder):
        if differences := _differences(logged, todo.identity):
            raise ConfigError(
                f"{study.folder} has runs of another study: {'; '.join(differences)}. Ask for that one, or give this "
                f"one a name of its own (name={study.name}_2) or another place (results=<folder>), "
                f"or remove {study.folder}"
            )


def _differences(logged: Any, ours: Any, path: str = "") -> list[str]:
    """Name the keys whose values differ; learners and datasets that only one of the two has are no difference."""
    if not (isinstance(logged, dict) and isinstance(ours, dict)):
        return [] if logged == ours else [f"{path} is {logged} there and {ours} here"]
    grows = path in ("learners", "datasets")
    keys = [key for key in logged | ours if not grows or (key in logged and key in ours)]
    here = f"{path}." if path else ""
    return [
        line for key in keys for line in _differences(logged.get(key, "not set"), ours.get(key, "not set"), here + key)
    ]


def blocks(plan: Plan, runs: Iterable[Run], costs: Costs) -> Iterator[Block]:
    """Yield the runs in blocks whose length follows from what their costs are known to be by then.

    The number of seeds doubles from stage to stage, for all datasets and learners alike, so that half a study is a
    study with fewer seeds. Within a stage what takes long comes first, so that the workers end together.
    """
    stages: dict[int, dict[tuple[str, str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for run in sorted(runs, key=lambda run: run.seed):
        stages[run.seed.bit_length()][run.dataset, run.learner, run.story].append(run.seed)

    def seconds(stream: tuple[str, str, str]) -> float:
        dataset, learner, _ = stream
        known = costs.seconds(dataset, learner, plan.n_steps(dataset))
        return math.inf if known is None else known

    for _, streams in sorted(stages.items()):
        for stream in sorted(streams, key=seconds, reverse=True):
            seeds = streams[stream]
            while seeds:
                n = max(1, int(BLOCK_SECONDS / max(seconds(stream), 1e-6)))
                yield plan.block(*stream, tuple(seeds[:n]))
                seeds = seeds[n:]
