"""A tree as named parts: memories, nodes, scorer, and room to work in.

A key's coordinates are numbered on from block to block:

    x block: numeric coordinates, then the levels of every categorical column    ``n_inputs`` positions
    a block: one indicator per action                                            ``n_actions`` positions
    xa block: the x block once per action, in the block of the key's action      ``n_actions * n_inputs`` positions
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.lanes import LANES
from emt._kernels.pages import sparse_zeros
from emt._kernels.records import record, record_type
from emt._kernels.vector import ROUND, lengthen
from emt.options import TreeOptions

__all__ = [
    *("FIRST", "LAST", "NONE", "PAGE", "Memories", "Nodes", "Scorer", "Scratch", "Tree"),
    *("allocate", "grow_tree", "measure"),
]

NONE = -1  # no memory, no node: the end of a linked list
FIRST, LAST = range(2)  # of two observations of one key, the one that is kept; anything else: both

#: What was asked for, as the kernels read it. Never changes.
OPTIONS = [
    ("n_numeric", "i8"),
    ("n_codes", "i8"),
    ("n_inputs", "i8"),
    ("n_actions", "i8"),
    ("n_weights", "i8"),  # of the scorer
    ("has_action", "?"),
    ("leaf_limit", "i8"),  # the size at which a leaf is split
    ("budget", "i8"),  # 0: unbounded
    ("touches", "?"),  # least recently used (a query counts as use), or first in first out
    ("products", "?"),  # the ablation's scorer: all products instead of differences
    ("eigen", "?"),  # router: top eigenvector or random direction
    ("epochs", "i8"),  # of Oja's method
    ("left_at_boundary", "?"),
    ("initial", "?"),  # does a score start from the distance?
    ("exact", "?"),  # does an exact match always win?
    ("coin", "?"),  # the scorer learns by coin betting, or by gradient steps
    ("eta", "f8"),
    ("crossed", "?"),  # does the scorer see the xa block?
    ("signed", "?"),  # coordinates that only one of two keys has keep their sign
    ("weighted", "?"),
    ("duplicates", "i8"),
]

#: The numbers that change.
COUNTS = [
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
    ("question", "i8"),  # number of the query at hand: what was worked out for another is out of date
    ("scanned", "i8"),  # candidates that the query at hand has scanned
    ("scale", "f8"),  # coin betting's sums of normalised squared norms and of weights
    ("scale_weight", "f8"),
    ("rng", "u8"),
]

#: A node; its numbers are "real": of the tree's own precision.
NODE = [
    ("parent", "i4"),
    ("left", "i4"),  # NONE in a leaf
    ("right", "i4"),
    ("first_page", "i4"),  # of a leaf
    ("last_page", "i4"),
    ("size", "i4"),
    ("boundary", "real"),
    ("projection", "real"),  # of the query's x block, for the question below
    ("projected", "i8"),
    ("start", "i8"),  # of a leaf's candidates, for the question below
    ("scanned", "i8"),
]

#: A leaf is a list of pages. A page is PAGE rows that follow each other, so that a scan reads memory in a stream.
#: Rows of numeric coordinates and of codes are padded with zeros to whole lanes.
PAGE = 16
PAGES = [("leaf", "i4"), ("before", "i4"), ("after", "i4")]

#: What neither a scan nor learning looks at.
RECORD = [
    ("serial", "i8"),
    ("id", "i8"),  # given by who learned it, or NONE
    ("newer", "i4"),  # neighbours in the order of use
    ("older", "i4"),
]


class Memories(NamedTuple):
    """The memories, one row each, in pages."""

    numeric: np.ndarray
    codes: np.ndarray
    action: np.ndarray
    square: np.ndarray  # squared norm of the x block
    value: np.ndarray
    record: np.ndarray


class Nodes(NamedTuple):
    """Inner nodes, leaves, and the pages of memories that leaves are."""

    node: np.ndarray
    router: np.ndarray  # one row per node
    page: np.ndarray


class Scorer(NamedTuple):
    """The scorer's w, and what coin betting keeps beside each weight, one row per sum.

    ``level`` has a row per action: at each level, its weight in the x block plus that in the action's xa block.
    """

    weight: np.ndarray
    coin: np.ndarray
    level: np.ndarray


class Scratch(NamedTuple):
    """Room to work in. ``candidate`` to ``error`` have an entry for each memory of the leaves that were scanned."""

    candidate: np.ndarray  # its row
    action: np.ndarray
    distance: np.ndarray  # squared, of the x blocks
    near: np.ndarray
    far: np.ndarray
    same: np.ndarray  # its score for a query of its own action
    other: np.ndarray  # its score for any other action, less the query's own share
    score: np.ndarray
    rank: np.ndarray
    error: np.ndarray  # how far its value is from the one to be learned; for one leaf
    numeric: np.ndarray  # the query's numeric coordinates, padded
    codes: np.ndarray  # and its codes, padded with what no memory is padded with
    at_codes: np.ndarray  # weights at the query's codes: x block, then each action's xa block
    own_levels: np.ndarray  # the query's own share of a score under each action: at its levels,
    own: np.ndarray  # and in all
    image: np.ndarray  # the query times the ablation's weights
    group: np.ndarray  # z of a pair of keys, in groups of rows and lanes: the first and last of both,
    row_start: np.ndarray  # where a row's weights start,
    row_factor: np.ndarray  # and what its lanes are multiplied with;
    lane_start: np.ndarray  # where a lane is in a row,
    lane: np.ndarray  # its numbers,
    stake: np.ndarray  # and what their weights stake
    found: np.ndarray  # each action's leaf, then its memory


class Tree(NamedTuple):
    """Everything a tree is. The arrays are changed in place, and replaced when they must grow."""

    options: Any
    counts: Any
    memories: Memories
    nodes: Nodes
    scorer: Scorer
    scratch: Scratch


def measure(options: TreeOptions) -> tuple[int, int, int]:
    """Return the number of positions in a key's x block and in its a block, and that of the scorer's weights."""
    n_inputs, n_actions = options.n_features + sum(options.n_levels), max(options.n_actions, 1)
    if options.scorer == "interaction":
        return n_inputs, n_actions, (n_inputs + n_actions) ** 2
    return n_inputs, n_actions, n_inputs + n_actions + n_actions * n_inputs


def allocate(options: TreeOptions, n_memories: int, n_pages: int = 0, n_nodes: int = 0) -> Tree:
    """Return an empty tree: one leaf, no memories, and room for about so many, or for its budget.

    It has so many pages and nodes at least.
    """
    n_memories = min(n_memories, options.budget or n_memories)
    n_numeric, n_codes = options.n_features, len(options.n_levels)
    n_inputs, n_actions, n_weights = measure(options)
    products, real = options.scorer == "interaction", np.dtype(options.dtype)
    crossed = options.crossed and options.n_actions > 0 and not products
    n_key = n_numeric + n_codes + 1
    n_pages = max(n_pages, 16 + n_memories // (PAGE - 4))  # most are not quite full
    n_nodes = max(n_nodes, 16 + 4 * n_memories // options.leaf_capacity)
    width, n_padded = -(-n_numeric // LANES) * LANES, -(-n_codes // LANES) * LANES
    # All of one key times all of the other; or differences, and both keys, beside each other
    n_rows, n_lanes = (n_key, width // LANES + n_codes + 1) if products else (5, 3 * width // LANES + 4 * n_codes + 1)
    tree = Tree(
        options=record(
            OPTIONS,
            n_numeric=n_numeric,
            n_codes=n_codes,
            n_inputs=n_inputs,
            n_actions=n_actions,
            n_weights=n_weights,
            has_action=options.n_actions > 0,
            leaf_limit=min(options.leaf_capacity + (options.splits_at == "above"), 2**62),
            budget=options.budget or 0,
            touches=options.budget is not None and options.eviction == "lru",
            products=products,
            eigen=options.router == "eigen",
            epochs=options.epochs,
            left_at_boundary=options.boundary == "left",
            initial=options.initial_score == "distance",
            exact=options.initial_score == "distance" or not products or options.duplicates != "both",
            coin=options.learning == "coin",
            eta=options.eta,
            crossed=crossed,
            signed=options.cross_terms == "signed",
            weighted=options.weighted,
            duplicates=("first", "last", "both").index(options.duplicates),
        ),
        counts=record(
            COUNTS,
            leaves=1,
            newest=NONE,
            oldest=NONE,
            free_pages=n_pages,
            free_node=1,
            rng=options.seed % 2**64,
        ),
        memories=Memories(
            numeric=np.zeros((n_pages * PAGE, width), real),
            codes=np.zeros((n_pages * PAGE, n_padded), np.int32),
            action=np.zeros(n_pages * PAGE, np.uint32),
            square=np.zeros(n_pages * PAGE, real),
            value=np.zeros(n_pages * PAGE),
            record=np.zeros(n_pages * PAGE, record_type(RECORD)),
        ),
        nodes=Nodes(
            node=np.zeros(n_nodes, record_type([(name, real if kind == "real" else kind) for name, kind in NODE])),
            router=np.zeros((n_nodes, n_inputs + n_actions), real),
            page=np.zeros(n_pages, record_type(PAGES)),
        ),
        scorer=Scorer(
            weight=sparse_zeros((n_weights + LANES,), real),  # padding meets weights, too, but adds nothing
            coin=sparse_zeros((5, n_weights + LANES if options.learning == "coin" else 0), real),
            level=sparse_zeros((n_actions, n_inputs if n_codes and not products else 0), real),
        ),
        scratch=Scratch(
            **candidate_room(n_actions * -(-(min(options.leaf_capacity, n_memories) + 1) // ROUND) * ROUND, real),
            numeric=np.zeros(width, real),
            codes=np.full(n_padded, NONE, np.int32),
            at_codes=np.zeros((n_actions + 1, n_padded), real),
            own_levels=np.zeros(n_actions, real),
            own=np.zeros(n_actions, real),
            image=np.zeros(-(-(n_inputs + n_actions) // LANES) * LANES, real),
            group=np.zeros((4, 4), np.int64),
            row_start=np.zeros(n_rows, np.int64),
            row_factor=np.zeros(n_rows, real),
            lane_start=np.zeros(n_lanes, np.int64),
            lane=np.zeros(n_lanes * LANES, real),
            stake=sparse_zeros(((n_rows * n_lanes if products else 2 * n_lanes + 2) * LANES,), real),
            found=np.zeros(n_actions, np.int32),
        ),
    )
    if options.learning == "gradient":
        # Algorithm 1: w is a random vector. Non-negative, so that it starts as a measure of unlikeness.
        n_seen = n_weights if products or crossed else n_inputs + n_actions
        tree.scorer.weight[:n_seen] = np.random.default_rng(options.seed % 2**64).random(n_seen)
        sum_levels(tree)
    chain(tree.nodes.page["after"], NONE)
    chain(tree.nodes.node["left"], NONE)
    tree.nodes.node[0] = (NONE, NONE, NONE, NONE, NONE, 0, 0, 0, 0, 0, 0)
    return tree


def sum_levels(tree: Tree) -> None:
    """Work the sums of the scorer's weights at levels out anew."""
    if tree.scorer.level.size:
        n_actions, n_inputs = tree.scorer.level.shape
        in_x, in_xa = tree.scorer.weight[:n_inputs], tree.scorer.weight[n_inputs + n_actions : tree.options.n_weights]
        tree.scorer.level[:] = in_x + in_xa.reshape(n_actions, n_inputs)


def candidate_room(n: int, real: np.dtype[Any]) -> dict[str, np.ndarray]:
    """Return room for so many candidates."""
    numbers = ("distance", "near", "far", "same", "other", "score", "rank")
    return {
        "candidate": np.zeros(n, np.uint32),
        "action": np.zeros(n, np.uint32),
        **{name: np.zeros(n, real) for name in numbers},
        "error": np.zeros(n),
    }


def grow_tree(tree: Tree) -> Tree:
    """Return the tree with twice the nodes, pages or candidates, whichever it lacks first."""
    nodes, free = tree.nodes, tree.counts["free_node"]
    if free == NONE or nodes.node[free]["left"] == NONE:
        old = len(nodes.node)
        nodes = nodes._replace(node=lengthen(nodes.node, 2 * old), router=lengthen(nodes.router, 2 * old))
        chain(nodes.node["left"][old:], free, old)
        tree.counts["free_node"] = old
        return tree._replace(nodes=nodes)
    if tree.counts["free_pages"] > tree.counts["largest"] // PAGE + 3:
        room = candidate_room(2 * len(tree.scratch.candidate), tree.scratch.score.dtype)
        return tree._replace(scratch=tree.scratch._replace(**room))
    old = len(nodes.page)
    nodes = nodes._replace(page=lengthen(nodes.page, 2 * old))
    chain(nodes.page["after"][old:], tree.counts["free_page"], old)
    tree.counts["free_page"] = old
    tree.counts["free_pages"] += old
    return tree._replace(
        nodes=nodes,
        memories=Memories(*(lengthen(array, 2 * old * PAGE) for array in tree.memories)),
    )


def chain(links: np.ndarray, end: int, start: int = 0) -> None:
    """Link rows to their successors: the list of free ones."""
    links[:] = np.arange(start + 1, start + len(links) + 1)
    links[-1] = end
