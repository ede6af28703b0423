"""CMT on VW: Vowpal Wabbit's memory tree as a contextual bandit."""

import numpy as np
import pytest

from emt import Context, Environment, Space, evaluate
from emt.data import load
from emt.learners import VWCMT

SPACE = Space(n_numeric=2, n_levels=(), n_actions=3)


def context(*numbers):
    return Context(np.array(numbers, dtype=np.float32), np.zeros(0, dtype=np.int32))


@pytest.fixture
def cmt():
    learner = VWCMT()
    learner.start(SPACE, seed=1)
    yield learner
    learner.finish()


def test_vw_gets_the_options_of_the_paper():
    memory = VWCMT().build(SPACE, seed=5)
    options = memory.workspace.get_arguments()
    for option in (
        "--memory_tree 2000",
        "--learn_at_leaf",
        "--online",
        "--leaf_example_multiplier 9",
        "--dream_repeats 10",
        "--alpha 0.5",
        "--power_t 0",
        "--bit_precision 25",
        "--coin",
        "--interactions xa",
        "--max_number_of_labels 2",
        "--random_seed 5",
    ):
        assert option in options
    memory.finish()


def test_an_empty_memory_explores_evenly(cmt):
    np.testing.assert_allclose(cmt.predict(context(0.3, 0.7), 3), 1 / 3)


def test_the_greedy_share_goes_to_the_remembered_reward(cmt):
    here = context(0.3, 0.7)
    for action, reward in ((0, 0.0), (1, 1.0), (2, 0.0)):
        cmt.learn(here, action, reward, 1 / 3)
    np.testing.assert_allclose(cmt.predict(here, 3), [0.1 / 3, 0.9 + 0.1 / 3, 0.1 / 3])


def test_tied_actions_share_the_greedy_part(cmt):
    here = context(0.3, 0.7)
    for action, reward in ((0, 1.0), (1, 1.0), (2, 0.0)):
        cmt.learn(here, action, reward, 1 / 3)
    np.testing.assert_allclose(cmt.predict(here, 3), [0.45 + 0.1 / 3, 0.45 + 0.1 / 3, 0.1 / 3])


def test_epsilon_is_the_share_of_exploration():
    learner = VWCMT(epsilon=0.4)
    learner.start(SPACE, seed=1)
    for action in range(3):
        learner.learn(context(0.3, 0.7), action, float(action == 2), 1 / 3)
    np.testing.assert_allclose(learner.predict(context(0.3, 0.7), 3), [0.4 / 3, 0.4 / 3, 0.6 + 0.4 / 3])
    learner.finish()


def test_it_learns_wine_as_well_as_was_measured():
    rewards = [evaluate(VWCMT(), Environment(load("wine"), seed)).mean() for seed in range(6)]
    assert 0.70 < np.mean(rewards) < 0.82  # .758 over many seeds
