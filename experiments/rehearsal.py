"""What a study will cost, before it is run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from emt import Environment, evaluate
from emt.data import from_arrays, load
from experiments.costs import Costs
from experiments.learners import instantiate
from experiments.plan import Plan

__all__ = ["rehearse"]

STEPS, DATASETS = 200, 5


def rehearse(plan: Plan, learners: Iterable[str], costs: Costs) -> Costs:
    """Measure the learners of which nothing is known yet on a few hundred steps of a few of the study's datasets.

    Every learner is played on a tiny stream first. This compiles its kernels into the on-disk cache before workers
    start, or each of them would compile for itself; and no compilation is taken for the learner's own time.

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
    features = np.column_stack([np.random.default_rng(0).random((8, 2)), np.arange(8) % 2])
    tiny = Environment(from_arrays(features, np.arange(8) % 2, categorical=[2], name="tiny"), seed=0)
    sources = list(plan.sources.values())
    some = [load(source.reference) for source in sources[:: max(1, -(-len(sources) // DATASETS))]]
    for learner in learners:
        entry = plan.study.learners[learner]
        with suppress(Exception):  # what is wrong with a learner will stand in the rows of its runs
            evaluate(instantiate(entry), tiny)
            if costs.seconds("", learner, 1) is not None:
                continue
            for dataset in some:
                stream = Environment(dataset, seed=0, horizon=min(STEPS, plan.study.horizon))
                started = time.perf_counter()
                evaluate(instantiate(entry), stream)
                costs.add(dataset.name, learner, len(stream), time.perf_counter() - started)
    return costs
