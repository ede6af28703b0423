"""The compiled learners against Vowpal Wabbit's own, in one process: ``python -m benchmarks.bench_emt``.

A learner's time is the processor time of a whole run: every action queried, one explored, one learned, from an empty
memory to the end of the set. VW is called through its Python API, with examples built the fastest way it has. The two
take turns, and the best time of each counts: what a busy machine adds is neither's.
"""

from __future__ import annotations

import argparse
import statistics
import time

from benchmarks.sets import SETS, make
from emt import Environment, evaluate
from emt.data import Dataset
from emt.learners import EMT, PEMT, VWEMT, VWPEMT, Learner, Parametric, VWParametric

PAIRS = {"EMT": (EMT, VWEMT), "Parametric": (Parametric, VWParametric), "PEMT": (PEMT, VWPEMT)}


def measure(learner: Learner, environment: Environment) -> tuple[float, float]:
    """Return microseconds per interaction, and the mean reward."""
    started = time.process_time()
    rewards = evaluate(learner, environment)
    return (time.process_time() - started) / len(environment) * 1e6, float(rewards.mean())


def compare(ours: type[Learner], theirs: type[Learner], dataset: Dataset, rounds: int) -> dict[str, float]:
    """Let both take turns, ours five times a round, for so many rounds and at least two seconds; return the best."""
    runs: dict[str, list[tuple[float, float]]] = {"ours": [], "vw": []}
    seed = 0
    while seed < rounds or sum(time for time, _ in runs["vw"]) * len(dataset) < 2e6:
        for part in range(5):
            runs["ours"].append(measure(ours(), Environment(dataset, seed=5 * seed + part)))
        runs["vw"].append(measure(theirs(), Environment(dataset, seed=seed)))
        seed += 1
    row = {f"{name} us": min(time for time, _ in pairs) for name, pairs in runs.items()}
    row |= {f"{name} reward": statistics.mean(reward for _, reward in pairs) for name, pairs in runs.items()}
    return row | {"ratio": row["vw us"] / row["ours us"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="of each pair on each set (default 3)")
    parser.add_argument("--learners", nargs="+", choices=PAIRS, default=list(PAIRS))
    arguments = parser.parse_args()
    tiny = Environment(make("10 features, 2 classes"), seed=0, horizon=200)
    for ours, _ in PAIRS.values():
        evaluate(ours(), tiny)  # compiled, if it was not yet, before the clock starts
    for name in arguments.learners:
        print(f"\n{name}: microseconds per interaction, one thread; rewards of {arguments.rounds} seeds or more")
        goal = "wanted" if name == "EMT" else ""
        print(f"{'':<26}{'emt':>8}{'VW':>9}{'ratio':>8}{goal:>8}   reward    VW")
        for set_name, least in SETS.items():
            row = compare(*PAIRS[name], make(set_name), arguments.rounds)
            wanted = f"{least}x" if goal else ""
            missed = "  MISSED" if goal and row["ratio"] < least else ""
            print(
                f"{set_name:<26}{row['ours us']:>8.2f}{row['vw us']:>9.1f}{row['ratio']:>7.0f}x{wanted:>8}"
                f"{row['ours reward']:>9.3f}{row['vw reward']:>6.3f}{missed}",
                flush=True,
            )


if __name__ == "__main__":
    main()
