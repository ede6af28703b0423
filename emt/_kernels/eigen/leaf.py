"""Leaves as lists of pages: a row at a time is added, taken out or moved, all in constant time."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inline, inner
from emt._kernels.eigen.state import NONE, PAGE, Memories, Nodes

__all__ = ["attach", "detach", "free_page", "list_rows", "move"]


@inner
def attach(counts: Any, node: np.ndarray, page: np.ndarray, leaf: int) -> int:
    """Lengthen a leaf by one row; return the row."""
    size = node[leaf].size
    if size % PAGE == 0:
        new, last = counts.free_page, node[leaf].last_page
        counts.free_page = page[new].after
        counts.free_pages -= 1
        page[new].leaf, page[new].before, page[new].after = leaf, last, NONE
        if last == NONE:
            node[leaf].first_page = new
        else:
            page[last].after = new
        node[leaf].last_page = new
    node[leaf].size = size + 1
    counts.largest = max(counts.largest, size + 1)
    return node[leaf].last_page * PAGE + size % PAGE


@inner
def detach(counts: Any, memories: Memories, node: np.ndarray, page: np.ndarray, row: int) -> int:
    """Shorten a row's leaf by that row; return the leaf. Its last memory moves into the hole."""
    leaf = page[row // PAGE].leaf
    size = node[leaf].size - 1
    last = node[leaf].last_page
    node[leaf].size = size
    if last * PAGE + size % PAGE != row:
        move(counts, memories, last * PAGE + size % PAGE, row)
    if size % PAGE == 0:
        before = page[last].before
        node[leaf].last_page = before
        if before == NONE:
            node[leaf].first_page = NONE
        else:
            page[before].after = NONE
        free_page(counts, page, last)
    return leaf


@inner
def move(counts: Any, memories: Memories, source: int, target: int) -> None:
    """Copy a memory to another row, where it takes its place in the order of use."""
    for i in range(memories.numeric.shape[1]):
        memories.numeric[target, i] = memories.numeric[source, i]
    for j in range(memories.codes.shape[1]):
        memories.codes[target, j] = memories.codes[source, j]
    memories.action[target], memories.square[target] = memories.action[source], memories.square[source]
    memories.value[target] = memories.value[source]
    record = memories.record
    new, old = record[target], record[source]
    new.id, new.serial = old.id, old.serial
    new.newer, new.older = old.newer, old.older
    if old.newer == NONE:
        counts.newest = target
    else:
        record[old.newer].older = target
    if old.older == NONE:
        counts.oldest = target
    else:
        record[old.older].newer = target


@inline
def list_rows(nodes: Nodes, leaf: int, rows: np.ndarray) -> int:
    """Write down the rows of a leaf's memories; return how many. A last page that is not full is written whole."""
    n = nodes.node[leaf].size
    page = nodes.node[leaf].first_page
    for k in range(0, n, PAGE):
        whole, first = rows[k : k + PAGE], np.uint32(page * PAGE)
        for i in range(PAGE):
            whole[i] = first + np.uint32(i)
        page = nodes.page[page].after
    return n


@inner
def free_page(counts: Any, page: np.ndarray, empty: int) -> None:
    """Put an empty page on the list of free ones."""
    page[empty].after = counts.free_page
    counts.free_page = empty
    counts.free_pages += 1
