"""PEMT+ in plain Python, part by part; and the bandits that are one part of it alone.

Nothing is recursive here: a least squares keeps all it has seen, and solves its normal equations when it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emt.reference.eigen import INFINITY, Memory, PlainTree

__all__ = ["PlainGuard", "PlainLeastSquares", "PlainStack", "k_nearest", "neighbours_of_action", "square_cb"]

Vector = Sequence[float] | np.ndarray


class PlainLeastSquares:
    """The weights that minimise sum of importance (target - <weights, z>)^2 + penalty |weights - start|^2.

    Parameters
    ----------
    start : sequence of float
        The weights before anything is seen.
    penalty : float
        On the distance from there.
    forgetting : float
        What was seen n steps ago, and the penalty, count its n-th power as much.

    Examples
    --------
    >>> line = PlainLeastSquares([0.0, 0.0], penalty=1e-9)
    >>> for x, y in ((0.0, 1.0), (1.0, 3.0), (2.0, 5.0)):
    ...     line.learn([1.0, x], y)
    >>> line.weights().round(6).tolist()
    [1.0, 2.0]
    """

    def __init__(self, start: Vector, penalty: float = 1.0, forgetting: float = 1.0):
        self.start, self.forgetting = np.array(start, float), forgetting
        self.moments = penalty * np.eye(len(start))  # sum of importance z z', and the penalty
        self.products = np.zeros(len(start))  # sum of importance z (target - <start, z>)

    def learn(self, z: Vector, target: float, importance: float = 1.0) -> None:
        """Learn the target of z."""
        z = np.asarray(z, float)
        self.moments = self.forgetting * self.moments + importance * np.outer(z, z)
        self.products = self.forgetting * self.products + importance * z * (target - self.start @ z)

    def weights(self) -> np.ndarray:
        """Return the weights."""
        return np.asarray(self.start + np.linalg.solve(self.moments, self.products))

    def predict(self, z: Vector) -> float:
        """Return <weights, z>."""
        return float(self.weights() @ np.array(z, float))

    def width(self, z: Vector) -> float:
        """Return how unsure the prediction is: LinUCB's sqrt(z' P z)."""
        z = np.asarray(z, float)
        return float(np.sqrt(z @ np.linalg.solve(self.moments, z)))


def neighbours_of_action(
    tree: PlainTree, numeric: Sequence[float], categorical: Sequence[int], action: int, k: int
) -> tuple[float, float]:
    """Return the mean reward of the k nearest memories of an action in its leaf, and how near the nearest is."""
    query, K = tree.memory(numeric, categorical, action), tree.options.n_actions

    def score(memory: Memory) -> float:
        return max(0.0, tree.predict_scorer(query, memory))  # an exact match has minus infinity

    own = [memory for memory in tree.leaf(query).M if memory.x[-K:] == query.x[-K:]]
    nearest = sorted(own, key=lambda memory: (score(memory), -memory.serial))[:k]
    scores = [score(memory) for memory in nearest]
    w = [(scores[0] + 0.01) / (s + 0.01) for s in scores]
    mean = (sum(wi * memory.y for wi, memory in zip(w, nearest, strict=True)) + 0.5 / K) / (sum(w) + 0.5)
    return mean, max(0.0, 1 - min(scores, default=INFINITY))


class PlainGuard:
    """Whether the stack's choices earn less than the joint model's, as far as the actions taken tell."""

    def __init__(self) -> None:
        self.differences: list[float] = []

    def learn(self, new: int, old: int, action: int, reward: float, probability: float) -> None:
        """Estimate how much more the new choice earns than the old one."""
        if new != old:
            self.differences.append(((action == new) - (action == old)) * (reward - 0.5) / probability)

    def distrusts(self) -> bool:
        """Tell whether the new choices have earned less, by more than a standard error."""
        return bool(sum(self.differences) < -np.sqrt(sum(d * d for d in self.differences)))


class PlainStack:
    """The least squares over [1, J, R, M, c, c m] of each action, with its guard.

    Parameters
    ----------
    n_actions : int
        Number of actions.
    guard : bool
        Whether the guard is listened to.
    """

    def __init__(self, n_actions: int, guard: bool = True):
        self.n_actions, self.listens = n_actions, guard
        self.squares, self.guard = PlainLeastSquares([0, 1, 0, 0, 0, 0], penalty=10), PlainGuard()

    def values(self, joint: Sequence[float], ridge: Sequence[float], answers: np.ndarray) -> np.ndarray:
        """Return each action's value; ``answers`` has rows of m, M and c."""
        J, R = np.clip(joint, -0.5, 1.5), np.clip(ridge, -0.5, 1.5)
        m, M, c = np.transpose(answers)
        self.z = np.column_stack([np.ones(self.n_actions), J, R, M, c, c * m])
        self.stacked = self.z @ self.squares.weights()
        return J if self.listens and self.guard.distrusts() else self.stacked

    def learn(self, action: int, reward: float, probability: float) -> None:
        """Learn from the reward of the action taken after the values were asked for."""
        new, old = int(np.argmax(self.stacked)), int(np.argmax(self.z[:, 1]))
        self.guard.learn(new, old, action, reward, probability)
        self.squares.learn(self.z[action], reward, np.sqrt(1 / (self.n_actions * probability)))


def k_nearest(X: np.ndarray, rewards: np.ndarray, x: np.ndarray, k: int) -> float:
    """Return the mean reward of the k rows nearest to x, of equal ones the last; 0 where there are none.

    Examples
    --------
    >>> k_nearest(np.array([[0.0], [1.0], [5.0]]), np.array([1.0, 0.0, 0.0]), np.array([0.4]), k=2)
    0.5
    """
    distances = ((X - x) ** 2).sum(axis=1)
    nearest = np.lexsort((-np.arange(len(X)), distances))[:k]
    return float(rewards[nearest].mean()) if len(X) else 0.0


def square_cb(values: np.ndarray, gamma: float) -> np.ndarray:
    """Return SquareCB's probabilities: 1 / (K + gamma gap), and the best action has what is left.

    Examples
    --------
    >>> square_cb(np.array([0.5, 0.3]), gamma=10).tolist()
    [0.75, 0.25]
    """
    best = int(np.argmax(values))
    p = 1 / (len(values) + gamma * (values[best] - values))
    p[best] = 0
    p[best] = 1 - p.sum()
    return np.asarray(p)
