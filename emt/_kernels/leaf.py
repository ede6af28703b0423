"""SplitLeaf (Algorithm 3), and the lists of memories that leaves are."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit
from emt._kernels.oja import random_direction, top_eigen
from emt._kernels.route import goes_left, project
from emt._kernels.state import NONE, Tree

__all__ = ["attach", "detach", "split_leaf"]


@njit
def attach(tree: Tree, leaf: int, memory: int) -> None:
    """Put a memory at the head of a leaf's list."""
    head = tree.nodes[leaf].first
    tree.memories[memory].before, tree.after[memory] = NONE, head
    if head != NONE:
        tree.memories[head].before = memory
    tree.nodes[leaf].first = memory
    tree.memories[memory].leaf = leaf
    tree.nodes[leaf].size += 1


@njit
def detach(tree: Tree, memory: int) -> None:
    """Take a memory out of its leaf's list."""
    leaf, before, after = tree.memories[memory].leaf, tree.memories[memory].before, tree.after[memory]
    if before == NONE:
        tree.nodes[leaf].first = after
    else:
        tree.after[before] = after
    if after != NONE:
        tree.memories[after].before = before
    tree.nodes[leaf].size -= 1


@njit
def split_leaf(tree: Tree, leaf: int) -> None:
    """Turn a leaf that is over capacity into an inner node with two leaves.

    A leaf whose keys all project to one point cannot be split: it stays a leaf and overflows.
    """
    if tree.nodes[leaf].size < tree.config.leaf_capacity + (1 if tree.config.as_run else 0) or _all_equal(tree, leaf):
        return
    n = tree.nodes[leaf].size
    memories = np.empty(n, np.int64)  # oldest first
    memory = tree.nodes[leaf].first
    for k in range(n - 1, -1, -1):
        memories[k] = memory
        memory = tree.after[memory]
    router = top_eigen(tree, memories) if tree.config.eigen else random_direction(tree)
    for i in range(len(router)):
        tree.router[leaf, i] = router[i]
    projection = np.empty(n, tree.router.dtype)
    for k in range(n):
        m = memories[k]
        projection[k] = project(tree.router[leaf], tree.numeric[m], tree.codes[m])
        if tree.config.has_action:
            projection[k] += tree.router[leaf, tree.config.n_inputs + tree.memories[m].action]
    boundary, possible = _boundary(projection, tree.config.as_run)
    if not possible:
        return
    left, right = _new_leaf(tree, leaf), _new_leaf(tree, leaf)
    for k in range(n):
        attach(tree, left if goes_left(projection[k], boundary, tree.config.as_run) else right, memories[k])
    tree.nodes[leaf].boundary = boundary
    tree.nodes[leaf].left, tree.nodes[leaf].right = left, right
    tree.nodes[leaf].first = NONE
    tree.nodes[leaf].size = 0
    tree.nodes[leaf].projected = -1
    tree.count.leaves += 1


@njit
def _all_equal(tree: Tree, leaf: int) -> bool:
    """Do all memories have one key? Asked of the newest two first: an overfull leaf is one whose others are equal."""
    head = tree.nodes[leaf].first
    memory = tree.after[head]
    while memory != NONE:
        if tree.memories[memory].action != tree.memories[head].action:
            return False
        for i in range(tree.config.n_numeric):
            if tree.numeric[memory, i] != tree.numeric[head, i]:
                return False
        for j in range(tree.codes.shape[1]):
            if tree.codes[memory, j] != tree.codes[head, j]:
                return False
        memory = tree.after[memory]
    return True


@njit
def _boundary(projection: np.ndarray, as_run: bool) -> tuple[float, bool]:
    """Return the median of the projections, moved to the next value where all would fall on one side of it."""
    n = len(projection)
    ordered = _sorted(projection)
    if ordered[0] == ordered[n - 1]:
        return ordered[0], False
    k = n // 2
    boundary = ordered[k] if n % 2 else (ordered[k - 1] + ordered[k]) / ordered.dtype.type(2)
    if as_run and boundary <= ordered[0]:  # nothing is less than the boundary
        while ordered[k] == ordered[0]:
            k += 1
        boundary = ordered[k]
    if not as_run and boundary >= ordered[n - 1]:  # nothing is greater than the boundary
        while ordered[k] == ordered[n - 1]:
            k -= 1
        boundary = ordered[k]
    return boundary, True


@njit
def _sorted(values: np.ndarray) -> np.ndarray:
    """Return the values in order (Shell's sort: short to compile, and quick for a leaf's worth of values)."""
    ordered = values.copy()
    gap = len(ordered) // 2
    while gap > 0:
        for i in range(gap, len(ordered)):
            value, k = ordered[i], i
            while k >= gap and ordered[k - gap] > value:
                ordered[k] = ordered[k - gap]
                k -= gap
            ordered[k] = value
        gap //= 2
    return ordered


@njit
def _new_leaf(tree: Tree, parent: int) -> int:
    node = tree.count.free_node
    tree.count.free_node = tree.nodes[node].left
    tree.nodes[node].parent, tree.nodes[node].left, tree.nodes[node].right, tree.nodes[node].first = parent, NONE, NONE, NONE
    tree.nodes[node].size = 0
    tree.nodes[node].projected = -1
    return node
