"""A study end to end, ours and coba's, each on two processes: ``python -m benchmarks.bench_runner``.

Ours is timed as a user starts it: the command, its start-up, its workers and its log. coba runs a slice of the same
study, long enough to know its rate. What was measured goes to ``results/runner.csv``, from which the README's sentences
are made; a shorter look (``--seconds 10``) writes nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from benchmarks.coba_study import interactions_per_second
from experiments import store

DATASETS = ("digits", "wine", "breast-cancer-diagnostic", "tic-tac-toe")
LEARNERS = ("parametric", "emt", "pemt")
PROCESSES = 2
RUNNER = Path(__file__).parents[1] / "results" / "runner.csv"


def ours(seeds: int, folder: str) -> tuple[float, pd.DataFrame]:
    """Run so many seeds from the command line; return the seconds that it took, and the log."""
    command = [sys.executable, "-m", "experiments.run", f"seeds={seeds}", f"results={folder}", "suite.name=bench"]
    command += [f"suite.datasets=[{','.join(DATASETS)}]", f"learners=[{','.join(LEARNERS)}]"]
    started = time.perf_counter()
    subprocess.run([*command, f"engine.n_jobs={PROCESSES}"], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started, store.read(Path(folder) / "unbounded" / "bench")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300, help="that our study should take at least (default 300)")
    parser.add_argument("--coba-seeds", type=int, default=3, help="seeds of the slice that coba runs (default 3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _, log = ours(20, f"{folder}/try")  # compiles, and tells how many seeds the time is good for
        seconds_a_seed = log.groupby(["dataset", "learner"])["seconds"].median().sum()
        seeds = int(PROCESSES * arguments.seconds / seconds_a_seed) + 1
        wall, log = ours(seeds, folder)
    steps, busy = log["n_steps"].sum(), log["seconds"].sum()
    runs = zip(log["rewards"], log["n_steps"], strict=True)
    reward = sum(store.unpack(*run).sum() for run in runs) / steps
    print(f"{', '.join(DATASETS)}; {', '.join(LEARNERS)}; {PROCESSES} processes", flush=True)
    rate, overhead = steps / wall, 1 - busy / (PROCESSES * wall)
    print(f"  emt : {rate:>10,.0f} interactions/s ({seeds} seeds in {wall:.0f} s, mean reward {reward:.3f})")
    print(f"        {overhead:.1%} of it is not the learners' own loops (wanted: below 10% in 5 minutes)", flush=True)
    coba_rate, coba_reward = interactions_per_second(DATASETS, arguments.coba_seeds, PROCESSES)
    print(f"  coba: {coba_rate:>10,.0f} interactions/s ({arguments.coba_seeds} seeds, mean reward {coba_reward:.3f})")
    print(f"  ratio {rate / coba_rate:.0f}x (wanted: at least 40x)")
    measured = {"datasets": ", ".join(DATASETS), "learners": ", ".join(LEARNERS), "processes": PROCESSES}
    measured |= {"seconds": wall, "rate": rate, "overhead": overhead, "coba": version("coba"), "coba_rate": coba_rate}
    if arguments.seconds == parser.get_default("seconds"):
        pd.DataFrame([measured]).to_csv(RUNNER, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
