"""What can be done with memories beyond Algorithm 1: see those of a leaf, use them, forget them."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import inner, kernel
from emt._kernels.eigen.leaf import list_rows
from emt._kernels.eigen.memory import Keys
from emt._kernels.eigen.predict_scorer import begin_question, scan, score_action
from emt._kernels.eigen.recency import forget, touch
from emt._kernels.eigen.route import route
from emt._kernels.eigen.state import NONE, PAGE, Tree
from emt._kernels.vector import equal_keys

__all__ = ["forget_id", "forget_key", "nearest", "use_memories"]


def nearest(tree: Tree, keys: Keys, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k memories with the least scores in each key's leaf, the least first, and the scores: a row a key.

    Of equal scores the memory that was stored last comes first. Where a leaf has fewer, the rest of a row is `NONE`
    and infinity; no row is longer than the largest leaf.
    """
    shape = len(keys.numeric), min(k, int(tree.counts.largest))
    rows, scores = np.full(shape, NONE), np.full(shape, np.inf, tree.scratch.score.dtype)
    look_up(tree, keys, rows, scores)
    return rows, scores


@kernel
def look_up(tree: Tree, keys: Keys, rows: np.ndarray, scores: np.ndarray) -> None:
    """Write the nearest memories of one key after the other, and their scores."""
    if tree.counts.memories == 0:
        return
    record = tree.memories.record
    for q in range(len(rows)):
        numeric, codes, action = keys.numeric[q], keys.codes[q], keys.action[q]
        begin_question(tree.options, tree.counts, tree.scorer, tree.scratch, numeric, codes, action, action + 1)
        leaf = route(tree.options, tree.counts, tree.nodes, numeric, codes, action)
        start, n = scan(tree, leaf, numeric, codes), tree.nodes.node[leaf].size
        score_action(tree.options, tree.memories, tree.scorer, tree.scratch, start, n, action)
        # A heap with the worst of the k best so far on top, then a heap sort
        k = min(n, rows.shape[1])
        row, score = rows[q, :k], scores[q, :k]
        for j in range(k):
            row[j], score[j] = tree.scratch.candidate[start + j], tree.scratch.score[start + j]
        for top in range(k // 2 - 1, -1, -1):
            _sift(record, row, score, top, k)
        for j in range(start + k, start + n):
            candidate = np.int64(tree.scratch.candidate[j])
            if _is_nearer(record, candidate, tree.scratch.score[j], row[0], score[0]):
                row[0], score[0] = candidate, tree.scratch.score[j]
                _sift(record, row, score, 0, k)
        for end in range(k - 1, 0, -1):
            row[0], row[end] = row[end], row[0]
            score[0], score[end] = score[end], score[0]
            _sift(record, row, score, 0, end)


@inner
def _sift(record: np.ndarray, row: np.ndarray, score: np.ndarray, top: int, end: int) -> None:
    """Let the entry on top sink to where both entries below it are nearer."""
    while 2 * top + 1 < end:
        below = 2 * top + 1
        if below + 1 < end and _is_nearer(record, row[below], score[below], row[below + 1], score[below + 1]):
            below += 1
        if not _is_nearer(record, row[top], score[top], row[below], score[below]):
            return
        row[top], row[below] = row[below], row[top]
        score[top], score[below] = score[below], score[top]
        top = below


@inner
def _is_nearer(record: np.ndarray, row: int, score: float, other: int, other_score: float) -> bool:
    """Tell whether a memory comes before another: by its score, and of equal ones because it was stored later."""
    return score < other_score or (score == other_score and record[row].serial > record[other].serial)


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
