"""TopEigen (Algorithm 3): Oja's method, in the space of the memories instead of the coordinates.

Oja's vector never leaves the span of its start and the centred memories c_k, so it is kept as coefficients of those:
v = s v_0 + sum_k alpha_k c_k. A step v <- v + (1/n) c_k <c_k, v> then adds <c_k, v> / n to alpha_k, and every projection
<c_l, v> changes by that times the inner product of c_k and c_l. The inner products are computed once per split; 40 passes
cost the same for 10 and for 1,000 coordinates, and an indicator costs nothing but a comparison of codes.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit
from emt._kernels.rng import normal, shuffle, uniform
from emt._kernels.state import Tree

__all__ = ["random_direction", "top_eigen"]

EPOCHS = 40  # as run; as printed there is one pass
MOST = 4096  # memories a router is fitted to, so that a huge leaf does not ask for a huge matrix


@njit
def random_direction(tree: Tree) -> np.ndarray:
    """Return a random unit vector over the x and a blocks: non-negative as run, of any direction as printed."""
    v = np.empty(tree.router.shape[1])
    total = 0.0
    for i in range(len(v)):
        v[i] = uniform(tree.count) if tree.config.as_run else normal(tree.count)
        total += v[i] * v[i]
    return v / np.sqrt(total)


@njit
def top_eigen(tree: Tree, memories: np.ndarray) -> np.ndarray:
    """Approximate the first principal component of the memories' keys."""
    memories = memories[:MOST]
    n = len(memories)
    centred, levels = _centred(tree, memories), _levels(tree, memories)
    gram = _gram(centred, levels)
    start = random_direction(tree)
    projection = _start_projections(centred, levels, start)
    alpha = np.zeros(n, centred.dtype)
    real = centred.dtype.type
    length = 1.0  # of the start's share in v; v itself is only ever known up to its length
    squared = 1.0
    order = np.arange(n)
    for _ in range(EPOCHS if tree.config.as_run else 1):
        if tree.config.as_run:
            shuffle(order, tree.count)
        for step in range(n):
            k = order[step]
            gain = projection[k] / real(step + 1)
            squared += 2 * gain * projection[k] + gain * gain * gram[k, k]
            alpha[k] += gain
            row = gram[k]
            for m in range(n):
                projection[m] += gain * row[m]
            if squared > 1e20:
                shrink = real(1 / np.sqrt(squared))
                length *= shrink
                alpha *= shrink
                projection *= shrink
                squared = 1.0
    return _assemble(centred, levels, start, length, alpha)


@njit
def _centred(tree: Tree, memories: np.ndarray) -> np.ndarray:
    """Return the numeric coordinates less their means, one row per coordinate."""
    n = len(memories)
    centred = np.empty((tree.numeric.shape[1], n), tree.numeric.dtype)
    for k in range(n):
        for i in range(len(centred)):
            centred[i, k] = tree.numeric[memories[k], i]
    for i in range(len(centred)):
        centred[i] -= centred[i].sum() / tree.numeric.dtype.type(n)
    return centred


@njit
def _levels(tree: Tree, memories: np.ndarray) -> np.ndarray:
    """Return the positions of the indicators that are 1, of categorical columns and action, one row per column."""
    n_codes = tree.codes.shape[1]
    levels = np.empty((n_codes + (1 if tree.config.has_action else 0), len(memories)), np.int32)
    for k in range(len(memories)):
        for j in range(n_codes):
            levels[j, k] = tree.codes[memories[k], j]
        if tree.config.has_action:
            levels[n_codes, k] = tree.config.n_inputs + tree.memories[memories[k]].action
    return levels


@njit
def _gram(centred: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return all inner products of the centred keys."""
    real, n = centred.dtype.type, centred.shape[1]
    gram = np.zeros((n, n), centred.dtype)
    for k in range(n):
        row = gram[k]
        for j in range(len(levels)):
            level, column = levels[j, k], levels[j]
            for m in range(n):
                row[m] += real(1) if column[m] == level else real(0)
    mean = np.empty(n, centred.dtype)
    for k in range(n):
        mean[k] = gram[k].sum() / real(n)
    overall = mean.sum() / real(n)
    for k in range(n):
        row = gram[k]
        offset = overall - mean[k]
        for m in range(n):
            row[m] += offset - mean[m]
        for i in range(len(centred)):
            x, column = centred[i, k], centred[i]
            for m in range(n):
                row[m] += x * column[m]
    return gram


@njit
def _start_projections(centred: np.ndarray, levels: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return <c_k, v_0> for every memory."""
    n = centred.shape[1]
    projection = np.zeros(n, centred.dtype)
    for j in range(len(levels)):
        for k in range(n):
            projection[k] += start[levels[j, k]]
    projection -= projection.sum() / centred.dtype.type(n)
    for i in range(len(centred)):
        for k in range(n):
            projection[k] += centred[i, k] * start[i]
    return projection


@njit
def _assemble(
    centred: np.ndarray, levels: np.ndarray, start: np.ndarray, length: float, alpha: np.ndarray
) -> np.ndarray:
    """Return the unit vector with these coefficients."""
    v = start * length
    mean = alpha.sum() / len(alpha)
    for i in range(len(centred)):
        for k in range(len(alpha)):
            v[i] += alpha[k] * centred[i, k]
    for j in range(len(levels)):
        for k in range(len(alpha)):
            v[levels[j, k]] += alpha[k] - mean
    return v / np.sqrt((v * v).sum())
