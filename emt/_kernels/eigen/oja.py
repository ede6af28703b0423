"""TopEigen (Algorithm 3): Oja's method, in the space of the memories instead of the coordinates.

Oja's step for the n-th memory, c_k centred, is

    v <- v + (1/n) c_k <c_k, v>,    then v <- v / |v|

v never leaves the span of its start v_0 and the memories, so it is kept as coefficients of those, and with it its
projections p_l = <c_l, v>:

    v = v_0 + sum_k alpha_k c_k         alpha_k <- alpha_k + p_k / n         p_l <- p_l + (p_k / n) <c_k, c_l>

The inner products <c_k, c_l> are computed once per split: 40 passes cost the same for 10 and for 1,000 coordinates,
and an indicator costs nothing but a comparison of codes. The length of v is watched, and taken out now and then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner, inner_new
from emt._kernels.eigen.state import Memories
from emt._kernels.rng import normal, shuffle, uniform
from emt._kernels.vector import filled

__all__ = ["random_direction", "top_eigen"]

MOST = 4096  # memories a router is fitted to, so that a huge leaf does not ask for a huge matrix


@inner_new
def random_direction(options: Any, counts: Any, n: int) -> np.ndarray:
    """Return a random unit vector: non-negative where Oja's method takes several passes, as run; else any direction."""
    v = np.empty(n)
    for i in range(n):
        v[i] = uniform(counts) if options.epochs > 1 else normal(counts)
    _normalise(v)
    return v


@inner_new
def top_eigen(options: Any, counts: Any, memories: Memories, rows: np.ndarray) -> np.ndarray:
    """Approximate the first principal component of the keys: one pass in their order, or several, each reshuffled."""
    n = min(len(rows), MOST)
    centred = _centred(memories.numeric, options.n_numeric, rows, n)
    levels = _levels(options, memories.codes, memories.action, rows, n)
    gram = _gram(centred, levels, n)
    v = random_direction(options, counts, options.n_inputs + options.n_actions)
    projection = _start_projections(centred, levels, v, n)
    alpha = np.zeros(n, centred.dtype)
    order = np.arange(n).astype(np.uint32)
    rates = (1 / np.arange(1, n + 1)).astype(centred.dtype)
    for _ in range(options.epochs):
        if options.epochs > 1:
            shuffle(order, counts)
        _oja_pass(gram, order, rates, projection, alpha, v)
    _assemble(centred, levels, alpha, v)
    _normalise(v)
    return v


@inner
def _oja_pass(
    gram: np.ndarray,
    order: np.ndarray,
    rates: np.ndarray,
    projection: np.ndarray,
    alpha: np.ndarray,
    v: np.ndarray,
) -> None:
    """Take one step for each memory: alpha_k <- alpha_k + p_k / n, p_l <- p_l + (p_k / n) <c_k, c_l>.

    ``v`` holds the start's share of the vector. Its length is only watched: a length is no direction, but it must not
    overflow. |v + g c_k|^2 = |v|^2 + g (2 <c_k, v> + g <c_k, c_k>).
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


@inner
def _normalise(v: np.ndarray) -> None:
    total = 0.0
    for i in range(len(v)):
        total += v[i] * v[i]
    scale = 1 / np.sqrt(total)
    for i in range(len(v)):
        v[i] *= scale


@inner_new
def _centred(numeric: np.ndarray, n_numeric: int, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the numeric coordinates less their means, one row per coordinate, filled up with zeros."""
    centred = np.zeros((n_numeric, filled(n)), numeric.dtype)
    for i in range(n_numeric):
        mean = 0.0
        for k in range(n):
            mean += numeric[rows[k], i]
        mean /= n
        for k in range(n):
            centred[i, k] = numeric[rows[k], i] - mean
    return centred


@inner_new
def _levels(options: Any, codes: np.ndarray, action: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the indicators that are 1, of categorical columns and action, one row per column."""
    n_codes = options.n_codes
    levels = np.empty((n_codes + (1 if options.has_action else 0), n), np.int32)
    for k in range(n):
        for j in range(n_codes):
            levels[j, k] = codes[rows[k], j]
        if options.has_action:
            levels[n_codes, k] = options.n_inputs + action[rows[k]]
    return levels


@inner_new
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


@inner
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


@inner_new
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


@inner
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
