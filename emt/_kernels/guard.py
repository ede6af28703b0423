"""A guard over two ways to choose: it says when the new one earns less than the old one.

Where the two would choose differently, the reward of the action taken, over the probability with which it was, is an
unbiased estimate of what each choice earns (Horvitz and Thompson, 1952), whatever was taken. While the sum of the
differences is below minus the root of the sum of their squares, about a standard error, the old way is followed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.compile import inner

__all__ = ["Guard", "compare", "distrusts"]


class Guard(NamedTuple):
    """The sum of differences, new less old, and the sum of their squares."""

    sums: np.ndarray


@inner
def distrusts(guard: Guard) -> bool:
    """Tell whether the new way has done worse than the old one."""
    return guard.sums[0] < -np.sqrt(guard.sums[1])


@inner
def compare(guard: Guard, new: int, old: int, action: int, reward: float, probability: float) -> None:
    """Learn from the reward of an action what the new choice and the old one earn. Rewards are about 1/2."""
    if new != old and action in (new, old):
        difference = (reward - 0.5) / probability
        guard.sums[0] += difference if action == new else -difference
        guard.sums[1] += difference * difference
