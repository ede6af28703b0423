"""Whole streams in one compiled loop: predict, explore, learn.

A stream with a memory stops where the tree must grow and says how far it came; the caller makes room and goes on.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit
from emt._kernels.explore import epsilon_greedy, sample
from emt._kernels.linear import Linear, learn_linear, make_features, predict_linear
from emt._kernels.memory import has_room, learn, predict_actions
from emt._kernels.state import Tree

__all__ = ["play_emt", "play_parametric", "play_pemt"]


@njit
def play_parametric(
    linear: Linear,
    numeric: np.ndarray,
    codes: np.ndarray,
    labels: np.ndarray,
    draws: np.ndarray,
    epsilon: float,
    rewards: np.ndarray,
) -> None:
    """Play a whole stream with the parametric learner."""
    n_actions = linear.model.n_actions
    no_memory, values, probabilities = np.zeros(0), np.zeros(n_actions), np.zeros(n_actions)
    for t in range(len(labels)):
        n = make_features(linear, numeric[t], codes[t])
        predict_linear(linear, n, no_memory, values)
        epsilon_greedy(values, epsilon, probabilities)
        action = sample(probabilities, draws[t])
        reward = 1.0 if action == labels[t] else 0.0
        rewards[t] = np.uint8(reward)
        learn_linear(linear, n, action, 0.0, reward, 1 / (n_actions * probabilities[action]))


@njit
def play_emt(
    tree: Tree,
    numeric: np.ndarray,
    codes: np.ndarray,
    labels: np.ndarray,
    draws: np.ndarray,
    epsilon: float,
    weighted: bool,
    rewards: np.ndarray,
    start: int,
) -> int:
    """Play a stream with the memory alone (Algorithm 4), from a step on; return the step reached."""
    n_actions = tree.config.n_actions
    values, probabilities = np.zeros(n_actions), np.zeros(n_actions)
    for t in range(start, len(labels)):
        if not has_room(tree):
            return t
        predict_actions(tree, numeric[t], codes[t], values)
        epsilon_greedy(values, epsilon, probabilities)
        action = sample(probabilities, draws[t])
        reward = 1.0 if action == labels[t] else 0.0
        rewards[t] = np.uint8(reward)
        weight = 1 / (n_actions * probabilities[action]) if weighted else 1.0
        learn(tree, numeric[t], codes[t], action, reward, weight, True)
    return len(labels)


@njit
def play_pemt(
    tree: Tree,
    linear: Linear,
    numeric: np.ndarray,
    codes: np.ndarray,
    labels: np.ndarray,
    draws: np.ndarray,
    epsilon: float,
    weighted: bool,
    rewards: np.ndarray,
    start: int,
) -> int:
    """Play a stream with the memory's predictions as a feature of the parametric learner; return the step reached."""
    n_actions = linear.model.n_actions
    remembered, values, probabilities = np.zeros(n_actions), np.zeros(n_actions), np.zeros(n_actions)
    for t in range(start, len(labels)):
        if not has_room(tree):
            return t
        predict_actions(tree, numeric[t], codes[t], remembered)
        n = make_features(linear, numeric[t], codes[t])
        predict_linear(linear, n, remembered, values)
        epsilon_greedy(values, epsilon, probabilities)
        action = sample(probabilities, draws[t])
        reward = 1.0 if action == labels[t] else 0.0
        rewards[t] = np.uint8(reward)
        weight = 1 / (n_actions * probabilities[action])
        learn_linear(linear, n, action, remembered[action], reward, weight)
        learn(tree, numeric[t], codes[t], action, reward, weight if weighted else 1.0, True)
    return len(labels)
