"""EMT-CB under audit: the same rewards, and how often its tree leads to the wrong leaf."""

from __future__ import annotations

import numpy as np

from emt._kernels.eigen.audit import DIFFERENT, MISSES, QUERIES, audit
from emt.environment import Context, Space
from emt.learners.base import Learner
from emt.learners.compiled import FEW
from emt.learners.emt import EMT

__all__ = ["AuditedEMT"]


class AuditedEMT(EMT):
    """EMT, and after every tenth context an exact search of the whole memory by the same scorer; for studies alone.

    Parameters are those of `EMT`, and so are the rewards. ``measures`` has the number of queries that were
    audited (one for each action of a context), the misses (where the leaf does not hold a memory that is as little
    unlike as the least unlike of all), and those of them where that memory's reward is different from the answer.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> environment, learner = Environment(load("iris"), seed=0), AuditedEMT(leaf_capacity=10)
    >>> bool((evaluate(learner, environment) == evaluate(EMT(leaf_capacity=10), environment)).all())
    True
    >>> learner.measures["queries"], bool(0 < learner.measures["misses"] < 42)
    (42.0, True)

    Attributes
    ----------
    every : int
        One in so many contexts is audited.
    """

    every = 10
    play = Learner.play  # step by step

    def start(self, space: Space, seed: int, n_steps: int = FEW) -> None:
        """Forget everything and get ready for a stream of contexts of this shape."""
        super().start(space, seed, n_steps)
        self._tally, self._n_contexts = np.zeros(3, np.int64), 0

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Return the probability of each action, and count where exact search would have answered better."""
        probabilities = super().predict(context, n_actions)
        if self._n_contexts % self.every == 0:
            found = np.empty((n_actions, 3))
            audit(self._bandit.memory, *self._taken(context), self._bandit.answers, found, self._tally)
        self._n_contexts += 1
        return probabilities

    def finish(self) -> None:
        """Note down what was counted."""
        super().finish()
        tally = getattr(self, "_tally", np.zeros(3))  # none before a start
        self.measures = {
            "queries": float(tally[QUERIES]),
            "misses": float(tally[MISSES]),
            "different": float(tally[DIFFERENT]),
        }
