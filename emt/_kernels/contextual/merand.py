"""Vowpal Wabbit's random numbers (merand48): a linear congruential generator of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner

__all__ = ["index", "uniform"]

FACTOR, TERM = np.uint64(0xEECE66D5DEECE66D), np.uint64(2147483647)


@inner
def uniform(rng: Any) -> np.float32:
    """Return the next number of the stream, uniform in [0, 1)."""
    rng.rng = FACTOR * rng.rng + TERM
    return np.float32((rng.rng >> np.uint64(25)) & np.uint64(0x7FFFFF)) * np.float32(2.0**-23)


@inner
def index(rng: Any, n: int) -> int:
    """Return the next number of the stream as one of n positions."""
    return int(uniform(rng) * np.float32(n))
