"""VWParametric, VWEMT and VWPEMT: the references on Vowpal Wabbit."""

import numpy as np
import pytest

from emt import Context, Environment, Space, evaluate
from emt.data import load
from emt.learners import VWEMT, VWPEMT, VWParametric

SPACE = Space(n_numeric=2, n_levels=(), n_actions=3)


def context(*numbers):
    return Context(np.array(numbers, dtype=np.float32), np.zeros(0, dtype=np.int32))


def options(model):
    arguments = model.workspace.get_arguments()
    model.finish()
    return arguments


def test_the_parametric_learner_has_the_options_of_the_paper():
    arguments = options(VWParametric(bits=18).build(SPACE, seed=5))
    for option in ("--cb_explore_adf", "--epsilon 0.1", "--noconstant", "--interactions xa", "--interactions xxa"):
        assert option in arguments
    assert "--ignore_linear x" in arguments
    assert "--bit_precision 18" in arguments


def test_the_tree_has_the_options_of_the_paper():
    arguments = options(VWEMT(leaf_capacity=70, budget=500).build(SPACE, seed=5))
    for option in (
        "--emt",
        "--emt_tree 500",
        "--emt_leaf 70",
        "--emt_scorer self_consistent_rank",
        "--emt_router eigen",
        "--emt_initial gaussian",
        "--min_prediction 0",
        "--max_prediction 3",
        "--coin",
        "--noconstant",
        "--power_t 0",
        "--loss_function squared",
        "--bit_precision 26",
        "--initial_weight 0",
        "--interactions xa",
    ):
        assert option in arguments
    assert "--emt_tree 0" in options(VWEMT().build(SPACE, seed=5))


def test_a_memory_of_either_reward_is_found_again():
    memory = VWEMT().build(SPACE, seed=1)
    rng = np.random.default_rng(0)
    kept = [(context(*rng.random(2)), int(rng.integers(3)), int(rng.integers(2))) for _ in range(250)]
    for where, action, reward in kept:
        memory.learn(where, action, reward, 1 / 3)
    assert [memory.rewards(where)[action] for where, action, _ in kept] == [reward for *_, reward in kept]
    memory.finish()


def test_a_budget_forgets_what_is_least_recently_used():
    memory = VWEMT(budget=2).build(SPACE, seed=1)
    for number in (0.1, 0.5, 0.9):
        memory.learn(context(number, 0.5), 0, 1, 1 / 3)
    memory.learn(context(0.1, 0.5), 1, 0, 1 / 3)
    memory.learn(context(0.2, 0.5), 1, 0, 1 / 3)
    assert memory.rewards(context(0.5, 0.5)) == [0, 0, 0]
    memory.finish()


def test_the_label_carries_the_importance_weight(monkeypatch):
    memory = VWEMT().build(SPACE, seed=1)
    made = []
    example = memory.example
    monkeypatch.setattr(memory, "example", lambda *arguments: made.append(example(*arguments)) or made[-1])
    memory.learn(context(0.1, 0.2), 2, 1, 0.05)
    memory.learn(context(0.1, 0.2), 2, 0, 1.0)
    assert [each.get_multiclass_weight() for each in made] == pytest.approx([1 / (3 * 0.05), 1 / 3])
    assert [each.get_multiclass_label() for each in made] == [1, 0]
    memory.finish()


@pytest.mark.parametrize(("learner", "low", "high"), [(VWEMT(), 0.76, 0.86), (VWPEMT(), 0.52, 0.68)], ids=repr)
def test_they_learn_wine_as_well_as_was_measured(learner, low, high):
    rewards = [evaluate(learner, Environment(load("wine"), seed)).mean() for seed in range(10)]
    assert low < np.mean(rewards) < high  # .811 and .607 over many seeds


@pytest.mark.slow
def test_hash_collisions_cost_reward_on_digits():
    few, many = (
        np.mean([evaluate(VWParametric(bits=bits), Environment(load("digits"), seed)).mean() for seed in range(12)])
        for bits in (18, 26)
    )
    assert many > few + 0.01


@pytest.mark.parametrize("learner", [VWParametric(), VWEMT(), VWPEMT()], ids=lambda learner: type(learner).__name__)
def test_another_number_of_actions_than_it_was_started_with_is_refused(learner):
    learner.start(Space(1, (), 3), seed=0)
    with pytest.raises(ValueError, match="there are 4 actions, but it was started with 3"):
        learner.predict(Context(np.zeros(1), np.zeros(0, int)), 4)
    learner.finish()
