"""The Eigen Memory Tree (Algorithms 1-4 of the paper) in plain Python, with every choice of `emt.options`.

Indicators are written out, every z is a full vector, Oja's method works on whole coordinates, and the order of use is
a list. Random numbers come from the stream that the compiled tree has, drawn in the same order, so that the two make
the same choices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emt.options import TreeOptions

__all__ = ["Memory", "Node", "PlainEMT", "PlainTree", "Stream"]

INFINITY = float("inf")
Vector = list[float]


@dataclass(eq=False)
class Memory:
    """A key, as the router sees it (x) and as the scorer does (f), and its value."""

    x: Vector  # numeric coordinates, indicators of levels, indicators of actions
    f: Vector  # x, and where `crossed` the products of context and action
    y: float
    id: int | None = None
    serial: int = 0


@dataclass(eq=False)
class Node:
    """Algorithm 1, line 1. A leaf has memories M, an inner node the rest."""

    M: list[Memory] = field(default_factory=list)
    router: Vector | None = None  # None in a leaf
    boundary: float = 0.0
    left: Any = None
    right: Any = None


class PlainTree:
    """Algorithms 1-3.

    Parameters
    ----------
    options : TreeOptions
        The choices. Precision is Python's, whatever its dtype.

    Examples
    --------
    >>> tree = PlainTree(TreeOptions(n_features=2))
    >>> tree.learn(tree.memory([0.1, 0.7], y=1.0))
    >>> tree.learn(tree.memory([0.9, 0.2], y=0.0))
    >>> tree.query(tree.memory([0.1, 0.7])).y
    1.0
    """

    def __init__(self, options: TreeOptions):
        self.options = options
        self.products = options.scorer == "interaction"
        self.lru = options.budget is not None and options.eviction == "lru"
        self.rng = Stream(options.seed)
        self.used: list[Memory] = []  # the longest unused first
        self.n_stored = 0
        self.root = Node()  # Algorithm 1, line 2
        nothing = self.memory([0.0] * options.n_features, [0] * len(options.n_levels))
        n_weights = len(self.z(nothing, nothing))
        if options.learning == "gradient":  # Algorithm 1, line 3
            self.w: Vector = np.random.default_rng(options.seed % 2**64).random(n_weights).tolist()
        else:
            self.w = [0.0] * n_weights
        # Coin betting's sums, per weight and over all
        self.bet, self.turnover, self.wealth, self.max_z, self.max_slope = ([0.0] * n_weights for _ in range(5))
        self.norms, self.weights = 0.0, 0.0

    def memory(
        self,
        numeric: Sequence[float],
        categorical: Sequence[int] = (),
        action: int | None = None,
        y: float = 0.0,
        id: int | None = None,
    ) -> Memory:
        """Return a key, or an observation, with its indicators written out."""
        x = [float(value) for value in numeric]
        for code, n in zip(categorical, self.options.n_levels, strict=True):
            x += one_hot(code, n)
        a = one_hot(action, max(self.options.n_actions, 1))  # a key without action has an empty place for one
        crossed = self.options.crossed and self.options.n_actions and not self.products
        xa = [value * indicator for indicator in a for value in x] if crossed else []
        return Memory(x + a, x + a + xa, float(y), id)

    # Algorithm 1: primary functions

    def query(self, x: Memory) -> Memory | None:
        """Algorithm 1, lines 5-8."""
        return self.retrieve(self.leaf(x), x) if self.used else None

    def learn(self, new: Memory, weight: float = 1.0) -> None:
        """Algorithm 1, lines 10-16."""
        n = self.leaf(new)  # lines 11-12
        if n.M:
            known = [memory for memory in n.M if self.exact(new, memory)]
            self.update_scorer(n.M, new, weight if self.options.weighted else 1.0)  # line 13
            if self.lru:  # learning queries first, and a tie there uses no number up
                state = self.rng.state
                self.retrieve(n, new)
                self.rng.state = state
            if known and self.options.duplicates == "first":
                return
            if known and self.options.duplicates == "last":
                known[0].y, known[0].id = new.y, new.id
                self.use(known[0])
                return
        n.M.append(new)  # line 14
        self.used.append(new)
        self.n_stored += 1
        new.serial = self.n_stored
        if self.options.budget is not None and len(self.used) > self.options.budget:
            self.forget(self.used[0])
        if len(n.M) >= self.options.leaf_capacity + (self.options.splits_at == "above"):  # line 15
            self.split_leaf(n)

    def leaf(self, x: Memory) -> Node:
        """Algorithm 1, lines 6-7: from the root to the leaf of a key."""
        n = self.root
        while n.router is not None:
            n = n.left if self.goes_left(dot(n.router, x.x), n.boundary) else n.right
        return n

    def goes_left(self, projection: float, boundary: float) -> bool:
        """Compare as printed (<=), or as run (<)."""
        return projection <= boundary if self.options.boundary == "left" else projection < boundary

    def retrieve(self, leaf: Node, x: Memory) -> Memory:
        """Algorithm 1, line 8; with a budget, what is found counts as used."""
        best = self.argmin(x, leaf.M)
        if self.lru:
            self.use(best)
        return best

    def argmin(self, x: Memory, M: list[Memory]) -> Memory:
        """Return the memory with the least score: of several any, of exact matches the latest."""
        scores = [self.predict_scorer(x, memory) for memory in M]
        tied = [memory for memory, score in zip(M, scores, strict=True) if score == min(scores)]
        if min(scores) == -INFINITY:
            return max(tied, key=lambda memory: memory.serial)
        return tied[0] if len(tied) == 1 else tied[int(self.rng.uniform() * len(tied))]

    # The memory budget

    def use(self, memory: Memory) -> None:
        """Count a memory as used just now."""
        self.used.remove(memory)
        self.used.append(memory)

    def forget(self, memory: Memory) -> None:
        """Forget a memory: with a budget, the one that was used longest ago."""
        self.used.remove(memory)
        leaf = self.leaf(memory)
        leaf.M[leaf.M.index(memory)] = leaf.M[-1]  # the last one fills the hole
        leaf.M.pop()
        if not leaf.M and leaf is not self.root:  # the sibling takes the place of their parent
            parent = self.parent(leaf)
            sibling = parent.right if leaf is parent.left else parent.left
            if parent is self.root:
                self.root = sibling
            elif self.parent(parent).left is parent:
                self.parent(parent).left = sibling
            else:
                self.parent(parent).right = sibling

    def parent(self, child: Node) -> Node:
        """Return the node above another."""
        return next(node for node in nodes(self.root) if child in (node.left, node.right))

    # Beyond the paper

    def neighbours(self, x: Memory, k: int) -> list[Memory]:
        """Return the k memories with the least scores in the key's leaf; of equal ones, the last stored first."""
        return sorted(self.leaf(x).M, key=lambda memory: (self.predict_scorer(x, memory), -memory.serial))[:k]

    def mean(self, x: Memory, k: int) -> float:
        """Return the mean value of the k nearest, which count as used, the nearest last."""
        found = self.neighbours(x, k)
        for memory in reversed(found):
            if self.lru:
                self.use(memory)
        return sum(memory.y for memory in found) / len(found) if found else 0.0

    def forget_key(self, x: Memory) -> int:
        """Forget all memories with a key; return how many."""
        same = [memory for memory in self.leaf(x).M if memory.x == x.x]
        for memory in reversed(same):
            self.forget(memory)
        return len(same)

    def forget_id(self, id: int) -> int:
        """Forget all memories with an identifier; return how many."""
        same = [memory for memory in self.used if memory.id == id]
        for memory in same:
            self.forget(memory)
        return len(same)

    # Algorithm 2: scorer functions

    def predict_scorer(self, x1: Memory, x2: Memory) -> float:
        """Return how unlike two keys are."""
        if self.exact(x1, x2):
            return -INFINITY  # an exact match wins every tie
        score = dot(self.w, self.z(x1, x2))
        if self.options.initial_score == "distance":
            return min(max(1 - math.exp(-math.dist(x1.f, x2.f)) + score, 0.0), 3.0)
        return max(0.0, score)

    def z(self, x1: Memory, x2: Memory) -> Vector:
        """Return what the scorer sees of two keys: differences, or for the ablation all products."""
        if self.products:
            return [a * b for a in x1.f for b in x2.f]
        signed = self.options.cross_terms == "signed"
        return [a + b if signed and (a == 0 or b == 0) else abs(a - b) for a, b in zip(x1.f, x2.f, strict=True)]

    def exact(self, x1: Memory, x2: Memory) -> bool:
        """Tell whether one key is the other. The ablation to the letter does not ask."""
        options = self.options
        asks = options.initial_score == "distance" or not self.products or options.duplicates != "both"
        return asks and x1.x == x2.x

    def update_scorer(self, M: list[Memory], new: Memory, weight: float) -> None:
        """Teach the scorer to prefer, of the best memory b and the best alternative a, the one with less error."""
        if len(M) < 2 or weight == 0:
            return
        b = self.argmin(new, M)
        a = self.alternative(new, [memory for memory in M if memory is not b])
        gap = abs(new.y - b.y) - abs(new.y - a.y)
        if gap == 0:
            return
        pairs = [(b, float(gap > 0)), (a, float(gap < 0))]  # the better one's score moves towards 0, the other's to 1
        if self.options.learning == "gradient":
            self.descend(pairs, new, weight)
            return
        for memory, target in pairs if self.rng.uniform() < 0.5 else pairs[::-1]:
            self.bet_on(self.z(new, memory), target, weight * abs(gap))

    def alternative(self, new: Memory, others: list[Memory]) -> Memory:
        """Return the memory with the least error, of those with the least score, of those any."""
        ranks = [(abs(new.y - memory.y), self.predict_scorer(new, memory)) for memory in others]
        tied = [memory for memory, rank in zip(others, ranks, strict=True) if rank == min(ranks)]
        return tied[0] if len(tied) == 1 else tied[int(self.rng.uniform() * len(tied))]

    def descend(self, pairs: list[tuple[Memory, float]], new: Memory, weight: float) -> None:
        """W <- w - eta dL/dw, with L the sum of (max(0, <w, z>) - target)^2 over the pairs."""
        gradient = [0.0] * len(self.w)
        for memory, target in pairs:
            z = self.z(new, memory)
            score = dot(self.w, z)
            if score > 0:  # a clipped score has no slope
                gradient = [g + 2 * (score - target) * z_i for g, z_i in zip(gradient, z, strict=True)]
        self.w = [w - self.options.eta * weight * g for w, g in zip(self.w, gradient, strict=True)]

    def bet_on(self, z: Vector, target: float, weight: float) -> None:
        """Take one step of coin betting (Orabona and Tommasi, 2017; Vowpal Wabbit's --coin with alpha 4, beta 1)."""
        active = [i for i, z_i in enumerate(z) if z_i != 0]
        if not active:
            return
        for i in active:
            self.max_z[i] = max(self.max_z[i], abs(z[i]))
        self.norms += weight * sum((z[i] / self.max_z[i]) ** 2 for i in active)
        self.weights += weight
        scale = (self.norms + 1e-6) / self.weights
        prediction = sum(self.stake(i) * z[i] for i in active) / scale
        slope = 2 * (min(max(prediction, 0.0), 3.0) - target) * weight
        for i in active:
            if abs(slope) > self.max_slope[i]:
                self.max_slope[i] = max(abs(slope), 1.0)
            stake = self.stake(i)
            self.bet[i] -= slope * z[i]
            self.turnover[i] += abs(slope * z[i])
            self.wealth[i] -= slope * z[i] * stake
            self.w[i] = stake / scale

    def stake(self, i: int) -> float:
        """Return what the bettor of weight i stakes."""
        most = self.max_slope[i] * self.max_z[i]
        return (4 + self.wealth[i]) / (most * (most + self.turnover[i])) * self.bet[i] if most > 0 else 0.0

    # Algorithm 3: leaf functions

    def split_leaf(self, n: Node) -> None:
        """Turn a leaf into an inner node with two leaves, unless its keys cannot be told apart."""
        if all(memory.x == n.M[0].x for memory in n.M):
            return
        eigen = self.options.router == "eigen"
        router = self.top_eigen(n.M) if eigen else self.random_direction(len(n.M[0].x))
        projections = [dot(router, memory.x) for memory in n.M]
        boundary = self.median(projections)
        if boundary is None:
            return
        n.router, n.boundary, n.left, n.right = router, boundary, Node(), Node()
        for memory, projection in zip(n.M, projections, strict=True):
            (n.left if self.goes_left(projection, boundary) else n.right).M.append(memory)
        n.M = []

    def median(self, projections: Vector) -> float | None:
        """Return the median; if all are on one side of it, the value nearest to it that parts them."""
        p, n = sorted(projections), len(projections)
        median = p[n // 2] if n % 2 else (p[n // 2 - 1] + p[n // 2]) / 2
        parts = [b for b in sorted(set(p)) if 0 < sum(self.goes_left(q, b) for q in p) < n]
        if not parts or 0 < sum(self.goes_left(q, median) for q in p) < n:
            return median if parts else None
        return parts[-1] if self.options.boundary == "left" else parts[0]

    def top_eigen(self, M: list[Memory]) -> Vector:
        """Approximate the first principal component by Oja's method."""
        mean = [sum(column) / len(M) for column in zip(*(memory.x for memory in M), strict=True)]
        X = [[x_i - m for x_i, m in zip(memory.x, mean, strict=True)] for memory in M]
        v = self.random_direction(len(mean))
        for _ in range(self.options.epochs):
            if self.options.epochs > 1:
                self.rng.shuffle(X)
            for n, x in enumerate(X, start=1):
                along = dot(x, v) / n
                v = unit([v_i + along * x_i for v_i, x_i in zip(v, x, strict=True)])
        return v

    def random_direction(self, d: int) -> Vector:
        """Return a random unit vector: non-negative where Oja's method takes several passes, else of any direction."""
        return unit([self.rng.uniform() if self.options.epochs > 1 else self.rng.normal() for _ in range(d)])


class PlainEMT:
    """Algorithm 4: epsilon-greedy on a tree whose keys are contexts and actions.

    Parameters
    ----------
    tree : PlainTree
        With actions.
    epsilon : float
        Share of exploration.
    """

    def __init__(self, tree: PlainTree, epsilon: float = 0.1):
        self.tree, self.epsilon, self.n_actions = tree, epsilon, tree.options.n_actions

    def predict(self, numeric: Sequence[float], categorical: Sequence[int] = ()) -> Vector:
        """Return the probability of each action; ties share the greedy action's."""
        rewards = self.ask(numeric, categorical)
        best = [a for a in range(self.n_actions) if rewards[a] == max(rewards)]
        shares = [(1 - self.epsilon) / len(best) if a in best else 0.0 for a in range(self.n_actions)]
        return [self.epsilon / self.n_actions + share for share in shares]

    def ask(self, numeric: Sequence[float], categorical: Sequence[int] = ()) -> Vector:
        """Query every action. Those that share a leaf are asked together; uses count in the order of actions."""
        tree = self.tree
        if not tree.used:
            return [0.0] * self.n_actions
        keys = [tree.memory(numeric, categorical, a) for a in range(self.n_actions)]
        leaves = [tree.leaf(key) for key in keys]
        found = {}
        for leaf in dict.fromkeys(map(id, leaves)):
            for a in range(self.n_actions):
                if id(leaves[a]) == leaf:
                    found[a] = tree.argmin(keys[a], leaves[a].M)
        for a in range(self.n_actions):
            if tree.lru:
                tree.use(found[a])
        return [found[a].y for a in range(self.n_actions)]

    def learn(
        self, numeric: Sequence[float], categorical: Sequence[int], action: int, reward: float, probability: float
    ) -> None:
        """Remember the reward of an action; how important that is depends on how likely the action was."""
        weight = 1 / (self.n_actions * probability)
        self.tree.learn(self.tree.memory(numeric, categorical, action, reward), weight)


class Stream:
    """Random numbers: splitmix64 (Steele et al., 2014)."""

    def __init__(self, seed: int):
        self.state = seed % 2**64

    def bits(self) -> int:
        """Return 64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """Return a number, uniform in [0, 1)."""
        return (self.bits() >> 11) * 2.0**-53

    def normal(self) -> float:
        """Return a standard normal number."""
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.sin(2 * math.pi * self.uniform())

    def shuffle(self, items: list[Any]) -> None:
        """Put a list in a random order."""
        for i in range(len(items) - 1, 0, -1):
            j = (self.bits() >> 32) * (i + 1) >> 32
            items[i], items[j] = items[j], items[i]


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all below it."""
    yield node
    if node.router is not None:
        yield from nodes(node.left)
        yield from nodes(node.right)


def one_hot(code: int | None, n: int) -> Vector:
    """Return n indicators, of which the code's is 1."""
    return [float(level == code) for level in range(n)]


def dot(a: Vector, b: Vector) -> float:
    """Return the inner product."""
    return sum(a_i * b_i for a_i, b_i in zip(a, b, strict=True))


def unit(v: Vector) -> Vector:
    """Return a vector of length 1."""
    length = math.sqrt(dot(v, v))
    return [v_i / length for v_i in v]
