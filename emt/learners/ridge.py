"""A ridge regression per action: with epsilon, and with LinUCB's bonus."""

from __future__ import annotations

from typing import Any

from emt._kernels.first_order import FirstOrder, allocate_first_order, unpack_first_order
from emt._kernels.packed import require
from emt._kernels.ridge import MOST_INPUTS, allocate_ridge, unpack_ridge
from emt._kernels.ridge import Ridge as Regressions
from emt.environment import Space
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.exploring import Exploration, keep_exploration

__all__ = ["LinUCB", "Ridge", "ridge_model", "unpacked_ridge"]


class Ridge(CompiledLearner):
    """Hoerl and Kennard. Ridge regression. 1970: its bandit, a regression of the reward on [1, x] for each action.

    The penalty is 1. A step counts 1 / (number of actions x probability of the action taken), as in the parametric
    learner. Contexts of 160 coordinates and more have the parametric learner's first-order model in its place.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, ``squarecb`` or ``linucb``; see `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(Ridge(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.5)
    (150, True)
    """

    def __init__(self, epsilon: float = 0.1, explore: Exploration = "epsilon"):
        keep_exploration(self, epsilon, explore, ridge=True)

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return no memory, and a regression per action."""
        return None, ridge_model(space)

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the model of a file."""
        return None, unpacked_ridge(space, model)


class LinUCB(Ridge):
    """Li, Chu, Langford and Schapire. A contextual-bandit approach to personalized news recommendation. WWW 2010.

    A ridge regression per action, and always the action with the greatest upper bound: the predicted reward plus alpha
    sqrt(x' P x), where P is the inverse of I + sum of x x'. It is `Ridge` with ``explore="linucb"``.

    Parameters
    ----------
    alpha : float
        Width of the bound.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(LinUCB(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.6)
    (150, True)
    """

    def __init__(self, alpha: float = 0.3):
        keep_exploration(self, 0.0, {"kind": "linucb", "alpha": alpha}, ridge=True)
        self.alpha = alpha


def ridge_model(space: Space) -> Regressions | FirstOrder:
    """Return an empty ridge regression per action, or a first-order model where there are too many coordinates."""
    n_inputs = space.n_numeric + sum(space.n_levels)
    if 1 + n_inputs <= MOST_INPUTS:
        return allocate_ridge(n_inputs, space.n_actions)
    return allocate_first_order(space.n_numeric, space.n_levels, space.n_actions)


def unpacked_ridge(space: Space, arrays: Arrays) -> Regressions | FirstOrder:
    """Return the model of a file, or refuse it, before anything of its size is made."""
    shape = space.n_actions, 1 + space.n_numeric + sum(space.n_levels)
    require(arrays["weight"].shape == shape, "weight of the ridge does not fit its space")
    model = ridge_model(space)
    if isinstance(model, FirstOrder):
        return unpack_first_order(model, arrays)
    return unpack_ridge(model, arrays)
