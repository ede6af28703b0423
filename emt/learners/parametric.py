"""The parametric learner."""

from __future__ import annotations

import numpy as np

from emt._kernels.explore import epsilon_greedy
from emt._kernels.linear import Linear, allocate_linear, dense_bytes, learn_linear, make_features, predict_linear
from emt._kernels.play import make_stream, play_parametric
from emt.arguments import check_counts, check_shares
from emt.environment import Context, Environment, Space
from emt.learners.base import Learner
from emt.tree import offsets

__all__ = ["Parametric", "make_model"]

HASH_BITS = 24  # of the hashed table that takes over where the dense one would be too large
NO_MEMORY = np.zeros(0)


class Parametric(Learner):
    """Bietti, Agarwal and Langford. A contextual bandit bake-off. JMLR 2021: epsilon-greedy on a linear model.

    One linear model of the reward per action, over the features a, xa and xxa (first and second order), trained as
    Vowpal Wabbit's ``--cb_explore_adf`` does by default: adaptive, normalised and importance-invariant gradient descent
    on the squared loss, where a step counts 1 / (number of actions x probability of the action taken).

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    max_bytes : int
        The most memory for a model with a weight of its own for every feature. Where it would need more, all features
        share a table of hashed weights, as VW's always do.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(Parametric(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.5)
    (150, True)
    """

    def __init__(self, epsilon: float = 0.1, max_bytes: int = 2**30):
        check_shares(epsilon=epsilon)
        check_counts(0, max_bytes=max_bytes)
        self.epsilon, self.max_bytes = epsilon, max_bytes

    def start(self, space: Space, seed: int) -> None:
        """Begin with all weights 0."""
        self._offsets = offsets(space.n_numeric, space.n_levels)
        self._model, self.note = make_model(space, self.max_bytes, constant=False)
        self._values = np.zeros(space.n_actions)

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Return the probabilities: the greedy share goes to the action with the highest predicted reward."""
        n = make_features(self._model, context.numeric, context.categorical + self._offsets)
        predict_linear(self._model, n, NO_MEMORY, self._values)
        probabilities = np.empty(n_actions)
        epsilon_greedy(self._values, self.epsilon, probabilities)
        return probabilities

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Take one step of gradient descent on the reward of the action."""
        n = make_features(self._model, context.numeric, context.categorical + self._offsets)
        learn_linear(self._model, n, action, 0.0, reward, 1 / (len(self._values) * probability))

    def play(self, environment: Environment, seed: int) -> np.ndarray:
        """Run a whole stream, compiled."""
        self.start(environment.space, seed)
        codes = environment.categorical + self._offsets
        stream = make_stream(
            environment.numeric, codes, environment.labels, environment.dice, environment.space.n_actions
        )
        play_parametric(self._model, stream, self.epsilon)
        return stream.rewards


def make_model(space: Space, max_bytes: int, *, constant: bool) -> tuple[Linear, str]:
    """Return an empty linear model, dense if that fits, and a note for the run log if it does not."""
    size = dense_bytes(space.n_numeric + sum(space.n_levels), space.n_actions)
    bits = None if size <= max_bytes else HASH_BITS
    model = allocate_linear(space.n_numeric, space.n_levels, space.n_actions, constant=constant, bits=bits)
    if bits is None:
        return model, ""
    return model, f"{size / 2**30:.1f} GiB of weights are over max_bytes: hashed into 2**{bits}"
