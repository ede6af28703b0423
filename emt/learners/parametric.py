"""The parametric learner."""

from __future__ import annotations

from typing import Any

from emt._kernels.linear import Linear, allocate
from emt._kernels.linear_packing import unpack_linear
from emt.environment import Space
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.exploring import Exploration, keep_exploration

__all__ = ["Parametric", "linear_model"]


class Parametric(CompiledLearner):
    """Bietti, Agarwal and Langford. A contextual bandit bake-off. JMLR 2021: epsilon-greedy on a linear model.

    One linear model of the reward per action, over the features a, xa and xxa (first and second order), trained as
    Vowpal Wabbit's ``--cb_explore_adf`` does by default: adaptive, normalised and importance-invariant gradient descent
    on the squared loss, where a step counts 1 / (number of actions x probability of the action taken).

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, or ``squarecb``; see `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(Parametric(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.5)
    (150, True)
    """

    def __init__(self, epsilon: float = 0.1, explore: Exploration = "epsilon"):
        keep_exploration(self, epsilon, explore)

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return no memory, and a linear model."""
        return None, linear_model(space, constant=False)

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the model of a file."""
        return None, unpack_linear(linear_model(space, constant=False), model)


def linear_model(space: Space, *, constant: bool) -> Linear:
    """Return an empty linear model."""
    return allocate(space.n_numeric, space.n_levels, space.n_actions, constant=constant)
