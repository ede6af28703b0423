"""EMT-CB: epsilon-greedy on an Eigen Memory Tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.explore import epsilon_greedy
from emt._kernels.memory import learn, make_room, predict_actions
from emt._kernels.play import make_stream, play_emt
from emt._kernels.state import Tree
from emt.arguments import check_shares
from emt.environment import Context, Environment, Space
from emt.learners.base import Learner
from emt.tree import check_memory, make_state, offsets

__all__ = ["EMT", "make_memory", "memory_options"]


class EMT(Learner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: EMT-CB, the memory alone (Algorithm 4).

    Every action is queried; the greedy one has the highest remembered reward. The tree's keys are context and action.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    leaf_capacity, budget, variant, scorer, router, eviction
        Of the memory: see `emt.EigenMemoryTree`. As run, a memory teaches the scorer with importance weight
        1 / (number of actions x probability of the action taken); as printed, there is none.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(EMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.6)
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
    ):
        check_shares(epsilon=epsilon)
        self.epsilon, self.leaf_capacity, self.budget = epsilon, leaf_capacity, budget
        self.variant, self.scorer, self.router, self.eviction = variant, scorer, router, eviction
        check_memory(**memory_options(self))

    def start(self, space: Space, seed: int, n_steps: int = 200) -> None:
        """Begin with an empty tree, with room for the memories of so many steps."""
        self._offsets = offsets(space.n_numeric, space.n_levels)
        self._tree = make_memory(self, space, seed, n_steps)
        self._values = np.zeros(space.n_actions)

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Query every action and return the probabilities."""
        predict_actions(self._tree, context.numeric, context.categorical + self._offsets, self._values)
        probabilities = np.empty(n_actions)
        epsilon_greedy(self._values, self.epsilon, probabilities)
        return probabilities

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Remember the reward of the action in this context."""
        self._tree = make_room(self._tree)
        weight = 1 / (len(self._values) * probability) if self.variant == "as_run" else 1.0
        learn(self._tree, context.numeric, context.categorical + self._offsets, action, reward, weight, False)

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
            step = play_emt(self._tree, stream, self.epsilon, step)
        return stream.rewards


def memory_options(learner: Learner) -> dict[str, Any]:
    """Return the options of a learner's memory."""
    names = ("leaf_capacity", "budget", "variant", "scorer", "router", "eviction")
    return {name: getattr(learner, name) for name in names}


def make_memory(learner: Learner, space: Space, seed: int, n_steps: int) -> Tree:
    """Return the empty tree that a learner's options describe, in single precision."""
    return make_state(
        space.n_numeric,
        seed=seed,
        n_levels=space.n_levels,
        n_actions=space.n_actions,
        eta=0.001,  # the paper names none; of 1e-4 to 1, this is where as printed does well on small sets and wide ones
        dtype="float32",
        n_memories=n_steps,
        **memory_options(learner),
    )
