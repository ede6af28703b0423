"""What can be done with memories beyond Algorithm 1: see those of a leaf, use them, forget them."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import kernel
from emt._kernels.eigen.leaf import list_rows
from emt._kernels.eigen.memory import Keys
from emt._kernels.eigen.predict_scorer import begin_question, scan, score_action
from emt._kernels.eigen.recency import forget, touch
from emt._kernels.eigen.route import route
from emt._kernels.eigen.state import NONE, PAGE, Tree
from emt._kernels.vector import equal_keys

__all__ = ["forget_id", "forget_key", "nearest", "use_memories"]


def nearest(tree: Tree, key: Keys, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k memories of a key's leaf with the least scores, the least first, and the scores.

    Of equal scores the memory that was stored last comes first.
    """
    if tree.counts.memories == 0:
        return np.zeros(0, np.int64), np.zeros(0)
    start, n = score_leaf(tree, key)
    rows, scores = tree.scratch.candidate[start : start + n], tree.scratch.score[start : start + n]
    order = np.lexsort((-tree.memories.record["serial"][rows], scores))[:k]
    return rows[order].astype(np.int64), scores[order]


@kernel
def score_leaf(tree: Tree, key: Keys) -> tuple[int, int]:
    """Score the memories in a key's leaf; return where they start among the candidates, and how many there are."""
    numeric, codes, action = key.numeric[0], key.codes[0], key.action[0]
    begin_question(tree.options, tree.counts, tree.scorer, tree.scratch, numeric, codes)
    leaf = route(tree.options, tree.counts, tree.nodes, numeric, codes, action)
    start, n = scan(tree, leaf, numeric, codes), tree.nodes.node[leaf].size
    score_action(tree.options, tree.memories, tree.scorer, tree.scratch, start, n, action)
    return start, int(n)


@kernel
def use_memories(tree: Tree, rows: np.ndarray) -> None:
    """Count memories as used just now, one after the other, where uses count."""
    if tree.options.touches:
        for k in range(len(rows)):
            touch(tree.counts, tree.memories.record, rows[k])


@kernel
def forget_key(tree: Tree, key: Keys) -> int:
    """Forget all memories with a key; return how many."""
    numeric, codes, action = key.numeric[0], key.codes[0], key.action[0]
    counts, memories, candidate = tree.counts, tree.memories, tree.scratch.candidate
    counts.question += 1
    before = counts.memories
    leaf = route(tree.options, counts, tree.nodes, numeric, codes, action)
    n = list_rows(tree.nodes, leaf, candidate)
    for k in range(n - 1, -1, -1):  # backwards: what moves into a hole has been looked at
        row = candidate[k]
        same = equal_keys(numeric, codes, memories.numeric[row], memories.codes[row])
        if same and memories.action[row] == np.uint32(action):
            forget(counts, memories, tree.nodes, row)
    return before - counts.memories


@kernel
def forget_id(tree: Tree, identifier: int) -> int:
    """Forget all memories with an identifier, the longest unused first; return how many."""
    counts, record, nodes = tree.counts, tree.memories.record, tree.nodes
    before, memory = counts.memories, counts.oldest
    while memory != NONE:
        newer = record[memory].newer
        if record[memory].id == identifier:
            leaf = nodes.node[nodes.page[memory // PAGE].leaf]
            last = leaf.last_page * PAGE + (leaf.size - 1) % PAGE  # moves into the hole
            forget(counts, tree.memories, nodes, memory)
            newer = memory if newer == last else newer
        memory = newer
    return before - counts.memories
