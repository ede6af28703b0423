"""Progressive validation: every reward counts once, before it is learned from (Blum et al., 1999)."""

from __future__ import annotations

import numpy as np

from emt._kernels.explore import sample
from emt.bandit import Environment
from emt.learners.base import Learner
from emt.seeds import seed_sequence

__all__ = ["evaluate", "run_seed", "step_by_step"]


def run_seed(learner: Learner, environment: Environment) -> int:
    """Return the seed of a run's own randomness, from the names of what is run."""
    names = ("explore", environment.dataset.name, learner.params, environment.seed)
    return int(seed_sequence(*names).generate_state(1, np.uint64)[0])


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
    play = getattr(learner, "play", None)
    seed = run_seed(learner, environment)
    if play is not None:
        return play(environment, seed)
    return step_by_step(learner, environment, seed)


def step_by_step(learner: Learner, environment: Environment, seed: int) -> np.ndarray:
    """Run the loop in Python: predict, draw an action, learn from its reward."""
    n_actions = environment.space.n_actions
    draws = np.random.default_rng(seed).random(len(environment))
    rewards = np.zeros(len(environment), dtype=np.uint8)
    learner.start(environment.space, seed)
    try:
        for step, (context, label) in enumerate(environment):
            probabilities = learner.predict(context, n_actions)
            action = int(sample(probabilities, draws[step]))
            rewards[step] = action == label
            learner.learn(context, action, float(rewards[step]), float(probabilities[action]))
    finally:
        learner.finish()
    return rewards
