"""A Contextual Memory Tree as a tuple of arrays.

There are two kinds. A *dense* tree is for numeric contexts whose features have slots of their own: a router is
(1 + n_actions) blocks of six rows, and kernels work on eight columns at a time. A *listed* tree is for all others: an
example carries the list of its slots and values, and a router has six numbers per slot.

The row after the last memory is room for the example at hand.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from emt._kernels.contextual.slots import BITS, make_slots
from emt._kernels.lanes import LANES
from emt._kernels.records import record
from emt._kernels.vector import lengthen

__all__ = ["FIELDS", "NONE", "WHOLE", "ContextualTree", "allocate", "grow_tree"]

NONE = -1  # no child, no memory
WHOLE: Any = np.int64  # the one type of whole numbers that kernels hand each other: others would be compiled for again
FIELDS = 6  # what coin betting keeps per feature: w, z, G, M, wealth, L
EMPTY = 0.001  # what a new node has counted on either side

#: What was asked for. Never changes.
CONFIG = [
    ("n_numeric", "i8"),
    ("n_inputs", "i8"),
    ("n_actions", "i8"),
    ("max_nodes", "i8"),
    ("max_leaf", "i8"),  # a leaf of this size splits
    ("dreams", "i8"),
    ("alpha", "f4"),
    ("dense", "?"),
    ("shared", "?"),  # do features share slots?
    ("tilt", "f8"),  # of a node's counts, beyond which no prediction outweighs it
    ("rounding", "f4"),  # how far a sum may be from VW's, relative to the sum of sizes
    ("seed", "u8"),
    ("half", "f4"),  # an exponent that the compiler does not know, lest it take a square root, which rounds otherwise
]

#: The numbers that change.
COUNT = [
    ("rng", "u8"),
    ("memories", "i8"),
    ("nodes", "i8"),
    ("query", "i8"),
    ("used", "i8"),  # how much of the room for candidates a query has taken
    ("norms", "f8"),  # coin betting's sums over all routers and the scorer
    ("weights", "f8"),
    ("lowest", "f4"),  # the range of labels
    ("highest", "f4"),
]

NODE = [
    ("child", "i4"),  # the left one, NONE in a leaf; the right one is the next
    ("first", "i4"),  # a leaf's memories, a linked list
    ("last", "i4"),
    ("size", "i4"),
    ("path", "i4"),  # of node k: the k-th node of the path at hand
    ("n_left", "f8"),  # how many examples went left, how many right
    ("n_right", "f8"),
    ("weighed", "i8"),  # the query that the next two are good for
    ("sum", "f4"),  # <w, x> over block 0, and over the sizes of its terms
    ("sizes", "f4"),
    ("scanned", "i8"),  # the query that the next one is good for
    ("start", "i4"),  # of the leaf's candidates
]

#: What a walk through a leaf looks at.
LINK = [
    ("next", "i4"),
    ("action", "i4"),
    ("inverse", "f4"),
    ("norm", "f4"),
]  # 1 / |f|, |f|^2 in the order of the buckets

MEMORY = [
    ("label", "f8"),  # the reward
    ("action", "i4"),
    ("fresh", "?"),  # does VW go through x, a, 1, xa, or, once the scorer was trained on it, through 1, a, x, xa?
    ("length", "i4"),  # of the lists: columns or features
    ("flat_length", "i4"),
    ("square", "f4"),  # |x|^2, in the order of the columns
]

FEATURE = [("slot", "i4"), ("value", "f4")]


class Examples(NamedTuple):
    """The memories, one row each."""

    memory: np.ndarray
    link: np.ndarray
    x: np.ndarray  # numeric coordinates, 1, padding
    codes: np.ndarray
    columns: np.ndarray  # of a dense example, where x is not 0
    features: np.ndarray  # as routers see them: slots and values in VW's order
    flat: np.ndarray  # as a retrieval sees them: sorted by slot, equal ones summed


class Candidates(NamedTuple):
    """The memories of the leaves that were scanned for a query, each leaf's filled up to whole lanes."""

    memory: np.ndarray
    action: np.ndarray
    similarity: np.ndarray


class Tables(NamedTuple):
    """What a feature's number is, in the order that matters."""

    slots: np.ndarray
    order: np.ndarray  # the columns of a dense example in the order of the buckets: row 0 without action, 1 + a with it


class ContextualTree(NamedTuple):
    """Everything a tree is. The arrays are changed in place, and replaced when they must grow."""

    config: Any
    count: Any
    nodes: np.ndarray
    routers: np.ndarray  # one row per node
    greatest: np.ndarray  # |z| of the scorer's features
    examples: Examples
    tables: Tables
    candidates: Candidates
    found: np.ndarray  # the memory that is retrieved for each action
    spread: np.ndarray  # a query by slot
    work: np.ndarray


def allocate(
    n_numeric: int,
    n_levels: tuple[int, ...],
    n_actions: int,
    *,
    max_nodes: int = 2000,
    leaf_multiplier: int = 9,
    dreams: int = 10,
    alpha: float = 0.5,
    bits: int | None = BITS,
    seed: int,
    n_memories: int,
) -> ContextualTree:
    """Return an empty tree: one leaf, no memories, and room for about so many."""
    n_inputs, n_codes = n_numeric + sum(n_levels), len(n_levels)
    slots = make_slots(n_inputs, n_actions, bits, max_nodes)
    n_slots = int(slots.max()) + 1
    shared = n_slots < slots.size
    dense = not shared and not n_codes
    width = -(-(n_numeric + 1) // LANES) * LANES
    n_features = 2 * (n_numeric + n_codes) + 2
    n_listed = 0 if dense else n_features
    max_leaf = int(leaf_multiplier * (math.log(max_nodes) / math.log(2)))
    single = float(np.float32(alpha))
    # Two sums of n terms in single precision, each off by at most n roundings, and some for products and quotients
    rounding = 2.2 * (n_features + 8) * 2.0**-24
    n_rows, n_nodes = n_memories + 2, min(max_nodes, 32 + 2 * dreams + n_memories // 16)
    tree = ContextualTree(
        config=record(
            CONFIG,
            n_numeric=n_numeric,
            n_inputs=n_inputs,
            n_actions=n_actions,
            max_nodes=max_nodes,
            max_leaf=max_leaf,
            dreams=dreams,
            alpha=single,
            dense=dense,
            shared=shared,
            tilt=_decisive_tilt(single),
            rounding=rounding,
            seed=seed % 2**32,
            half=0.5,
        ),
        count=record(COUNT, rng=seed % 2**32, nodes=1),
        nodes=_new_nodes(n_nodes),
        routers=np.zeros((n_nodes, FIELDS * ((1 + n_actions) * width if dense else n_slots)), np.float32),
        greatest=np.zeros((1 + n_actions) * width if dense else n_slots, np.float32),
        examples=Examples(
            memory=np.zeros(n_rows, MEMORY),
            link=np.zeros(n_rows, LINK),
            x=np.zeros((n_rows, width), np.float32),
            codes=np.zeros((n_rows, n_codes), np.int32),
            columns=np.zeros((n_rows, n_numeric if dense else 0), np.int32),
            features=np.zeros((n_rows, n_listed), FEATURE),
            flat=np.zeros((n_rows, n_listed), FEATURE),
        ),
        tables=Tables(slots, _order(slots) if dense else np.zeros((0, 0), np.int32)),
        candidates=_room(n_rows, n_actions),
        found=np.zeros(n_actions, np.int64),
        spread=np.zeros(0 if dense else n_slots, np.float32),
        work=np.zeros(3 * max(2 * width, n_features), np.float32),
    )
    return tree


def _decisive_tilt(alpha: float) -> float:
    """Return the tilt of a node's counts beyond which its router is trained for balance, whatever it predicts.

    The balance's part in the decision is (1 - alpha) log2(ratio of counts), the prediction's at most alpha.
    """
    ratio = 2 ** (alpha / (1 - alpha)) if alpha < 0.99 else math.inf
    return 2.0 if ratio == math.inf else (ratio - 1) / (ratio + 1) + 1e-6


def _order(slots: np.ndarray) -> np.ndarray:
    """Return the columns of a dense example by slot: of block 0 alone, and with the block of each action."""
    order = np.zeros((len(slots), 2 * slots.shape[1]), np.int32)
    order[0, : slots.shape[1]] = np.argsort(slots[0])
    for a in range(1, len(slots)):
        order[a] = np.argsort(np.concatenate([slots[0], slots[a]])) % slots.shape[1]
    return order


def _new_nodes(n: int) -> np.ndarray:
    nodes = np.zeros(n, NODE)
    nodes["child"] = nodes["first"] = nodes["last"] = NONE
    nodes["n_left"] = nodes["n_right"] = EMPTY
    return nodes


def grow_tree(tree: ContextualTree) -> ContextualTree:
    """Return the tree with twice the rows for memories, or twice the nodes if those are what it lacks."""
    old = len(tree.nodes)
    if tree.count["memories"] + 1 < len(tree.examples.memory):
        n_nodes = min(2 * old + 2 * int(tree.config["dreams"]), int(tree.config["max_nodes"]))
        nodes = np.concatenate([tree.nodes, _new_nodes(n_nodes - old)])
        return tree._replace(nodes=nodes, routers=lengthen(tree.routers, n_nodes))
    rows = 2 * len(tree.examples.memory)
    examples = Examples(*(lengthen(array, rows) for array in tree.examples))
    return tree._replace(examples=examples, candidates=_room(rows, int(tree.config["n_actions"])))


def _room(n_rows: int, n_actions: int) -> Candidates:
    """Return room for all memories, and for what fills up a leaf per action and one more."""
    n = n_rows + LANES * (n_actions + 1)
    return Candidates(np.zeros(n, np.int32), np.zeros(n, np.float32), np.zeros(n, np.float32))
