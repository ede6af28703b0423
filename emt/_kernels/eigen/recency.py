"""The order of use: which memory was used longest ago, and how any leaves the tree, all in constant time."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.eigen.leaf import detach
from emt._kernels.eigen.state import NONE, Memories, Nodes

__all__ = ["enlist", "forget", "touch"]


@inner
def enlist(counts: Any, record: np.ndarray, memory: int) -> None:
    """Put a memory at the newest end of the order of use."""
    newest = counts.newest
    record[memory].older, record[memory].newer = newest, NONE
    if newest == NONE:
        counts.oldest = memory
    else:
        record[newest].newer = memory
    counts.newest = memory


@inner
def touch(counts: Any, record: np.ndarray, memory: int) -> None:
    """Count a memory as used just now."""
    if memory != counts.newest:
        _delist(counts, record, memory)
        enlist(counts, record, memory)


@inner
def forget(counts: Any, memories: Memories, nodes: Nodes, memory: int) -> None:
    """Forget a memory; prune its leaf if it was the last one there."""
    _delist(counts, memories.record, memory)
    leaf = detach(counts, memories, nodes.node, nodes.page, memory)
    counts.memories -= 1
    if nodes.node[leaf].size == 0:
        _prune(counts, nodes.node, leaf)


@inner
def _delist(counts: Any, record: np.ndarray, memory: int) -> None:
    older, newer = record[memory].older, record[memory].newer
    if older == NONE:
        counts.oldest = newer
    else:
        record[older].newer = newer
    if newer == NONE:
        counts.newest = older
    else:
        record[newer].older = older


@inner
def _prune(counts: Any, node: np.ndarray, leaf: int) -> None:
    """Remove an empty leaf and its parent: the leaf's sibling takes the parent's place."""
    parent = node[leaf].parent
    if parent == NONE:
        return
    sibling = node[parent].right if node[parent].left == leaf else node[parent].left
    grandparent = node[parent].parent
    node[sibling].parent = grandparent
    if grandparent == NONE:
        counts.root = sibling
    elif node[grandparent].left == parent:
        node[grandparent].left = sibling
    else:
        node[grandparent].right = sibling
    for empty in (leaf, parent):
        node[empty].left = counts.free_node
        counts.free_node = empty
    counts.leaves -= 1
