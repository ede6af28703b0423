"""The Eigen Memory Tree in plain Python: slow, explicit, and what the compiled one is compared with.

Algorithms 1-3 with indicators written out, every z a full vector, Oja's method on whole coordinates and the order of
use a list. Random numbers come from the compiled tree's stream, drawn in the same order, so that the two make the same
choices. `Oracle.closest` is the closest call so far: where it is below rounding, another order of sums may choose
otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

INFINITY = float("inf")


class Stream:
    """splitmix64."""

    def __init__(self, seed: int):
        self.state = seed

    def bits(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def uniform(self) -> float:
        return (self.bits() >> 11) * 2.0**-53

    def normal(self) -> float:
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.sin(2 * math.pi * self.uniform())

    def shuffle(self, items: list) -> None:
        for i in range(len(items) - 1, 0, -1):
            j = (self.bits() >> 32) * (i + 1) >> 32
            items[i], items[j] = items[j], items[i]


@dataclass(eq=False)
class Memory:
    x: list[float]  # the key as the router sees it: numeric coordinates, indicators of levels, indicators of actions
    f: list[float]  # the key as the scorer sees it
    y: float
    serial: int = 0


@dataclass(eq=False)
class Node:
    M: list[Memory] = field(default_factory=list)
    router: list[float] | None = None  # None in a leaf
    boundary: float = 0.0
    left: Node | None = None
    right: Node | None = None


class Oracle:
    """Takes the options of `emt.EigenMemoryTree`, and the scorer's first weights (and what may follow them)."""

    def __init__(
        self,
        n_features,
        leaf_capacity=100,
        budget=None,
        variant="as_run",
        scorer="self_consistent",
        router="eigen",
        seed=0,
        *,
        n_levels=(),
        n_actions=0,
        eviction="lru",
        eta=0.001,
        w,
    ):
        self.n_features, self.n_levels, self.n_actions = n_features, n_levels, n_actions
        self.capacity, self.budget, self.eta = leaf_capacity, budget, eta
        self.as_run, self.products, self.eigen = variant == "as_run", scorer == "interaction", router == "eigen"
        self.lru = eviction == "lru" and budget is not None
        self.root, self.rng = Node(), Stream(seed % 2**64)
        self.used: list[Memory] = []  # the longest unused first
        self.n_stored = 0
        nothing = self.memory([0] * n_features, [0] * len(n_levels))
        self.w = [float(w_i) for w_i, _ in zip(w, self.z(nothing, nothing), strict=False)]
        # Coin betting's sums, per weight and over all
        self.bet, self.turnover, self.wealth, self.max_z, self.max_slope = ([0.0] * len(self.w) for _ in range(5))
        self.norms, self.weights = 0.0, 0.0
        self.closest = INFINITY

    def memory(self, numeric, categorical=(), action=None, y=0.0) -> Memory:
        x = [float(value) for value in numeric]
        for code, n in zip(categorical, self.n_levels, strict=True):
            x += one_hot(code, n)
        a = one_hot(action, max(self.n_actions, 1))  # a key without action has an empty place for one
        crossed = self.as_run and self.n_actions and not self.products
        xa = [value * indicator for indicator in a for value in x] if crossed else []
        return Memory(x + a, x + a + xa, float(y))

    # Algorithm 1

    def query(self, key: Memory) -> tuple[Memory | None, float]:
        if not self.used:
            return None, 0.0
        leaf = self.leaf(key)
        best = self.retrieve(leaf, key)
        return best, self.predict_scorer(key, best)

    def learn(self, new: Memory, weight: float = 1.0) -> None:
        leaf = self.leaf(new)
        known = any(memory.f == new.f for memory in leaf.M)
        if leaf.M:
            self.update_scorer(leaf.M, new, weight)
            if self.lru:
                state = self.rng.state
                self.retrieve(leaf, new)
                self.rng.state = state  # a tie uses no number up
            if self.as_run and known:
                return
        leaf.M.append(new)
        self.used.append(new)
        self.n_stored += 1
        new.serial = self.n_stored
        if self.budget is not None and len(self.used) > self.budget:
            self.evict()
        if len(leaf.M) > self.capacity or (not self.as_run and len(leaf.M) == self.capacity):
            self.split_leaf(leaf)

    def leaf(self, key: Memory) -> Node:
        node = self.root
        while node.router is not None:
            projection = dot(node.router, key.x)
            self.closest = min(self.closest, abs(projection - node.boundary))
            node = node.left if self.goes_left(projection, node.boundary) else node.right
        return node

    def goes_left(self, projection: float, boundary: float) -> bool:
        return projection < boundary if self.as_run else projection <= boundary

    def retrieve(self, leaf: Node, key: Memory) -> Memory:
        best = self.argmin(key, leaf.M)
        if self.lru:
            self.used.remove(best)
            self.used.append(best)
        return best

    def evict(self) -> None:
        oldest = self.used.pop(0)
        leaf = self.leaf(oldest)
        leaf.M[leaf.M.index(oldest)] = leaf.M[-1]  # the last one fills the hole
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
        return next(node for node in nodes(self.root) if child in (node.left, node.right))

    # Algorithm 2

    def z(self, one: Memory, other: Memory) -> list[float]:
        if self.products:
            return [a * b for a in one.f for b in other.f]
        return [abs(a - b) for a, b in zip(one.f, other.f, strict=True)]

    def predict_scorer(self, query: Memory, memory: Memory) -> float:
        if query.f == memory.f and (self.as_run or not self.products):
            return -INFINITY  # an exact match wins every tie
        score = dot(self.w, self.z(query, memory))
        if self.as_run:
            return min(max(1 - math.exp(-math.dist(query.f, memory.f)) + score, 0.0), 3.0)
        return max(0.0, score)

    def argmin(self, key: Memory, M: list[Memory]) -> Memory:
        scores = [self.predict_scorer(key, memory) for memory in M]
        tied = [memory for memory, score in zip(M, scores, strict=True) if score == min(scores)]
        if min(scores) == -INFINITY:
            return max(tied, key=lambda memory: memory.serial)
        self.closest = min([self.closest, *(score - min(scores) for score in sorted(scores)[1:2])])
        if len(tied) == 1:
            return tied[0]
        return tied[int(self.rng.uniform() * len(tied))]

    def alternative(self, new: Memory, M: list[Memory], best: Memory) -> Memory:
        """The least error, of those the least score, of those any."""
        others = [memory for memory in M if memory is not best]
        ranks = [(abs(new.y - memory.y), self.predict_scorer(new, memory)) for memory in others]
        tied = [memory for memory, rank in zip(others, ranks, strict=True) if rank == min(ranks)]
        return tied[0] if len(tied) == 1 else tied[int(self.rng.uniform() * len(tied))]

    def update_scorer(self, M: list[Memory], new: Memory, weight: float) -> None:
        if len(M) < 2 or weight == 0:
            return
        best = self.argmin(new, M)
        alternative = self.alternative(new, M, best)
        gap = abs(new.y - best.y) - abs(new.y - alternative.y)
        if gap == 0:
            return
        better, worse = (alternative, best) if gap > 0 else (best, alternative)
        if not self.as_run:
            gradient = [0.0] * len(self.w)
            for memory, target in ((better, 0.0), (worse, 1.0)):
                z = self.z(new, memory)
                score = dot(self.w, z)
                if score > 0:
                    gradient = [g + 2 * (score - target) * z_i for g, z_i in zip(gradient, z, strict=True)]
            self.w = [w - self.eta * weight * g for w, g in zip(self.w, gradient, strict=True)]
            return
        pairs = [(best, float(gap > 0)), (alternative, float(gap < 0))]
        for memory, target in pairs if self.rng.uniform() < 0.5 else pairs[::-1]:
            self.bet_on(self.z(new, memory), target, weight * abs(gap))

    def bet_on(self, z: list[float], target: float, weight: float) -> None:
        """One step of Vowpal Wabbit's ``--coin``: alpha 4, beta 1."""
        active = [i for i, z_i in enumerate(z) if z_i != 0]
        if not active:
            return
        for i in active:
            self.max_z[i] = max(self.max_z[i], abs(z[i]))
        self.norms += weight * sum((z[i] / self.max_z[i]) ** 2 for i in active)
        self.weights += weight
        average = (self.norms + 1e-6) / self.weights
        prediction = sum(self.stake(i) * z[i] for i in active) / average
        slope = 2 * (min(max(prediction, 0.0), 3.0) - target) * weight
        for i in active:
            if abs(slope) > self.max_slope[i]:
                self.max_slope[i] = max(abs(slope), 1.0)
            stake = self.stake(i)
            self.bet[i] -= slope * z[i]
            self.turnover[i] += abs(slope * z[i])
            self.wealth[i] -= slope * z[i] * stake
            self.w[i] = stake / average

    def stake(self, i: int) -> float:
        most = self.max_slope[i] * self.max_z[i]
        return (4 + self.wealth[i]) / (most * (most + self.turnover[i])) * self.bet[i] if most > 0 else 0.0

    # Algorithm 3

    def split_leaf(self, leaf: Node) -> None:
        if all(memory.x == leaf.M[0].x for memory in leaf.M):
            return
        router = self.top_eigen(leaf.M) if self.eigen else self.direction(len(leaf.M[0].x))
        projections = [dot(router, memory.x) for memory in leaf.M]
        boundary = self.boundary(projections)
        if boundary is None:
            return
        leaf.router, leaf.boundary, leaf.left, leaf.right = router, boundary, Node(), Node()
        for memory, projection in zip(leaf.M, projections, strict=True):
            if projection != boundary:
                self.closest = min(self.closest, abs(projection - boundary))
            (leaf.left if self.goes_left(projection, boundary) else leaf.right).M.append(memory)
        leaf.M = []

    def boundary(self, projections: list[float]) -> float | None:
        """The median; if all are on one side of it, the value nearest to it that parts them."""
        p, n = sorted(projections), len(projections)
        median = p[n // 2] if n % 2 else (p[n // 2 - 1] + p[n // 2]) / 2
        parts = [b for b in sorted(set(p)) if 0 < sum(self.goes_left(q, b) for q in p) < n]
        if not parts:
            return None
        if 0 < sum(self.goes_left(q, median) for q in p) < n:
            return median
        return parts[0] if self.as_run else parts[-1]

    def direction(self, d: int) -> list[float]:
        return unit([self.rng.uniform() if self.as_run else self.rng.normal() for _ in range(d)])

    def top_eigen(self, M: list[Memory]) -> list[float]:
        mean = [sum(column) / len(M) for column in zip(*(memory.x for memory in M), strict=True)]
        X = [[x_i - m for x_i, m in zip(memory.x, mean, strict=True)] for memory in M]
        v = self.direction(len(mean))
        for _ in range(40 if self.as_run else 1):
            if self.as_run:
                self.rng.shuffle(X)
            for n, x in enumerate(X, start=1):
                along = dot(x, v) / n
                v = unit([v_i + along * x_i for v_i, x_i in zip(v, x, strict=True)])
        return v


def nodes(node: Node):
    yield node
    if node.router is not None:
        yield from nodes(node.left)
        yield from nodes(node.right)


def one_hot(code: int | None, n: int) -> list[float]:
    return [float(level == code) for level in range(n)]


def dot(a: list[float], b: list[float]) -> float:
    return sum(a_i * b_i for a_i, b_i in zip(a, b, strict=True))


def unit(v: list[float]) -> list[float]:
    length = math.sqrt(dot(v, v))
    return [v_i / length for v_i in v]
