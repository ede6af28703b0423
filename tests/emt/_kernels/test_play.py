"""One loop for every memory and every model."""

import numpy as np
import pytest
from toy_memory import Nearest

from emt import Environment, evaluate
from emt.checks import CHECKS, check_worker
from emt.data import load
from emt.learners import EMT, PEMT, Learner, Parametric
from emt.learners.compiled import CompiledLearner


@pytest.mark.parametrize("model", [False, True])
@pytest.mark.parametrize("check", [check for check in CHECKS if check is not check_worker], ids=lambda c: c.__name__)
def test_a_second_memory_fits_in_as_it_is(check, model):
    """But for the worker's check: a worker does not know the tests' folder."""
    check(Nearest(model=model))


def test_a_second_memory_remembers():
    environment = Environment(load("wine"), seed=0)
    rewards = {model: evaluate(Nearest(model=model), environment).mean() for model in (False, True)}
    assert rewards[False] > 0.6
    assert rewards[True] != rewards[False]


@pytest.mark.parametrize("learner", [EMT, PEMT, Parametric, Nearest])
def test_compiled_learners_have_no_loop_of_their_own(learner):
    for method in ("start", "predict", "learn", "play"):
        assert getattr(learner, method) is getattr(CompiledLearner, method)


@pytest.mark.parametrize("learner", [EMT(leaf_capacity=10), PEMT(leaf_capacity=10), Parametric(), Nearest()], ids=repr)
def test_the_compiled_loop_is_the_loop_in_python(learner):
    for name in ("iris", "tic-tac-toe"):
        environment = Environment(load(name), seed=3, horizon=200)
        looped = Learner.play(learner, environment, 5)
        np.testing.assert_array_equal(learner.play(environment, 5), looped)
