"""What EMT costs as it grows, and PEMT+ beside PEMT: ``python -m benchmarks.bench_scaling``.

Figures go to ``results/scaling.csv``: ``figure`` (what was measured), ``value``, and ``wanted``, the most it should be
(for ``times faster``, the least). ``--only growth million`` measures some of them, and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from scipy import stats

from benchmarks.sets import SETS, make
from emt import EigenMemoryTree, Environment, evaluate
from emt.data import Dataset, from_arrays, load
from emt.learners import EMT, PEMT, Learner, PEMTPlus

SCALING = Path(__file__).parents[1] / "results" / "scaling.csv"
MEMORIES = (1_000, 2_000, 32_000, 40_000)
LEARNERS = ("Parametric", "EMT", "PEMT", "CMT", "PCMT")
START = "from emt import EigenMemoryTree as T; t = T(2); t.learn([0.1, 0.7], 1.0); assert t.query([0.1, 0.7]) == 1"
RUN = """
import sys
from emt import Environment, evaluate, learners
from emt.data import load
for name in sys.argv[1:]:
    evaluate(getattr(learners, name)(), Environment(load("iris"), seed=0))
"""

Figures = Iterator[tuple[str, float, float]]  # figure, value, wanted


def seconds(learner: Learner, dataset: Dataset, horizon: int, repeats: int = 5) -> float:
    """Return the processor time of a run, the least of some: what a busy machine adds is not the learner's."""
    environment = Environment(dataset, seed=0, horizon=horizon)
    times = []
    for _ in range(repeats):
        started = time.process_time()
        evaluate(learner, environment)
        times.append(time.process_time() - started)
    return min(times)


def growth() -> Figures:
    """Measure a step at 32,000 to 40,000 memories, times one at 1,000 to 2,000: 10 features and 5 classes."""
    dataset = load("synthetic-rbf-40000")
    for budget in (None, 1_000):
        totals = [seconds(EMT(budget=budget), dataset, horizon) for horizon in MEMORIES]
        costs = np.diff(totals) / np.diff(MEMORIES)
        yield f"a step at 40,000 rows / at 1,000, budget {budget or 'none'}", costs[2] / costs[0], 1.5


def stack() -> Figures:
    """Measure a step of PEMT+, times one of PEMT, on the six sets: as each plays, and with the same actions."""
    for epsilon, which in ((0.1, ""), (1.0, ", the same actions")):
        ratios = {}
        for name in SETS:
            dataset, both = make(name), (PEMTPlus(epsilon=epsilon), PEMT(epsilon=epsilon))
            for learner in both:
                seconds(learner, dataset, 100, 1)  # compiled, if it was not yet
            times = [[seconds(learner, dataset, 4_000) for learner in both] for _ in range(3)]
            ratios[name] = np.divide(*np.min(times, axis=0))
        most = max(ratios, key=lambda name: ratios[name])
        yield f"a step of PEMT+ / of PEMT, mean of six sets{which}", stats.gmean(list(ratios.values())), 1.3
        yield f"a step of PEMT+ / of PEMT, {most}{which}", ratios[most], 1.3


def million() -> Figures:
    """Measure a query and a learn at 1,000,000 memories, times those at 1,000, and what a memory takes."""
    rng = np.random.default_rng(0)

    def keys(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return rng.random((n, 10), np.float32), rng.integers(0, 2, n).astype(float), rng.integers(0, 5, n)

    def grown(n: int) -> EigenMemoryTree:
        tree = EigenMemoryTree(10, n_actions=5, dtype="float32")
        x, y, action = keys(n)
        tree.learn_many(x, y, action=action)
        return tree

    def cost(tree: EigenMemoryTree, n: int) -> float:
        x, y, action = keys(n)
        started = time.process_time()
        tree.query_many(x, action=action)
        tree.learn_many(x, y, action=action)
        return (time.process_time() - started) / n

    cost(grown(1_000), 250)  # compiled, if it was not yet
    small = np.mean([cost(grown(1_000), 250) for _ in range(100)])
    process = psutil.Process()
    before = process.memory_info().rss
    tree = grown(1_000_000)
    n_bytes = process.memory_info().rss - before
    large = min(cost(tree, 5_000) for _ in range(5))
    yield "a query and a learn at 1,000,000 memories / at 1,000", large / small, 2.5
    yield "bytes per memory beyond its key", n_bytes / len(tree) - 10 * 4 - 4, 150


def at_once() -> Figures:
    """Measure how many times faster 10,000 keys are learned and asked for at once than one by one."""
    rng = np.random.default_rng(0)
    x, y = rng.random((10_000, 10)), rng.random(10_000)
    times = []
    for _ in range(2):
        one, many = EigenMemoryTree(10), EigenMemoryTree(10)
        started = time.process_time()
        many.learn_many(x, y)
        many.query_many(x)
        between = time.process_time()
        for key, value in zip(x, y, strict=True):
            one.learn(key, value)
        for key in x:
            one.query(key)
        times.append((time.process_time() - between) / (between - started))
    yield "learn_many and query_many, times faster", max(times), 5


def resident_memory() -> Figures:
    """Measure the MiB that a process gains between 10,000 and 1,000,000 learns with a budget of 1,000."""
    tree, rng, process = EigenMemoryTree(n_features=10, budget=1_000), np.random.default_rng(0), psutil.Process()
    sizes = []
    for n in (10_000, 990_000):
        for _ in range(0, n, 10_000):
            tree.learn_many(rng.random((10_000, 10)), rng.integers(0, 2, 10_000).astype(float))
        sizes.append(process.memory_info().rss / 2**20)
    yield "MiB gained from 10,000 to 1,000,000 learns, budget 1,000", sizes[1] - sizes[0], 1


def nominal() -> Figures:
    """Measure what 100 categorical columns of 20 levels cost beside 100 numeric ones."""
    rng = np.random.default_rng(0)
    labels, codes = rng.integers(5, size=4_000), rng.integers(20, size=(4_000, 100))
    wide = seconds(EMT(), from_arrays(codes, labels, name="nominal", categorical=range(100)), 4_000)
    plain = seconds(EMT(), from_arrays(rng.random((4_000, 100)), labels, name="numeric"), 4_000)
    yield "100 categorical columns of 20 levels / 100 numeric ones", wide / plain, 2


def start_up() -> Figures:
    """Measure the processor seconds of a new process: that imports, that answers, and that compiles first."""
    yield "import emt, s", min(_child("import emt") for _ in range(3)), 0.6
    _child(START)
    yield "a new process answers, compiled before, s", min(_child(START) for _ in range(3)), 2
    yield "a plain tree's first answer, compiling, s", _compiled(START), 25
    for name in LEARNERS:
        yield f"{name}'s first run, compiling, s", _compiled(RUN, name), 40
    yield "all learners' first runs, compiling, s", _compiled(RUN, *LEARNERS), 90


def _compiled(code: str, *arguments: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return _child(code, *arguments, NUMBA_CACHE_DIR=folder)


def _child(code: str, *arguments: str, **variables: str) -> float:
    """Return the processor time of a new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, check=True, env=os.environ | variables, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


PARTS: dict[str, Callable[[], Figures]] = {
    part.__name__: part for part in (growth, stack, million, at_once, nominal, resident_memory, start_up)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    only = parser.parse_args().only
    rows = []
    for part in only:
        for figure, value, wanted in PARTS[part]():
            rows.append({"figure": figure, "value": value, "wanted": wanted})
            least = "times faster" in figure
            missed = "  MISSED" if (value < wanted if least else value > wanted) else ""
            print(
                f"{figure:<60}{value:>9.2f}   wanted: at {'least' if least else 'most'} {wanted:g}{missed}", flush=True
            )
    if only == list(PARTS):
        pd.DataFrame(rows).to_csv(SCALING, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
