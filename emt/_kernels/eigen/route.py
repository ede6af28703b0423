"""From the root to a leaf (Algorithm 1, the while loops of Query and Learn)."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inline, inner_strict
from emt._kernels.eigen.state import Nodes
from emt._kernels.lanes import fetch
from emt._kernels.vector import ordered_dot

__all__ = ["goes_left", "route"]


@inner_strict
def goes_left(projection: float, boundary: float, left_at_boundary: bool) -> bool:
    """Return the side of a router: a key at the boundary goes left as printed (Algorithm 1), right as run."""
    return projection <= boundary if left_at_boundary else projection < boundary


@inline
def route(options: Any, counts: Any, nodes: Nodes, numeric: np.ndarray, codes: np.ndarray, action: int) -> int:
    """Return the leaf of a key. Within one question a node's projection of the x block is shared by all actions."""
    here, width = counts.root, nodes.router.shape[1]
    while nodes.node[here].left >= 0:
        for child in (nodes.node[here].left, nodes.node[here].right):  # fetched before it is known which is next
            fetch(nodes.node, child)
            fetch(nodes.router, np.int64(child) * width)
        if nodes.node[here].projected != counts.question:
            nodes.node[here].projection = ordered_dot(nodes.router[here], numeric, codes)
            nodes.node[here].projected = counts.question
        projection = nodes.node[here].projection
        if options.has_action:
            projection += nodes.router[here, options.n_inputs + action]
        left = goes_left(projection, nodes.node[here].boundary, options.left_at_boundary)
        here = nodes.node[here].left if left else nodes.node[here].right
    return here
