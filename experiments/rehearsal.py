"""What a study will cost, before it is run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import suppress

from emt import Environment, evaluate
from emt.data import load
from experiments.alone import Alone, BrokenProcessPool
from experiments.costs import Costs
from experiments.learners import Entry, instantiate
from experiments.plan import Plan
from experiments.player import no_copies, time_limit, warm_up, warm_up_seconds
from experiments.signals import raise_if_stopped

__all__ = ["measure", "rehearse"]

STEPS, DATASETS = 200, 5
SECONDS = 600.0  # for a learner at most, where a study has no timeout


def rehearse(plan: Plan, learners: Iterable[str], costs: Costs) -> Costs:
    """Measure the learners of which nothing is known yet on a few hundred steps of a few of the study's datasets.

    Every learner is played on a few steps first. This compiles its kernels into the on-disk cache before workers
    start, or each of them would compile for itself; and no compilation is taken for the learner's own time.
    All of it is done in a process of its own, which a learner may end; of such a learner nothing is known.

    Parameters
    ----------
    plan : Plan
        The study.
    learners : iterable of str
        Those that will be run.
    costs : Costs
        What is known; added to.

    Returns
    -------
    Costs
        The same.
    """
    say = "loading the learners (the first time on a machine they are compiled, which takes a minute or two)"
    print(say, file=sys.stderr, flush=True)
    study, sources = plan.study, list(plan.sources.values())
    some = [source.reference for source in sources[:: max(1, -(-len(sources) // DATASETS))]]
    with Alone() as process:
        for learner in learners:
            raise_if_stopped()
            entry, known = study.learners[learner], costs.seconds("", learner, 1) is not None
            given = entry, some[:1] if known else some, min(STEPS, study.horizon)
            measured = []
            if study.engine.name == "serial":
                measured = measure(*given)
            else:
                limit = warm_up_seconds(entry, study.timeout or SECONDS)
                with suppress(BrokenProcessPool):
                    measured = process.call(measure, *given, limit, False)
            for dataset, n_steps, seconds in [] if known else measured:
                costs.add(dataset, learner, n_steps, seconds)
    return costs


def measure(
    entry: Entry, references: list[str | int], horizon: int, limit: float | None = None, stoppable: bool = True
) -> list[tuple[str, int, float]]:
    """Play a learner on the beginnings of datasets; return their names, steps and seconds, without compiling."""
    measured = []
    with no_copies(), time_limit(limit, None):
        try:
            for reference in references:
                stream = Environment(load(reference), seed=0, horizon=horizon)
                warm_up(entry, stream.dataset, stoppable)
                started = time.perf_counter()
                evaluate(instantiate(entry), stream)
                measured.append((stream.dataset.name, len(stream), time.perf_counter() - started))
        except BaseException as error:  # what is wrong with a learner will stand in the rows of its runs
            if stoppable:
                raise_if_stopped(error)
    return measured
