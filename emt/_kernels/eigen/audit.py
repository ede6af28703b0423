"""An audit of routing: how often the leaf of a query does not hold the memory that is least unlike in all the tree."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import kernel
from emt._kernels.eigen.predict_scorer import scan, score_action
from emt._kernels.eigen.route import route
from emt._kernels.eigen.state import NONE, PAGE, Tree
from emt._kernels.vector import filled, least

__all__ = ["DIFFERENT", "MISSES", "QUERIES", "audit"]

QUERIES, MISSES, DIFFERENT = range(3)  # what is counted


@kernel
def audit(tree: Tree, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray, tally: np.ndarray) -> None:
    """Compare what a tree has answered in a context with what an exact search by the current scorer would have found.

    It follows `ask` in the same question, uses no random number up and touches no memory: nothing that is learned or
    answered after it changes.
    """
    options, counts, memories, scratch = tree.options, tree.counts, tree.memories, tree.scratch
    if counts.memories == 0:
        return
    row = counts.oldest
    while row != NONE:  # from memory to memory, and so to every leaf, which is scanned once
        scan(tree, tree.nodes.page[row // PAGE].leaf, numeric, codes)
        row = memories.record[row].newer
    n = counts.scanned
    for a in range(options.n_actions):
        leaf = route(options, counts, tree.nodes, numeric, codes, a)
        start = tree.nodes.node[leaf].start
        score_action(options, memories, tree.scorer, scratch, 0, n, a)
        lowest = least(scratch.score[:n])
        tally[QUERIES] += 1
        if lowest < least(scratch.score[start : start + filled(tree.nodes.node[leaf].size)]):
            tally[MISSES] += 1
            best = 0
            while scratch.score[best] != lowest:
                best += 1
            tally[DIFFERENT] += memories.record[scratch.candidate[best]].value != answers[a, 0]
