"""The parametric learner with a Contextual Memory Tree."""

from __future__ import annotations

from typing import Any

from emt._kernels.contextual.slots import BITS
from emt._kernels.linear_packing import unpack_linear
from emt.environment import Space
from emt.learners.cmt import check_contextual, contextual_memory, unpacked_memory
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.exploring import Exploration, keep_exploration
from emt.learners.parametric import linear_model

__all__ = ["PCMT"]


class PCMT(CompiledLearner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: the parametric learner with a CMT.

    The reward that a Contextual Memory Tree remembers for each action is one more feature of that action in the
    parametric learner: one weight shared by all actions, not interacted. Both learn from every step.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    max_nodes, leaf_multiplier, dreams, alpha, bits
        Of the memory, as in `CMT`.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, or ``squarecb``; see `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(PCMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.4)
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
        """Return a Contextual Memory Tree, and a linear model with a constant."""
        return contextual_memory(self, space, seed, n_steps), linear_model(space, constant=True)

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory and the model of a file."""
        linear = unpack_linear(linear_model(space, constant=True), model)
        return unpacked_memory(self, space, memory), linear
