"""Draw the README's figure from a real tree: ``python -m docs.figure`` writes docs/emt.svg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from analysis.look import BLUE, GREY, ORANGE, VERMILION
from emt import EigenMemoryTree
from emt._kernels.eigen.state import NONE

CAPACITY, QUERY, SEED = 12, np.array([0.81, 0.49]), 3
PALE = "#FDF1D6"
NUMBER: Any = {"ha": "center", "va": "center_baseline", "fontsize": 8, "color": VERMILION, "zorder": 7}


def grow_tree() -> tuple[EigenMemoryTree, np.ndarray, np.ndarray]:
    """Return a tree of 60 memories in the plane, their keys and their values: 1 within a ring, else 0."""
    rng = np.random.default_rng(SEED)
    keys = rng.random((240, 2)) * 0.9 + 0.05
    keys = keys[np.abs(keys[:, 1] - 0.1 - 0.7 * keys[:, 0]) < 0.3][:64]
    values = (np.hypot(*(keys - [0.52, 0.48]).T) < 0.23).astype(float)
    tree = EigenMemoryTree(n_features=2, leaf_capacity=CAPACITY, seed=1)
    for key, value in zip(keys, values, strict=True):
        tree.learn(key, value)
    return tree, keys, values


def clip(polygon: np.ndarray, normal: np.ndarray, boundary: float) -> np.ndarray:
    """Return the part of a convex polygon where <normal, x> is below the boundary."""
    kept = []
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        at_a, at_b = a @ normal - boundary, b @ normal - boundary
        if at_a <= 0:
            kept.append(a)
        if at_a * at_b < 0:
            kept.append(a + (b - a) * at_a / (at_a - at_b))
    return np.array(kept)


class Drawing:
    """The three panels, and what they share: the regions of the nodes and the way of the query."""

    def __init__(self) -> None:
        self.tree, self.keys, self.values = grow_tree()
        state = self.tree._tree
        self.nodes, self.routers, self.root = state.nodes.node, state.nodes.router[:, :2], int(state.counts.root)
        self.regions = {self.root: np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)}
        self.depth = {self.root: 0}
        self._divide(self.root)
        self.way = self.route(QUERY)

    def is_leaf(self, node: int) -> bool:
        """Say whether a node holds memories, not a router."""
        return bool(self.nodes[node]["left"] == NONE)

    def child(self, node: int, key: np.ndarray) -> int:
        """Return where a node's router sends a key."""
        left = self.routers[node] @ key < self.nodes[node]["boundary"]
        return int(self.nodes[node]["left" if left else "right"])

    def _divide(self, node: int) -> None:
        if self.is_leaf(node):
            return
        router, boundary = self.routers[node], float(self.nodes[node]["boundary"])
        for side, sign in (("left", 1), ("right", -1)):
            below = int(self.nodes[node][side])
            self.regions[below] = clip(self.regions[node], sign * router, sign * boundary)
            self.depth[below] = self.depth[node] + 1
            self._divide(below)

    def route(self, key: np.ndarray) -> list[int]:
        """Return the nodes that a key passes, from the root to its leaf."""
        way = [self.root]
        while not self.is_leaf(way[-1]):
            way.append(self.child(way[-1], key))
        return way

    def below(self, node: int) -> np.ndarray:
        """Say which keys pass a node."""
        return np.array([node in self.route(key) for key in self.keys])

    def plane(self, axes: Axes) -> None:
        """Draw the keys, the cuts, and the eigenvectors on the query's way."""
        leaf = self.way[-1]
        axes.add_patch(Polygon(self.regions[leaf], facecolor=PALE, edgecolor="none", zorder=0))
        for node, region in self.regions.items():
            if self.is_leaf(node):
                continue
            router, boundary = self.routers[node], float(self.nodes[node]["boundary"])
            direction = np.array([-router[1], router[0]])
            foot = router * boundary / (router @ router)
            along = [
                (point - foot) @ direction
                for a, b in zip(region, np.roll(region, -1, axis=0), strict=True)
                if (a @ router - boundary) * (b @ router - boundary) < 0
                for point in [a + (b - a) * (a @ router - boundary) / ((a - b) @ router)]
            ]
            ends = foot + np.outer([min(along), max(along)], direction)
            on_way = node in self.way
            axes.plot(*ends.T, color="black" if on_way else GREY, lw=1.6 if on_way else 0.8, zorder=1)
            if on_way:
                centre = self.keys[self.below(node)].mean(axis=0)
                unit = router / np.linalg.norm(router)
                start = centre + (boundary - centre @ router) / np.linalg.norm(router) * unit
                if node == self.root:  # away from the others
                    start += 0.1 * np.sign(direction[1]) * direction / np.linalg.norm(router)
                arrow = {"arrowstyle": "-|>", "color": VERMILION, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
                axes.annotate("", start + 0.17 * unit, start, arrowprops=arrow, zorder=4)
                axes.scatter(*start, s=90, color="white", edgecolor=VERMILION, linewidth=1.4, zorder=6)
                axes.text(*start, f"{self.depth[node] + 1}", **NUMBER)
        for value, colour, marker in ((0.0, BLUE, "o"), (1.0, ORANGE, "s")):
            mine = self.values == value
            axes.scatter(*self.keys[mine].T, s=16, color=colour, marker=marker, zorder=3, label=f"reward {value:.0f}")
        axes.scatter(*QUERY, s=130, color="black", marker="*", zorder=5, label="query")
        answer = self.tree.retrieve(QUERY).memory.x
        axes.scatter(*answer, s=70, facecolor="none", edgecolor="black", linewidth=1.5, zorder=5, label="answer")
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
        axes.set_title("Each split cuts at the median along\nthe top eigenvector of a full leaf", fontsize=9)
        axes.legend(loc="upper left", fontsize=7, framealpha=0.9, handletextpad=0.3, borderpad=0.4)
        axes.spines[["top", "right"]].set_visible(True)

    def diagram(self, axes: Axes) -> None:
        """Draw the tree, the query's way in bold."""
        leaves = [node for node in self._in_order(self.root) if self.is_leaf(node)]
        x = {node: float(i) for i, node in enumerate(leaves)}
        for node in sorted(self.depth, key=lambda node: -self.depth[node]):
            if not self.is_leaf(node):
                x[node] = (x[int(self.nodes[node]["left"])] + x[int(self.nodes[node]["right"])]) / 2
        for node in self.depth:
            if not self.is_leaf(node):
                for side in ("left", "right"):
                    below = int(self.nodes[node][side])
                    on_way = node in self.way and below in self.way
                    line = {"color": "black", "lw": 2.2} if on_way else {"color": GREY, "lw": 0.9}
                    axes.plot([x[node], x[below]], [-self.depth[node], -self.depth[below]], zorder=1, **line)
        for node, depth in self.depth.items():
            on_way = node in self.way
            if self.is_leaf(node):
                face, edge = (PALE, "black") if on_way else ("white", GREY)
                box = {"boxstyle": "round,pad=0.25", "facecolor": face, "edgecolor": edge}
                axes.text(
                    x[node], -depth, str(self.nodes[node]["size"]), ha="center", va="center", fontsize=8, bbox=box
                )
            else:
                colour = VERMILION if on_way else GREY
                axes.scatter(x[node], -depth, s=90, color="white", edgecolor=colour, linewidth=1.4, zorder=2)
                if on_way:
                    axes.text(x[node], -depth, f"{depth + 1}", **NUMBER)
        axes.scatter(x[self.root], 0.42, s=130, color="black", marker="*")
        axes.set(xlim=(-0.6, len(leaves) - 0.4), ylim=(-max(self.depth.values()) - 0.45, 0.75))
        axes.axis("off")
        axes.set_title("A query follows the routers\nto one leaf (memories in each)", fontsize=9)

    def _in_order(self, node: int) -> list[int]:
        if self.is_leaf(node):
            return [node]
        left, right = int(self.nodes[node]["left"]), int(self.nodes[node]["right"])
        return [*self._in_order(left), node, *self._in_order(right)]

    def scores(self, axes: Axes) -> None:
        """Draw the score of each memory in the leaf: as the tree of the paper begins, 1 - exp(-distance) + <w, z>."""
        mine = self.below(self.way[-1])
        keys, values = self.keys[mine], self.values[mine]
        z = np.abs(keys - QUERY)
        initial = 1 - np.exp(-np.linalg.norm(z, axis=1))
        scores = np.clip(initial + z @ self.tree._tree.scorer.weight[:2], 0, 3)
        order = np.argsort(scores)
        found = self.tree.retrieve(QUERY)
        assert np.isclose(found.score, scores.min())
        assert np.allclose(found.memory.x, keys[order[0]])
        colours = [ORANGE if value else BLUE for value in values[order]]
        bars = axes.barh(np.arange(len(order)), scores[order], color=colours, height=0.62)
        bars[0].set_edgecolor("black")
        bars[0].set_linewidth(1.6)
        axes.invert_yaxis()
        answer = f"least score: its reward, {found.y:.0f}, is the answer"
        axes.text(scores[order[0]] + 0.02 * scores.max(), 0, answer, va="center", fontsize=7.5)
        axes.set(yticks=[], xlim=(0, scores.max() * 1.25), xticks=[])
        axes.set_xlabel("score of each memory in the leaf", fontsize=8)
        axes.spines[["left", "top", "right"]].set_visible(False)
        axes.set_title("A learned scorer of |x - x'|\npicks the memory to trust", fontsize=9)


def main() -> None:
    """Draw and write."""
    drawing = Drawing()
    figure = Figure(figsize=(9.4, 3.3), layout="constrained", facecolor="white")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.05, 1.1, 1])
    drawing.plane(left)
    drawing.diagram(middle)
    drawing.scores(right)
    path = Path(__file__).parent / "emt.svg"
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    print(path)


if __name__ == "__main__":
    main()
