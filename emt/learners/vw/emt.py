"""The Eigen Memory Tree, run by Vowpal Wabbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emt.arguments import check_choice, check_counts, check_shares
from emt.environment import Space
from emt.learners.vw.base import VWLearner

if TYPE_CHECKING:
    from emt.learners.vw.workspace import Memory

__all__ = ["VWEMT"]


class VWEMT(VWLearner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: EMT-CB in its authors' implementation.

    The reference that the compiled `EMT` is compared with: Vowpal Wabbit's ``--emt``, with the options of the paper's
    runs in their names of today.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    leaf_capacity : int
        A leaf splits when it holds more memories than this.
    budget : int or None
        Number of memories at most, the least recently used making room; None for no limit.
    scorer : {"self_consistent", "interaction"}
        The paper's scorer, or that of its ablation. VW's today sees only the products of a coordinate with itself.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(VWEMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.6)
    (150, True)
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        leaf_capacity: int = 100,
        budget: int | None = None,
        scorer: str = "self_consistent",
    ):
        super().__init__()
        check_shares(epsilon=epsilon)
        check_counts(1, leaf_capacity=leaf_capacity, budget=1 if budget is None else budget)
        check_choice(("self_consistent", "interaction"), scorer=scorer)
        self.epsilon, self.leaf_capacity, self.budget, self.scorer = epsilon, leaf_capacity, budget, scorer

    def build(self, space: Space, seed: int) -> Memory:
        """Return VW's eigen memory tree; its labels are the rewards, weighted by 1 / (|A| p)."""
        from emt.learners.vw.workspace import Memory

        consistent = self.scorer == "self_consistent"
        command = (
            f"--emt --emt_tree {self.budget or 0} --emt_leaf {self.leaf_capacity} "
            f"--emt_scorer {'' if consistent else 'not_'}self_consistent_rank "
            "--emt_router eigen --emt_initial gaussian --min_prediction 0 --max_prediction 3 --coin --noconstant "
            f"--power_t 0 --loss_function squared -b 26 --initial_weight 0{' --interactions xa' if consistent else ''}"
        )
        return Memory(command, space, seed, self.epsilon, zero=0, weighted=True)
