"""Routers of dense trees, trained by coin betting (VW's --coin) on eight columns at a time.

A router's row holds (1 + n_actions) blocks of six rows (w, z, G, M, wealth, L) as wide as an example. An example meets
block 0 and the block of its action, ``own``, with the same columns: x and, at ``one``, the number 1. Every number that
is kept is what VW would keep, to the last bit. Where only a sign is asked for, sums are first taken in any order; if
the sign is not certain then, in VW's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inline, inner_strict
from emt._kernels.contextual.balance import clipped, is_left, likely_side, side, tilt
from emt._kernels.contextual.state import FIELDS, NONE
from emt._kernels.lanes import (
    LANES,
    absolute,
    bits,
    full,
    greater,
    larger,
    load,
    nonzero,
    smaller,
    store,
    total,
    where,
)

__all__ = ["dense_says_left", "list_columns", "route_dense", "train_dense"]

ZERO, ONE, TWO, FOUR, INFINITE = np.float32(0), np.float32(1), np.float32(2), np.float32(4), np.float32(np.inf)


@inline
def _weigh(router: np.ndarray, block: int, x: np.ndarray, sums: Any, sizes: Any) -> Any:
    """Add <w, x> over a block, and the sizes of its terms, eight columns apart; where x = 0, w need not be finite."""
    for i in range(0, len(x), LANES):
        values = load(x, i)
        term = where(nonzero(values), load(router, block + i) * values, full(ZERO))
        sums = sums + term
        sizes = sizes + absolute(term)
    return sums, sizes


@inner_strict
def _in_order(router: np.ndarray, own: int, x: np.ndarray, one: int, fresh: bool) -> np.float32:
    """Return <w, x> over both blocks in VW's order."""
    s = ZERO
    if not fresh:
        s += router[one]
        s += router[own + one]
    for i in range(one):
        s += router[i] * x[i] if x[i] != ZERO else ZERO
    if fresh:
        s += router[own + one]
        s += router[one]
    for i in range(one):
        s += router[own + i] * x[i] if x[i] != ZERO else ZERO
    return s


@inner_strict
def dense_says_left(router: np.ndarray, x: np.ndarray, memory: Any, config: Any, count: Any) -> bool:
    """Return whether a router sends a memory left."""
    own = FIELDS * len(x) * (1 + memory.action)
    sums, sizes = _weigh(router, 0, x, full(ZERO), full(ZERO))
    sums, sizes = _weigh(router, own, x, sums, sizes)
    s = total(sums)
    if not abs(s) > config.rounding * total(sizes):
        s = _in_order(router, own, x, config.n_numeric, memory.fresh)
    return is_left(s, count)


@inner_strict
def route_dense(
    nodes: np.ndarray, routers: np.ndarray, x: np.ndarray, action: int, node: int, config: Any, count: Any
) -> int:
    """Write the path of a fresh example from a node to its leaf, and return its length.

    A router's sum over block 0 serves all actions of a query.
    """
    own, length = FIELDS * len(x) * (1 + action), 1
    nodes[0].path = node
    while nodes[node].child != NONE:
        here, router = nodes[node], routers[node]
        if here.weighed != count.query:
            sums, sizes = _weigh(router, 0, x, full(ZERO), full(ZERO))
            here.sum, here.sizes, here.weighed = total(sums), total(sizes), count.query
        sums, sizes = _weigh(router, own, x, full(ZERO), full(ZERO))
        s = here.sum + total(sums)
        if not abs(s) > config.rounding * (here.sizes + total(sizes)):
            s = _in_order(router, own, x, config.n_numeric, True)
        node = here.child + (0 if is_left(s, count) else 1)
        nodes[length].path = node
        length += 1
    return length


@inner_strict
def list_columns(x: np.ndarray, columns: np.ndarray, memory: Any) -> None:
    """List the columns where an example is not 0."""
    memory.length = 0
    for i in range(len(columns)):
        if x[i] != ZERO:
            columns[memory.length] = i
            memory.length += 1


@inline
def _stakes(router: np.ndarray, block: int, width: int, i: int, values: Any, most: Any, slope: Any) -> Any:
    """Return the bets on eight features: shares of their wealth; 0 where a feature is absent."""
    zero = full(ZERO)
    most_slope = where(nonzero(values), slope * most, zero)
    share = (full(FOUR) + load(router, block + 4 * width + i)) / (
        most_slope * (most_slope + load(router, block + 2 * width + i))
    )
    return where(greater(most_slope, zero), share * load(router, block + width + i), zero)


@inner_strict
def train_dense(
    here: Any,
    router: np.ndarray,
    x: np.ndarray,
    columns: np.ndarray,
    memory: Any,
    label: np.float32,
    weight: np.float32,
    config: Any,
    count: Any,
    work: np.ndarray,
) -> bool:
    """Train a node's router on a label (0: on the one that the node chooses); return whether it now says left."""
    width, one, fresh = len(x), config.n_numeric, memory.fresh
    own = FIELDS * width * (1 + memory.action)
    zero = full(ZERO)
    if label == ZERO:
        tilted = tilt(here)
        if abs(tilted) > config.tilt:
            label = ONE if tilted > 0 else -ONE
        else:
            sums, sizes = _weigh(router, 0, x, zero, zero)
            sums, sizes = _weigh(router, own, x, sums, sizes)
            label = likely_side(tilted, total(sums), config.rounding * total(sizes), config, count)
            if label == ZERO:
                label = side(here, _in_order(router, own, x, one, fresh), config, count)
    count.lowest, count.highest = min(count.lowest, label), max(count.highest, label)
    if not weight > ZERO:  # not a number, where a node's counts are
        return False
    # The stakes before the update, their products with x, and the squares of x over the greatest so far
    product, square = 2 * width, 4 * width
    least_slope, growth = full(INFINITE), zero
    for half in range(2):
        block, out = own if half else 0, width if half else 0
        for i in range(0, width, LANES):
            values, most = load(x, i), load(router, block + 3 * width + i)
            slope = load(router, block + 5 * width + i)
            least_slope = smaller(least_slope, where(nonzero(values), slope, full(INFINITE)))
            growth = larger(growth, absolute(values) - most)
            most = larger(absolute(values), most)
            stake = _stakes(router, block, width, i, values, most, slope)
            scaled = where(greater(most, zero), values / most, zero)
            store(work, out + i, stake)
            store(work, product + out + i, stake * values)
            store(work, square + out + i, scaled * scaled)
    s = q = ZERO
    if not fresh:
        s, q = s + work[product + one], q + work[square + one]
        s, q = s + work[product + width + one], q + work[square + width + one]
    for k in range(memory.length):
        i = columns[k]
        s, q = s + work[product + i], q + work[square + i]
    if fresh:
        s, q = s + work[product + width + one], q + work[square + width + one]
        s, q = s + work[product + one], q + work[square + one]
    for k in range(memory.length):
        i = width + columns[k]
        s, q = s + work[product + i], q + work[square + i]
    count.norms += np.float64(weight) * np.float64(q)
    count.weights += np.float64(weight)
    average = np.float32((count.norms + 1e-6) / count.weights)
    update = TWO * (clipped(s / average, count) - label) * weight
    if bits(greater(full(abs(update)), least_slope)) or bits(greater(growth, zero)):
        slopes = full(max(abs(update), ONE))
        for half in range(2):
            block, out = own if half else 0, width if half else 0
            for i in range(0, width, LANES):
                values, slope = load(x, i), load(router, block + 5 * width + i)
                most = larger(absolute(values), load(router, block + 3 * width + i))
                steeper = where(nonzero(values), full(abs(update)), zero)
                slope = where(greater(steeper, slope), slopes, slope)
                store(router, block + 3 * width + i, most)
                store(router, block + 5 * width + i, slope)
                store(work, out + i, _stakes(router, block, width, i, values, most, slope))
    sums, sizes = zero, zero
    for half in range(2):
        block, out = own if half else 0, width if half else 0
        for i in range(0, width, LANES):
            values, stake = load(x, i), load(work, out + i)
            gradient = full(update) * values
            w = where(nonzero(values), stake / full(average), load(router, block + i))
            store(router, block + i, w)
            store(router, block + width + i, load(router, block + width + i) - gradient)
            store(router, block + 2 * width + i, load(router, block + 2 * width + i) + absolute(gradient))
            store(router, block + 4 * width + i, load(router, block + 4 * width + i) - gradient * stake)
            term = where(nonzero(values), w * values, zero)
            sums = sums + term
            sizes = sizes + absolute(term)
    s = total(sums)
    if not abs(s) > config.rounding * total(sizes):
        s = _in_order(router, own, x, one, fresh)
    return is_left(s, count)
