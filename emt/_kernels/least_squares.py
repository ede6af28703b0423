"""Recursive least squares: the weights that fit all that was seen, one observation at a time.

Haykin. Adaptive filter theory, chapter on recursive least squares. With P = I / penalty at the start and no forgetting,
the weights minimise

    sum of importance (target - <weights, z>)^2  +  penalty |weights - weights at the start|^2

and P is the inverse of sum of importance z z' + penalty I. A forgetting of lambda < 1 makes what was seen n steps ago
count lambda^n as much.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import inner

__all__ = ["fit", "predict", "squared_width"]

LARGEST_VARIANCE = 1000.0  # P is halved where a forgetful one exceeds it: in directions that are never seen it grows


@inner
def predict(weights: np.ndarray, z: np.ndarray) -> float:
    """Return <weights, z>."""
    total = 0.0
    for i in range(len(z)):
        total += weights[i] * z[i]
    return total


@inner
def fit(
    weights: np.ndarray,
    inverse: np.ndarray,
    image: np.ndarray,
    z: np.ndarray,
    target: float,
    importance: float,
    forgetting: float,
) -> None:
    """Learn the target of z. ``inverse`` is P; ``image`` is room for P z."""
    width = squared_width(inverse, image, z)
    scale = 1 / (forgetting / importance + width)
    step = scale * (target - predict(weights, z))
    for i in range(len(z)):
        weights[i] += step * image[i]
    for i in range(len(z)):
        row, gain = inverse[i], scale * image[i]
        for j in range(len(z)):
            row[j] -= gain * image[j]
    if forgetting < 1:
        _forget(inverse, forgetting)


@inner
def squared_width(inverse: np.ndarray, image: np.ndarray, z: np.ndarray) -> float:
    """Write P z, and return z' P z: how little is known of z. Rounding makes it no less than 0."""
    total = 0.0
    for i in range(len(z)):
        image[i] = predict(inverse[i], z)
        total += image[i] * z[i]
    return max(total, 0.0)


@inner
def _forget(inverse: np.ndarray, forgetting: float) -> None:
    n, largest = len(inverse), 0.0
    for i in range(n):
        for j in range(n):
            inverse[i, j] /= forgetting
        largest = max(largest, inverse[i, i])
    if largest > LARGEST_VARIANCE:
        for i in range(n):
            for j in range(n):
                inverse[i, j] *= 0.5
