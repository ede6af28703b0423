"""The compiled learners against Vowpal Wabbit's own, in one process: ``python -m benchmarks.bench_learners``.

A learner's time is the processor time of a whole run: every action asked about, one explored, one learned, from an
empty memory to the end of the set. VW is called through its Python API, with examples built the fastest way it has;
"inside VW" is the part of it that is spent in VW's own C++. All take turns, and the best time of each counts: what a
busy machine adds is nobody's. One learner, one round: ``--learners EMT --rounds 1``.

A table of all learners goes to ``results/speed.csv``, from which the README's is made:

| column | what it is |
| --- | --- |
| ``learner``, ``set`` | what was measured, on which of the six sets |
| ``emt``, ``vw``, ``inside_vw`` | microseconds per interaction: ours, VW's through Python, and of that inside its C++ |
| ``ratio_python``, ``ratio_cpp`` | how many times as long as ours VW takes through Python, and inside its C++ |
| ``emt_reward``, ``vw_reward`` | mean rewards, over the seeds that each side has played |
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pylibvw

from benchmarks.sets import SETS, make
from emt import Environment, evaluate
from emt.learners import (
    CMT,
    EMT,
    PCMT,
    PEMT,
    VWCMT,
    VWEMT,
    VWPCMT,
    VWPEMT,
    Learner,
    Parametric,
    VWParametric,
)

ROOT = Path(__file__).parents[1]
SPEED = ROOT / "results" / "speed.csv"


#: name: ours, VW's, the least geometric mean of ratios, the least ratio on any set
PAIRS: dict[str, tuple[Callable[[], Learner], Callable[[], Learner], int, int]] = {
    "Parametric": (Parametric, VWParametric, 90, 40),
    "EMT": (EMT, VWEMT, 100, 40),
    "EMT, not self-consistent": (
        lambda: EMT(scorer="interaction", leaf_capacity=50),
        lambda: VWEMT(scorer="interaction", leaf_capacity=50),
        *(60, 0),
    ),
    "PEMT": (PEMT, VWPEMT, 115, 40),
    "CMT": (CMT, VWCMT, 80, 35),
    "PCMT": (PCMT, VWPCMT, 80, 35),
}


def measure(learner: Learner, environment: Environment) -> tuple[float, float]:
    """Return microseconds per interaction, and the mean reward."""
    started = time.process_time()
    rewards = evaluate(learner, environment)
    return (time.process_time() - started) / len(environment) * 1e6, float(rewards.mean())


@contextmanager
def inside_vw() -> Iterator[list[float]]:
    """Count the seconds that are spent in VW's own C++."""
    spent, calls = [0.0], ("predict", "learn", "predict_multi", "learn_multi")
    own = {name: getattr(pylibvw.vw, name) for name in calls}

    def timed(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            started = time.process_time()
            result = function(*arguments)
            spent[0] += time.process_time() - started
            return result

        return call

    for name in calls:
        setattr(pylibvw.vw, name, timed(own[name]))
    try:
        yield spent
    finally:
        for name in calls:
            setattr(pylibvw.vw, name, own[name])


def compare(name: str, set_name: str, rounds: int) -> dict[str, Any]:
    """Let all take turns, ours five times a round, for so many rounds and at least two seconds; return the best."""
    (ours, theirs, _, _), dataset = PAIRS[name], make(set_name)
    runs: dict[str, list[tuple[float, float]]] = {"emt": [], "vw": []}
    inside, seed = [], 0
    while seed < rounds or sum(time for time, _ in runs["vw"]) * len(dataset) < 2e6:
        for part in range(5):
            runs["emt"].append(measure(ours(), Environment(dataset, seed=5 * seed + part)))
        environment = Environment(dataset, seed=seed)
        runs["vw"].append(measure(theirs(), environment))
        with inside_vw() as spent:
            evaluate(theirs(), environment)
        inside.append(spent[0] / len(environment) * 1e6)
        seed += 1
    row: dict[str, Any] = {"learner": name, "set": set_name}
    row |= {side: min(time for time, _ in pairs) for side, pairs in runs.items()} | {"inside_vw": min(inside)}
    row |= {"ratio_python": row["vw"] / row["emt"], "ratio_cpp": row["inside_vw"] / row["emt"]}
    return row | {f"{side}_reward": statistics.mean(reward for _, reward in pairs) for side, pairs in runs.items()}


def show(rows: list[dict[str, Any]]) -> None:
    """Print one learner's rows and the geometric means."""
    name = rows[0]["learner"]
    _, _, mean, least = PAIRS[name]
    print(f"\n{name}: microseconds per interaction, one thread; rewards are means over seeds")
    print(f"{'':<26}{'emt':>8}{'VW':>9}{'ratio':>8}{'inside VW':>11}{'ratio':>8}   reward    VW")
    for row in rows:
        print(
            f"{row['set']:<26}{row['emt']:>8.2f}{row['vw']:>9.1f}{row['ratio_python']:>7.0f}x{row['inside_vw']:>11.1f}"
            f"{row['ratio_cpp']:>7.0f}x{row['emt_reward']:>9.3f}{row['vw_reward']:>6.3f}"
            f"{'  MISSED' if row['ratio_python'] < least else ''}"
        )
    found = statistics.geometric_mean(row["ratio_python"] for row in rows)
    missed = "" if found >= mean else "  MISSED"
    inside = statistics.geometric_mean(row["ratio_cpp"] for row in rows)
    print(f"{'geometric mean':<26}{found:>24.0f}x{inside:>18.0f}x   (wanted: {mean}x, {least}x on each){missed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1, help="of each pair on each set (default 1)")
    parser.add_argument("--learners", nargs="+", choices=PAIRS, default=list(PAIRS))
    arguments = parser.parse_args()
    tiny = Environment(make("10 features, 2 classes"), seed=0, horizon=200)
    for name in arguments.learners:
        evaluate(PAIRS[name][0](), tiny)  # compiled, if it was not yet, before the clock starts
    rows = []
    for name in arguments.learners:
        rows.append([compare(name, set_name, arguments.rounds) for set_name in SETS])
        show(rows[-1])
    if set(arguments.learners) == set(PAIRS):
        pd.DataFrame([row for part in rows for row in part]).to_csv(SPEED, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
