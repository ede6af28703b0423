import numpy as np
import pytest

from emt import Environment, evaluate
from emt.data import load
from emt.learners import Learner


class Fixed(Learner):
    """Predicts the same at every step, but the first: there it is right."""

    def __init__(self, values=None):
        self.values = values

    def start(self, space, seed):
        self.steps, self.finished = 0, False

    def predict(self, context, n_actions):
        self.steps += 1
        return np.full(n_actions, 1 / n_actions) if self.steps == 1 else self.values

    def learn(self, context, action, reward, probability):
        pass

    def finish(self):
        self.finished = True


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([0.5, np.nan, 0.5]), "must be finite"),
        (np.array([0.5, np.inf, 0.5]), "must be finite"),
        (np.array([1.5, -0.5, 0.0]), "negative"),
        (np.array([7.0, 7.0, 7.0]), "sum to 1, not to 21"),
        (np.array([0.5, 0.5, 2e-6]), "sum to 1"),
        (np.zeros(3), "sum to 1, not to 0"),
        (np.array([0.5, 0.5]), r"each of 3 actions; the shape is \(2,\)"),
        (np.full(4, 0.25), r"the shape is \(4,\)"),
        (np.full((3, 1), 1 / 3), r"the shape is \(3, 1\)"),
        (np.array(1.0), r"the shape is \(\)"),
        ([1 / 3, 1 / 3, 1 / 3], "an array, not list"),
        (None, "an array, not NoneType"),
        (np.array(["1", "0", "0"]), "numbers, not <U1"),
        (np.array([1, 0, 0], dtype=object), "numbers, not object"),
    ],
)
def test_wrong_probabilities_end_the_stream_with_what_is_wrong(values, message):
    learner = Fixed(values)
    with pytest.raises(ValueError, match=rf"Fixed\.predict at step 1: .*{message}"):
        evaluate(learner, Environment(load("iris"), seed=0, horizon=5))
    assert learner.finished


@pytest.mark.parametrize(
    "values",
    [np.array([0.5, 0.5, 5e-7]), np.array([0.2, 0.3, 0.5], dtype=np.float32), np.array([0, 1, 0])],
)
def test_probabilities_are_taken_within_the_tolerance_and_of_any_kind_of_number(values):
    assert len(evaluate(Fixed(values), Environment(load("iris"), seed=0, horizon=5))) == 5
