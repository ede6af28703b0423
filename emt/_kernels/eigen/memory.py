"""Query and Learn (Algorithm 1), for keys and for a context with every action: a memory that the loop can play."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import by_kind, inner, kernel
from emt._kernels.eigen.leaf import attach
from emt._kernels.eigen.predict_scorer import argmin, begin_question, scan, score_action
from emt._kernels.eigen.recency import enlist, forget, touch
from emt._kernels.eigen.route import route
from emt._kernels.eigen.split import split_leaf
from emt._kernels.eigen.state import FIRST, LAST, NONE, PAGE, Memories, Tree, grow_tree
from emt._kernels.eigen.update_scorer import update_scorer
from emt._kernels.parts import ask, begin, grow, has_room, learn
from emt._kernels.vector import ROUND, filled, least, squared_norm

__all__ = ["Keys", "ask_tree", "learn_keys", "make_room", "observe", "query_keys"]


class Keys(NamedTuple):
    """Any number of keys, a row each."""

    numeric: np.ndarray
    codes: np.ndarray
    action: np.ndarray


@kernel
def query_keys(tree: Tree, keys: Keys, found: np.ndarray, scores: np.ndarray) -> None:
    """Query one key after the other; write the memory that is least unlike each, or `NONE`, and its score."""
    counts, memories, scratch = tree.counts, tree.memories, tree.scratch
    for q in range(len(found)):
        if counts.memories == 0:
            found[q] = NONE
            continue
        numeric, codes, action = keys.numeric[q], keys.codes[q], keys.action[q]
        begin_question(tree.options, counts, tree.scorer, scratch, numeric, codes, action, action + 1)
        leaf = route(tree.options, counts, tree.nodes, numeric, codes, action)
        start, n = scan(tree, leaf, numeric, codes), tree.nodes.node[leaf].size
        score_action(tree.options, memories, tree.scorer, scratch, start, n, action)
        k = argmin(counts, memories.record, scratch, start, n)
        found[q], scores[q] = scratch.candidate[k], scratch.score[k]
        if tree.options.touches:
            touch(counts, memories.record, found[q])


@kernel
def learn_keys(
    tree: Tree, keys: Keys, values: np.ndarray, weights: np.ndarray, identifiers: np.ndarray, start: int
) -> int:
    """Learn one key's value after the other, from a key on, until the tree must grow; return the key reached.

    A weight is the importance of what the scorer learns.
    """
    for k in range(start, len(values)):
        if not has_room(tree):
            return k
        numeric, codes = keys.numeric[k], keys.codes[k]
        action = keys.action[k]
        begin_question(tree.options, tree.counts, tree.scorer, tree.scratch, numeric, codes, action, action + 1)
        _learn(tree, numeric, codes, action, values[k], weights[k], identifiers[k])
    return len(values)


@begin.of(Tree)
def begin_context(tree: Tree, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Begin a question about a context."""
    options = tree.options
    begin_question(options, tree.counts, tree.scorer, tree.scratch, numeric, codes, 0, options.n_actions)


@ask.of(Tree)
def ask_actions(tree: Tree, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Query the tree with every action of a context."""
    ask_tree(tree, None, numeric, codes, answers)


@by_kind
def observe(observer: Any, tree: Tree, start: int, n: int, pending: int) -> None:
    """Look at the candidates of a leaf as they were scanned; it is that of the actions whose ``found`` is pending."""


@observe.of(type(None))
def _observe(observer: None, tree: Tree, start: int, n: int, pending: int) -> None:
    pass


@inner
def ask_tree(tree: Tree, observer: Any, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Query the tree with every action of a context; actions that share a leaf share its scan."""
    options, counts, memories, scratch = tree.options, tree.counts, tree.memories, tree.scratch
    if counts.memories == 0:
        for a in range(options.n_actions):
            answers[a, 0] = 0
        return
    # found[a]: first the leaf of action a as -2 - leaf, then the memory found there
    found = scratch.found
    for a in range(options.n_actions):
        found[a] = -2 - route(options, counts, tree.nodes, numeric, codes, a)
    for a in range(options.n_actions):
        pending = found[a]
        if pending >= 0:
            continue
        leaf = -2 - pending
        start, n = scan(tree, leaf, numeric, codes), tree.nodes.node[leaf].size
        observe(observer, tree, start, n, pending)
        for b in range(a, options.n_actions):
            if found[b] == pending:
                score_action(options, memories, tree.scorer, scratch, start, n, b)
                found[b] = scratch.candidate[argmin(counts, memories.record, scratch, start, n)]
    for a in range(options.n_actions):
        answers[a, 0] = memories.value[found[a]]
        if options.touches:
            touch(counts, memories.record, found[a])


@learn.of(Tree)
def learn_action(
    tree: Tree, numeric: np.ndarray, codes: np.ndarray, action: int, answers: np.ndarray, reward: float, weight: float
) -> None:
    """Remember the reward of an action in the context that was begun."""
    _learn(tree, numeric, codes, action, reward, weight, NONE)


@inner
def _learn(
    tree: Tree, numeric: np.ndarray, codes: np.ndarray, action: int, value: float, weight: float, identifier: int
) -> None:
    """Update the scorer, insert the memory, and split its leaf where that is full (Algorithm 1, Learn)."""
    options, counts, memories, scratch = tree.options, tree.counts, tree.memories, tree.scratch
    if not options.weighted:
        weight = 1.0
    leaf = route(options, counts, tree.nodes, numeric, codes, action)
    n = tree.nodes.node[leaf].size
    if n > 0:
        start = scan(tree, leaf, numeric, codes)
        score_action(options, memories, tree.scorer, scratch, start, n, action)
        known = least(scratch.score[start : start + filled(n)]) == -np.inf
        changed = update_scorer(
            options, counts, memories, tree.scorer, scratch, start, n, numeric, codes, action, value, weight
        )
        if options.touches:  # learning queries first, with the scorer as it is now
            if changed:
                begin_question(options, counts, tree.scorer, scratch, numeric, codes, action, action + 1)
                start = scan(tree, leaf, numeric, codes)
                score_action(options, memories, tree.scorer, scratch, start, n, action)
            state = counts.rng
            touch(counts, memories.record, scratch.candidate[argmin(counts, memories.record, scratch, start, n)])
            counts.rng = state  # a tie uses no number up: a budget that is never reached changes nothing
        if known and options.duplicates == FIRST:
            return
        if known and options.duplicates == LAST:
            old = scratch.candidate[argmin(counts, memories.record, scratch, start, n)]
            _answer(memories, old, value, identifier)
            touch(counts, memories.record, old)
            return
    row = attach(counts, tree.nodes.node, tree.nodes.page, leaf)
    _store(memories, row, numeric, codes, action)
    _answer(memories, row, value, identifier)
    memories.record[row].serial = counts.serial
    counts.memories += 1
    counts.serial += 1
    enlist(counts, memories.record, row)
    if options.budget and counts.memories > options.budget:
        forget(counts, memories, tree.nodes, counts.oldest)
    split_leaf(options, counts, memories, tree.nodes, leaf)


@inner
def _store(memories: Memories, row: int, numeric: np.ndarray, codes: np.ndarray, action: int) -> None:
    for i in range(len(numeric)):
        memories.numeric[row, i] = numeric[i]
    for j in range(len(codes)):
        memories.codes[row, j] = codes[j]
    memories.action[row] = action
    memories.square[row] = squared_norm(numeric, len(codes))


@inner
def _answer(memories: Memories, row: int, value: float, identifier: int) -> None:
    memories.value[row], memories.record[row].id = value, identifier


@has_room.of(Tree)
def tree_has_room(tree: Tree) -> bool:
    """Tell whether one question and one `learn` have all they may need.

    That is two nodes, pages to copy the largest leaf into two, and room for the candidates of every action's leaf.
    """
    counts, free = tree.counts, tree.counts.free_node
    of_leaf = (counts.largest + ROUND) // ROUND * ROUND
    candidates = min(tree.options.n_actions * of_leaf, counts.memories + ROUND * (counts.leaves + 1))
    has_pages = counts.free_pages >= counts.largest // PAGE + 4
    has_nodes = free != NONE and tree.nodes.node[free].left != NONE
    return has_pages and has_nodes and len(tree.scratch.candidate) >= candidates


grow.register(Tree)(grow_tree)


def make_room(tree: Tree) -> Tree:
    """Return the tree, grown if need be, with all that one `learn` may need."""
    while not has_room(tree):
        tree = grow_tree(tree)
    return tree
