"""Progressive validation: every reward counts once, before it is learned from (Blum et al., 1999)."""

from __future__ import annotations

import numpy as np

from emt.environment import Environment
from emt.learners.base import Learner

__all__ = ["evaluate"]


def evaluate(learner: Learner, environment: Environment) -> np.ndarray:
    """Play a learner on an environment from a fresh start.

    Parameters
    ----------
    learner : Learner
        Anything that follows the protocol of `emt.learners.base.Learner`.
    environment : Environment
        The stream.

    Returns
    -------
    ndarray of uint8, shape (n_steps,)
        The reward, 0 or 1, of each step. Its mean is the final progressive reward.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> from emt.learners import EMT
    >>> rewards = evaluate(EMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.6)
    (150, True)
    """
    return learner.play(environment, environment.learner_seed)
