"""Routers of dense trees, trained by coin betting (VW's --coin) on eight columns at a time.

A router's row holds (1 + n_actions) blocks of six rows (w, z, G, M, wealth, L) as wide as an example. An example meets
block 0 and the block of its action, ``own``, with the same columns: x and, at ``one``, the number 1. Every number that
is kept is what VW would keep, to the last bit. Where only a sign is asked for, sums are first taken in any order; if
the sign is not certain then, in VW's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import njit_strict
from emt._kernels.contextual.lanes import (
    LANES,
    absolute,
    any_of,
    full,
    greater,
    larger,
    load,
    nonzero,
    store,
    total,
    where,
)

__all__ = ["goes_left", "prediction", "train_dense", "weigh"]

ZERO, ONE, TWO, FOUR = np.float32(0), np.float32(1), np.float32(2), np.float32(4)
LOG2 = np.log(2.0)


@njit_strict
def weigh(router: np.ndarray, block: int, x: np.ndarray) -> tuple[np.float32, np.float32]:
    """Return <w, x> over a block, and the sum of the sizes of its terms, in any order."""
    sums, sizes = full(ZERO), full(ZERO)
    for i in range(0, len(x), LANES):
        term = load(router, block + i) * load(x, i)
        sums = sums + term
        sizes = sizes + absolute(term)
    return total(sums), total(sizes)


@njit_strict
def prediction(router: np.ndarray, own: int, x: np.ndarray, one: int, fresh: bool) -> np.float32:
    """Return <w, x> over both blocks in VW's order, not clipped."""
    s = ZERO
    if not fresh:
        s += router[one]
        s += router[own + one]
    for i in range(one):
        s += router[i] * x[i]
    if fresh:
        s += router[own + one]
        s += router[one]
    for i in range(one):
        s += router[own + i] * x[i]
    return s


@njit_strict
def goes_left(
    s: np.float32, error: np.float32, router: np.ndarray, own: int, x: np.ndarray, one: int, fresh: bool
) -> bool:
    """Return whether the prediction is negative, given a sum that is at most so far from it."""
    if s > error:
        return False
    if s < -error:
        return True
    return prediction(router, own, x, one, fresh) < ZERO


@njit_strict
def train_dense(
    router: np.ndarray,
    own: int,
    x: np.ndarray,
    one: int,
    fresh: bool,
    label: np.float32,
    weight: np.float32,
    count: Any,
    rounding: np.float32,
    work: np.ndarray,
) -> bool:
    """Learn a label; return whether the router now says left."""
    width = len(x)
    zero, four = full(ZERO), full(FOUR)
    count.lowest, count.highest = min(count.lowest, label), max(count.highest, label)
    if not weight > ZERO:  # not a number, where a node's counts are
        return False
    # The stakes before the update, their products with x, and the squares of x scaled by the greatest so far
    product, square = 2 * width, 4 * width
    for half in range(2):
        block = own if half else 0
        out = width if half else 0
        for i in range(0, width, LANES):
            values = load(x, i)
            most = larger(absolute(values), load(router, block + 3 * width + i))
            stake, most_slope = zero, load(router, block + 5 * width + i) * most
            most_slope = where(nonzero(values), most_slope, zero)
            stake = (four + load(router, block + 4 * width + i)) / (
                most_slope * (most_slope + load(router, block + 2 * width + i))
            )
            stake = where(greater(most_slope, zero), stake * load(router, block + width + i), zero)
            scaled = where(greater(most, zero), values / most, zero)
            store(work, out + i, stake)
            store(work, product + out + i, stake * values)
            store(work, square + out + i, scaled * scaled)
    s = q = ZERO
    if not fresh:
        s += work[product + one]
        q += work[square + one]
        s += work[product + width + one]
        q += work[square + width + one]
    for i in range(one):
        s += work[product + i]
        q += work[square + i]
    if fresh:
        s += work[product + width + one]
        q += work[square + width + one]
        s += work[product + one]
        q += work[square + one]
    for i in range(one):
        s += work[product + width + i]
        q += work[square + width + i]
    count.norms += np.float64(weight) * np.float64(q)
    count.weights += np.float64(weight)
    average = np.float32((count.norms + 1e-6) / count.weights)
    p = s / average
    p = count.highest if p > count.highest else (count.lowest if p < count.lowest else p)
    p = ZERO if np.isnan(p) else p
    update = TWO * (p - label) * weight
    size = abs(update)
    # Greatest x and slopes, where they rise
    for half in range(2):
        block = own if half else 0
        out = width if half else 0
        for i in range(0, width, LANES):
            values = load(x, i)
            most, slope = load(router, block + 3 * width + i), load(router, block + 5 * width + i)
            steep = greater(where(nonzero(values), full(size), zero), slope)
            if any_of(steep) or any_of(greater(absolute(values), most)):
                most = larger(absolute(values), most)
                slope = where(steep, full(max(size, ONE)), slope)
                store(router, block + 3 * width + i, most)
                store(router, block + 5 * width + i, slope)
                most_slope = where(nonzero(values), slope * most, zero)
                stake = (four + load(router, block + 4 * width + i)) / (
                    most_slope * (most_slope + load(router, block + 2 * width + i))
                )
                stake = where(greater(most_slope, zero), stake * load(router, block + width + i), zero)
                store(work, out + i, stake)
    sums, sizes = zero, zero
    updates, averages = full(update), full(average)
    for half in range(2):
        block = own if half else 0
        out = width if half else 0
        for i in range(0, width, LANES):
            values, stake = load(x, i), load(work, out + i)
            gradient = updates * values
            w = where(nonzero(values), stake / averages, load(router, block + i))
            store(router, block + i, w)
            store(router, block + width + i, load(router, block + width + i) - gradient)
            store(router, block + 2 * width + i, load(router, block + 2 * width + i) + absolute(gradient))
            store(router, block + 4 * width + i, load(router, block + 4 * width + i) - gradient * stake)
            term = w * values
            sums = sums + term
            sizes = sizes + absolute(term)
    return goes_left(total(sums), rounding * total(sizes), router, own, x, one, fresh)
