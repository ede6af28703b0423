"""From the root to a leaf (Algorithm 1, the while loops of Query and Learn)."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit_inline, njit_strict
from emt._kernels.state import Tree

__all__ = ["goes_left", "project", "route"]


@njit_strict
def project(router: np.ndarray, numeric: np.ndarray, codes: np.ndarray) -> float:
    """Return <router, x> of a key's x block.

    A split and every later query must agree to the last bit on which side a memory is: hence sums in a fixed order, in
    four lanes that the processor adds up side by side.
    """
    n = len(numeric)
    s0 = s1 = s2 = s3 = router.dtype.type(0)
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += router[i] * numeric[i]
        s1 += router[i + 1] * numeric[i + 1]
        s2 += router[i + 2] * numeric[i + 2]
        s3 += router[i + 3] * numeric[i + 3]
    for i in range(whole, n):
        s0 += router[i] * numeric[i]
    for j in range(len(codes)):
        s1 += router[codes[j]]
    return (s0 + s1) + (s2 + s3)


@njit_strict
def goes_left(projection: float, boundary: float, as_run: bool) -> bool:
    """Return the side: ``<=`` as printed (Algorithm 1), ``<`` as run."""
    return projection < boundary if as_run else projection <= boundary


@njit_inline
def route(tree: Tree, numeric: np.ndarray, codes: np.ndarray, action: int) -> int:
    """Return the leaf of a key. Within one query (`count.query`) a node's projection is shared by all actions."""
    node = tree.count.root
    now = tree.count.query
    while tree.nodes[node].left >= 0:
        if tree.nodes[node].projected != now:
            tree.nodes[node].projection = project(tree.router[node], numeric, codes)
            tree.nodes[node].projected = now
        projection = tree.nodes[node].projection
        if tree.config.has_action:
            projection += tree.router[node, tree.config.n_inputs + action]
        left = goes_left(projection, tree.nodes[node].boundary, tree.config.as_run)
        node = tree.nodes[node].left if left else tree.nodes[node].right
    return node
