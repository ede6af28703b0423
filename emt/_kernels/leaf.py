"""SplitLeaf (Algorithm 3), and the lists of memories that leaves are."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit, njit_inline, njit_new
from emt._kernels.oja import random_direction, top_eigen
from emt._kernels.route import goes_left, project
from emt._kernels.state import NONE, PAGE, Tree

__all__ = ["attach", "detach", "list_rows", "split_leaf"]


@njit
def attach(tree: Tree, leaf: int) -> int:
    """Lengthen a leaf by one row; return the row."""
    size = tree.nodes[leaf].size
    if size % PAGE == 0:
        page, last = tree.count.free_page, tree.nodes[leaf].last
        tree.count.free_page = tree.pages[page].after
        tree.count.free_pages -= 1
        tree.pages[page].leaf, tree.pages[page].before, tree.pages[page].after = leaf, last, NONE
        if last == NONE:
            tree.nodes[leaf].first = page
        else:
            tree.pages[last].after = page
        tree.nodes[leaf].last = page
    tree.nodes[leaf].size = size + 1
    tree.count.largest = max(tree.count.largest, size + 1)
    return tree.nodes[leaf].last * PAGE + size % PAGE


@njit
def detach(tree: Tree, row: int) -> int:
    """Shorten a row's leaf by that row; return the leaf. Its last memory moves into the hole."""
    leaf = tree.pages[row // PAGE].leaf
    size = tree.nodes[leaf].size - 1
    page = tree.nodes[leaf].last
    tree.nodes[leaf].size = size
    if page * PAGE + size % PAGE != row:
        move(tree, page * PAGE + size % PAGE, row)
    if size % PAGE == 0:
        before = tree.pages[page].before
        tree.nodes[leaf].last = before
        if before == NONE:
            tree.nodes[leaf].first = NONE
        else:
            tree.pages[before].after = NONE
        _free_page(tree, page)
    return leaf


@njit
def move(tree: Tree, source: int, target: int) -> None:
    """Copy a memory to another row, where it takes its place in the order of use."""
    for i in range(tree.numeric.shape[1]):
        tree.numeric[target, i] = tree.numeric[source, i]
    for j in range(tree.codes.shape[1]):
        tree.codes[target, j] = tree.codes[source, j]
    tree.action[target], tree.square[target] = tree.action[source], tree.square[source]
    tree.own_levels[target] = tree.own_levels[source]
    memory, old = tree.memories[target], tree.memories[source]
    memory.value, memory.serial, memory.own_version = old.value, old.serial, old.own_version
    memory.newer, memory.older = old.newer, old.older
    if old.newer == NONE:
        tree.count.newest = target
    else:
        tree.memories[old.newer].older = target
    if old.older == NONE:
        tree.count.oldest = target
    else:
        tree.memories[old.older].newer = target


@njit_inline
def list_rows(tree: Tree, leaf: int, rows: np.ndarray) -> int:
    """Write down the rows of a leaf's memories; return how many."""
    n = tree.nodes[leaf].size
    page = tree.nodes[leaf].first
    for k in range(0, n, PAGE):
        for i in range(min(PAGE, n - k)):
            rows[k + i] = page * PAGE + i
        page = tree.pages[page].after
    return n


@njit
def _free_page(tree: Tree, page: int) -> None:
    tree.pages[page].after = tree.count.free_page
    tree.count.free_page = page
    tree.count.free_pages += 1


@njit_new
def split_leaf(tree: Tree, leaf: int) -> None:
    """Turn a leaf that is over capacity into an inner node with two leaves.

    A leaf whose keys all project to one point cannot be split: it stays a leaf and overflows.
    """
    if tree.nodes[leaf].size < tree.config.leaf_capacity + (1 if tree.config.as_run else 0):
        return
    n = tree.nodes[leaf].size
    memories = np.empty(n, np.uint32)
    list_rows(tree, leaf, memories)
    if _all_equal(tree, memories):
        return
    router = top_eigen(tree, memories) if tree.config.eigen else random_direction(tree)
    for i in range(len(router)):
        tree.router[leaf, i] = router[i]
    projection = np.empty(n, tree.router.dtype)
    for k in range(n):
        m = memories[k]
        projection[k] = project(tree.router[leaf], tree.numeric[m, : tree.config.n_numeric], tree.codes[m])
        if tree.config.has_action:
            projection[k] += tree.router[leaf, tree.config.n_inputs + tree.action[m]]
    boundary, possible = _boundary(projection, tree.config.as_run)
    if not possible:
        return
    left, right = _new_leaf(tree, leaf), _new_leaf(tree, leaf)
    for k in range(n):
        child = left if goes_left(projection[k], boundary, tree.config.as_run) else right
        move(tree, memories[k], attach(tree, child))
    page = tree.nodes[leaf].first
    while page != NONE:
        after = tree.pages[page].after
        _free_page(tree, page)
        page = after
    tree.nodes[leaf].boundary = boundary
    tree.nodes[leaf].left, tree.nodes[leaf].right = left, right
    tree.nodes[leaf].first = tree.nodes[leaf].last = NONE
    tree.nodes[leaf].size = 0
    tree.nodes[leaf].projected = -1
    tree.count.leaves += 1


@njit
def _all_equal(tree: Tree, memories: np.ndarray) -> bool:
    """Do all memories have one key? Asked of the latest first: a leaf is overfull where all its others are equal."""
    first = memories[0]
    for k in range(len(memories) - 1, 0, -1):
        if tree.action[memories[k]] != tree.action[first]:
            return False
        for i in range(tree.numeric.shape[1]):
            if tree.numeric[memories[k], i] != tree.numeric[first, i]:
                return False
        for j in range(tree.codes.shape[1]):
            if tree.codes[memories[k], j] != tree.codes[first, j]:
                return False
    return True


@njit_new
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


@njit_new
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
    tree.nodes[node].parent = parent
    tree.nodes[node].left = tree.nodes[node].right = tree.nodes[node].first = tree.nodes[node].last = NONE
    tree.nodes[node].size = 0
    tree.nodes[node].projected = -1
    return node
