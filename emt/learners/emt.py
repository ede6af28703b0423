"""EMT-CB: epsilon-greedy on an Eigen Memory Tree."""

from __future__ import annotations

from typing import Any

from emt._kernels.eigen import Tree, allocate, unpack
from emt.environment import Space
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.exploring import Exploration, keep_exploration
from emt.options import MEMORY_OPTIONS, TreeOptions

__all__ = ["EMT", "eigen_memory", "eigen_options", "keep_options"]


class EMT(CompiledLearner):
    """Rucker, Ash, Langford, Mineiro and Momennejad. Eigen memory trees. 2022: EMT-CB, the memory alone (Algorithm 4).

    Every action is queried; the greedy one has the highest remembered reward. The tree's keys are context and action.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    leaf_capacity, budget, variant, scorer, router, eviction
        Of the memory: see `emt.EigenMemoryTree`.
    initial_score, learning, crossed, weighted, epochs, boundary, splits_at, duplicates, cross_terms
        Choices of the memory, those of the variant unless given: see `emt.EigenMemoryTree`.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, or ``squarecb``; see `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(EMT(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.6)
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
        """Return an Eigen Memory Tree, and no model."""
        return eigen_memory(self, space, seed, n_steps), None

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory of a file."""
        return unpack(eigen_options(self, space), memory), None


def keep_options(learner: Any, given: dict[str, Any]) -> None:
    """Check the options of a learner's memory among its arguments, and keep them, resolved, under their names."""
    options = TreeOptions(n_features=1, **{name: given[name] for name in MEMORY_OPTIONS})
    for name in MEMORY_OPTIONS:
        setattr(learner, name, getattr(options, name))


def eigen_options(learner: Any, space: Space, seed: int = 0) -> TreeOptions:
    """Return the options of a learner's tree, in single precision."""
    return TreeOptions(
        n_features=space.n_numeric,
        n_levels=space.n_levels,
        n_actions=space.n_actions,
        seed=seed,
        eta=0.001,  # the paper names none; of 1e-4 to 1, this is where as printed does well on small sets and wide ones
        dtype="float32",
        **{name: getattr(learner, name) for name in MEMORY_OPTIONS},
    )


def eigen_memory(learner: Any, space: Space, seed: int, n_steps: int) -> Tree:
    """Return the empty tree that a learner's options describe."""
    return allocate(eigen_options(learner, space, seed), n_steps)
