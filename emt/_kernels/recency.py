"""The budget: which memory was used longest ago, and how it leaves the tree, all in constant time."""

from __future__ import annotations

from emt._kernels.compile import njit
from emt._kernels.leaf import detach
from emt._kernels.state import NONE, Tree

__all__ = ["enlist", "evict", "touch"]


@njit
def enlist(tree: Tree, memory: int) -> None:
    """Put a memory at the newest end of the order of use."""
    newest = tree.count.newest
    tree.memories[memory].older, tree.memories[memory].newer = newest, NONE
    if newest == NONE:
        tree.count.oldest = memory
    else:
        tree.memories[newest].newer = memory
    tree.count.newest = memory


@njit
def touch(tree: Tree, memory: int) -> None:
    """Count a memory as used just now."""
    if memory != tree.count.newest:
        _delist(tree, memory)
        enlist(tree, memory)


@njit
def evict(tree: Tree) -> None:
    """Forget the memory that was used longest ago; prune its leaf if that was the last one there."""
    memory = tree.count.oldest
    _delist(tree, memory)
    leaf = detach(tree, memory)
    tree.count.memories -= 1
    if tree.nodes[leaf].size == 0:
        _prune(tree, leaf)


@njit
def _delist(tree: Tree, memory: int) -> None:
    older, newer = tree.memories[memory].older, tree.memories[memory].newer
    if older == NONE:
        tree.count.oldest = newer
    else:
        tree.memories[older].newer = newer
    if newer == NONE:
        tree.count.newest = older
    else:
        tree.memories[newer].older = older


@njit
def _prune(tree: Tree, leaf: int) -> None:
    """Remove an empty leaf and its parent: the leaf's sibling takes the parent's place."""
    parent = tree.nodes[leaf].parent
    if parent == NONE:
        return
    sibling = tree.nodes[parent].right if tree.nodes[parent].left == leaf else tree.nodes[parent].left
    grandparent = tree.nodes[parent].parent
    tree.nodes[sibling].parent = grandparent
    if grandparent == NONE:
        tree.count.root = sibling
    elif tree.nodes[grandparent].left == parent:
        tree.nodes[grandparent].left = sibling
    else:
        tree.nodes[grandparent].right = sibling
    for node in (leaf, parent):
        tree.nodes[node].left = tree.count.free_node
        tree.count.free_node = node
    tree.count.leaves -= 1
