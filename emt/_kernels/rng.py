"""A random stream of one 64-bit word (splitmix64, Steele et al., 2014): easy to save, the same in every language."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner

__all__ = ["normal", "shuffle", "uniform"]

STEP = np.uint64(0x9E3779B97F4A7C15)


@inner
def uniform(stream: Any) -> float:
    """Return the next number of the stream, uniform in [0, 1)."""
    stream.rng += STEP
    return np.float64(_mixed(stream.rng) >> np.uint64(11)) * 2.0**-53


@inner
def _mixed(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def normal(stream: Any) -> float:
    """Return a standard normal number (Box and Muller's sine half)."""
    radius = np.sqrt(-2 * np.log(1 - uniform(stream)))
    return radius * np.sin(2 * np.pi * uniform(stream))


@inner
def shuffle(order: np.ndarray, stream: Any) -> None:
    """Put an array of numbers in a random order, in place."""
    state = stream.rng  # in a register, where stores to the order cannot change it
    for i in range(len(order) - 1, 0, -1):
        state += STEP
        j = (_mixed(state) >> np.uint64(32)) * np.uint64(i + 1) >> np.uint64(32)  # of 0 to i, by 32 random bits
        order[i], order[j] = order[j], order[i]
    stream.rng = state
