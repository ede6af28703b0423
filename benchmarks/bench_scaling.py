"""How the cost of EMT grows, and what does not grow: ``python -m benchmarks.bench_scaling``."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import psutil

from emt import EigenMemoryTree, Environment, evaluate
from emt.data import Dataset, from_arrays, load
from emt.learners import EMT

MEMORIES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 40_000)
START = "from emt import EigenMemoryTree as T; t = T(2); t.learn([0.1, 0.7], 1.0); assert t.query([0.1, 0.7]) == 1"


def seconds(learner: EMT, dataset: Dataset, horizon: int, repeats: int = 5) -> float:
    """Return the processor time of a run, the least of some: what a busy machine adds is not the learner's."""
    environment = Environment(dataset, seed=0, horizon=horizon)
    times = []
    for _ in range(repeats):
        started = time.process_time()
        evaluate(learner, environment)
        times.append(time.process_time() - started)
    return min(times)


def growth() -> None:
    """Print the cost of an interaction at so many memories: the time between two lengths of a stream."""
    dataset = load("synthetic-rbf-40000")
    print("microseconds per interaction while a stream of 10 features and 5 classes goes from so many rows to so many")
    for budget in (None, 1_000):
        totals = [seconds(EMT(budget=budget), dataset, horizon) for horizon in MEMORIES]
        costs = np.diff(totals) / np.diff(MEMORIES) * 1e6
        steps = "  ".join(
            f"{start // 1000}-{end // 1000}k: {cost:.2f}"
            for start, end, cost in zip(MEMORIES[:-1], MEMORIES[1:], costs, strict=True)
        )
        print(f"  budget {budget or 'none':<5} {steps}   last / first: {costs[-1] / costs[0]:.2f} (wanted: below 1.5)")


def resident_memory() -> None:
    """Print what the process holds after 10,000 to 1,000,000 learns with a budget of 1,000."""
    tree, rng, process = EigenMemoryTree(n_features=10, budget=1_000), np.random.default_rng(0), psutil.Process()
    sizes = {}
    for n in range(1, 1_000_001):
        tree.learn(rng.random(10), float(n % 2))
        if n in (10_000, 100_000, 1_000_000):
            sizes[n] = process.memory_info().rss / 2**20
    print(f"\n{tree!r}\n  resident MiB after so many learns: {', '.join(f'{n:,}: {s:.1f}' for n, s in sizes.items())}")


def nominal() -> None:
    """Print what 100 categorical columns of 20 levels cost beside 100 numeric ones."""
    rng = np.random.default_rng(0)
    labels, codes = rng.integers(5, size=4_000), rng.integers(20, size=(4_000, 100))
    wide = seconds(EMT(), from_arrays(codes, labels, name="nominal", categorical=range(100)), 4_000)
    plain = seconds(EMT(), from_arrays(rng.random((4_000, 100)), labels, name="numeric"), 4_000)
    print(
        f"\n100 categorical columns of 20 levels: {wide / 4_000 * 1e6:.1f} microseconds per interaction, "
        f"100 numeric ones: {plain / 4_000 * 1e6:.1f}; ratio {wide / plain:.2f} (wanted: at most 2)"
    )


def start_up() -> None:
    """Print how long a new process takes from nothing to its first answer, with the compiled kernels on disk."""
    times = []
    for _ in range(4):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", START], check=True)
        times.append(time.perf_counter() - started)
    print(f"\na new process learns and answers after {min(times[1:]):.2f} s (wanted: below 2)")


if __name__ == "__main__":
    growth()
    nominal()
    start_up()
    resident_memory()
