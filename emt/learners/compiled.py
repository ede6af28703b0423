"""Learners whose memory and model are compiled: the loop of ``_kernels/play.py`` is theirs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from emt._kernels.explore import EpsilonGreedy
from emt._kernels.parts import grow, has_room, remark
from emt._kernels.play import Bandit, Stream, learn_step, make_bandit, play, predict_step
from emt._kernels.vector import offsets
from emt.environment import Context, Environment, Space
from emt.learners.base import Learner

__all__ = ["CompiledLearner"]

FEW = 200  # memories to have room for at the start of a stream of unknown length


class CompiledLearner(Learner):
    """Base of the compiled learners: a subclass says which memory it has, and which model.

    Attributes
    ----------
    epsilon : float
        Share of exploration.
    """

    epsilon: float
    _bandit: Bandit

    @abstractmethod
    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return an empty memory with room for about so many steps, or None, and an untrained model, or None."""

    def start(self, space: Space, seed: int, n_steps: int = FEW) -> None:
        """Forget everything and get ready for a stream of about so many contexts of this shape."""
        self.note = ""
        self._offsets = offsets(space.n_numeric, space.n_levels)
        memory, model = self.parts(space, seed, n_steps)
        self._bandit = make_bandit(memory, model, EpsilonGreedy(float(self.epsilon)), space.n_actions)

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Return the probability of each action."""
        self._make_room()
        predict_step(self._bandit, context.numeric, context.categorical + self._offsets)
        return self._bandit.probabilities.copy()

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn from the reward of the action that was taken with this probability."""
        self._make_room()
        codes = context.categorical + self._offsets
        learn_step(self._bandit, context.numeric, codes, int(action), float(reward), float(probability))

    def play(self, environment: Environment, seed: int) -> np.ndarray:
        """Run a whole stream, compiled."""
        self.start(environment.space, seed, len(environment))
        codes = environment.categorical + self._offsets
        rewards = np.zeros(len(environment), np.uint8)
        stream = Stream(environment.numeric, codes, environment.labels, environment.dice, rewards)
        step = 0
        while step < len(environment):
            self._make_room()
            step = play(self._bandit, stream, step)
        self.finish()
        return rewards

    def finish(self) -> None:
        """Note down what a reader of the run log should know."""
        self.note = "; ".join(filter(None, map(remark, getattr(self, "_bandit", ()))))

    def _make_room(self) -> None:
        for name in ("memory", "model"):
            while not has_room(getattr(self._bandit, name)):
                self._bandit = self._bandit._replace(**{name: grow(getattr(self._bandit, name))})
