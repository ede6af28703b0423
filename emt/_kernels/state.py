"""A tree as a tuple of arrays: memories, nodes, scorer, counters and room to work in.

A *key* is a row of numeric coordinates, a row of codes and an action. A code is the position of a level's indicator
among all coordinates, so that code ``c`` of a categorical column reads weight ``c`` and the indicators themselves are
never made:

    x block: numeric coordinates, then the levels of every categorical column    ``n_inputs`` positions
    a block: one indicator per action                                            ``n_actions`` positions
    xa block: the x block once per action, in the block of the key's action      ``n_actions * n_inputs`` positions
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import njit_inline

__all__ = [
    *("DISTANCE", "FAR", "NEAR", "NONE", "OTHER", "PAGE", "RANK", "SAME", "SCORE"),
    *("Tree", "allocate", "filled", "grow", "room"),
]

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
    ("serial", "i8"),  # memories ever stored
    ("leaves", "i8"),
    ("largest", "i8"),  # size of the largest leaf ever
    ("root", "i8"),
    ("newest", "i8"),  # ends of the order of use
    ("oldest", "i8"),
    ("free_page", "i8"),  # heads of the lists of free pages and nodes, and how many pages there are
    ("free_pages", "i8"),
    ("free_node", "i8"),
    ("version", "i8"),  # of the scorer's weights
    ("query", "i8"),
    ("used", "i8"),  # how much of the room for candidates its scans have taken
    ("scale", "f8"),  # the scorer's sums of normalised squared norms and of weights
    ("scale_weight", "f8"),
    ("rng", "u8"),
]

#: A node; its numbers are "real": of the tree's own precision.
NODE = [
    ("parent", "i4"),
    ("left", "i4"),  # NONE in a leaf
    ("right", "i4"),
    ("first", "i4"),  # a leaf's first and last page
    ("last", "i4"),
    ("size", "i4"),
    ("boundary", "real"),
    ("projection", "real"),  # of the query's x block, good for one query
    ("projected", "i8"),
    ("start", "i4"),  # of a leaf's candidates, good for one query
    ("scanned", "i8"),
]

#: A leaf is a list of pages. A page is PAGE rows that follow each other, so that a scan reads memory in a stream.
PAGE = 16
LANES = 8  # rows of numeric coordinates are padded with zeros to whole vectors of the processor
PAGES = [("leaf", "i4"), ("before", "i4"), ("after", "i4")]

#: What a scan does not look at.
MEMORY = [
    ("value", "f8"),
    ("serial", "i8"),
    ("newer", "i4"),  # neighbours in the order of use
    ("older", "i4"),
    ("own_version", "i8"),
]

DISTANCE, NEAR, FAR, SAME, OTHER, SCORE, RANK = range(7)  # rows of Tree.work
ROUND = 32  # rows of numbers about a leaf's memories are filled up to a multiple of this


#: The arrays of a tree with one entry per row.
PER_ROW = ("memories", "numeric", "codes", "action", "square", "own_levels")


class Tree(NamedTuple):
    """Everything a tree is. The arrays are changed in place, and replaced when they must grow."""

    config: Any
    count: Any
    # The memories, one row each
    memories: np.ndarray
    numeric: np.ndarray
    codes: np.ndarray
    action: np.ndarray
    square: np.ndarray  # squared norm of the x block
    own_levels: np.ndarray  # sum of the scorer's weights at the memory's levels, good for own_version of the weights
    # The tree
    pages: np.ndarray
    nodes: np.ndarray
    router: np.ndarray
    weight: np.ndarray  # the scorer's w
    coin: np.ndarray  # what coin betting keeps beside each weight
    # Room to work in
    candidate: np.ndarray  # memories of the leaves that were scanned for the query
    candidate_action: np.ndarray
    work: np.ndarray  # their distances and scores
    error: np.ndarray  # how far their values are from the one to be learned
    query: np.ndarray  # the query's numeric coordinates, padded
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
    n_memories: int,
) -> Tree:
    """Return an empty tree: one leaf, no memories, and room for about so many."""
    n_inputs, n_codes = n_numeric + sum(n_levels), len(n_levels)
    has_action, n_actions = n_actions > 0, max(n_actions, 1)
    crossed = as_run and has_action and not interaction
    n_weights = (n_inputs + n_actions) ** 2 if interaction else n_inputs + n_actions + n_actions * n_inputs
    n_pair = (n_numeric + n_codes + 1) ** 2 if interaction else 2 + 3 * n_numeric + 4 * n_codes
    n_pages, n_nodes = 16 + n_memories // (PAGE - 4), 16 + 4 * n_memories // leaf_capacity  # most are not quite full
    n_rows = n_pages * PAGE
    config = (n_numeric, n_inputs, n_actions, has_action, leaf_capacity, budget, touches, as_run, crossed, interaction)
    real = np.dtype(dtype)
    width = -(-n_numeric // LANES) * LANES
    tree = Tree(
        config=np.array([(*config, eigen, eta)], CONFIG)[0],
        count=np.array([(0, 0, 1, 0, 0, NONE, NONE, 0, n_pages, 1, 1, 0, 0, 0.0, 0.0, seed)], COUNT)[0],
        memories=np.zeros(n_rows, MEMORY),
        numeric=np.zeros((n_rows, width), real),
        codes=np.zeros((n_rows, n_codes), np.int32),
        action=np.zeros(n_rows, np.uint32),
        square=np.zeros(n_rows, real),
        own_levels=np.zeros(n_rows, real),
        pages=np.zeros(n_pages, PAGES),
        nodes=np.zeros(n_nodes, _precise(NODE, real)),
        router=np.zeros((n_nodes, n_inputs + n_actions), real),
        weight=np.zeros(n_weights + LANES, real),  # padding meets weights, too, but adds nothing
        coin=np.zeros((n_weights if as_run else 0, 5), real),
        **room(n_rows, real),
        query=np.zeros(width, real),
        match=np.zeros((n_actions + 1, n_codes), real),
        query_own=np.zeros((n_actions, 2), real),
        image=np.zeros(n_inputs + n_actions, real),
        z=np.zeros(n_pair, [("index", "i8"), ("value", real)]),
        answer=np.zeros(n_actions, np.int32),
    )
    if not as_run:  # Algorithm 1: w is a random vector. Non-negative, so that it starts as a measure of unlikeness
        n_seen = n_weights if interaction else n_inputs + n_actions
        tree.weight[:n_seen] = np.random.default_rng(seed).random(n_seen)
    _chain(tree.pages["after"], NONE)
    _chain(tree.nodes["left"], NONE)
    tree.nodes[0] = (NONE, NONE, NONE, NONE, NONE, 0, 0, 0, 0, 0, 0)
    return tree


def grow(tree: Tree) -> Tree:
    """Return the tree with twice the pages, or twice the nodes if those are what it lacks."""
    if tree.count["free_node"] == NONE or tree.nodes[tree.count["free_node"]]["left"] == NONE:
        old = len(tree.nodes)
        tree = tree._replace(nodes=_lengthen(tree.nodes, 2 * old), router=_lengthen(tree.router, 2 * old))
        _chain(tree.nodes["left"][old:], tree.count["free_node"], old)
        tree.count["free_node"] = old
        return tree
    old = len(tree.pages)
    rows = 2 * old * PAGE
    tree = tree._replace(
        **{name: _lengthen(getattr(tree, name), rows) for name in PER_ROW},
        pages=_lengthen(tree.pages, 2 * old),
        **room(rows, tree.work.dtype),
    )
    _chain(tree.pages["after"][old:], tree.count["free_page"], old)
    tree.count["free_page"] = old
    tree.count["free_pages"] += old
    return tree


@njit_inline
def filled(n: int) -> int:
    """Return the next multiple of 32: loops over so many have no odd ends, which would take as long as the rest."""
    return (n + ROUND - 1) // ROUND * ROUND


def room(n_rows: int, real: np.dtype) -> dict[str, np.ndarray]:
    """Return room for the candidates of any leaves of so many rows: filled up, a page may take two."""
    n = n_rows * max(ROUND // PAGE, 1)
    return {
        "candidate": np.zeros(n, np.uint32),
        "candidate_action": np.zeros(n, np.uint32),
        "work": np.zeros((RANK + 1, n), real),
        "error": np.zeros(n),
    }


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
