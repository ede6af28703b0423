"""The parametric learner, run by Vowpal Wabbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emt.arguments import check_counts, check_shares
from emt.environment import Space
from emt.learners.vw.base import VWLearner

if TYPE_CHECKING:
    from emt.learners.vw.workspace import Policy

__all__ = ["VWParametric", "parametric_policy"]


def parametric_policy(space: Space, seed: int, epsilon: float, bits: int, constant: bool) -> Policy:
    """Return VW's contextual bandit on the features a, xa and xxa."""
    from emt.learners.vw.workspace import Policy

    command = f"--cb_explore_adf --epsilon {epsilon} --interactions xa --interactions xxa --ignore_linear x -b {bits}"
    return Policy(command if constant else f"{command} --noconstant", space, seed)


class VWParametric(VWLearner):
    """Bietti, Agarwal and Langford. A contextual bandit bake-off. JMLR 22, 2021.

    The reference that the compiled `Parametric` is compared with: Vowpal Wabbit's ``--cb_explore_adf``, a linear model
    of the cost -reward on the features a, xa and xxa, learned by importance weighted regression and explored
    epsilon-greedily.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    bits : int
        The model has 2**bits weights, into which features are hashed. At VW's default of 18, the 20,000 features of
        digits lose about .03 of reward to collisions; at 26 there are none to speak of, as in `Parametric`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(VWParametric(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.4)
    (150, True)
    """

    def __init__(self, epsilon: float = 0.1, bits: int = 26):
        super().__init__()
        check_shares(epsilon=epsilon)
        check_counts(1, bits=bits)
        self.epsilon, self.bits = epsilon, bits

    def build(self, space: Space, seed: int) -> Policy:
        """Return VW's contextual bandit."""
        return parametric_policy(space, seed, self.epsilon, self.bits, constant=False)
