"""Routers of listed trees, trained by coin betting (VW's --coin) feature by feature, in VW's order.

A router has six numbers per slot, (w, z, G, M, wealth, L), beside each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner_strict
from emt._kernels.contextual.balance import clipped, is_left, side, tilt
from emt._kernels.contextual.state import FIELDS, NONE, Examples, Tables

__all__ = ["flatten", "list_features", "listed_says_left", "route_listed", "sort_namespaces", "train_listed"]

ZERO, ONE, TWO, FOUR = np.float32(0), np.float32(1), np.float32(2), np.float32(4)


@inner_strict
def list_features(examples: Examples, tables: Tables, row: int, action: int, n_numeric: int) -> None:
    """List an example's features in the order x, a, 1, xa."""
    x, codes, features = examples.x[row], examples.codes[row], examples.features[row]
    in_x, in_xa = tables.slots[0], tables.slots[1 + action]
    n = 0
    for i in range(n_numeric):
        if x[i] != 0:
            features[n].slot, features[n].value = in_x[i], x[i]
            n += 1
    for j in range(len(codes)):
        features[n].slot, features[n].value = in_x[codes[j]], ONE
        n += 1
    n_x = n
    features[n].slot, features[n].value = in_xa[len(in_xa) - 1], ONE
    features[n + 1].slot, features[n + 1].value = in_x[len(in_x) - 1], ONE
    n += 2
    for i in range(n_numeric):
        if x[i] != 0:
            features[n].slot, features[n].value = in_xa[i], x[i]
            n += 1
    for j in range(len(codes)):
        features[n].slot, features[n].value = in_xa[codes[j]], ONE
        n += 1
    examples.memory[row].length = 2 * n_x + 2


@inner_strict
def sort_namespaces(features: np.ndarray, n: int) -> None:
    """Bring an example's features from the order x, a, 1, xa into 1, a, x, xa."""
    n_x = (n - 2) // 2
    a_slot, one_slot = features[n_x].slot, features[n_x + 1].slot
    for k in range(n_x - 1, -1, -1):
        features[k + 2].slot, features[k + 2].value = features[k].slot, features[k].value
    features[0].slot, features[0].value = one_slot, ONE
    features[1].slot, features[1].value = a_slot, ONE


@inner_strict
def flatten(examples: Examples, row: int) -> None:
    """Sort an example's features by slot, sum those that share one, and keep the squared norm."""
    memory, features, flat = examples.memory[row], examples.features[row], examples.flat[row]
    n = memory.length
    gap = 1
    for k in range(n):
        flat[k].slot, flat[k].value = features[k].slot, features[k].value
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort, by slot and, among equal slots, by value
        for k in range(gap, n):
            slot, value = flat[k].slot, flat[k].value
            j = k
            while j >= gap and (
                flat[j - gap].slot > slot or (flat[j - gap].slot == slot and flat[j - gap].value > value)
            ):
                flat[j].slot, flat[j].value = flat[j - gap].slot, flat[j - gap].value
                j -= gap
            flat[j].slot, flat[j].value = slot, value
        gap //= 3
    last = 0
    for k in range(1, n):
        if flat[k].slot == flat[last].slot:
            flat[last].value += flat[k].value
        else:
            last += 1
            flat[last].slot, flat[last].value = flat[k].slot, flat[k].value
    norm = ZERO
    for k in range(last + 1):
        norm += flat[k].value * flat[k].value
    memory.flat_length, examples.link[row].norm = last + 1, norm


@inner_strict
def _weigh(router: np.ndarray, features: np.ndarray, n: int) -> np.float32:
    """Return <w, x>."""
    s = ZERO
    for k in range(n):
        s += router[FIELDS * features[k].slot] * features[k].value
    return s


@inner_strict
def listed_says_left(router: np.ndarray, features: np.ndarray, memory: Any, count: Any) -> bool:
    """Return whether a router sends a memory left."""
    return is_left(_weigh(router, features, memory.length), count)


@inner_strict
def route_listed(
    nodes: np.ndarray, routers: np.ndarray, features: np.ndarray, memory: Any, node: int, count: Any
) -> int:
    """Write the path of an example from a node to its leaf, and return its length."""
    length = 1
    nodes[0].path = node
    while nodes[node].child != NONE:
        here = nodes[node]
        node = here.child + (0 if listed_says_left(routers[node], features, memory, count) else 1)
        nodes[length].path = node
        length += 1
    return length


@inner_strict
def _stake(z: np.float32, turnover: np.float32, most: np.float32, wealth: np.float32) -> np.float32:
    """Return the bet on a feature: a share of its wealth. ``most`` is the greatest slope times the greatest x."""
    return (FOUR + wealth) / (most * (most + turnover)) * z if most > ZERO else ZERO


@inner_strict
def train_listed(
    here: Any,
    router: np.ndarray,
    features: np.ndarray,
    memory: Any,
    label: np.float32,
    weight: np.float32,
    config: Any,
    count: Any,
    work: np.ndarray,
) -> bool:
    """Train a node's router on a label (0: on the one that the node chooses); return whether it now says left."""
    n = memory.length
    if label == ZERO:
        tilted = tilt(here)
        if abs(tilted) > config.tilt:
            label = ONE if tilted > 0 else -ONE
        else:
            label = side(here, _weigh(router, features, n), config, count)
    count.lowest, count.highest = min(count.lowest, label), max(count.highest, label)
    if not weight > ZERO:  # not a number, where a node's counts are
        return False
    s = q = ZERO
    for k in range(n):
        at, x = FIELDS * features[k].slot, features[k].value
        greatest = max(router[at + 3], abs(x))
        stake = _stake(router[at + 1], router[at + 2], router[at + 5] * greatest, router[at + 4])
        work[k] = stake
        s += stake * x
        scaled = ONE if greatest == abs(x) else x / greatest  # squared: its sign does not matter
        q += scaled * scaled
    count.norms += np.float64(weight) * np.float64(q)
    count.weights += np.float64(weight)
    average = np.float32((count.norms + 1e-6) / count.weights)
    update = TWO * (clipped(s / average, count) - label) * weight
    size, sum_after = abs(update), ZERO
    for k in range(n):
        at, x, stake = FIELDS * features[k].slot, features[k].value, work[k]
        if abs(x) > router[at + 3]:
            router[at + 3] = abs(x)
        if size > router[at + 5] or config.shared:
            router[at + 5] = max(size, ONE) if size > router[at + 5] else router[at + 5]
            stake = _stake(router[at + 1], router[at + 2], router[at + 5] * router[at + 3], router[at + 4])
        gradient = update * x
        router[at + 1] -= gradient
        router[at + 2] += abs(gradient)
        router[at + 4] -= gradient * stake
        router[at] = stake / average
        sum_after += router[at] * x
    if config.shared:  # a weight may have changed again after it was added
        sum_after = _weigh(router, features, n)
    return is_left(sum_after, count)
