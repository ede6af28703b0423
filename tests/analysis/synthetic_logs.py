"""Run logs made so that the answer is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments import store


def row(learner: str, dataset: str, seed: int, rewards: np.ndarray, **changes: object) -> dict[str, object]:
    """One finished run."""
    name = f"{learner}/{dataset}/seed-{seed:02d}"
    known = {
        "id": name,
        "key": name,
        "task": -1,
        "dataset": dataset,
        "learner": learner,
        "seed": seed,
        "status": "done",
    }
    bits = np.packbits(np.asarray(rewards, dtype=np.uint8)).tobytes()
    return known | {"message": "", "n_steps": len(rewards), "rewards": bits, "seconds": 0.25} | changes


def finals(rewards: Mapping[tuple[str, str], Sequence[float | None]]) -> pd.DataFrame:
    """Final rewards of (learner, dataset), one a seed; None is a seed that is missing."""
    rows = [
        {"dataset": dataset, "learner": learner, "seed": seed, "n_steps": 100, "reward": reward, "seconds": 0.1}
        for (learner, dataset), values in rewards.items()
        for seed, reward in enumerate(values)
        if reward is not None
    ]
    return pd.DataFrame(rows)


def study_log(learners: list[str], n_datasets: int, seeds: int, n_steps: int, random_state: int = 0) -> pd.DataFrame:
    """A study of datasets of different difficulty, on which better learners learn faster."""
    rng = np.random.default_rng(random_state)
    rows = []
    steps = np.arange(1, n_steps + 1)
    for number in range(n_datasets):
        level, gain = rng.uniform(0.3, 0.8), rng.normal(0.01, 0.04, len(learners))
        for position, learner in enumerate(learners):
            chance = np.clip(
                (level + gain[position] - 0.01 * position) * (1 - 0.5 * np.exp(-steps / (n_steps / 5))), 0, 1
            )
            rewards = rng.random((seeds, n_steps), dtype=np.float32) < chance
            rows += [row(learner, f"set-{number:03d}", seed, rewards[seed]) for seed in range(seeds)]
    return pd.DataFrame(rows, columns=store.SCHEMA.names)


def write(folder: Path, rows: pd.DataFrame) -> None:
    """Put a log where a study keeps it."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    store.append(folder, rows.to_dict("records"), {"identity": {"learners": {}, "datasets": {}}})
