"""The parametric learner."""

from __future__ import annotations

from typing import Any

from emt._kernels.linear import Linear, allocate, dense_bytes
from emt.arguments import check_counts, check_shares
from emt.environment import Space
from emt.learners.compiled import CompiledLearner

__all__ = ["Parametric", "linear_model"]

HASH_BITS = 24  # of the hashed table that takes over where the dense one would be too large


class Parametric(CompiledLearner):
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

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return no memory, and a linear model."""
        model, self.note = linear_model(space, self.max_bytes, constant=False)
        return None, model


def linear_model(space: Space, max_bytes: int, *, constant: bool) -> tuple[Linear, str]:
    """Return an empty linear model, dense if that fits, and a note for the run log if it does not."""
    size = dense_bytes(space.n_numeric + sum(space.n_levels), space.n_actions)
    bits = None if size <= max_bytes else HASH_BITS
    model = allocate(space.n_numeric, space.n_levels, space.n_actions, constant=constant, bits=bits)
    if bits is None:
        return model, ""
    return model, f"{size / 2**30:.1f} GiB of weights are over max_bytes: hashed into 2**{bits}"
