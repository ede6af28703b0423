"""Epsilon-greedy exploration."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit

__all__ = ["epsilon_greedy", "sample"]


@njit
def epsilon_greedy(values: np.ndarray, epsilon: float, probabilities: np.ndarray) -> None:
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


@njit
def sample(probabilities: np.ndarray, draw: float) -> int:
    """Return the action in whose share of [0, 1) the draw falls."""
    total = 0.0
    for a in range(len(probabilities)):
        total += probabilities[a]
        if draw < total:
            return a
    return len(probabilities) - 1
