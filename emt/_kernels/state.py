"""A tree as a tuple of arrays: memories, nodes, scorer, counters and room to work in.

A *key* is a row of numeric coordinates, a row of codes and an action. A code is the position of a level's indicator among
all coordinates, so that code ``c`` of a categorical column reads weight ``c`` and the indicators themselves are never made:

    x block: numeric coordinates, then the levels of every categorical column    ``n_inputs`` positions
    a block: one indicator per action                                            ``n_actions`` positions
    xa block: the x block once per action, in the block of the key's action      ``n_actions * n_inputs`` positions
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["DISTANCE", "FAR", "NEAR", "NONE", "OTHER", "SAME", "SCORE", "Tree", "allocate", "grow", "lacks_memory"]

NONE = -1  # no memory, no node: the end of a linked list

#: What was asked for. Never changes.
CONFIG = [
    ("n_numeric", "i8"),
    ("n_inputs", "i8"),
    ("n_actions", "i8"),
    ("has_action", "?"),
    ("leaf_capacity", "i8"),
    ("budget", "i8"),  # 0: unbounded
    ("touches", "?"),  # least recently used (a query counts as use), or first in first out
    ("as_run", "?"),
    ("crossed", "?"),  # does the scorer see the xa block?
    ("interaction", "?"),  # the ablation's scorer: all products instead of differences
    ("eigen", "?"),  # router: top eigenvector or random direction
    ("eta", "f8"),
]

#: The numbers that change.
COUNT = [
    ("memories", "i8"),
    ("leaves", "i8"),
    ("root", "i8"),
    ("newest", "i8"),  # ends of the order of use
    ("oldest", "i8"),
    ("free_memory", "i8"),  # heads of the lists of free rows
    ("free_node", "i8"),
    ("version", "i8"),  # of the scorer's weights
    ("query", "i8"),
    ("scanned", "i8"),  # the leaf whose memories are the candidates
    ("candidates", "i8"),
    ("scale", "f8"),  # the scorer's sums of normalised squared norms and of weights
    ("scale_weight", "f8"),
    ("rng", "u8"),
]

#: A node; its numbers are "real": of the tree's own precision.
NODE = [
    ("parent", "i4"),
    ("left", "i4"),  # NONE in a leaf
    ("right", "i4"),
    ("first", "i4"),  # a leaf's newest memory
    ("size", "i4"),
    ("boundary", "real"),
    ("projection", "real"),  # of the query's x block, good for one query
    ("projected", "i8"),
]

#: A memory beside its key's coordinates.
MEMORY = [
    ("action", "i4"),
    ("leaf", "i4"),
    ("before", "i4"),  # neighbour in the leaf's list, newest first; the other is in Tree.after
    ("newer", "i4"),  # neighbours in the order of use
    ("older", "i4"),
    ("value", "f8"),
    ("square", "real"),  # squared norm of the x block
    ("own_levels", "real"),  # sum of the scorer's weights at this memory's levels, good for one version of the weights
    ("own_version", "i8"),
]

DISTANCE, NEAR, FAR, SAME, OTHER, SCORE = range(6)  # rows of Tree.work


class Tree(NamedTuple):
    """Everything a tree is. The arrays are changed in place, and replaced when they must grow."""

    config: Any
    count: Any
    memories: np.ndarray
    after: np.ndarray  # the next memory of the leaf: apart, so that following a list stays within the fastest cache
    numeric: np.ndarray
    codes: np.ndarray
    nodes: np.ndarray
    router: np.ndarray
    weight: np.ndarray  # the scorer's w
    coin: np.ndarray  # what coin betting keeps beside each weight
    # Room to work in
    candidate: np.ndarray  # memories of the leaf that was scanned last
    candidate_action: np.ndarray
    work: np.ndarray  # their distances and scores
    match: np.ndarray  # weights at the query's codes: x block, then each action's xa block
    query_own: np.ndarray  # the query's own share of a score under each action: at its levels, and in all
    image: np.ndarray  # the query times the ablation's weights
    z: np.ndarray  # the non-zero coordinates of a pair of keys
    answer: np.ndarray


def allocate(
    n_numeric: int,
    n_levels: tuple[int, ...],
    n_actions: int,
    *,
    leaf_capacity: int,
    budget: int,
    touches: bool,
    as_run: bool,
    interaction: bool,
    eigen: bool,
    eta: float,
    seed: int,
    dtype: Any,
) -> Tree:
    """Return an empty tree: one leaf, no memories."""
    n_inputs, n_codes = n_numeric + sum(n_levels), len(n_levels)
    has_action, n_actions = n_actions > 0, max(n_actions, 1)
    crossed = as_run and has_action and not interaction
    n_weights = (n_inputs + n_actions) ** 2 if interaction else n_inputs + n_actions + n_actions * n_inputs
    n_pair = (n_numeric + n_codes + 1) ** 2 if interaction else 2 + 3 * n_numeric + 4 * n_codes
    n_memories, n_nodes = min(budget + 1, 256) if budget else 256, 16
    config = (n_numeric, n_inputs, n_actions, has_action, leaf_capacity, budget, touches, as_run, crossed)
    config += (interaction, eigen, eta)
    real = np.dtype(dtype)
    tree = Tree(
        config=np.array([config], CONFIG)[0],
        count=np.array([(0, 1, 0, NONE, NONE, 0, 1, 1, 0, NONE, 0, 0.0, 0.0, seed)], COUNT)[0],
        memories=np.zeros(n_memories, _precise(MEMORY, real)),
        after=np.zeros(n_memories, np.int32),
        numeric=np.zeros((n_memories, n_numeric), real),
        codes=np.zeros((n_memories, n_codes), np.int32),
        nodes=np.zeros(n_nodes, _precise(NODE, real)),
        router=np.zeros((n_nodes, n_inputs + n_actions), real),
        weight=np.zeros(n_weights, real),
        coin=np.zeros((n_weights if as_run else 0, 5), real),
        candidate=np.zeros(n_memories, np.int32),
        candidate_action=np.zeros(n_memories, np.int32),
        work=np.zeros((SCORE + 1, n_memories), real),
        match=np.zeros((n_actions + 1, n_codes), real),
        query_own=np.zeros((n_actions, 2), real),
        image=np.zeros(n_inputs + n_actions, real),
        z=np.zeros(n_pair, [("index", "i8"), ("value", real)]),
        answer=np.zeros(n_actions, np.int32),
    )
    if not as_run:  # Algorithm 1: w is a random vector. Non-negative, so that it starts as a measure of unlikeness
        n_seen = n_weights if interaction else n_inputs + n_actions
        tree.weight[:n_seen] = np.random.default_rng(seed).random(n_seen)
    _chain(tree.after, NONE)
    _chain(tree.nodes["left"], NONE)
    tree.nodes[0] = (NONE, NONE, NONE, NONE, 0, 0, 0, 0)
    return tree


def lacks_memory(tree: Tree) -> bool:
    """Is every row for memories in use?"""
    return bool(tree.count["free_memory"] == NONE)


def grow(tree: Tree) -> Tree:
    """Return the tree with more room, for memories if those are lacking and for nodes otherwise.

    Room doubles, and never goes beyond what the budget can use: one memory more than it, and fewer than two nodes each.
    """
    most = int(tree.config["budget"]) + 1
    bounded = most > 1
    if lacks_memory(tree):
        old = len(tree.memories)
        new = min(2 * old, most) if bounded else 2 * old
        tree = tree._replace(
            memories=_lengthen(tree.memories, new),
            after=_lengthen(tree.after, new),
            numeric=_lengthen(tree.numeric, new),
            codes=_lengthen(tree.codes, new),
            candidate=np.zeros(new, np.int32),
            candidate_action=np.zeros(new, np.int32),
            work=np.zeros((SCORE + 1, new), tree.work.dtype),
        )
        _chain(tree.after[old:], tree.count["free_memory"], old)
        tree.count["free_memory"] = old
    else:
        old = len(tree.nodes)
        tree = tree._replace(nodes=_lengthen(tree.nodes, 2 * old), router=_lengthen(tree.router, 2 * old))
        _chain(tree.nodes["left"][old:], tree.count["free_node"], old)
        tree.count["free_node"] = old
    return tree


def _precise(fields: list[tuple[str, str]], real: np.dtype) -> np.dtype:
    return np.dtype([(name, real if kind == "real" else kind) for name, kind in fields])


def _lengthen(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _chain(links: np.ndarray, end: int, start: int = 0) -> None:
    """Link rows to their successors: the list of free ones."""
    links[:] = np.arange(start + 1, start + len(links) + 1)
    links[-1] = end
