"""The parametric learner with an Eigen Memory Tree, run by Vowpal Wabbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emt.arguments import check_counts, check_shares
from emt.environment import Space
from emt.learners.vw.base import VWLearner
from emt.learners.vw.emt import VWEMT
from emt.learners.vw.parametric import parametric_policy

if TYPE_CHECKING:
    from emt.learners.vw.workspace import PolicyWithMemory

__all__ = ["VWPEMT"]


class VWPEMT(VWLearner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: PEMT in its authors' implementation.

    The reference that the compiled `PEMT` is compared with: the reward that a `VWEMT` remembers for each action is one
    more feature of that action in Vowpal Wabbit's parametric learner. Both learn from every step.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    bits : int
        The parametric model has 2**bits weights, as in `VWParametric`.
    leaf_capacity, budget
        As in `VWEMT`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(VWPEMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.4)
    (150, True)
    """

    def __init__(self, epsilon: float = 0.1, bits: int = 26, leaf_capacity: int = 100, budget: int | None = None):
        super().__init__()
        check_shares(epsilon=epsilon)
        check_counts(1, bits=bits, leaf_capacity=leaf_capacity, budget=1 if budget is None else budget)
        self.epsilon, self.bits, self.leaf_capacity, self.budget = epsilon, bits, leaf_capacity, budget

    def build(self, space: Space, seed: int) -> PolicyWithMemory:
        """Return the policy and its memory; with a memory, the paper's runs kept VW's constant."""
        from emt.learners.vw.workspace import PolicyWithMemory

        memory = VWEMT(self.epsilon, self.leaf_capacity, self.budget)
        policy = parametric_policy(space, seed, self.epsilon, self.bits, constant=True)
        return PolicyWithMemory(memory.build(space, seed), policy)
