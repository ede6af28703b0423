"""The label on which a node trains its router: -1 for left, 1 for right.

It is the sign of (1 - alpha) log2(n_left / (n_right + 0.1)) + alpha p, where p is the router's prediction: the side
that the router predicts, unless the node's counts are out of balance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner_strict

__all__ = ["clipped", "is_left", "likely_side", "side", "tilt"]

ZERO, ONE = np.float32(0), np.float32(1)
LOG2 = np.log(2.0)
THIRD = 0.3334  # the tilt where the counts' ratio is 2, and a bit


@inner_strict
def clipped(prediction: np.float32, count: Any) -> np.float32:
    """Return a prediction within the range of labels; what is not a number is 0."""
    p = count.highest if prediction > count.highest else prediction
    p = count.lowest if p < count.lowest else p
    return ZERO if np.isnan(p) else p


@inner_strict
def is_left(prediction: np.float32, count: Any) -> bool:
    """Return whether a prediction says left: within the range of labels, it is negative."""
    return bool(prediction < ZERO and count.lowest < ZERO)


@inner_strict
def tilt(node: Any) -> float:
    """Return the difference of a node's counts over their sum; not a number where dreams have taken too many away."""
    n_right = node.n_right + 0.1
    return (node.n_left - n_right) / (node.n_left + n_right) if n_right > 0 else np.nan


@inner_strict
def likely_side(tilt: float, s: np.float32, error: np.float32, config: Any, count: Any) -> np.float32:
    """Return the label if a prediction that is off by some error suffices to tell it, else 0.

    By the series of the area tangent, log(n_left / n_right) = 2 (t + t^3 / 3 + t^5 / 5 ...), t the tilt.
    """
    square = tilt * tilt
    log = 2 * tilt * (1 + square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9)))))
    alpha = np.float64(config.alpha)
    value = (1 - alpha) / LOG2 * log + alpha * clipped(s, count)
    if abs(tilt) < THIRD and abs(value) > 1e-5 + alpha * error:
        return ONE if value > 0 else -ONE
    return ZERO


@inner_strict
def side(node: Any, prediction: np.float32, config: Any, count: Any) -> np.float32:
    """Return the label as VW computes it."""
    balance = (1 - np.float64(config.alpha)) * np.log(node.n_left / (node.n_right + 0.1)) / LOG2
    value = np.float32(balance + np.float64(config.alpha * clipped(prediction, count)))
    return -ONE if value < ZERO else ONE
