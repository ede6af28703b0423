"""The label on which a node trains its router: -1 for left, 1 for right.

It is the side that the router predicts, unless the node's counts are out of balance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import njit_strict

__all__ = ["clipped", "decided", "side"]

ZERO, ONE = np.float32(0), np.float32(1)
LOG2 = np.log(2.0)


@njit_strict
def clipped(prediction: np.float32, count: Any) -> np.float32:
    """Return a prediction within the range of labels; what is not a number is 0."""
    p = count.highest if prediction > count.highest else prediction
    p = count.lowest if p < count.lowest else p
    return ZERO if np.isnan(p) else p


@njit_strict
def decided(ratio: float, config: Any) -> np.float32:
    """Return the label if the ratio of the counts decides it whatever the prediction is, else 0."""
    if ratio > config.high:
        return ONE
    return -ONE if 0 <= ratio < config.low else ZERO


@njit_strict
def side(ratio: float, prediction: np.float32, config: Any, count: Any) -> np.float32:
    """Return the label by the ratio of the counts and the prediction."""
    balance = (1 - np.float64(config.alpha)) * np.log(ratio) / LOG2
    value = np.float32(balance + np.float64(config.alpha * clipped(prediction, count)))
    return -ONE if value < ZERO else ONE
