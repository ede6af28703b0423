"""PEMT-CB: the parametric learner with an Eigen Memory Tree."""

from __future__ import annotations

import numpy as np

from emt._kernels.explore import epsilon_greedy
from emt._kernels.linear import learn_linear, make_features, predict_linear
from emt._kernels.memory import learn, make_room, predict_actions
from emt._kernels.play import make_stream, play_pemt
from emt.arguments import check_counts, check_shares
from emt.environment import Context, Environment, Space
from emt.learners.base import Learner
from emt.learners.emt import make_memory, memory_options
from emt.learners.parametric import make_model
from emt.tree import check_memory, offsets

__all__ = ["PEMT"]


class PEMT(Learner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: PEMT-CB, the stacked learner.

    The reward that an Eigen Memory Tree remembers for each action is one more feature of that action in the parametric
    learner: one weight shared by all actions, not interacted. Both learn from every step.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    leaf_capacity, budget, variant, scorer, router, eviction
        Of the memory, as in `EMT`.
    max_bytes : int
        Of the parametric model, as in `Parametric`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(PEMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.5)
    (150, True)
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        leaf_capacity: int = 100,
        budget: int | None = None,
        variant: str = "as_run",
        scorer: str = "self_consistent",
        router: str = "eigen",
        eviction: str = "lru",
        max_bytes: int = 2**30,
    ):
        check_shares(epsilon=epsilon)
        check_counts(0, max_bytes=max_bytes)
        self.epsilon, self.leaf_capacity, self.budget = epsilon, leaf_capacity, budget
        self.variant, self.scorer, self.router, self.eviction = variant, scorer, router, eviction
        self.max_bytes = max_bytes
        check_memory(**memory_options(self))

    def start(self, space: Space, seed: int, n_steps: int = 200) -> None:
        """Begin with an empty tree, with room for the memories of so many steps, and all weights 0."""
        self._offsets = offsets(space.n_numeric, space.n_levels)
        self._tree = make_memory(self, space, seed, n_steps)
        self._model, self.note = make_model(space, self.max_bytes, constant=True)
        self._remembered, self._values = np.zeros(space.n_actions), np.zeros(space.n_actions)

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Query every action, let the linear model judge, and return the probabilities."""
        codes = context.categorical + self._offsets
        predict_actions(self._tree, context.numeric, codes, self._remembered)
        n = make_features(self._model, context.numeric, codes)
        predict_linear(self._model, n, self._remembered, self._values)
        probabilities = np.empty(n_actions)
        epsilon_greedy(self._values, self.epsilon, probabilities)
        return probabilities

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Teach the linear model with what the memory said before, then let the memory learn."""
        self._tree = make_room(self._tree)
        codes = context.categorical + self._offsets
        weight = 1 / (len(self._values) * probability)
        n = make_features(self._model, context.numeric, codes)
        learn_linear(self._model, n, action, self._remembered[action], reward, weight)
        learn(self._tree, context.numeric, codes, action, reward, weight if self.variant == "as_run" else 1.0, False)

    def play(self, environment: Environment, seed: int) -> np.ndarray:
        """Run a whole stream, compiled."""
        self.start(environment.space, seed, len(environment))
        codes = environment.categorical + self._offsets
        stream = make_stream(
            environment.numeric, codes, environment.labels, environment.dice, environment.space.n_actions
        )
        step = 0
        while step < len(environment):
            self._tree = make_room(self._tree)
            step = play_pemt(self._tree, self._model, stream, self.epsilon, step)
        return stream.rewards
