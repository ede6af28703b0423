"""The plain tree as the tests' oracle: it also knows its closest call.

Where that is below rounding, another order of sums may choose otherwise.
"""

from __future__ import annotations

from emt.options import TreeOptions
from emt.reference.eigen import INFINITY, Memory, Node, PlainTree, dot


class Oracle(PlainTree):
    def __init__(self, n_features: int, **options):
        super().__init__(TreeOptions(n_features=n_features, **options))
        self.closest = INFINITY

    def near(self, *gaps: float) -> None:
        self.closest = min(self.closest, *gaps)

    def leaf(self, x: Memory) -> Node:
        node = self.root
        while node.router is not None:
            projection = dot(node.router, x.x)
            self.near(abs(projection - node.boundary))
            node = node.left if self.goes_left(projection, node.boundary) else node.right
        return node

    def argmin(self, x: Memory, M: list[Memory]) -> Memory:
        first, *others = sorted(self.predict_scorer(x, memory) for memory in M)
        if first != -INFINITY and others:
            self.near(others[0] - first)
        return super().argmin(x, M)

    def split_leaf(self, n: Node) -> None:
        M = n.M
        super().split_leaf(n)
        if n.router is not None:
            gaps = [abs(dot(n.router, memory.x) - n.boundary) for memory in M]
            self.near(*(gap for gap in gaps if gap), INFINITY)
