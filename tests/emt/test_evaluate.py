import numpy as np
import pytest

from emt import Environment, evaluate
from emt.data import from_arrays, load
from emt.learners import EMT, PEMT
from emt.learners.base import Learner


class Recorder(Learner):
    """Keeps all that it is told; takes the action of its number."""

    def __init__(self, number=0):
        self.number = number

    def start(self, space, seed):
        self.told = [("start", space, seed)]

    def predict(self, context, n_actions):
        self.told.append(("predict", context.numeric.tolist()))
        return np.where(np.arange(n_actions) == self.number, 0.7, 0.3 / (n_actions - 1))

    def learn(self, context, action, reward, probability):
        self.told.append(("learn", context.numeric.tolist(), action, reward, probability))

    def finish(self):
        self.told.append(("finish",))


class Breaks(Recorder):
    def learn(self, context, action, reward, probability):
        raise RuntimeError("broken")


@pytest.fixture
def environment():
    rng = np.random.default_rng(0)
    return Environment(from_arrays(rng.random((50, 2)), np.arange(50) % 3, name="fifty"), seed=4)


def test_progressive_validation_predicts_before_it_learns(environment):
    learner = Recorder()
    rewards = evaluate(learner, environment)
    start, *steps, finish = learner.told
    assert start == ("start", environment.space, environment.learner_seed)
    assert finish == ("finish",)
    assert [step[0] for step in steps] == ["predict", "learn"] * 50
    for t, (asked, told) in enumerate(zip(steps[::2], steps[1::2], strict=True)):
        _, numeric, action, reward, probability = told
        assert asked[1] == numeric == environment.numeric[t].tolist()
        assert reward == rewards[t] == (action == environment.labels[t])
        assert probability == (0.7 if action == 0 else 0.15)


def test_rewards_are_bits(environment):
    rewards = evaluate(Recorder(), environment)
    assert rewards.dtype == np.uint8
    assert rewards.shape == (50,)
    assert set(rewards.tolist()) == {0, 1}


def test_actions_are_drawn_with_their_probabilities(environment):
    taken = []
    for seed in range(40):
        learner = Recorder(number=2)
        evaluate(learner, Environment(environment.dataset, seed))
        taken += [step[2] for step in learner.told if step[0] == "learn"]
    np.testing.assert_allclose(np.bincount(taken) / 2000, [0.15, 0.15, 0.7], atol=0.03)


def test_a_play_of_its_own_is_used(environment):
    class Plays(Recorder):
        def play(self, environment, seed):
            return np.full(len(environment), 7, np.uint8)

    assert set(evaluate(Plays(), environment)) == {7}


def test_a_learner_that_breaks_is_finished_all_the_same(environment):
    learner = Breaks()
    with pytest.raises(RuntimeError, match="broken"):
        evaluate(learner, environment)
    assert learner.told[-1] == ("finish",)


@pytest.mark.parametrize("learner", [EMT, PEMT])
@pytest.mark.parametrize("eviction", ["lru", "fifo"])
@pytest.mark.parametrize("name", ["tic-tac-toe", "wine", "multiplexer-11"])
def test_a_budget_that_is_never_reached_changes_nothing(learner, eviction, name):
    environment = Environment(load(name), seed=0, horizon=800)
    budget = learner(leaf_capacity=20, budget=len(environment), eviction=eviction)
    np.testing.assert_array_equal(evaluate(budget, environment), evaluate(learner(leaf_capacity=20), environment))


def test_all_learners_play_with_the_same_dice_and_the_same_seed(environment):
    """What a learner is told and drawn depends on dataset and seed alone, never on its parameters."""
    for number in (0, 1):
        learner = Recorder(number)
        evaluate(learner, environment)
        assert learner.told[0][2] == environment.learner_seed
        taken = [step[2] for step in learner.told if step[0] == "learn"]
        shares = np.cumsum(np.where(np.arange(3) == number, 0.7, 0.15))
        assert taken == np.searchsorted(shares, environment.dice, side="right").tolist()


def test_the_same_run_gives_the_same_rewards_whatever_was_run_before(environment):
    first = evaluate(EMT(), environment)
    evaluate(EMT(), Environment(load("iris"), seed=0))
    np.testing.assert_array_equal(evaluate(EMT(), environment), first)
