"""The compiled learners against Vowpal Wabbit's own, in one process: ``python -m benchmarks.bench_emt``.

A learner's time is the processor time of a whole run: every action queried, one explored, one learned, from an empty
memory to the end of the set. VW is called through its Python API, with examples built the fastest way it has. The two
take turns, and the median of each counts, so that a busy machine slows both alike.
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
    """Return the medians of both over so many rounds; ours, which is short, is measured five times a round."""
    times: dict[str, list[float]] = {"us": [], "vw_us": []}
    rewards: dict[str, list[float]] = {"reward": [], "vw_reward": []}
    for seed in range(rounds):
        for part in range(6):
            name = "vw_" if part == 2 else ""
            environment = Environment(dataset, seed=seed if name else 5 * seed + part)
            microseconds, reward = measure((theirs if name else ours)(), environment)
            times[f"{name}us"].append(microseconds)
            rewards[f"{name}reward"].append(reward)
    row = {key: statistics.median(values) for key, values in times.items()}
    row |= {key: statistics.mean(values) for key, values in rewards.items()}
    return row | {"ratio": row["vw_us"] / row["us"]}


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
                f"{set_name:<26}{row['us']:>8.2f}{row['vw_us']:>9.1f}{row['ratio']:>7.0f}x{wanted:>8}"
                f"{row['reward']:>9.3f}{row['vw_reward']:>6.3f}{missed}",
                flush=True,
            )


if __name__ == "__main__":
    main()
