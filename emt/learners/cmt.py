"""The Contextual Memory Tree: epsilon-greedy on what it remembers."""

from __future__ import annotations

from functools import partial
from typing import Any

from emt._kernels.contextual import ContextualTree, allocate, unpack
from emt._kernels.contextual.slots import BITS
from emt.arguments import check_counts, check_shares
from emt.environment import Space
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.exploring import Exploration, keep_exploration

__all__ = ["CMT", "check_contextual", "contextual_memory", "unpacked_memory"]


class CMT(CompiledLearner):
    """Sun, Beygelzimer, Daumé III, Langford and Mineiro. Contextual memory trees. ICML 2019.

    The memory that the paper compares with, as Vowpal Wabbit's ``--memory_tree`` runs it online: the same answer to
    every query, hash collisions included (`VWCMT` is the original). Routers are learned; in a leaf, the memory with the
    greatest normalised inner product over [x, a, xa] and a constant answers.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    max_nodes : int
        Number of nodes of the tree at most; leaves grow without bound once there are so many.
    leaf_multiplier : int
        A leaf splits at this number times log2(max_nodes) memories.
    dreams : int
        How many memories are taken out and inserted again at each step.
    alpha : float
        Weight of the rewards in training a router; the rest is on balance.
    bits : int, optional
        Of Vowpal Wabbit's hash, of which some are left for features: the paper's runs had 25, of which 14 were left,
        enough for most sets. None: no two features collide.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, or ``squarecb``; see `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(CMT(), Environment(load("iris"), seed=0))
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
        bits: int | None = BITS,
        explore: Exploration = "epsilon",
    ):
        check_contextual(epsilon, max_nodes, leaf_multiplier, dreams, alpha, bits)
        keep_exploration(self, epsilon, explore)
        self.max_nodes, self.leaf_multiplier = max_nodes, leaf_multiplier
        self.dreams, self.alpha, self.bits = dreams, alpha, bits

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return a Contextual Memory Tree, and no model."""
        return contextual_memory(self, space, seed, n_steps), None

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory of a file, and no model."""
        return unpacked_memory(self, space, memory), None


def check_contextual(
    epsilon: float, max_nodes: int, leaf_multiplier: int, dreams: int, alpha: float, bits: int | None = None
) -> None:
    """Refuse impossible options of a learner with a Contextual Memory Tree."""
    check_shares(epsilon=epsilon, alpha=alpha)
    check_counts(1, max_nodes=max_nodes, leaf_multiplier=leaf_multiplier, bits=1 if bits is None else bits)
    check_counts(0, dreams=dreams)


def contextual_memory(learner: Any, space: Space, seed: int, n_steps: int) -> ContextualTree:
    """Return the empty tree that a learner's options describe."""
    names = ("max_nodes", "leaf_multiplier", "dreams", "alpha", "bits")
    options = {name: getattr(learner, name) for name in names}
    return allocate(space.n_numeric, space.n_levels, space.n_actions, **options, seed=seed, n_memories=n_steps)


def unpacked_memory(learner: Any, space: Space, memory: Arrays) -> ContextualTree:
    """Return the tree of a file."""
    return unpack(partial(contextual_memory, learner, space), space.n_levels, memory)
