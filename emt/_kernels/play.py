"""Whole streams in one compiled loop: predict, explore, learn."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit
from emt._kernels.explore import epsilon_greedy, sample
from emt._kernels.memory import has_room, learn, predict_actions
from emt._kernels.state import Tree

__all__ = ["play_emt", "play_parametric", "play_pemt"]


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
    """Play from a step on until the end, or until the tree must grow; return the step reached."""
    values = np.zeros(tree.config.n_actions)
    probabilities = np.zeros(tree.config.n_actions)
    for t in range(start, len(labels)):
        if not has_room(tree):
            return t
        predict_actions(tree, numeric[t], codes[t], values)
        epsilon_greedy(values, epsilon, probabilities)
        action = sample(probabilities, draws[t])
        rewards[t] = action == labels[t]
        weight = 1 / (tree.config.n_actions * probabilities[action]) if weighted else 1.0
        learn(tree, numeric[t], codes[t], action, rewards[t], weight)
    return len(labels)
