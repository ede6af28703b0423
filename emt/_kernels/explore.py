"""How an action is drawn from predicted rewards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.compile import inner, kernel
from emt._kernels.parts import explore

__all__ = ["EpsilonGreedy", "epsilon_greedy", "sample", "take"]


class EpsilonGreedy(NamedTuple):
    """Any action with a share of epsilon, else the best: the paper's exploration."""

    epsilon: float


@explore.of(EpsilonGreedy)
def _explore(explorer: EpsilonGreedy, values: np.ndarray, probabilities: np.ndarray) -> None:
    share_epsilon(values, explorer.epsilon, probabilities)


@inner
def share_epsilon(values: np.ndarray, epsilon: float, probabilities: np.ndarray) -> None:
    """Write the probability of each action: the greedy share is split equally among tied best actions."""
    n = len(values)
    best = values[0]
    n_best = 0
    for a in range(n):
        if values[a] > best:
            best, n_best = values[a], 1
        elif values[a] == best:
            n_best += 1
    for a in range(n):
        probabilities[a] = epsilon / n
        if values[a] == best:
            probabilities[a] += (1 - epsilon) / n_best


@kernel
def epsilon_greedy(values: np.ndarray, epsilon: float, probabilities: np.ndarray) -> None:
    """Write the probability of each action, for learners that are not compiled."""
    share_epsilon(values, epsilon, probabilities)


@inner
def take(probabilities: np.ndarray, die: float) -> int:
    """Return the action in whose share of [0, 1) the die falls."""
    total = 0.0
    for a in range(len(probabilities)):
        total += probabilities[a]
        if die < total:
            return a
    return len(probabilities) - 1


@kernel
def sample(probabilities: np.ndarray, die: float) -> int:
    """Return the action in whose share of [0, 1) the die falls, for loops in Python."""
    return take(probabilities, die)
