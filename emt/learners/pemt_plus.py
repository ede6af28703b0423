"""PEMT+: a stack over an Eigen Memory Tree."""

from __future__ import annotations

from typing import Any

from emt._kernels.eigen import unpack
from emt._kernels.eigen.same_action import with_neighbours
from emt.arguments import check_counts, check_yes_or_no
from emt.environment import Space
from emt.learners.compiled import Arrays, CompiledLearner
from emt.learners.emt import eigen_memory, eigen_options, keep_options
from emt.learners.exploring import Exploration, keep_exploration
from emt.learners.stacked import keep_stack, stacked_model, unpacked_stack

__all__ = ["PEMTPlus"]


class PEMTPlus(CompiledLearner):
    """PEMT, and beside it a stack of what it predicts, a ridge regression and the nearest memories of the same action.

    A recursive least squares over six numbers per action learns whom to trust: PEMT's own prediction, that of a ridge
    regression per action, the mean reward of the nearest memories of the action, how near these are, and the reward of
    the nearest memory where it is near. A guard goes back to PEMT's choice while the stack's earns less. It starts as
    PEMT, and PEMT stays what it is inside it. ``docs/pemt_plus.md`` says what each part is worth.

    Parameters
    ----------
    epsilon : float
        Share of exploration, spread over all actions.
    leaf_capacity, budget, variant, scorer, router, eviction
        Of the memory, as in `EMT`; so are its further choices.
    neighbours : int
        How many of the nearest memories of the same action make the mean; 0: none.
    confidence : bool
        Whether the stack knows how near the nearest memory is.
    ridge : bool
        Whether there is a ridge regression.
    guard : bool
        Whether there is a guard.
    forgetting : float
        What the stack has learned n steps ago counts its n-th power as much: 1, or 0.998 where the world drifts.
    explore : str or mapping
        How: ``epsilon``, epsilon-greedy as in the paper, ``squarecb``, or ``linucb`` by its ridge; see
        `emt.learners.exploring`.

    Examples
    --------
    >>> from emt import Environment, evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(PEMTPlus(), Environment(load("iris"), seed=0))
    >>> len(rewards), bool(rewards.mean() > 0.6)
    (150, True)
    """

    n_answers = 3

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
        neighbours: int = 5,
        confidence: bool = True,
        ridge: bool = True,
        guard: bool = True,
        forgetting: float = 1.0,
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
        keep_options(self, locals())
        keep_stack(self, ridge, guard, forgetting)
        keep_exploration(self, epsilon, explore, ridge=ridge)
        check_counts(0, neighbours=neighbours)
        check_yes_or_no(confidence=confidence)
        self.neighbours, self.confidence = neighbours, confidence

    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return an Eigen Memory Tree that also tells of neighbours, and a stack."""
        return self._with_neighbours(eigen_memory(self, space, seed, n_steps), space), stacked_model(self, space)

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory and the stack of a file."""
        tree = self._with_neighbours(unpack(eigen_options(self, space), memory), space)
        return tree, unpacked_stack(self, space, model)

    def _with_neighbours(self, tree: Any, space: Space) -> Any:
        return with_neighbours(tree, max(self.neighbours, 1), space.n_actions)
