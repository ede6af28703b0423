"""A compiled tree seen from inside, for tests: which memory is where."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from compiled import from_python

from emt import EigenMemoryTree
from emt._kernels.eigen.route import goes_left
from emt._kernels.eigen.state import NONE
from emt._kernels.vector import ordered_dot
from emt.keys import one_key
from emt.tree import Memory

goes_left, ordered_dot = from_python(goes_left), from_python(ordered_dot)


def state(tree: EigenMemoryTree) -> dict[str, bytes]:
    """Everything that a file of the tree would hold, to be compared."""
    return {name: array.tobytes() for name, array in tree.__getstate__()["arrays"].items()}


def leaf(tree: EigenMemoryTree, memory: Memory) -> int:
    """The leaf that a memory's key is routed to."""
    key = one_key(tree._options, memory.x, memory.categorical, memory.action)
    numeric, codes, action = key.numeric[0], key.codes[0], int(key.action[0])
    options, (node, router, _) = tree._tree.options, tree._tree.nodes
    here = int(tree._tree.counts.root)
    while not is_leaf(tree, here):
        projection = node.dtype["projection"].type(ordered_dot(router[here], numeric, codes))
        if options.has_action:
            projection += router[here, options.n_inputs + action]
        left = goes_left(projection, node[here].boundary, bool(options.left_at_boundary))
        here = int(node[here].left if left else node[here].right)
    return here


def leaves(tree: EigenMemoryTree) -> dict[int, list[Memory]]:
    """The memories by leaf, as their routes say."""
    found = defaultdict(list)
    for memory in tree.memories():
        found[leaf(tree, memory)].append(memory)
    return dict(found)


def nodes(tree: EigenMemoryTree) -> list[int]:
    """All nodes, from the root."""
    found, left = [], [int(tree._tree.counts.root)]
    while left:
        found.append(left.pop())
        if not is_leaf(tree, found[-1]):
            node = tree._tree.nodes.node[found[-1]]
            left += [int(node.left), int(node.right)]
    return found


def is_leaf(tree: EigenMemoryTree, node: int) -> bool:
    return bool(tree._tree.nodes.node[node].left == NONE)


def assert_sound(tree: EigenMemoryTree, unlike: bool = True) -> None:
    """Check what must hold of any tree at any time; ``unlike``: keys that differ have different projections."""
    options, (node_of, router, _) = tree._options, tree._tree.nodes
    memories, where, everywhere = list(tree.memories()), leaves(tree), nodes(tree)
    assert len(memories) == len(tree)
    assert options.budget is None or len(tree) <= options.budget
    ends = [node for node in everywhere if is_leaf(tree, node)]
    assert len(ends) == tree.n_leaves == len(everywhere) - tree.n_leaves + 1
    # Every memory sits where its route says: leaves are as large as what is routed to them, and none is empty.
    assert {node: int(node_of[node]["size"]) for node in ends if node_of[node]["size"]} == {
        node: len(there) for node, there in where.items()
    }
    assert len(tree) == 0 or set(ends) == set(where)
    if unlike:
        most = max(options.leaf_capacity - (options.splits_at == "capacity"), 1)
        assert all(len(there) <= most or n_keys(there) == 1 for there in where.values())
    assert np.isfinite(tree._tree.scorer.weight).all()
    assert all(np.isfinite(router[node]).all() for node in everywhere if not is_leaf(tree, node))


def n_keys(memories: list[Memory]) -> int:
    """The number of different keys; 0.0 and -0.0 are the same."""
    return len({(tuple(memory.x), tuple(memory.categorical), memory.action) for memory in memories})
