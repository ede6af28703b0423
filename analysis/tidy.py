"""Tidy tables from the run log: final rewards a run, and thinned curves a dataset and learner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

__all__ = ["count_text", "curve_table", "final_rewards", "full_length", "rounded", "speed_table"]


def _done(log: pd.DataFrame) -> pd.DataFrame:
    """Return one finished run for each id: a failed run that succeeded later counts as done."""
    return log[log["status"] == "done"].drop_duplicates("id", keep="last")


def final_rewards(log: pd.DataFrame) -> pd.DataFrame:
    """Return the final progressive reward of every finished run.

    Parameters
    ----------
    log : DataFrame
        The run log, as `experiments.store.read` returns it.

    Returns
    -------
    DataFrame
        Columns dataset, learner, seed, n_steps, reward, seconds and peak_memory, sorted.

    Examples
    --------
    >>> row = {"id": "emt/iris/seed-00", "status": "done", "dataset": "iris", "learner": "emt", "seed": 0}
    >>> row |= {"n_steps": 10, "rewards": np.packbits([1, 0, 1, 1, 1, 0, 0, 1, 1, 0]).tobytes()}
    >>> row |= {"seconds": 0.1, "peak_memory": 2**28}
    >>> final_rewards(pd.DataFrame([row]))["reward"].item()
    0.6
    """
    done = _done(log)
    counts = [int.from_bytes(packed, "big").bit_count() for packed in done["rewards"]]
    finals = done[["dataset", "learner", "seed", "n_steps", "seconds", "peak_memory"]].assign(
        reward=np.array(counts, dtype=float) / done["n_steps"].to_numpy()
    )
    return finals.sort_values(["dataset", "learner", "seed"], ignore_index=True)


def full_length(finals: pd.DataFrame, horizon: int) -> int:
    """Return how many interactions the curves have, and so which datasets are in them.

    That is the horizon where at least half of the datasets reach it, as in the paper; else the lower median of their
    lengths, so that a suite of short sets has curves too, and no curve changes its datasets on the way.

    Examples
    --------
    >>> full_length(pd.DataFrame({"dataset": ["a", "b", "c"], "n_steps": [150, 178, 4000]}), horizon=4000)
    178
    >>> full_length(pd.DataFrame({"dataset": ["a", "b", "c"], "n_steps": [150, 4000, 4000]}), horizon=4000)
    4000
    """
    lengths = np.sort(finals.groupby("dataset")["n_steps"].max().to_numpy())
    if (lengths >= horizon).sum() * 2 >= len(lengths):
        return horizon
    return int(lengths[(len(lengths) - 1) // 2])


def curve_table(log: pd.DataFrame, length: int, n_points: int = 50) -> pd.DataFrame:
    """Return the progressive reward at evenly spaced steps, averaged over seeds, of every dataset with that many steps.

    Returns
    -------
    DataFrame
        Columns dataset, learner, step, reward (mean over seeds of the mean reward so far) and seeds.
    """
    steps = np.unique(np.linspace(0, length, n_points + 1).astype(int))
    steps = steps[steps > 0]  # of fewer interactions than points, some round down to none
    done, n_bytes = _done(log), (length + 7) // 8
    parts = []
    for (dataset, learner), runs in done[done["n_steps"] >= length].groupby(["dataset", "learner"], sort=True):
        packed = b"".join(bits[:n_bytes] for bits in runs["rewards"])
        bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(runs), n_bytes), axis=1, count=length)
        total = bits.sum(axis=0, dtype=np.int64)
        reward = np.cumsum(total)[steps - 1] / steps / len(runs)
        parts.append(
            pd.DataFrame({"dataset": dataset, "learner": learner, "step": steps, "reward": reward, "seeds": len(runs)})
        )
    return (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["dataset", "learner", "step", "reward", "seeds"])
    )


def speed_table(finals: pd.DataFrame, learners: Sequence[str], n_runs: int) -> pd.DataFrame:
    """Return what each learner's runs took of time and memory, and what all of the study's would.

    Parameters
    ----------
    finals : DataFrame
        As `final_rewards` returns it.
    learners : sequence of str
        In the order of the table.
    n_runs : int
        How many runs the whole study has of each learner.

    Returns
    -------
    DataFrame
        Columns learner, runs, interactions, seconds, slowest, per_second (interactions that a core does), peak_mib (the
        most memory that a process had while it played a run, interpreter and data included; none where no run says),
        core_hours, and whole_core_hours: of n_runs runs that take as long as the datasets' means.
    """
    groups = finals.groupby("learner")
    sums = pd.DataFrame(
        {
            "runs": groups.size(),
            "interactions": groups["n_steps"].sum(),
            "seconds": groups["seconds"].sum(),
            "slowest": groups["seconds"].max(),
        }
    )
    sums["per_second"] = sums["interactions"] / sums["seconds"].clip(lower=1e-9)
    sums["peak_mib"] = groups["peak_memory"].max().replace(0, np.nan) / 2**20
    sums["core_hours"] = sums["seconds"] / 3600
    means = finals.groupby(["learner", "dataset"])["seconds"].mean().groupby("learner").mean()
    sums["whole_core_hours"] = means * n_runs / 3600
    return sums.loc[[name for name in learners if name in sums.index]].reset_index()


def rounded(value: float) -> float:
    """Return a number with as many digits as the CSV files have.

    Examples
    --------
    >>> rounded(0.123456789)
    0.123457
    """
    return float(f"{value:.6g}")


def count_text(datasets: float, fewest: float, most: float) -> str:
    """Say on how many datasets and seeds something stands.

    Examples
    --------
    >>> count_text(2, 1, 50), count_text(1, 50, 50)
    ('2 datasets, 1 to 50 seeds', '1 dataset, 50 seeds')
    """
    seeds = f"{most:.0f}" if fewest == most else f"{fewest:.0f} to {most:.0f}"
    return f"{datasets:.0f} dataset{'' if datasets == 1 else 's'}, {seeds} seed{'' if most == 1 else 's'}"
