"""An audit of routing: how often the leaf of a query does not hold the memory that is least unlike in all the tree."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import kernel
from emt._kernels.eigen.predict_scorer import begin_question, scan, score_action
from emt._kernels.eigen.route import route
from emt._kernels.eigen.state import NONE, PAGE, Tree
from emt._kernels.vector import filled, least

__all__ = ["DIFFERENT", "MISSES", "QUERIES", "audit"]

QUERIES, MISSES, DIFFERENT = range(3)  # what is counted
IN_LEAF, OVERALL, VALUE = range(3)  # what is found for an action


@kernel
def audit(
    tree: Tree, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray, found: np.ndarray, tally: np.ndarray
) -> None:
    """Compare what a tree has answered in a context with what an exact search by the current scorer would have found.

    It follows `ask`, uses no random number up and touches no memory: nothing that is learned or answered after it
    changes. ``found`` is room for three numbers per action: the least score in its leaf, that in all, and its value.
    """
    options, counts, memories, scratch = tree.options, tree.counts, tree.memories, tree.scratch
    if counts.memories == 0:
        return
    begin_question(options, counts, tree.scorer, scratch, numeric, codes, 0, options.n_actions)
    found[:, OVERALL] = np.inf
    row = counts.oldest
    while row != NONE:  # from memory to memory, and so to every leaf, which is scanned once
        leaf = tree.nodes.page[row // PAGE].leaf
        row = memories.record[row].newer
        if tree.nodes.node[leaf].scanned == counts.question:
            continue
        counts.scanned = 0  # where the leaf before it was
        scan(tree, leaf, numeric, codes)
        n = tree.nodes.node[leaf].size
        for a in range(options.n_actions):
            score_action(options, memories, tree.scorer, scratch, 0, n, a)
            lowest = least(scratch.score[: filled(n)])
            if route(options, counts, tree.nodes, numeric, codes, a) == leaf:
                found[a, IN_LEAF] = lowest
            if lowest < found[a, OVERALL]:
                best = 0
                while scratch.score[best] != lowest:
                    best += 1
                found[a, OVERALL], found[a, VALUE] = lowest, memories.value[scratch.candidate[best]]
    for a in range(options.n_actions):
        tally[QUERIES] += 1
        if found[a, OVERALL] < found[a, IN_LEAF]:
            tally[MISSES] += 1
            tally[DIFFERENT] += found[a, VALUE] != answers[a, 0]
    begin_question(
        options, counts, tree.scorer, scratch, numeric, codes, 0, options.n_actions
    )  # leaves are to be scanned again
