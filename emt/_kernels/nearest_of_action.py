"""The k nearest memories of each action, kept while memories come by in any order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.compile import inner

__all__ = ["Nearest", "allocate_nearest", "clear", "could_be", "offer"]


class Nearest(NamedTuple):
    """A row for each action, the nearest first."""

    size: np.ndarray  # how many there are
    score: np.ndarray  # how far each is
    value: np.ndarray
    serial: np.ndarray  # when it was stored


def allocate_nearest(k: int, n_actions: int) -> Nearest:
    """Return room for the k nearest of each action."""
    scores, values = np.zeros((2, n_actions, k))
    return Nearest(np.zeros(n_actions, np.int64), scores, values, np.zeros((n_actions, k), np.int64))


@inner
def clear(nearest: Nearest) -> None:
    """Begin anew."""
    for a in range(len(nearest.size)):
        nearest.size[a] = 0


@inner
def could_be(nearest: Nearest, action: int, score: float) -> bool:
    """Tell whether a memory with this score may be among its action's nearest."""
    k = nearest.score.shape[1]
    return nearest.size[action] < k or score <= nearest.score[action, k - 1]


@inner
def offer(nearest: Nearest, action: int, score: float, value: float, serial: int) -> None:
    """Take a memory among its action's nearest if it is one; of equal scores, the memory that was stored last."""
    scores, values, serials = nearest.score[action], nearest.value[action], nearest.serial[action]
    n, k = nearest.size[action], len(scores)
    if n == k:
        if score > scores[k - 1] or (score == scores[k - 1] and serial < serials[k - 1]):
            return
        n = k - 1
    while n > 0 and (score < scores[n - 1] or (score == scores[n - 1] and serial > serials[n - 1])):
        scores[n], values[n], serials[n] = scores[n - 1], values[n - 1], serials[n - 1]
        n -= 1
    scores[n], values[n], serials[n] = score, value, serial
    nearest.size[action] = min(nearest.size[action] + 1, k)
