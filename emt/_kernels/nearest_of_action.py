"""The k nearest memories of each action, kept while memories come by in any order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.compile import inner

__all__ = ["Nearest", "allocate_nearest", "clear", "offer"]


class Nearest(NamedTuple):
    """A row for each action, in no order."""

    size: np.ndarray  # how many there are
    worst: np.ndarray  # where the farthest is, once there are k,
    limit: np.ndarray  # and how far; no limit before that
    score: np.ndarray  # how far each is
    value: np.ndarray
    serial: np.ndarray  # when it was stored


def allocate_nearest(k: int, n_actions: int) -> Nearest:
    """Return room for the k nearest of each action."""
    sizes, worst = np.zeros((2, n_actions), np.int64)
    scores, values = np.zeros((2, n_actions, k))
    return Nearest(sizes, worst, np.full(n_actions, np.inf), scores, values, np.zeros((n_actions, k), np.int64))


@inner
def clear(nearest: Nearest) -> None:
    """Begin anew."""
    for a in range(len(nearest.size)):
        nearest.size[a], nearest.limit[a] = 0, np.inf


@inner
def offer(nearest: Nearest, action: int, score: float, value: float, serial: int) -> None:
    """Take a memory whose score is within its action's limit among the nearest; of equal ones, that stored last."""
    scores, values, serials = nearest.score[action], nearest.value[action], nearest.serial[action]
    k, place = len(scores), nearest.size[action]
    if place < k:
        nearest.size[action] += 1
    else:
        place = nearest.worst[action]
        if score == scores[place] and serial < serials[place]:
            return
    scores[place], values[place], serials[place] = score, value, serial
    if nearest.size[action] == k:
        worst = 0
        for i in range(1, k):
            if scores[i] > scores[worst] or (scores[i] == scores[worst] and serials[i] < serials[worst]):
                worst = i
        nearest.worst[action], nearest.limit[action] = worst, scores[worst]
