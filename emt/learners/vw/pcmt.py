"""The parametric learner with a Contextual Memory Tree, run by Vowpal Wabbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emt.arguments import check_counts
from emt.environment import Space
from emt.learners.cmt import check_contextual
from emt.learners.vw.base import VWLearner
from emt.learners.vw.cmt import VWCMT
from emt.learners.vw.parametric import parametric_policy

if TYPE_CHECKING:
    from emt.learners.vw.workspace import PolicyWithMemory

__all__ = ["VWPCMT"]


class VWPCMT(VWLearner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: the parametric learner with a CMT.

    The reward that a `VWCMT` remembers for each action is one more feature of that action in the parametric learner:
    one weight shared by all actions, not interacted, absent when 0. Both learn from every step.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    bits : int
        The parametric model has 2**bits weights, as in `VWParametric`.
    max_nodes, leaf_multiplier, dreams, alpha
        As in `VWCMT`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(VWPCMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.4)
    (150, True)
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        bits: int = 26,
        max_nodes: int = 2000,
        leaf_multiplier: int = 9,
        dreams: int = 10,
        alpha: float = 0.5,
    ):
        super().__init__()
        check_contextual(epsilon, max_nodes, leaf_multiplier, dreams, alpha)
        check_counts(1, bits=bits)
        self.epsilon, self.bits, self.max_nodes, self.leaf_multiplier = epsilon, bits, max_nodes, leaf_multiplier
        self.dreams, self.alpha = dreams, alpha

    def build(self, space: Space, seed: int) -> PolicyWithMemory:
        """Return the policy and its memory; with a memory, the paper's runs kept VW's constant."""
        from emt.learners.vw.workspace import PolicyWithMemory

        memory = VWCMT(self.epsilon, self.max_nodes, self.leaf_multiplier, self.dreams, self.alpha)
        policy = parametric_policy(space, seed, self.epsilon, self.bits, constant=True)
        return PolicyWithMemory(memory.build(space, seed), policy)
