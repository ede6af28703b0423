"""PCMT+: the stack of PEMT+ over a Contextual Memory Tree."""

from __future__ import annotations

from typing import Any

from emt._kernels.contextual.slots import BITS
from emt.environment import Space
from emt.learners.cmt import check_contextual, contextual_memory, unpacked_memory
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.exploring import Exploration, keep_exploration
from emt.learners.stacked import keep_stack, stacked_model, unpacked_stack

__all__ = ["PCMTPlus"]


class PCMTPlus(CompiledLearner):
    """The stack of `PEMTPlus` over a Contextual Memory Tree, which answers with the reward of one memory and no more.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    max_nodes, leaf_multiplier, dreams, alpha, bits
        Of the memory, as in `CMT`.
    ridge, guard, forgetting
        Of the stack, as in `PEMTPlus`.
    explore : str or mapping
        How, as in `PEMTPlus`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(PCMTPlus(), Environment(load("iris"), seed=0))
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
        ridge: bool = True,
        guard: bool = True,
        forgetting: float = 1.0,
        explore: Exploration = "epsilon",
    ):
        check_contextual(epsilon, max_nodes, leaf_multiplier, dreams, alpha, bits)
        keep_stack(self, ridge, guard, forgetting)
        keep_exploration(self, epsilon, explore, ridge=ridge)
        self.max_nodes, self.leaf_multiplier = max_nodes, leaf_multiplier
        self.dreams, self.alpha, self.bits = dreams, alpha, bits

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return a Contextual Memory Tree, and a stack."""
        return contextual_memory(self, space, seed, n_steps), stacked_model(self, space)

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory and the stack of a file."""
        return unpacked_memory(self, space, memory), unpacked_stack(self, space, model)
