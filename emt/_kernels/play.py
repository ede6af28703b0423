"""Whole streams in one compiled loop: predict, explore, learn.

A stream with a memory stops where the tree must grow and says how far it came; the caller makes room and goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.compile import njit, njit_inline
from emt._kernels.explore import epsilon_greedy, sample
from emt._kernels.linear import Linear, learn_linear, make_features, predict_linear
from emt._kernels.memory import has_room, learn, predict_actions
from emt._kernels.state import Tree

__all__ = ["Stream", "make_stream", "play_emt", "play_parametric", "play_pemt"]


class Stream(NamedTuple):
    """What there is to see, the numbers that exploration draws, what comes of it, and room to work in."""

    numeric: np.ndarray
    codes: np.ndarray
    labels: np.ndarray
    dice: np.ndarray
    rewards: np.ndarray
    remembered: np.ndarray
    values: np.ndarray
    probabilities: np.ndarray


def make_stream(numeric: np.ndarray, codes: np.ndarray, labels: np.ndarray, dice: np.ndarray, n_actions: int) -> Stream:
    """Return a stream that has not begun."""
    n = len(labels)
    remembered, values, probabilities = np.zeros((3, n_actions))
    return Stream(numeric, codes, labels, dice, np.zeros(n, np.uint8), remembered, values, probabilities)


@njit
def play_parametric(linear: Linear, stream: Stream, epsilon: float) -> None:
    """Play a whole stream with the parametric learner."""
    for t in range(len(stream.labels)):
        n = make_features(linear, stream.numeric[t], stream.codes[t])
        predict_linear(linear, n, stream.remembered[:0], stream.values)
        action, reward, weight = _act(stream, t, epsilon)
        learn_linear(linear, n, action, 0.0, reward, weight)


@njit
def play_emt(tree: Tree, stream: Stream, epsilon: float, start: int) -> int:
    """Play a stream with the memory alone (Algorithm 4), from a step on; return the step reached."""
    for t in range(start, len(stream.labels)):
        if not has_room(tree):
            return t
        predict_actions(tree, stream.numeric[t], stream.codes[t], stream.values)
        action, reward, weight = _act(stream, t, epsilon)
        _remember(tree, stream, t, action, reward, weight)
    return len(stream.labels)


@njit
def play_pemt(tree: Tree, linear: Linear, stream: Stream, epsilon: float, start: int) -> int:
    """Play a stream with the memory's predictions as a feature of the parametric learner; return the step reached."""
    for t in range(start, len(stream.labels)):
        if not has_room(tree):
            return t
        predict_actions(tree, stream.numeric[t], stream.codes[t], stream.remembered)
        n = make_features(linear, stream.numeric[t], stream.codes[t])
        predict_linear(linear, n, stream.remembered, stream.values)
        action, reward, weight = _act(stream, t, epsilon)
        learn_linear(linear, n, action, stream.remembered[action], reward, weight)
        _remember(tree, stream, t, action, reward, weight)
    return len(stream.labels)


@njit_inline
def _act(stream: Stream, t: int, epsilon: float) -> tuple[int, float, float]:
    """Explore epsilon-greedily; return the action, its reward and its importance weight."""
    epsilon_greedy(stream.values, epsilon, stream.probabilities)
    action = sample(stream.probabilities, stream.dice[t])
    reward = 1.0 if action == stream.labels[t] else 0.0
    stream.rewards[t] = np.uint8(reward)
    return action, reward, 1 / (len(stream.values) * stream.probabilities[action])


@njit_inline
def _remember(tree: Tree, stream: Stream, t: int, action: int, reward: float, weight: float) -> None:
    """Let the tree, just asked about this step, learn from it; as printed, there are no importance weights."""
    learn(tree, stream.numeric[t], stream.codes[t], action, reward, weight if tree.config.as_run else 1.0, True)
