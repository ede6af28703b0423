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

from emt._kernels.compile import inner
from emt._kernels.eigen.memory import ask_tree, observe
from emt._kernels.eigen.predict_scorer import MAX_SCORE, score_action
from emt._kernels.eigen.state import Memories, Tree
from emt._kernels.parts import ask, begin, grow, has_room, learn, pack
from emt._kernels.vector import filled

__all__ = ["SameAction", "with_neighbours"]

SMALL = 0.01  # a score that is as good as 0
PRIOR = 0.5  # of a memory that says 1 / K
FEW = 3  # actions for which a leaf is not sorted first
INFINITY = np.float32(np.inf).view(np.int32)  # its bits


class Neighbours(NamedTuple):
    """How many of each action are asked, what they said in the context at hand, and room to sort a leaf by action."""

    k: int
    answers: np.ndarray  # a row for each action: mean and nearness
    end: np.ndarray  # of each action's memories among the sorted ones
    row: np.ndarray  # of each sorted memory


class SameAction(NamedTuple):
    """A tree, and the nearest of each action in it."""

    tree: Tree
    neighbours: Neighbours


def with_neighbours(tree: Tree, k: int, n_actions: int) -> SameAction:
    """Return the tree as a memory with three answers: what is remembered, the neighbours' mean and their nearness."""
    ends, rows = np.zeros(n_actions, np.int64), np.zeros_like(tree.scratch.candidate)
    return SameAction(tree, Neighbours(k, np.zeros((n_actions, 2)), ends, rows))


@ask.of(SameAction)
def ask_neighbours(memory: SameAction, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Write three answers for each action."""
    told = memory.neighbours.answers
    for a in range(len(told)):
        told[a, 0], told[a, 1] = 1 / len(told), 0
    ask_tree(memory.tree, memory.neighbours, numeric, codes, answers)
    for a in range(len(told)):
        answers[a, 1], answers[a, 2] = told[a, 0], told[a, 1]


@observe.of(Neighbours)
def observe_leaf(neighbours: Neighbours, tree: Tree, start: int, n: int, pending: int) -> None:
    """Ask the nearest memories of a leaf's actions, each as it is scored for its own."""
    options, scratch, found = tree.options, tree.scratch, tree.scratch.found
    end = start + filled(n)
    actions, rows, scores = scratch.action[start:end], scratch.candidate[start:end], scratch.score[start:end]
    most = np.float32(MAX_SCORE if options.initial and not options.products else np.inf)
    n_pending = 0
    for a in range(options.n_actions):
        n_pending += found[a] == pending
    sorts = n_pending > FEW and not options.products
    if sorts:
        _sort(neighbours, rows, actions, scratch.same[start:end], scores, n, most)
    for a in range(options.n_actions):
        if found[a] != pending:
            continue
        if sorts:
            first, last = neighbours.end[a - 1] if a > 0 else 0, neighbours.end[a]
            _ask_nearest(neighbours, tree.memories, neighbours.row[first:last], scores[first:last], a)
            continue
        if options.products:  # the ablation's scores have no part that all actions share
            score_action(options, tree.memories, tree.scorer, scratch, start, n, a)
            _keep_own(actions, scores, scores, n, np.uint32(a), most)
        else:
            _keep_own(actions, scratch.same[start:end], scores, n, np.uint32(a), most)
        _ask_nearest(neighbours, tree.memories, rows, scores, a)


@inner
def _sort(
    neighbours: Neighbours,
    rows: np.ndarray,
    actions: np.ndarray,
    given: np.ndarray,
    scores: np.ndarray,
    n: int,
    most: np.float32,
) -> None:
    """Write rows and scores, from 0 to the most, action by action: a pass over the leaf for each would take longer."""
    end, row = neighbours.end, neighbours.row
    for a in range(len(end)):
        end[a] = 0
    for k in range(n):
        end[actions[k]] += 1
    before = 0
    for a in range(len(end)):
        before, end[a] = before + end[a], before
    for k in range(n):
        place = end[actions[k]]
        row[place], scores[place] = rows[k], _within(given[k], most)
        end[actions[k]] = place + 1


@inner
def _within(score: np.float32, most: np.float32) -> np.float32:
    """Return a score from 0 to the most; an exact match has minus infinity, and where numbers overflow it is none."""
    score = score if score < most else most
    return score if score > np.float32(0) else np.float32(0)


@inner
def _keep_own(
    actions: np.ndarray, given: np.ndarray, scores: np.ndarray, n: int, action: np.uint32, most: np.float32
) -> None:
    """Write the scores of an action's memories, from 0 to the most, and infinity for all others."""
    infinity = np.float32(np.inf)
    for k in range(len(scores)):
        scores[k] = _within(given[k], most) if actions[k] == action else infinity
    for k in range(n, len(scores)):
        scores[k] = infinity


@inner
def _ask_nearest(neighbours: Neighbours, memories: Memories, rows: np.ndarray, scores: np.ndarray, action: int) -> None:
    """Write what the nearest memories say; of equal ones, those that were stored last are asked."""
    told, left, record = neighbours.answers, neighbours.k, memories.record
    bits = scores.view(np.int32)  # numbers that are not negative have the order of their bits, whose least vectorises
    lowest = INFINITY
    for k in range(len(bits)):
        lowest = min(lowest, bits[k])
    total, reward, nearness, least = PRIOR, PRIOR / len(told), 0.0, 0.0
    current = lowest
    while left > 0 and current < INFINITY:
        n_tied, place, following = _at(bits, current)
        score = float(scores[place])
        if current == lowest:
            least, nearness = score, max(0.0, 1 - score)
        weight = (least + SMALL) / (score + SMALL)
        before = np.int64(2**62)
        for _ in range(min(n_tied, left)):
            if n_tied > 1:
                place = _latest(record, rows, bits, current, before)
                before = record[rows[place]].serial
            total += weight
            reward += weight * memories.value[rows[place]]
        left -= n_tied
        current = following
    told[action, 0], told[action, 1] = reward / total, nearness


@inner
def _at(bits: np.ndarray, current: np.int32) -> tuple[int, int, np.int32]:
    """Return how many have this score, the place of the last of them, and the least score above it."""
    n, place, following = np.int32(0), np.int32(0), INFINITY
    for k in range(len(bits)):
        n = np.int32(n + (np.int32(1) if bits[k] == current else np.int32(0)))
        place = max(place, np.int32(k) if bits[k] == current else np.int32(0))
        following = min(following, bits[k] if bits[k] > current else INFINITY)
    return int(n), int(place), following


@inner
def _latest(record: np.ndarray, rows: np.ndarray, bits: np.ndarray, current: np.int32, before: int) -> int:
    """Return the place of the one with this score that was stored last before that one."""
    latest = place = -1
    for k in range(len(bits)):
        if bits[k] == current and latest < record[rows[k]].serial < before:
            latest, place = record[rows[k]].serial, k
    return place


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
    neighbours = memory.neighbours
    return with_neighbours(grow(memory.tree), neighbours.k, len(neighbours.answers))


@pack.register
def pack_memory(memory: SameAction) -> dict[str, np.ndarray]:
    """Return the tree, packed: neighbours are looked for anew in every context."""
    return pack(memory.tree)
