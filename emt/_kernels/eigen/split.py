"""SplitLeaf (Algorithm 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner, inner_new
from emt._kernels.eigen.leaf import attach, free_page, list_rows, move
from emt._kernels.eigen.oja import random_direction, top_eigen
from emt._kernels.eigen.route import goes_left
from emt._kernels.eigen.state import NONE, PAGE, Memories, Nodes
from emt._kernels.vector import equal_keys, ordered_dot

__all__ = ["split_leaf"]


@inner_new
def split_leaf(options: Any, counts: Any, memories: Memories, nodes: Nodes, leaf: int) -> None:
    """Turn a leaf that is full into an inner node with two leaves.

    A leaf whose keys all project to one point, or to none that is finite, cannot be split: it stays a leaf and
    overflows.
    """
    n = nodes.node[leaf].size
    if n < options.leaf_limit:
        return
    rows = np.empty(n + PAGE, np.uint32)
    rows = rows[: list_rows(nodes, leaf, rows)]
    if _all_equal(memories.numeric, memories.codes, memories.action, rows):
        return
    # router <- TopEigen(M)
    router = nodes.router[leaf]
    v = top_eigen(options, counts, memories, rows) if options.eigen else random_direction(options, counts, len(router))
    for i in range(len(router)):
        router[i] = v[i]
    # boundary <- median of the projections
    projection = np.empty(n, router.dtype)
    for k in range(n):
        m = rows[k]
        projection[k] = ordered_dot(
            router, memories.numeric[m, : options.n_numeric], memories.codes[m, : options.n_codes]
        )
        if options.has_action:
            projection[k] += router[options.n_inputs + memories.action[m]]
    boundary, possible = _boundary(projection, options.left_at_boundary)
    if not possible:
        return
    # each memory goes to its side
    left, right = _new_leaf(counts, nodes.node, leaf), _new_leaf(counts, nodes.node, leaf)
    for k in range(n):
        child = left if goes_left(projection[k], boundary, options.left_at_boundary) else right
        move(counts, memories, rows[k], attach(counts, nodes.node, nodes.page, child))
    page = nodes.node[leaf].first_page
    while page != NONE:
        after = nodes.page[page].after
        free_page(counts, nodes.page, page)
        page = after
    inner_node = nodes.node[leaf]
    inner_node.boundary = boundary
    inner_node.left, inner_node.right = left, right
    inner_node.first_page = inner_node.last_page = NONE
    inner_node.size = 0
    inner_node.projected = -1
    counts.leaves += 1


@inner
def _all_equal(numeric: np.ndarray, codes: np.ndarray, action: np.ndarray, rows: np.ndarray) -> bool:
    """Do all memories have one key? Asked of the latest first: a leaf is overfull where all its others are equal."""
    first = rows[0]
    for k in range(len(rows) - 1, 0, -1):
        row = rows[k]
        if action[row] != action[first] or not equal_keys(numeric[row], codes[row], numeric[first], codes[first]):
            return False
    return True


@inner_new
def _boundary(projection: np.ndarray, left_at_boundary: bool) -> tuple[float, bool]:
    """Return the median of the projections, moved to the next value where all would fall on one side of it."""
    n = len(projection)
    for k in range(n):  # numbers so large that they overflow are on no side of anything
        if not abs(projection[k]) < np.inf:
            return projection[k], False
    ordered = _sorted(projection)
    if ordered[0] == ordered[n - 1]:
        return ordered[0], False
    k = n // 2
    half = ordered.dtype.type(0.5)
    boundary = ordered[k] if n % 2 else (ordered[k - 1] + ordered[k]) / ordered.dtype.type(2)
    boundary = boundary if abs(boundary) < np.inf else ordered[k - 1] * half + ordered[k] * half
    if not left_at_boundary and boundary <= ordered[0]:  # nothing is less than the boundary
        while ordered[k] == ordered[0]:
            k += 1
        boundary = ordered[k]
    if left_at_boundary and boundary >= ordered[n - 1]:  # nothing is greater than the boundary
        while ordered[k] == ordered[n - 1]:
            k -= 1
        boundary = ordered[k]
    return boundary, True


@inner_new
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


@inner
def _new_leaf(counts: Any, node: np.ndarray, parent: int) -> int:
    new = counts.free_node
    counts.free_node = node[new].left
    leaf = node[new]
    leaf.parent = parent
    leaf.left = leaf.right = leaf.first_page = leaf.last_page = NONE
    leaf.size = 0
    leaf.projected = -1
    return new
