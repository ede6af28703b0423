import numpy as np
import pytest

from emt import Environment, evaluate
from emt.data import from_arrays, load
from emt.evaluate import run_seed, step_by_step
from emt.learners import EMT
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
    assert start == ("start", environment.space, run_seed(learner, environment))
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
        step_by_step(learner, environment, seed)
        taken += [step[2] for step in learner.told if step[0] == "learn"]
    np.testing.assert_allclose(np.bincount(taken) / 2000, [0.15, 0.15, 0.7], atol=0.03)


def test_a_compiled_play_is_used_where_there_is_one(environment):
    class Plays(Recorder):
        def play(self, environment, seed):
            return np.full(len(environment), 7, np.uint8)

    assert set(evaluate(Plays(), environment)) == {7}


def test_a_learner_that_breaks_is_finished_all_the_same(environment):
    learner = Breaks()
    with pytest.raises(RuntimeError, match="broken"):
        evaluate(learner, environment)
    assert learner.told[-1] == ("finish",)


def test_a_runs_seed_comes_from_dataset_learner_and_seed(environment):
    seeds = {
        run_seed(learner, Environment(load(name), seed))
        for learner in (Recorder(), Recorder(1), EMT())
        for name in ("iris", "wine")
        for seed in (0, 1)
    }
    assert len(seeds) == 12
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_the_same_run_gives_the_same_rewards_whatever_was_run_before(environment):
    first = evaluate(EMT(), environment)
    evaluate(EMT(), Environment(load("iris"), seed=0))
    np.testing.assert_array_equal(evaluate(EMT(), environment), first)
