"""TopEigen (Algorithm 3): Oja's method, in the space of the memories instead of the coordinates.

Oja's vector never leaves the span of its start and the centred memories c_k, so it is kept as coefficients of those:
v = v_0 + sum_k alpha_k c_k. A step v <- v + (1/n) c_k <c_k, v> then adds <c_k, v> / n to alpha_k, and every projection
<c_l, v> changes by that times the inner product of c_k and c_l. The inner products are computed once per split; 40
passes cost the same for 10 and for 1,000 coordinates, and an indicator costs nothing but a comparison of codes.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit, njit_new
from emt._kernels.rng import normal, shuffle, uniform
from emt._kernels.state import Tree, filled

__all__ = ["random_direction", "top_eigen"]

EPOCHS = 40  # as run; as printed there is one pass
MOST = 4096  # memories a router is fitted to, so that a huge leaf does not ask for a huge matrix


@njit_new
def random_direction(tree: Tree) -> np.ndarray:
    """Return a random unit vector over the x and a blocks: non-negative as run, of any direction as printed."""
    v = np.empty(tree.router.shape[1])
    for i in range(len(v)):
        v[i] = uniform(tree.count) if tree.config.as_run else normal(tree.count)
    _normalise(v)
    return v


@njit_new
def top_eigen(tree: Tree, memories: np.ndarray) -> np.ndarray:
    """Approximate the first principal component of the memories' keys."""
    n = min(len(memories), MOST)
    centred, levels = _centred(tree, memories, n), _levels(tree, memories, n)
    gram = _gram(centred, levels, n)
    v = random_direction(tree)
    projection = _start_projections(centred, levels, v, n)
    alpha = np.zeros(n, centred.dtype)
    order = np.arange(n).astype(np.uint32)
    rates = (1 / np.arange(1, n + 1)).astype(centred.dtype)
    for _ in range(EPOCHS if tree.config.as_run else 1):
        if tree.config.as_run:
            shuffle(order, tree.count)
        _oja_epoch(gram, order, rates, projection, alpha, v)
    _assemble(centred, levels, alpha, v)
    _normalise(v)
    return v


@njit
def _oja_epoch(
    gram: np.ndarray,
    order: np.ndarray,
    rates: np.ndarray,
    projection: np.ndarray,
    alpha: np.ndarray,
    v: np.ndarray,
) -> None:
    """Take one step of Oja's method for each memory: v <- v + (1/n) c_k <c_k, v>, up to the length of v.

    ``v`` holds the start's share of the vector. Its length is only watched: a length is no direction, but it must not
    overflow.
    """
    real, n = gram.dtype.type, len(order)
    squared = 1.0
    here = projection[order[0]]
    for step in range(n):
        k = order[step]
        row = gram[k]
        gain = here * rates[step]
        squared += np.float64(gain) * (2.0 * here + np.float64(gain) * row[k])
        alpha[k] += gain
        # What the next step needs comes first: it does not have to wait for the rest.
        following = order[min(step + 1, n - 1)]
        here = projection[following] + gain * row[following]
        for m in range(len(projection)):
            projection[m] += gain * row[m]
        if squared > 1e10 or step == n - 1:
            shrink = real(1 / np.sqrt(squared))
            for m in range(n):
                alpha[m] *= shrink
            for m in range(len(projection)):
                projection[m] *= shrink
            for i in range(len(v)):
                v[i] *= shrink
            squared = 1.0
            here *= shrink


@njit
def _normalise(v: np.ndarray) -> None:
    total = 0.0
    for i in range(len(v)):
        total += v[i] * v[i]
    scale = 1 / np.sqrt(total)
    for i in range(len(v)):
        v[i] *= scale


@njit_new
def _centred(tree: Tree, memories: np.ndarray, n: int) -> np.ndarray:
    """Return the numeric coordinates less their means, one row per coordinate, filled up with zeros."""
    centred = np.zeros((tree.config.n_numeric, filled(n)), tree.numeric.dtype)
    for i in range(len(centred)):
        mean = 0.0
        for k in range(n):
            mean += tree.numeric[memories[k], i]
        mean /= n
        for k in range(n):
            centred[i, k] = tree.numeric[memories[k], i] - mean
    return centred


@njit_new
def _levels(tree: Tree, memories: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the indicators that are 1, of categorical columns and action, one row per column."""
    n_codes = tree.codes.shape[1]
    levels = np.empty((n_codes + (1 if tree.config.has_action else 0), n), np.int32)
    for k in range(n):
        for j in range(n_codes):
            levels[j, k] = tree.codes[memories[k], j]
        if tree.config.has_action:
            levels[n_codes, k] = tree.config.n_inputs + tree.action[memories[k]]
    return levels


@njit_new
def _gram(centred: np.ndarray, levels: np.ndarray, n: int) -> np.ndarray:
    """Return all inner products of the centred keys."""
    real = centred.dtype.type
    gram = np.zeros((n, filled(n)), centred.dtype)
    for k in range(n):
        row = gram[k]
        for j in range(len(levels)):
            level, column = levels[j, k], levels[j]
            for m in range(n):
                row[m] += real(1) if column[m] == level else real(0)
    mean = np.zeros(n, centred.dtype)
    overall = real(0)
    for k in range(n):
        for m in range(n):
            mean[k] += gram[k, m] / real(n)
        overall += mean[k] / real(n)
    for k in range(n):
        row = gram[k]
        offset = overall - mean[k]
        for m in range(n):
            row[m] += offset - mean[m]
        _add_products(row, centred, k)
    return gram


@njit
def _add_products(row: np.ndarray, centred: np.ndarray, k: int) -> None:
    """Add the inner products of memory k with all others, four coordinates at a time."""
    whole = len(centred) - len(centred) % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = centred[i, k], centred[i + 1, k], centred[i + 2, k], centred[i + 3, k]
        c0, c1, c2, c3 = centred[i], centred[i + 1], centred[i + 2], centred[i + 3]
        for m in range(len(row)):
            row[m] += x0 * c0[m] + x1 * c1[m] + x2 * c2[m] + x3 * c3[m]
    for i in range(whole, len(centred)):
        x, column = centred[i, k], centred[i]
        for m in range(len(row)):
            row[m] += x * column[m]


@njit_new
def _start_projections(centred: np.ndarray, levels: np.ndarray, start: np.ndarray, n: int) -> np.ndarray:
    """Return <c_k, v_0> for every memory."""
    projection = np.zeros(filled(n), centred.dtype)
    for j in range(len(levels)):
        for k in range(n):
            projection[k] += start[levels[j, k]]
    mean = 0.0
    for k in range(n):
        mean += projection[k] / n
    for k in range(n):
        projection[k] -= mean
    for i in range(len(centred)):
        for k in range(n):
            projection[k] += centred[i, k] * start[i]
    return projection


@njit
def _assemble(centred: np.ndarray, levels: np.ndarray, alpha: np.ndarray, v: np.ndarray) -> None:
    """Add the memories' share to the start's."""
    mean = 0.0
    for k in range(len(alpha)):
        mean += alpha[k] / len(alpha)
    for i in range(len(centred)):
        for k in range(len(alpha)):
            v[i] += alpha[k] * centred[i, k]
    for j in range(len(levels)):
        for k in range(len(alpha)):
            v[levels[j, k]] += alpha[k] - mean
