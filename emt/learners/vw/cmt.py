"""The Contextual Memory Tree, run by Vowpal Wabbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emt.environment import Space
from emt.learners.cmt import check_contextual
from emt.learners.vw.base import VWLearner

if TYPE_CHECKING:
    from emt.learners.vw.workspace import Memory

__all__ = ["VWCMT"]


class VWCMT(VWLearner):
    """Sun, Beygelzimer, Daumé III, Langford and Mineiro. Contextual memory trees. ICML 2019.

    The memory that the paper compares with: Vowpal Wabbit's ``--memory_tree``, learning online. Its predicted reward of
    an action is that of the memory it retrieves for [x, a, xa]; exploration is epsilon-greedy. By VW's source, the
    learned scorer comes in only after a first pass ends, which never happens online: retrieval is by normalised dot
    product.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    max_nodes : int
        Number of nodes of the tree at most.
    leaf_multiplier : int
        A leaf splits at this number times log2(max_nodes) memories.
    dreams : int
        How many memories are taken out and inserted again at each step.
    alpha : float
        Weight of the rewards in training a router; the rest is on balance.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(VWCMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.5)
    (150, True)
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        max_nodes: int = 2000,
        leaf_multiplier: int = 9,
        dreams: int = 10,
        alpha: float = 0.5,
    ):
        super().__init__()
        check_contextual(epsilon, max_nodes, leaf_multiplier, dreams, alpha)
        self.epsilon, self.max_nodes, self.leaf_multiplier = epsilon, max_nodes, leaf_multiplier
        self.dreams, self.alpha = dreams, alpha

    def build(self, space: Space, seed: int) -> Memory:
        """Return VW's memory tree; rewards 0 and 1 are labels 1 and 2, because label 0 means none."""
        from emt.learners.vw.workspace import Memory

        command = (
            f"--memory_tree {self.max_nodes} --leaf_example_multiplier {self.leaf_multiplier} "
            f"--dream_repeats {self.dreams} --alpha {self.alpha} --learn_at_leaf --online "
            "--max_number_of_labels 2 --coin --power_t 0 -b 25 --interactions xa"
        )
        return Memory(command, space, seed, self.epsilon, zero=1, weighted=False)
