"""The nearest memories of the same action: what an Eigen Memory Tree says beyond the one that is least unlike.

One neighbour's reward is a single coin flip, and in a leaf with many actions the memory that is least unlike is often
of another action. So each action also has the k memories of its own in the leaf that is scanned anyway: their mean,
and how near the nearest is. With scores s_1 <= s_2 <= ..., where an exact match counts as 0, and K actions,

    w_i = (s_1 + 0.01) / (s_i + 0.01)
    mean = (sum of w_i r_i + 0.5 / K) / (sum of w_i + 0.5)
    nearness = max(0, 1 - s_1)

The mean is shrunk towards 1 / K, which it is where the leaf has none of the action; the nearness is 0 there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.compile import inline
from emt._kernels.eigen.memory import ask_tree, observe
from emt._kernels.eigen.predict_scorer import MAX_SCORE, score_action
from emt._kernels.eigen.state import Tree
from emt._kernels.nearest_of_action import Nearest, allocate_nearest, clear, offer
from emt._kernels.parts import ask, begin, grow, has_room, learn, pack

__all__ = ["SameAction", "with_neighbours"]

SMALL = 0.01  # a score that is as good as 0
PRIOR = 0.5  # of a memory that says 1 / K


class SameAction(NamedTuple):
    """A tree, and the nearest of each action in the context at hand."""

    tree: Tree
    nearest: Nearest


def with_neighbours(tree: Tree, k: int, n_actions: int) -> SameAction:
    """Return the tree as a memory with three answers: what is remembered, the neighbours' mean and their nearness."""
    return SameAction(tree, allocate_nearest(k, n_actions))


@ask.of(SameAction)
def ask_neighbours(memory: SameAction, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Write three answers for each action."""
    nearest = memory.nearest
    clear(nearest)
    ask_tree(memory.tree, nearest, numeric, codes, answers)
    for a in range(len(answers)):
        total, reward = PRIOR, PRIOR / len(answers)
        n, lowest = nearest.size[a], np.inf
        scores, values = nearest.score[a, :n], nearest.value[a, :n]
        for i in range(n):
            lowest = min(lowest, scores[i])
        for i in range(n):
            w = (lowest + SMALL) / (scores[i] + SMALL)
            total += w
            reward += w * values[i]
        answers[a, 1] = reward / total
        answers[a, 2] = max(0.0, 1 - lowest)


@observe.of(Nearest)
def observe_leaf(nearest: Nearest, tree: Tree, start: int, n: int, pending: int) -> None:
    """Offer a leaf's memories of its actions, each as it is scored for its own."""
    options, scratch, found = tree.options, tree.scratch, tree.scratch.found
    value, record = tree.memories.value, tree.memories.record
    actions, rows = scratch.action[start : start + n], scratch.candidate[start : start + n]
    if not options.products:
        same, most = scratch.same[start : start + n], MAX_SCORE if options.initial else np.inf
        for k in range(n):
            score = _clipped(same[k], most)
            if score <= nearest.limit[actions[k]] and found[actions[k]] == pending:
                offer(nearest, actions[k], score, value[rows[k]], record[rows[k]].serial)
        return
    for a in range(options.n_actions):  # the ablation's scores have no part that all actions share
        if found[a] == pending:
            score_action(options, tree.memories, tree.scorer, scratch, start, n, a)
            for k in range(n):
                score = _clipped(scratch.score[start + k], np.inf)
                if actions[k] == np.uint32(a) and score <= nearest.limit[a]:
                    offer(nearest, a, score, value[rows[k]], record[rows[k]].serial)


@inline
def _clipped(score: float, most: float) -> float:
    """Return a score from 0 to the most: an exact match has minus infinity."""
    score = score if score < most else most
    return score if score > 0 else 0.0


@begin.of(SameAction)
def begin_context(memory: SameAction, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Begin a question about a context."""
    begin(memory.tree, numeric, codes)


@learn.of(SameAction)
def learn_action(
    memory: SameAction,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
    answers: np.ndarray,
    reward: float,
    weight: float,
) -> None:
    """Remember the reward of an action."""
    learn(memory.tree, numeric, codes, action, answers, reward, weight)


@has_room.of(SameAction)
def memory_has_room(memory: SameAction) -> bool:
    """Tell whether the tree has room."""
    return has_room(memory.tree)


@grow.register
def grow_memory(memory: SameAction) -> SameAction:
    """Return the memory with a tree that has more room."""
    return memory._replace(tree=grow(memory.tree))


@pack.register
def pack_memory(memory: SameAction) -> dict[str, np.ndarray]:
    """Return the tree, packed: neighbours are looked for anew in every context."""
    return pack(memory.tree)
