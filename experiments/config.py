"""From the composed Hydra config to checked, plain objects: once, at the entry, before anything runs."""

from __future__ import annotations

import difflib
import inspect
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from emt.data.load import names as dataset_names
from emt.learners.base import Learner

__all__ = ["CONF", "ConfigError", "Engine", "Study", "Suite", "instantiate", "study", "suite"]

CONF = Path(__file__).parent.parent / "conf"
KEYS = ["name", "learners", "seeds", "horizon", "suite", "engine", "learner", "results", "shard", "retry", "missing"]


class ConfigError(Exception):
    """A config that cannot be run; the message says which key is wrong and what would be right."""


@dataclass(frozen=True)
class Suite:
    """Datasets: names of embedded sets, and ids of OpenML tasks. Sets with fewer than `min_rows` rows take no part."""

    name: str
    datasets: tuple[str | int, ...]
    min_rows: int = 0


@dataclass(frozen=True)
class Engine:
    """How a study is run; never a part of a run's identity."""

    name: str
    n_jobs: int = -1
    address: str | None = None


@dataclass(frozen=True)
class Study:
    """What is run: every learner on every dataset of the suite with every seed below `seeds`.

    Attributes
    ----------
    name : str
        The experiment.
    suite : Suite
        The datasets.
    learners : dict of str to dict
        Each learner's config by its name: ``_target_`` and parameters.
    seeds : int
        Seeds 0 .. seeds - 1.
    horizon : int
        Interactions at most.
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
    """

    name: str
    suite: Suite
    learners: dict[str, dict[str, Any]]
    seeds: int
    horizon: int
    sweep: dict[str, Any]
    results: Path
    engine: Engine
    shard: tuple[int, int] = (1, 1)
    retry: bool = False
    skip_missing: bool = False

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
    _check_keys(values, [*KEYS, *options], "", required=KEYS)
    sweep = values["learner"]
    if not isinstance(sweep, dict):
        raise ConfigError(f"learner={sweep}: did you mean learners=[{sweep}]?")
    return Study(
        name=_name(values["name"], "name"),
        suite=suite(cfg),
        learners=_learners(values["learners"], sweep),
        seeds=_whole(values["seeds"], "seeds", 1),
        horizon=_whole(values["horizon"], "horizon", 1),
        sweep=sweep,
        results=Path(str(values["results"])),
        engine=_engine(values["engine"]),
        shard=_shard(values["shard"]),
        retry=_one_of(values["retry"], "retry", [None, "errors"]) == "errors",
        skip_missing=_one_of(values["missing"], "missing", ["refuse", "skip"]) == "skip",
    )


def suite(cfg: DictConfig) -> Suite:
    """Check the suite of a composed config and return it."""
    values = plain(cfg)["suite"]
    _check_keys(values, ["name", "datasets", "min_rows"], "suite.", required=["name", "datasets"])
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
    _check_unique(datasets, "suite.datasets")
    return Suite(
        name=_name(values["name"], "suite.name"),
        datasets=tuple(datasets),
        min_rows=_whole(values.get("min_rows", 0), "suite.min_rows", 0),
    )


def _learners(entries: Any, sweep: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each learner's config by name, with the swept parameters in those that have them."""
    if not isinstance(entries, list) or not entries:
        raise ConfigError("learners must be a list of names of files in conf/learner, e.g. learners=[emt,pemt]")
    learners = dict(_learner(entry) for entry in entries)
    _check_unique([entry.get("name") if isinstance(entry, dict) else entry for entry in entries], "learners")
    parameters = {name: _parameters(name, config) for name, config in learners.items()}
    for key in sweep:
        everything = {parameter for known in parameters.values() for parameter in known}
        if key not in everything:
            raise ConfigError(f"learner.{key}: no learner of the study has this parameter; {nearest(key, everything)}")
    learners = {
        name: config | {key: value for key, value in sweep.items() if key in parameters[name]}
        for name, config in learners.items()
    }
    identities = {name: repr(instantiate(name, config)) for name, config in learners.items()}
    return _merge_equal(learners, identities) if sweep else learners


def _learner(entry: Any) -> tuple[str, dict[str, Any]]:
    """Return a learner's name and config, from its file or from a mapping in the list itself."""
    if isinstance(entry, dict):
        config = dict(entry)
        return _name(config.pop("name", None), "learners: name"), config
    if entry not in names("learner"):
        raise ConfigError(f"learners: there is no conf/learner/{entry}.yaml; {nearest(str(entry), names('learner'))}")
    return entry, plain(OmegaConf.load(CONF / "learner" / f"{entry}.yaml"))


def _parameters(name: str, config: dict[str, Any]) -> list[str]:
    """Return the parameters that a learner's class takes, all of which its config may hold, and no others."""
    try:
        known = [*inspect.signature(hydra.utils.get_class(config["_target_"])).parameters]
    except Exception as error:
        raise ConfigError(f"learner {name}: _target_ {config.get('_target_')!r} is not a class: {error}") from error
    _check_keys(config, ["_target_", *known], f"learner {name}: ")
    return known


def instantiate(name: str, config: dict[str, Any]) -> Learner:
    """Make a learner from its config; by hand, for Hydra's own way takes longer than a short run."""
    parameters = {key: value for key, value in config.items() if key != "_target_"}
    try:
        learner = hydra.utils.get_class(config["_target_"])(**parameters)
    except Exception as error:
        raise ConfigError(f"learner {name}: {' '.join(str(error).split())}") from error
    if not isinstance(learner, Learner):
        raise ConfigError(f"learner {name}: {config['_target_']} is not a subclass of emt.learners.base.Learner")
    return learner


def _merge_equal(learners: dict[str, dict[str, Any]], identities: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Make one of the learners that a sweep made the same, under the words of their names that they share."""
    merged = {}
    for identity in dict.fromkeys(identities.values()):
        same = [name for name in learners if identities[name] == identity]
        columns = zip(*(name.split("_") for name in same), strict=False)
        shared = "_".join(words[0] for words in itertools.takewhile(lambda words: len(set(words)) == 1, columns))
        merged[shared if shared and shared not in merged else same[0]] = learners[same[0]]
    return merged


def _engine(values: dict[str, Any]) -> Engine:
    keys = ["name", "n_jobs", "address"]
    _check_keys(values, keys, "engine.", required=keys)
    n_jobs = values["n_jobs"]
    if n_jobs != -1:
        _whole(n_jobs, "engine.n_jobs", 1)
    if not isinstance(values["address"], str | None):
        raise ConfigError(f"engine.address={values['address']}: must be the address of a Dask scheduler, or null")
    return Engine(_one_of(values["name"], "engine.name", ["serial", "local", "dask"]), n_jobs, values["address"])


def _shard(value: Any) -> tuple[int, int]:
    if value is None:
        return 1, 1
    match = re.fullmatch(r"(\d+)/(\d+)", str(value))
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(f"shard={value}: must be i/n with 1 <= i <= n, e.g. shard=1/8 to shard=8/8")
    return int(match[1]), int(match[2])


def _whole(value: Any, key: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{key}={value}: must be a whole number of at least {least}")
    return value


def _name(value: Any, key: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w.+-]*\w[\w.+-]*", value):
        raise ConfigError(f"{key}={value}: must be a name of letters, digits and _ . + - (it names files)")
    return value


def _one_of(value: Any, key: str, choices: list[Any]) -> Any:
    if value not in choices:
        raise ConfigError(f"{key}={value}: must be one of {', '.join('null' if c is None else c for c in choices)}")
    return value


def _check_unique(values: list[Any], key: str) -> None:
    if twice := [value for value in dict.fromkeys(values) if values.count(value) > 1]:
        raise ConfigError(f"{key}: {', '.join(map(str, twice))} is listed more than once")


def _check_keys(values: Any, known: list[str], prefix: str, required: Iterable[str] = ()) -> None:
    if not isinstance(values, dict):
        raise ConfigError(f"{prefix.rstrip('.: ')} must be a mapping with the keys {', '.join(known)}")
    for key in values:
        if key not in known:
            raise ConfigError(f"{prefix}there is no key {key!r}; {nearest(key, known)}")
    for key in required:
        if key not in values:
            raise ConfigError(f"{prefix}{key} is missing")


def names(group: str) -> list[str]:
    """Return the choices of a config group."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known names are like this one, or all of them."""
    close = difflib.get_close_matches(str(name), sorted(known), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(sorted(known))}"


def plain(cfg: Any) -> Any:
    """Return a config as dicts and lists, interpolations resolved."""
    return OmegaConf.to_container(cfg, resolve=True)
