"""The scorer of VW's memory tree: never asked online, but trained, and visible in two ways.

It has its share in the sums that scale the predictions of all routers, which takes the greatest of each of its
features, but not its weights. And VW sorts the namespaces of the two examples that it is trained on.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import inner_strict
from emt._kernels.contextual.listed import sort_namespaces
from emt._kernels.contextual.state import ContextualTree
from emt._kernels.lanes import LANES, absolute, full, greater, larger, load, store, where

__all__ = ["train_scorer"]

ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)


@inner_strict
def train_scorer(tree: ContextualTree, new: int, m: int, weight: np.float32) -> None:
    """Train the scorer on a new example and a memory: on the products z of their features, over their norms."""
    examples, count = tree.examples, tree.count
    one, other = examples.memory[new], examples.memory[m]
    label = np.float32(one.label == other.label)
    count.lowest, count.highest = min(count.lowest, label), max(count.highest, label)
    scale = ((TWO + one.square + one.square) * (TWO + other.square + other.square)) ** tree.config.half
    same = one.action == other.action
    if tree.config.dense:
        q = _dense_share(examples.x[new], examples.x[m], tree.config.n_numeric, one.action, same, scale, tree)
    else:
        q = _listed_share(tree, new, m, same, scale)
    count.norms += np.float64(weight) * np.float64(q)
    count.weights += np.float64(weight)
    _sort(tree, new)
    _sort(tree, m)


@inner_strict
def _sort(tree: ContextualTree, row: int) -> None:
    """Sort an example's namespaces, unless they are."""
    memory = tree.examples.memory[row]
    if memory.fresh and not tree.config.dense:
        sort_namespaces(tree.examples.features[row], memory.length)
    memory.fresh = False


@inner_strict
def _dense_share(
    x: np.ndarray, y: np.ndarray, one: int, action: int, same: bool, scale: np.float32, tree: ContextualTree
) -> np.float32:
    """Return the sum of (z / greatest z)^2 in the order x, a, 1, xa."""
    width, work, greatest = len(x), tree.work, tree.greatest
    zero, z_one = full(ZERO), ONE / scale
    most_a = greatest[(1 + action) * width + one]
    for half in range(2 if same else 1):
        block = (1 + action) * width if half else 0
        out = width if half else 0
        for i in range(0, width, LANES):
            z = load(x, i) * load(y, i) / full(scale)
            if half:
                z = z * full(z_one)
            most = larger(absolute(z), load(greatest, block + i))
            store(greatest, block + i, most)
            scaled = where(greater(most, zero), z / most, zero)
            store(work, out + i, scaled * scaled)
    q = ZERO
    for i in range(one):
        q += work[i]
    if same:  # the indicator of the action, which is no product
        at = (1 + action) * width + one
        greatest[at] = max(most_a, z_one)
        q += (z_one / greatest[at]) * (z_one / greatest[at])
    q += work[one]
    if same:
        for i in range(one):
            q += work[width + i]
    return q


@inner_strict
def _listed_share(tree: ContextualTree, new: int, m: int, same: bool, scale: np.float32) -> np.float32:
    """Return the sum of (z / greatest z)^2 in the order x, a, 1, xa."""
    examples, slots, one = tree.examples, tree.tables.slots, tree.config.n_inputs
    x, y, codes, theirs = examples.x[new], examples.x[m], examples.codes[new], examples.codes[m]
    z_one, block = ONE / scale, 1 + examples.memory[new].action
    q = ZERO
    for updating in range(2):  # features that share a slot are all compared with the greatest so far
        for half in range(2 if same else 1):
            row = slots[block] if half else slots[0]
            factor = z_one if half else ONE
            for i in range(tree.config.n_numeric):
                if x[i] != 0 and y[i] != 0:
                    q += _share(tree.greatest, row[i], x[i] * y[i] / scale * factor, updating)
            for j in range(len(codes)):
                if codes[j] == theirs[j]:
                    q += _share(tree.greatest, row[codes[j]], z_one * factor, updating)
            if half == 0:
                if same:
                    q += _share(tree.greatest, slots[block, one], z_one, updating)
                q += _share(tree.greatest, slots[0, one], z_one, updating)
    return q


@inner_strict
def _share(greatest: np.ndarray, slot: int, z: np.float32, updating: int) -> np.float32:
    """Return (z / greatest z)^2, or, updating, keep the greatest."""
    most = max(greatest[slot], abs(z))
    if updating:
        greatest[slot] = most
        return ZERO
    return (z / most) * (z / most) if most > ZERO else ZERO
