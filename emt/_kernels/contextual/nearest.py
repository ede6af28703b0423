"""Retrieval: the memory of a leaf with the greatest cosine similarity to the query, of several the first.

Where features have slots of their own, the inner product is (1 + [same action]) (1 + <x, x'>), and one scan of a leaf
serves all actions. Sums are first taken in any order. Where the best is not best by more than rounding, those that may
be are compared again by VW's sums, which are in the order of its buckets. Where features share slots, VW's sums are
taken at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner, inner_strict
from emt._kernels.contextual.listed import flatten, list_features
from emt._kernels.contextual.state import NONE, WHOLE, Candidates, ContextualTree, Examples
from emt._kernels.lanes import LANES, bits, equal, full, greater, larger, largest, load, total, where

__all__ = ["dense_norm", "nearest"]

ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)
ALL = 2**LANES - 1  # the bits of all lanes


@inner_strict
def nearest(tree: ContextualTree, leaf: int, row: int, action: int) -> int:
    """Return the memory of a leaf that is most similar to the example in a row, taken with this action."""
    node, config = tree.nodes[leaf], tree.config
    if node.size == 0:
        return NONE
    if config.shared:
        return _first_best(tree, leaf, row, action)
    if node.scanned != tree.count.query:
        _scan(node, tree.candidates, tree.examples, row, tree.count)
    margin = ZERO
    if config.n_numeric:  # else all numbers are whole, and sums exact
        size = ONE + tree.examples.memory[row].square
        margin = TWO * config.rounding * np.sqrt(size + size)
    at, least = _best(tree.candidates, node.start, node.size, np.float32(action), margin)
    if at != NONE:
        return WHOLE(tree.candidates.memory[at])
    return _first_best_of(tree, WHOLE(node.start), WHOLE(node.size), row, action, least)


@inner_strict
def _best(candidates: Candidates, start: int, n: int, action: np.float32, margin: np.float32) -> tuple[int, np.float32]:
    """Return the best candidate, or NONE if others are as good within the margin; and the least such score.

    Without a margin, the first of several that are equal is the best.
    """
    actions, similarity, same = candidates.action, candidates.similarity, full(action)
    best = full(np.float32(-np.inf))
    for k in range(start, start + n, LANES):
        score = load(similarity, k)
        best = larger(where(equal(load(actions, k), same), score + score, score), best)
    least, at = largest(best) - margin, NONE
    for k in range(start, start + n, LANES):
        score = load(similarity, k)
        score = where(equal(load(actions, k), same), score + score, score)
        near = ALL ^ bits(greater(full(least), score))
        if near:
            if margin > ZERO and (at != NONE or near & (near - 1)):
                return NONE, least
            first = k
            while not near & 1:
                near, first = near >> 1, first + 1
            if at == NONE:
                at = first
    return at, least


@inner_strict
def _scan(node: Any, candidates: Candidates, examples: Examples, row: int, count: Any) -> None:
    """List a leaf's memories with their inner products <x, x'> + 1 over their norms."""
    start, m = count.used, node.first
    x, codes, end = examples.x[row], examples.codes[row], start + node.size
    for k in range(start, end):
        link, y = examples.link[m], examples.x[m]
        sums = full(ZERO)
        for i in range(0, len(x), LANES):
            sums = sums + load(x, i) * load(y, i)
        product = total(sums)
        if len(codes):
            product += np.float32(_n_equal(codes, examples.codes[m]))
        candidates.memory[k], candidates.action[k] = m, np.float32(link.action)
        candidates.similarity[k] = product * link.inverse
        m = link.next
    node.scanned, node.start = count.query, start
    count.used = -(-end // LANES) * LANES
    for k in range(end, count.used):
        candidates.similarity[k] = -np.inf


@inner
def _n_equal(codes: np.ndarray, theirs: np.ndarray) -> np.int32:
    n = np.int32(0)
    for j in range(len(codes)):
        n += np.int32(codes[j] == theirs[j])
    return n


@inner_strict
def dense_norm(x: np.ndarray, order: np.ndarray) -> np.float32:
    """Return |f|^2 of a dense example, in the order of the buckets."""
    norm = ZERO
    for k in range(len(order)):
        norm += x[order[k]] * x[order[k]]
    return norm


@inner_strict
def _first_best_of(tree: ContextualTree, start: int, n: int, row: int, action: int, least: np.float32) -> int:
    """Return the first best, by VW's sums, of the scanned memories whose score is not below the least."""
    config, candidates, examples, order = tree.config, tree.candidates, tree.examples, tree.tables.order
    x = examples.x[row]
    if config.dense:
        norm = dense_norm(x, order[1 + action])
    else:
        _spread(tree, row, action)
        norm = examples.link[row].norm
    found, best = NONE, np.float32(-np.inf)
    for k in range(start, start + n):
        score, m = candidates.similarity[k], WHOLE(candidates.memory[k])
        same = examples.link[m].action == action
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
        score = product / (norm * examples.link[m].norm) ** config.half
        if score > best:
            found, best = m, score
    if not config.dense:
        _gather(tree, row)
    return found


@inner_strict
def _first_best(tree: ContextualTree, leaf: int, row: int, action: int) -> int:
    """Return the first best of a leaf's memories by VW's sums."""
    examples = tree.examples
    _spread(tree, row, action)
    norm = examples.link[row].norm
    found, best, m = NONE, np.float32(-np.inf), WHOLE(tree.nodes[leaf].first)
    while m != NONE:
        score = _meet(tree, m) / (norm * examples.link[m].norm) ** tree.config.half
        if score > best:
            found, best = m, score
        m = WHOLE(examples.link[m].next)
    _gather(tree, row)
    return found


@inner_strict
def _spread(tree: ContextualTree, row: int, action: int) -> None:
    """Write the query's values by slot."""
    list_features(tree.examples, tree.tables, row, action, tree.config.n_numeric)
    flatten(tree.examples, row)
    flat = tree.examples.flat[row]
    for k in range(tree.examples.memory[row].flat_length):
        tree.spread[flat[k].slot] = flat[k].value


@inner_strict
def _gather(tree: ContextualTree, row: int) -> None:
    """Take the query's values away again."""
    flat = tree.examples.flat[row]
    for k in range(tree.examples.memory[row].flat_length):
        tree.spread[flat[k].slot] = ZERO


@inner_strict
def _meet(tree: ContextualTree, m: int) -> np.float32:
    """Return the inner product of a memory and the query, in the order of the slots."""
    flat = tree.examples.flat[m]
    product = ZERO
    for k in range(tree.examples.memory[m].flat_length):
        product += tree.spread[flat[k].slot] * flat[k].value
    return product
