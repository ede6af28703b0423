"""From the composed Hydra config to checked, plain objects: once, at the entry, before anything runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from emt.arguments import nearest
from emt.data.load import names as dataset_names
from emt.stories import STORIES
from experiments.checks import (
    ConfigError,
    check_choice,
    check_keys,
    check_name,
    check_path,
    check_seconds,
    check_unique,
    check_whole,
    plain,
)
from experiments.learners import Entry, learners, sweep

__all__ = ["ConfigError", "Engine", "Study", "Suite", "study", "suite", "swept"]

REQUIRED = [
    "name",
    "learners",
    "seeds",
    "horizon",
    "suite",
    "engine",
    "learner",
    "results",
    "shard",
    "retry",
    "missing",
    "timeout",
]
MANY_PROCESSES = 1000
KEYS = [*REQUIRED, "min_rows", "stories"]


@dataclass(frozen=True)
class Suite:
    """Datasets: names of embedded sets, and ids of OpenML tasks."""

    name: str
    datasets: tuple[str | int, ...]


@dataclass(frozen=True)
class Engine:
    """How a study is run; never a part of a run's identity."""

    name: str
    n_jobs: int = -1
    address: str | None = None


@dataclass(frozen=True)
class Study:
    """What is run: every learner on every dataset of the suite with every seed below `seeds`, in every story.

    Attributes
    ----------
    name : str
        The experiment.
    suite : Suite
        The datasets.
    learners : dict of str to Entry
        Each learner's config by its name.
    seeds : int
        Seeds 0 .. seeds - 1.
    horizon : int
        Interactions at most.
    min_rows : int
        Datasets with fewer rows take no part.
    stories : tuple of str
        How the worlds change: see `emt.stories`.
    sweep : dict
        Parameters that were given to all learners (``learner.epsilon=0.05``).
    results : Path
        Where the logs of all studies are.
    engine : Engine
        How it is run.
    shard : tuple of int
        Which part of how many, from 1.
    retry, skip_missing : bool
        Whether to run failed runs again, and to go on without datasets that are not prepared.
    timeout : float, optional
        Seconds that a run may take.
    typed : tuple of str
        The words of the command line that asked for it.
    """

    name: str
    suite: Suite
    learners: dict[str, Entry]
    seeds: int
    horizon: int
    sweep: dict[str, Any]
    results: Path
    engine: Engine
    min_rows: int = 0
    stories: tuple[str, ...] = ("none",)
    shard: tuple[int, int] = (1, 1)
    retry: bool = False
    skip_missing: bool = False
    timeout: float | None = None
    typed: tuple[str, ...] = ()

    @property
    def n_runs(self) -> int:
        """How many runs there are on each dataset."""
        return len(self.learners) * len(self.stories) * self.seeds

    @property
    def folder(self) -> Path:
        """Where the study's manifest, log, tables and figures are."""
        values = ",".join(f"{key}={value}" for key, value in sorted(self.sweep.items()))
        return self.results / self.name / self.suite.name / re.sub(r"[^\w.,=+-]", "_", values)


def study(cfg: DictConfig, *options: str) -> Study:
    """Check a composed config and return what it asks for.

    Parameters
    ----------
    cfg : DictConfig
        Composed from ``conf/config.yaml`` or from a config that extends it.
    *options : str
        Keys of the verb's own beyond those of ``conf/config.yaml``.

    Returns
    -------
    Study

    Raises
    ------
    ConfigError
        On the first thing that is wrong.

    Examples
    --------
    >>> from experiments.cli import compose
    >>> small = study(compose(["seeds=5", "learners=[emt,parametric]", "learner.epsilon=0.05"]))
    >>> small.seeds, list(small.learners), small.folder.as_posix()
    (5, ['emt', 'parametric'], 'results/unbounded/embedded/epsilon=0.05')
    """
    values = plain(cfg)
    check_keys(values, [*KEYS, *options], "", required=REQUIRED)
    given = values["learner"]
    if not isinstance(given, dict):
        raise ConfigError(f"learner={given}: did you mean learners=[{given}]?")
    engine, timeout = _engine(values["engine"]), check_seconds(values["timeout"], "timeout")
    if timeout is not None and engine.name == "serial":
        raise ConfigError(
            f"timeout={timeout:g}: engine=serial plays in this process, which cannot be ended; engine=local"
        )
    return Study(
        name=check_name(values["name"], "name"),
        suite=suite(cfg),
        learners=sweep(learners(values["learners"]), given),
        seeds=check_whole(values["seeds"], "seeds", 1),
        horizon=check_whole(values["horizon"], "horizon", 1),
        min_rows=check_whole(values.get("min_rows", 0), "min_rows", 0),
        stories=_stories(values.get("stories", ["none"])),
        sweep=given,
        results=check_path(values["results"], "results"),
        engine=engine,
        shard=_shard(values["shard"]),
        retry=check_choice(values["retry"], "retry", [None, "errors"]) == "errors",
        skip_missing=check_choice(values["missing"], "missing", ["refuse", "skip"]) == "skip",
        timeout=timeout,
    )


def suite(cfg: DictConfig) -> Suite:
    """Check the suite of a composed config and return it."""
    values = plain(cfg)["suite"]
    check_keys(values, ["name", "datasets"], "suite.", required=["name", "datasets"])
    datasets = values["datasets"]
    if not isinstance(datasets, list) or not datasets:
        raise ConfigError("suite.datasets must be a list of names of sets and ids of OpenML tasks")
    known = dataset_names()
    for dataset in datasets:
        if isinstance(dataset, bool) or not isinstance(dataset, str | int):
            raise ConfigError(f"suite.datasets: {dataset!r} is neither a name nor an OpenML task id")
        if isinstance(dataset, str) and dataset not in known:
            raise ConfigError(
                f"suite.datasets: there is no set {dataset!r}; {nearest(dataset, known)} emt.data.save adds your own"
            )
    check_unique(datasets, "suite.datasets")
    return Suite(name=check_name(values["name"], "suite.name"), datasets=tuple(datasets))


def swept(asked: Study, values: dict[str, Any]) -> Study:
    """Return the study that the same command with these parameters for all learners would be."""
    return replace(asked, sweep=values, learners=sweep(asked.learners, values))


def _stories(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not values:
        raise ConfigError(f"stories={values}: must be a list, e.g. stories=[none,abrupt]")
    stories = tuple(check_choice(value, "stories", list(STORIES)) for value in values)
    check_unique(values, "stories")
    return stories


def _engine(values: dict[str, Any]) -> Engine:
    keys = ["name", "n_jobs", "address"]
    check_keys(values, keys, "engine.", required=keys)
    n_jobs = values["n_jobs"]
    if n_jobs != -1:
        check_whole(n_jobs, "engine.n_jobs", 1, MANY_PROCESSES)
    if not isinstance(values["address"], str | None):
        raise ConfigError(f"engine.address={values['address']}: must be the address of a Dask scheduler, or null")
    return Engine(check_choice(values["name"], "engine.name", ["serial", "local", "dask"]), n_jobs, values["address"])


def _shard(value: Any) -> tuple[int, int]:
    if value is None:
        return 1, 1
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", str(value))
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(f"shard={value}: must be i/n with 1 <= i <= n < 10^9, e.g. shard=1/8 to shard=8/8")
    return int(match[1]), int(match[2])
