"""The k-nearest-neighbour bandit."""

from __future__ import annotations

from typing import Any

from emt._kernels.exact import allocate_exact, unpack_exact
from emt.arguments import check_counts
from emt.environment import Space
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.exploring import Exploration, keep_exploration

__all__ = ["KNN"]


class KNN(CompiledLearner):
    """Cover and Hart. Nearest neighbor pattern classification. 1967: its bandit, by exact search through all memories.

    The value of an action is the mean reward of its k nearest observations, by the Euclidean distance of the contexts;
    0 before the first. Of observations that are as near as each other, the latest count.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    k : int
        Number of neighbours.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, or ``squarecb``; see `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(KNN(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.6)
    (150, True)
    """

    def __init__(self, epsilon: float = 0.1, k: int = 5, explore: Exploration = "epsilon"):
        keep_exploration(self, epsilon, explore)
        check_counts(1, k=k)
        self.k = k

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return a memory that is searched whole, and no model."""
        return allocate_exact(space.n_numeric, len(space.n_levels), space.n_actions, self.k, n_steps), None

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory of a file."""
        return unpack_exact(space.n_numeric, space.n_levels, space.n_actions, self.k, memory), None
