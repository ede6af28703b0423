"""PEMT-CB: the parametric learner with an Eigen Memory Tree."""

from __future__ import annotations

from typing import Any

from emt._kernels.eigen import unpack
from emt._kernels.linear_packing import unpack_linear
from emt.environment import Space
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.emt import eigen_memory, eigen_options, keep_options
from emt.learners.exploring import Exploration, keep_exploration
from emt.learners.parametric import linear_model

__all__ = ["PEMT"]


class PEMT(CompiledLearner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: PEMT-CB, the stacked learner.

    The reward that an Eigen Memory Tree remembers for each action is one more feature of that action in the parametric
    learner: one weight shared by all actions, not interacted. Both learn from every step.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    leaf_capacity, budget, variant, scorer, router, eviction
        Of the memory, as in `EMT`; so are its further choices.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, or ``squarecb``; see `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(PEMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.5)
    (150, True)
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        leaf_capacity: int = 100,
        budget: int | None = None,
        variant: str = "as_run",
        scorer: str = "self_consistent",
        router: str = "eigen",
        eviction: str = "lru",
        *,
        initial_score: str | None = None,
        learning: str | None = None,
        crossed: bool | None = None,
        weighted: bool | None = None,
        epochs: int | None = None,
        boundary: str | None = None,
        splits_at: str | None = None,
        duplicates: str | None = None,
        cross_terms: str | None = None,
        explore: Exploration = "epsilon",
    ):
        keep_exploration(self, epsilon, explore)
        keep_options(self, locals())

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return an Eigen Memory Tree, and a linear model with a constant."""
        return eigen_memory(self, space, seed, n_steps), linear_model(space, constant=True)

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory and the model of a file."""
        tree = unpack(eigen_options(self, space), memory)
        return tree, unpack_linear(linear_model(space, constant=True), model)
