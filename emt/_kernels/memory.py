"""Query and Learn (Algorithm 1), for one key and for a context with every action."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit
from emt._kernels.leaf import attach, split_leaf
from emt._kernels.recency import enlist, evict, touch
from emt._kernels.route import route
from emt._kernels.score import action_scores, argmin, least, prepare_query, scan, squared_norm
from emt._kernels.scorer import update_scorer
from emt._kernels.state import NONE, PAGE, SCORE, Tree, filled, grow

__all__ = ["has_room", "learn", "make_room", "predict_actions", "query"]


@njit
def query(tree: Tree, numeric: np.ndarray, codes: np.ndarray, action: int) -> tuple[int, float]:
    """Return the memory that is least unlike the key, and its score; `NONE` from an empty tree."""
    if tree.count.memories == 0:
        return NONE, 0.0
    prepare_query(tree, numeric, codes)
    leaf = route(tree, numeric, codes, action)
    start, n = scan(tree, leaf, numeric, codes), tree.nodes[leaf].size
    action_scores(tree, start, n, action)
    k = argmin(tree, start, n)
    if tree.config.touches:
        touch(tree, tree.candidate[k])
    return int(tree.candidate[k]), tree.work[SCORE, k]


@njit
def predict_actions(tree: Tree, numeric: np.ndarray, codes: np.ndarray, values: np.ndarray) -> None:
    """Query the tree with every action of a context; actions that share a leaf share its scan."""
    if tree.count.memories == 0:
        for a in range(tree.config.n_actions):
            values[a] = 0
        return
    prepare_query(tree, numeric, codes)
    # answer[a]: first the leaf of action a as -2 - leaf, then the memory found there
    for a in range(tree.config.n_actions):
        tree.answer[a] = -2 - route(tree, numeric, codes, a)
    for a in range(tree.config.n_actions):
        pending = tree.answer[a]
        if pending >= 0:
            continue
        leaf = -2 - pending
        start, n = scan(tree, leaf, numeric, codes), tree.nodes[leaf].size
        for b in range(a, tree.config.n_actions):
            if tree.answer[b] == pending:
                action_scores(tree, start, n, b)
                tree.answer[b] = tree.candidate[argmin(tree, start, n)]
    for a in range(tree.config.n_actions):
        values[a] = tree.memories[tree.answer[a]].value
        if tree.config.touches:
            touch(tree, tree.answer[a])


@njit
def has_room(tree: Tree) -> bool:
    """Tell whether one `learn` has all it may need: two nodes, and pages to copy the largest leaf into two."""
    node = tree.count.free_node
    pages = tree.count.largest // PAGE + 4
    return tree.count.free_pages >= pages and node != NONE and tree.nodes[node].left != NONE


def make_room(tree: Tree) -> Tree:
    """Return the tree, grown if need be, with all that one `learn` may need."""
    while not has_room(tree):
        tree = grow(tree)
    return tree


@njit
def learn(
    tree: Tree, numeric: np.ndarray, codes: np.ndarray, action: int, value: float, weight: float, predicted: bool
) -> None:
    """Update the scorer, insert the memory, and split its leaf where that is over capacity (Algorithm 1, Learn).

    ``predicted`` says that the tree was last asked about this very context: what that worked out is used again.
    """
    if not predicted:
        prepare_query(tree, numeric, codes)
    leaf = route(tree, numeric, codes, action)
    n = tree.nodes[leaf].size
    if n > 0:
        start = scan(tree, leaf, numeric, codes)
        action_scores(tree, start, n, action)
        known = least(tree.work[SCORE, start : start + filled(n)]) == -np.inf
        changed = update_scorer(tree, start, n, numeric, codes, action, value, weight)
        if tree.config.touches:  # learning queries first, with the scorer as it is now
            if changed:
                prepare_query(tree, numeric, codes)
                start = scan(tree, leaf, numeric, codes)
                action_scores(tree, start, n, action)
            state = tree.count.rng
            touch(tree, tree.candidate[argmin(tree, start, n)])
            tree.count.rng = state  # a tie uses no number up: a budget that is never reached changes nothing
        if known and tree.config.as_run:  # a key that is stored already is not stored again
            return
    memory = attach(tree, leaf)
    _store(tree, memory, numeric, codes, action, value)
    enlist(tree, memory)
    if tree.config.budget and tree.count.memories > tree.config.budget:
        evict(tree)
    split_leaf(tree, leaf)


@njit
def _store(tree: Tree, memory: int, numeric: np.ndarray, codes: np.ndarray, action: int, value: float) -> None:
    for i in range(len(numeric)):
        tree.numeric[memory, i] = numeric[i]
    for j in range(len(codes)):
        tree.codes[memory, j] = codes[j]
    tree.action[memory] = action
    tree.square[memory] = squared_norm(numeric, len(codes))
    tree.memories[memory].value = value
    tree.memories[memory].serial = tree.count.serial
    tree.memories[memory].own_version = 0
    tree.count.memories += 1
    tree.count.serial += 1
