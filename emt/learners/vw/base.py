"""What the learners on Vowpal Wabbit (VW) have in common; VW is loaded when one of them is made."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np

from emt.environment import Context, Space
from emt.extras import needs
from emt.learners.base import Learner, refuse_other_actions

__all__ = ["Strategy", "VWLearner"]


class Strategy(Protocol):
    """What a learner that runs on VW is made of: `Memory`, `Policy` or `PolicyWithMemory`."""

    def probabilities(self, context: Context) -> np.ndarray:
        """Return the probability of each action."""

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn from the reward of the action taken."""

    def finish(self) -> None:
        """Free VW's side."""


class VWLearner(Learner):
    """Base of the learners that run on VW: a subclass says how its strategy is built for a stream."""

    _strategy: Strategy | None = None
    _space: Space

    def __init__(self) -> None:
        with needs("vw"):
            import vowpalwabbit  # noqa: F401 (here, so that a learner that cannot run is not made)

    @abstractmethod
    def build(self, space: Space, seed: int) -> Strategy:
        """Return a fresh strategy for a stream of this shape."""

    def start(self, space: Space, seed: int) -> None:
        """Forget everything and get ready for a stream of contexts of this shape."""
        self.finish()
        self._space, self._strategy = space, self.build(space, seed)

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Return the probability of each action."""
        strategy = self._started()
        refuse_other_actions(n_actions, self._space)
        return strategy.probabilities(context)

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn from the reward of the action that was taken with this probability."""
        self._started().learn(context, action, reward, probability)

    def finish(self) -> None:
        """Free VW's side."""
        if self._strategy is not None:
            self._strategy.finish()
            self._strategy = None

    def _started(self) -> Strategy:
        if self._strategy is None:
            raise RuntimeError(f"{type(self).__name__} has no stream yet: call start(space, seed) first")
        return self._strategy

    def __getstate__(self) -> dict[str, Any]:
        # A workspace cannot be pickled: the copy begins with its own start.
        return {name: value for name, value in vars(self).items() if name not in ("_strategy", "_space")}
