"""Run logs made so that the answer is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.cast import Cast, Member
from experiments import store
from experiments.cli import compose
from experiments.config import Study, Suite, study
from experiments.learners import instantiate
from experiments.plan import run_key
from experiments.reproduce import override


def row(learner: str, dataset: str, seed: int, rewards: np.ndarray, **changes: object) -> dict[str, object]:
    """One finished run."""
    name = f"{learner}/{dataset}/seed-{seed:02d}"
    known = {
        "id": name,
        "key": name,
        "task": -1,
        "dataset": dataset,
        "learner": learner,
        "params": "{}",
        "seed": seed,
        "status": "done",
    }
    bits = np.packbits(np.asarray(rewards, dtype=np.uint8)).tobytes()
    measured = {"seconds": 0.25, "peak_memory": 2**28, "ended": float(seed), "cpu": ""}
    known |= {"message": "", "n_steps": len(rewards), "rewards": bits}
    return known | store.ADDED | measured | changes


def cast(**params: Mapping[str, object]) -> Cast:
    """Learners of these names and parameters."""
    return Cast({name: Member(name, {}, given) for name, given in params.items()})


def budgets(*sizes: int, others: Sequence[str] = ("parametric",)) -> Cast:
    """PEMT with these budgets under the names ``pemt[budget=...]``, and others."""
    sized = {f"pemt[budget={n}]": Member("pemt", {"budget": n}, {"class": "PEMT", "budget": n}) for n in sizes}
    return Cast({name: Member(name) for name in others} | sized)


def finals(rewards: Mapping[tuple[str, str], Sequence[float | None]]) -> pd.DataFrame:
    """Final rewards of (learner, dataset), one a seed; None is a seed that is missing."""
    rows = [
        {"dataset": dataset, "learner": learner, "seed": seed, "n_steps": 100, "reward": reward, "seconds": 0.1}
        | {"peak_memory": 2**28}
        for (learner, dataset), values in rewards.items()
        for seed, reward in enumerate(values)
        if reward is not None
    ]
    return pd.DataFrame(rows)


def study_of(
    results: Path,
    learners: Sequence[object],
    n_datasets: int,
    seeds: int,
    horizon: int,
    stories: Sequence[str] = ("none",),
) -> Study:
    """A study of datasets that nobody has."""
    words = [f"learners={override(list(learners))}", f"seeds={seeds}", f"horizon={horizon}", f"results={results}"]
    words += [f"+stories={override(list(stories))}"]
    names = tuple(f"set-{number:03d}" for number in range(n_datasets))
    return replace(study(compose(words)), suite=Suite("synthetic", names), typed=tuple(words))


def runs_of(
    asked: Study, rows: Iterable[dict[str, object]], fingerprints: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Give rows the keys and parameters that the study's own would have."""
    prints = fingerprints or made_up(asked)
    params = {name: instantiate(entry).params for name, entry in asked.learners.items()}
    rows = [
        one
        | {"key": run_key(prints[one["dataset"]], asked.horizon, params[one["learner"]], one["seed"], one["story"])}
        | {"params": json.dumps(params[one["learner"]])}
        for one in rows
    ]
    return pd.DataFrame(rows, columns=store.SCHEMA.names)


def made_up(asked: Study) -> dict[str, str]:
    """Fingerprints of datasets that nobody has."""
    return {str(name): f"the fingerprint of {name}" for name in asked.suite.datasets}


def study_log(asked: Study, random_state: int = 0) -> pd.DataFrame:
    """A whole study of datasets of different difficulty, on which better learners learn faster."""
    rng = np.random.default_rng(random_state)
    rows, n_steps = [], asked.horizon
    steps = np.arange(1, n_steps + 1)
    for dataset in asked.suite.datasets:
        level, gain = rng.uniform(0.3, 0.8), rng.normal(0.01, 0.04, len(asked.learners))
        for position, learner in enumerate(asked.learners):
            chance = np.clip(
                (level + gain[position] - 0.01 * position) * (1 - 0.5 * np.exp(-steps / (n_steps / 5))), 0, 1
            )
            rewards = rng.random((asked.seeds, n_steps), dtype=np.float32) < chance
            rows += [row(learner, str(dataset), seed, rewards[seed]) for seed in range(asked.seeds)]
    return runs_of(asked, rows)


def write(asked: Study, rows: pd.DataFrame, fingerprints: Mapping[str, str] | None = None) -> Path:
    """Put a log where a study keeps it; return the study's folder."""
    prints = fingerprints or made_up(asked)
    params = {name: instantiate(entry).params for name, entry in asked.learners.items()}
    datasets = {
        name: {"fingerprint": prints[name], "rows": int(steps)}
        for name, steps in rows.groupby("dataset")["n_steps"].max().items()
    }
    identity = {"format": store.FORMAT, "horizon": asked.horizon, "learners": params, "datasets": datasets}
    store.write_manifest(asked.folder, {"sweep": asked.sweep, "identity": identity})
    store.append(asked.folder, rows.to_dict("records"), {"identity": identity})
    return asked.folder
