"""Retrieval: the memory of a leaf with the greatest cosine similarity to the query, of several the first.

Where features have slots of their own, the inner product is (1 + [same action]) (1 + <x, x'>), and one scan of a leaf
serves all actions. Sums are first taken in any order. Where the best is not best by more than rounding, those that may
be are compared again by VW's sums, which are in the order of its buckets. Where features share slots, VW's sums are
taken at once.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit_strict
from emt._kernels.contextual.lanes import LANES, full, load, total
from emt._kernels.contextual.listed import flatten, list_features
from emt._kernels.contextual.state import NONE, ContextualTree

__all__ = ["dense_norm", "nearest"]

ZERO, ONE = np.float32(0), np.float32(1)


@njit_strict
def nearest(tree: ContextualTree, leaf: int, row: int, action: int) -> int:
    """Return the memory of a leaf that is most similar to the example in a row, taken with this action."""
    config, candidates = tree.config, tree.candidates
    if tree.nodes[leaf].size == 0:
        return NONE
    if config.shared:
        return _first_best(tree, leaf, row, action)
    start = _scan(tree, leaf, row)
    best = second = np.float32(-np.inf)
    at = start
    for k in range(start, start + tree.nodes[leaf].size):
        score = candidates[k].similarity
        score = score + score if candidates[k].action == action else score
        if score > best:
            best, second, at = score, best, k
        elif score > second:
            second = score
    if config.n_numeric == 0 or best - second > _margin(tree, row):
        return candidates[at].memory
    return _first_best_of(tree, start, tree.nodes[leaf].size, row, action, best - _margin(tree, row))


@njit_strict
def _margin(tree: ContextualTree, row: int) -> np.float32:
    """Return how far two scores must be apart for rounding not to matter."""
    size = ONE + tree.examples.memory[row].square + np.float32(tree.examples.codes.shape[1])
    return np.float32(2) * tree.config.rounding * np.sqrt(size + size)


@njit_strict
def _scan(tree: ContextualTree, leaf: int, row: int) -> int:
    """List a leaf's memories with their inner products <x, x'> + 1 over their norms, once per query; return where."""
    node, count, candidates, examples = tree.nodes[leaf], tree.count, tree.candidates, tree.examples
    if node.scanned == count.query:
        return node.start
    start, m = count.used, node.first
    x, codes = examples.x[row], examples.codes[row]
    for k in range(start, start + node.size):
        memory = examples.memory[m]
        y, theirs = examples.x[m], examples.codes[m]
        sums = full(ZERO)
        for i in range(0, len(x), LANES):
            sums = sums + load(x, i) * load(y, i)
        n_same = np.int32(0)
        for j in range(len(codes)):
            n_same += np.int32(codes[j] == theirs[j])
        candidates[k].memory, candidates[k].action = m, memory.action
        candidates[k].similarity = (total(sums) + np.float32(n_same)) * memory.inverse
        m = memory.next
    node.scanned, node.start = count.query, start
    count.used = start + node.size
    return start


@njit_strict
def dense_norm(x: np.ndarray, order: np.ndarray) -> np.float32:
    """Return |f|^2 of a dense example, in the order of the buckets."""
    norm = ZERO
    for k in range(len(order)):
        norm += x[order[k]] * x[order[k]]
    return norm


@njit_strict
def _first_best_of(tree: ContextualTree, start: int, n: int, row: int, action: int, least: np.float32) -> int:
    """Return the first best, by VW's sums, of the scanned memories whose score is not below the least."""
    config, candidates, examples, order = tree.config, tree.candidates, tree.examples, tree.tables.order
    x = examples.x[row]
    if config.dense:
        norm = dense_norm(x, order[1 + action])
    else:
        _spread(tree, row, action)
        norm = examples.memory[row].norm
    found, best = NONE, np.float32(-np.inf)
    for k in range(start, start + n):
        score, m = candidates[k].similarity, candidates[k].memory
        same = candidates[k].action == action
        score = score + score if same else score
        if score < least:
            continue
        product = ZERO
        if config.dense:
            columns = order[1 + action] if same else order[0, : config.n_numeric + 1]
            y = examples.x[m]
            for i in range(len(columns)):
                product += x[columns[i]] * y[columns[i]]
        else:
            product = _meet(tree, m)
        score = product / (norm * examples.memory[m].norm) ** config.half
        if score > best:
            found, best = m, score
    if not config.dense:
        _gather(tree, row)
    return found


@njit_strict
def _first_best(tree: ContextualTree, leaf: int, row: int, action: int) -> int:
    """Return the first best of a leaf's memories by VW's sums."""
    examples = tree.examples
    _spread(tree, row, action)
    norm = examples.memory[row].norm
    found, best, m = NONE, np.float32(-np.inf), tree.nodes[leaf].first
    while m != NONE:
        score = _meet(tree, m) / (norm * examples.memory[m].norm) ** tree.config.half
        if score > best:
            found, best = m, score
        m = examples.memory[m].next
    _gather(tree, row)
    return found


@njit_strict
def _spread(tree: ContextualTree, row: int, action: int) -> None:
    """Write the query's values by slot."""
    list_features(tree.examples, tree.tables, row, action, tree.config.n_numeric)
    flatten(tree.examples, row)
    flat = tree.examples.flat[row]
    for k in range(tree.examples.memory[row].flat_length):
        tree.spread[flat[k].slot] = flat[k].value


@njit_strict
def _gather(tree: ContextualTree, row: int) -> None:
    """Take the query's values away again."""
    flat = tree.examples.flat[row]
    for k in range(tree.examples.memory[row].flat_length):
        tree.spread[flat[k].slot] = ZERO


@njit_strict
def _meet(tree: ContextualTree, m: int) -> np.float32:
    """Return the inner product of a memory and the query, in the order of the slots."""
    flat = tree.examples.flat[m]
    product = ZERO
    for k in range(tree.examples.memory[m].flat_length):
        product += tree.spread[flat[k].slot] * flat[k].value
    return product
