"""How a compiled learner explores: its ``explore`` argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emt._kernels.explore import EpsilonGreedy, SquareCB, UpperConfidence
from emt.arguments import check_choice, check_positive, check_shares

__all__ = ["EXPLORATIONS", "Exploration", "explorer_of", "keep_exploration"]

#: The ways to explore, and the numbers of each with their defaults.
EXPLORATIONS: dict[str, dict[str, float]] = {
    "epsilon": {},
    "squarecb": {"scale": 10.0, "exponent": 0.5},
    "linucb": {"alpha": 0.3},
}

Exploration = str | Mapping[str, Any]


def keep_exploration(learner: Any, epsilon: float, explore: Exploration, *, ridge: bool = False) -> None:
    """Check a learner's exploration, and keep it under the names of its arguments.

    Parameters
    ----------
    learner : CompiledLearner
        Who explores.
    epsilon : float
        Share of exploration of ``epsilon``.
    explore : str or mapping
        ``epsilon``, ``squarecb`` or ``linucb``; or a mapping with that ``kind`` and other numbers than the usual ones.
    ridge : bool
        Whether the learner has a ridge regression, which ``linucb`` needs.

    Examples
    --------
    >>> from emt.learners import Parametric
    >>> Parametric(explore={"kind": "squarecb", "scale": 100}).explore
    {'kind': 'squarecb', 'scale': 100}
    >>> Parametric(explore="linucb")
    Traceback (most recent call last):
    ...
    ValueError: explore='linucb' needs a ridge regression, which Parametric has not: LinUCB, Ridge and PEMTPlus have
    """
    check_shares(epsilon=epsilon)
    kind, numbers = _parted(explore)
    check_choice(list(EXPLORATIONS), explore=kind)
    for name in numbers:
        check_choice(list(EXPLORATIONS[kind]), **{f"a number of explore={kind!r}": name})
    check_positive(**{f"explore's {name}": value for name, value in numbers.items()})
    if kind == "linucb" and not ridge:
        name = type(learner).__name__
        raise ValueError(
            f"explore='linucb' needs a ridge regression, which {name} has not: LinUCB, Ridge and PEMTPlus have"
        )
    learner.epsilon, learner.explore = epsilon, explore


def explorer_of(learner: Any, n_actions: int) -> Any:
    """Return the exploration of a learner, as the loop plays it."""
    kind, given = _parted(learner.explore)
    numbers = {name: float(value) for name, value in (EXPLORATIONS[kind] | given).items()}
    if kind == "squarecb":
        return SquareCB(**numbers, n_steps=np.zeros(1, np.int64))
    if kind == "linucb":
        return UpperConfidence(**numbers, bounds=np.zeros(n_actions))
    return EpsilonGreedy(float(learner.epsilon))


def _parted(explore: Exploration) -> tuple[str, dict[str, Any]]:
    if isinstance(explore, str):
        return explore, {}
    if not isinstance(explore, Mapping) or "kind" not in explore:
        raise ValueError(f"explore must be one of {', '.join(EXPLORATIONS)}, or have it as its kind, not {explore!r}")
    return explore["kind"], {name: value for name, value in explore.items() if name != "kind"}
