"""The Contextual Memory Tree (Sun et al., ICML 2019) in plain Python, as Vowpal Wabbit (VW) runs it online.

A memory is an example (context x, action a) and its reward. Inner nodes route an example left or right by the sign of
a linear function; a leaf is a list of memories. A query is answered with the reward of the most similar memory of its
leaf. Learning trains the routers on the way: balanced, and such that similar examples stay together.

Every number that decides is computed as VW computes it: in single precision, sums in VW's order, VW's random numbers.
So the tree gives VW's answer to every query, and the compiled tree is compared with it where VW is not installed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["ContextualMemoryTree", "Random"]

Array = np.ndarray
ONE, HALF = np.float32(1), np.float32(0.5)

# How VW numbers features: namespaces x and a, the constant that every example has, and what interactions multiply by
FIRST_X, FIRST_A, CONSTANT, PRIME = 1050319643, 1009084850, 11650396, 16777619
GIVEN_BITS = 25

Feature = tuple[Any, np.float32]  # bucket and value
FRESH, SORTED = ("x", "a", "1", "xa"), ("1", "a", "x", "xa")  # in which order VW goes through the namespaces


class Random:
    """VW's random numbers, a linear congruential generator of 64 bits."""

    def __init__(self, seed: int):
        self.state = seed % 2**32

    def uniform(self) -> np.float32:
        """Return the next number of the stream, in [0, 1)."""
        self.state = (0xEECE66D5DEECE66D * self.state + 2147483647) % 2**64
        return np.float32((self.state >> 25) % 2**23) / np.float32(2**23)

    def index(self, n: int) -> int:
        """Return the next number of the stream as one of n positions."""
        return int(self.uniform() * np.float32(n))


@dataclass(eq=False)
class Example:
    """A context with an action: its coordinates that are not 0, its features, and how a retrieval sees these."""

    x: dict[int, np.float32]
    action: int
    label: float | None
    namespaces: dict[str, list[Feature]]
    order: tuple[str, ...] = FRESH
    flat: dict[Any, np.float32] = field(default_factory=dict)  # by bucket in ascending order; those in one are summed
    norm: np.float32 = ONE

    def features(self) -> list[Feature]:
        """Return the features as routers see them."""
        return [feature for name in self.order for feature in self.namespaces[name]]


@dataclass(eq=False)
class Node:
    """A node. Each has a router from the start: a leaf trains the one that it will need."""

    number: int
    memories: list[Example] = field(default_factory=list)  # of a leaf
    left: Node | None = None  # None in a leaf
    right: Node | None = None
    n_left: float = 0.001  # how many examples went left, how many right
    n_right: float = 0.001

    def count(self, left: bool, number: int = 1) -> bool:
        """Count an example that goes left, or right; return which."""
        if left:
            self.n_left += number
        else:
            self.n_right += number
        return left


class Coin:
    """Many linear functions trained by coin betting (Orabona and Tommasi, 2017), VW's ``--coin``: alpha 4, beta 1.

    Row ``function`` of each array belongs to one function, with one column per bucket. Three things are shared by all
    functions: the sums N and T that scale predictions, and the range of labels that clips them.
    """

    def __init__(self) -> None:
        self.column: dict[Any, int] = {}  # of a bucket, in the order they are met
        self.rows: dict[int, Array] = {}  # (w, z, G, M, wealth, L) by function
        self.norms, self.weights = 0.0, 0.0  # N, T
        self.lowest, self.highest = np.float32(0), np.float32(0)

    @np.errstate(all="ignore")
    def predict(self, function: int, features: list[Feature]) -> np.float32:
        """Return the prediction, clipped to the range of labels."""
        state, columns, x = self._look_up(function, features)
        return self._clip(total(state[0, columns] * x))

    @np.errstate(all="ignore")  # the stake of a tiny feature may be infinite
    def learn(self, function: int, features: list[Feature], label: float, weight: np.float32) -> None:
        """Learn a label with an importance weight."""
        self.lowest, self.highest = min(self.lowest, np.float32(label)), max(self.highest, np.float32(label))
        if not weight > 0:  # not a number, where a node's counts are
            return
        state, columns, x = self._look_up(function, features)
        _, z, turnover, largest, wealth, slope = state[:, columns]
        largest = np.maximum(largest, abs(x))
        scaled = np.divide(x, largest, out=np.zeros_like(x), where=largest > 0)
        self.norms += float(weight) * float(total(scaled * scaled))
        self.weights += float(weight)
        average = np.float32((self.norms + 1e-6) / self.weights)
        prediction = self._clip(total(stake(z, turnover, largest, wealth, slope) * x) / average)
        update = np.float32(2) * (prediction - np.float32(label)) * weight
        # Features that share a bucket are taken in turn, others at once.
        together = len(set(columns)) == len(columns)
        for part in [slice(None)] if together else [slice(k, k + 1) for k in range(len(x))]:
            self._update(state, columns[part], x[part], update, average)

    def _update(self, state: Array, columns: list[int], x: Array, update: np.float32, average: np.float32) -> None:
        _, z, turnover, largest, wealth, slope = state[:, columns]
        largest = np.maximum(largest, abs(x))
        slope = np.where(abs(update) > slope, max(abs(update), ONE), slope)
        w = stake(z, turnover, largest, wealth, slope)
        gradient = update * x
        state[:, columns] = (
            w / average, z - gradient, turnover + abs(gradient), largest, wealth - gradient * w, slope
        )  # fmt: skip

    def _clip(self, prediction: np.float32) -> np.float32:
        return np.float32(0) if np.isnan(prediction) else min(max(prediction, self.lowest), self.highest)

    def _look_up(self, function: int, features: list[Feature]) -> tuple[Array, list[int], Array]:
        columns = [self.column.setdefault(bucket, len(self.column)) for bucket, _ in features]
        state = self.rows.get(function, np.zeros((6, 0), np.float32))
        missing = len(self.column) - state.shape[1]
        self.rows[function] = np.pad(state, ((0, 0), (0, 2 * missing))) if missing > 0 else state
        return self.rows[function], columns, np.array([value for _, value in features], np.float32)


def stake(z: Array, turnover: Array, largest: Array, wealth: Array, slope: Array) -> Array:
    """Return the bet on each feature: a share of its wealth."""
    most = slope * largest
    return np.where(most > 0, (np.float32(4) + wealth) / (most * (most + turnover)) * z, np.float32(0))


def total(values: Any) -> np.float32:
    """Return the sum in single precision, taken from left to right."""
    return np.cumsum(values, dtype=np.float32)[-1] if len(values) else np.float32(0)


def squares(values: list[np.float32]) -> np.float32:
    """Return the sum of squares, taken from left to right."""
    return total([value * value for value in values])


class ContextualMemoryTree:
    """The tree; see `emt.learners.cmt` for its parameters.

    Parameters
    ----------
    max_nodes, leaf_multiplier, dreams, alpha
        As in VW: ``--memory_tree``, ``--leaf_example_multiplier``, ``--dream_repeats``, ``--alpha``.
    bits : int or None
        VW's ``-b``: features share buckets as they do there. None gives each feature its own.
    seed : int
        VW's ``--random_seed``, reduced to 32 bits.

    Examples
    --------
    >>> tree = ContextualMemoryTree(seed=1)
    >>> tree.learn([0.5, 1.0], [], action=1, reward=1.0)
    >>> tree.answer([0.4, 1.0], [], action=0)
    1.0
    """

    def __init__(
        self,
        *,
        max_nodes: int = 2000,
        leaf_multiplier: int = 9,
        dreams: int = 10,
        alpha: float = 0.5,
        bits: int | None = GIVEN_BITS,
        seed: int = 0,
    ):
        self.max_nodes, self.dreams = max_nodes, dreams
        self.max_leaf = int(leaf_multiplier * (math.log(max_nodes) / math.log(2)))
        self.alpha, self.distinct = np.float32(alpha), bits is None
        # A table of 2**bits weights is shared by max_nodes routers and the scorer, their number rounded up to 2**k.
        self.bits = (GIVEN_BITS if bits is None else bits) - max_nodes.bit_length()
        self.root = Node(0)
        self.n_nodes = 1
        self.coin = Coin()  # the routers, by number of the node, and the scorer, the last one
        self.rng = Random(seed)

    # Examples

    def bucket(self, number: int, *name: int) -> Any:
        """Return the bucket of VW's feature number; if buckets are not to be shared, one per name beside it."""
        bucket = number % 2**self.bits
        return (bucket, *name) if self.distinct else bucket

    def namespaces(self, x: dict[int, np.float32], actions: list[int], one: np.float32) -> dict[str, list[Feature]]:
        """Return the features: x, an indicator of the action, the constant, and the products of x and the action."""
        x_number, a_number = FIRST_X % 2**GIVEN_BITS, FIRST_A % 2**GIVEN_BITS
        crossed = [
            ((PRIME * (x_number + i)) ^ (a_number + a), i, a, value * one) for i, value in x.items() for a in actions
        ]
        return {
            "x": [(self.bucket(x_number + i, 0, i), value) for i, value in x.items()],
            "a": [(self.bucket(a_number + a, 1, a), one) for a in actions],
            "1": [(self.bucket(CONSTANT, 2), one)],
            "xa": [(self.bucket(number, 3, i, a), value) for number, i, a, value in crossed],
        }

    def example(self, numeric: Any, codes: Any, action: int, label: float | None = None) -> Example:
        """Return an example; a code is the position of its level among all x coordinates."""
        x = {i: np.float32(value) for i, value in enumerate(numeric) if value != 0} | {int(code): ONE for code in codes}
        example = Example(x, action, label, self.namespaces(x, [action], ONE))
        for bucket, value in sorted(example.features()):
            example.flat[bucket] = example.flat.get(bucket, np.float32(0)) + value
        example.norm = squares(list(example.flat.values()))
        return example

    # Queries: no state is changed

    def answer(self, numeric: Any, codes: Any, action: int) -> float | None:
        """Return the reward of the memory that is retrieved, or None where the leaf is empty."""
        query = self.example(numeric, codes, action)
        memory = self.retrieve(self.path(query, self.root)[-1], query)
        return None if memory is None else memory.label

    def path(self, example: Example, node: Node) -> list[Node]:
        """Return the nodes from this one to the example's leaf."""
        path = [node]
        while node.left is not None and node.right is not None:
            node = node.left if self.coin.predict(node.number, example.features()) < 0 else node.right
            path.append(node)
        return path

    def retrieve(self, leaf: Node, query: Example) -> Example | None:
        """Return the memory with the greatest cosine similarity, of several the first."""
        best, most = None, np.float32(-np.inf)
        for memory in leaf.memories:
            products = [query.flat[bucket] * value for bucket, value in memory.flat.items() if bucket in query.flat]
            score = total(products) / (query.norm * memory.norm) ** HALF
            if score > most:
                best, most = memory, score
        return best

    # Learning: train a router from the rewards, insert, dream

    def learn(self, numeric: Any, codes: Any, action: int, reward: float) -> None:
        """Remember the reward of an action."""
        new = self.example(numeric, codes, action, reward)
        self.learn_from_query(new)
        self.insert(new)
        for _ in range(self.dreams):
            self.dream()

    def learn_from_query(self, new: Example) -> None:
        """Train the router of a random node on the way by how well one of its sides, at random, retrieves."""
        path = self.path(new, self.root)
        if len(path) == 1:
            return
        node = path[self.rng.index(len(path))]
        if node.left is None or node.right is None:
            if node.memories:
                self.train_scorer(new, node.memories[self.rng.index(len(node.memories))], ONE)
            return
        right = self.rng.uniform() < 0.5
        memory = self.retrieve(self.path(new, node.right if right else node.left)[-1], new)
        reward = memory is not None and memory.label == new.label
        if memory is not None:
            self.train_scorer(new, memory, np.float32(len(path)) / np.float32(len(path) - 1))
        with np.errstate(all="ignore"):
            balance = np.log(np.float64(node.n_left) / node.n_right)
        objective = np.float32((1 - float(self.alpha)) * balance + float(self.alpha) * reward * (1 if right else -1))
        weight = abs(objective)
        weight = np.float32(100) if weight >= 100 else np.float32(0.01) if weight < np.float32(0.01) else weight
        self.coin.learn(node.number, new.features(), -1 if objective < 0 else 1, weight)

    def train_scorer(self, new: Example, memory: Example, weight: np.float32) -> None:
        """Train the scorer on the products of two examples, with label 1 where their rewards are equal.

        Its predictions are never used online. But it has its share in the sums that scale every router, and VW sorts
        the namespaces of the two examples on the way.
        """
        norms = [(np.float32(2) + square) + square for square in (squares(list(e.x.values())) for e in (new, memory))]
        scale = (norms[0] * norms[1]) ** HALF
        z = {i: value * memory.x[i] / scale for i, value in new.x.items() if i in memory.x}
        namespaces = self.namespaces(z, [new.action] if new.action == memory.action else [], ONE / scale)
        features = [feature for name in FRESH for feature in namespaces[name]]
        self.coin.learn(self.max_nodes, features, new.label == memory.label, weight)
        new.order = memory.order = SORTED

    def train_node(self, node: Node, example: Example) -> bool:
        """Train a node's router on the side it predicts, or on the emptier one; return whether it now says left."""
        prediction = self.coin.predict(node.number, example.features())
        with np.errstate(all="ignore"):
            balance = np.log(np.float64(node.n_left) / (node.n_right + 0.1)) / math.log(2)
        value = np.float32((1 - float(self.alpha)) * balance + float(self.alpha * prediction))
        self.coin.learn(node.number, example.features(), -1 if value < 0 else 1, ONE)
        return bool(self.coin.predict(node.number, example.features()) < 0)

    def insert(self, example: Example) -> None:
        """Go down where the routers say after they were trained on the example, and store it; split a full leaf."""
        node = self.root
        while node.left is not None and node.right is not None:
            node = node.left if node.count(self.train_node(node, example)) else node.right
        node.memories.append(example)
        node.count(self.train_node(node, example))
        if len(node.memories) >= self.max_leaf and self.n_nodes + 2 <= self.max_nodes:
            self.split(node)

    def split(self, node: Node) -> None:
        """Turn a leaf into an inner node; its memories train the routers of the leaves that they go to."""
        node.left, node.right = Node(self.n_nodes), Node(self.n_nodes + 1)
        self.n_nodes += 2
        for memory in node.memories:
            child = node.left if self.coin.predict(node.number, memory.features()) < 0 else node.right
            child.memories.append(memory)
            child.count(self.train_node(child, memory))
        node.memories = []
        node.n_left = max(float(len(node.left.memories)), 0.001)
        node.n_right = max(float(len(node.right.memories)), 0.001)

    def dream(self) -> None:
        """Take a random memory out and insert it again."""
        node = self.root
        while node.left is not None and node.right is not None:
            if node.n_left < 1:
                left = False
            elif node.n_right < 1:
                left = True
            else:
                left = float(self.rng.uniform()) < node.n_left / (node.n_right + node.n_left)
            node.count(left, -1)
            node = node.left if left else node.right
        if node.memories:
            self.insert(node.memories.pop(self.rng.index(len(node.memories))))
