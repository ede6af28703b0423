"""The loop: one for every learner, whatever its memory, its model and its exploration.

ask the memory, let the model judge what it says, explore, and let them learn from the reward of the action taken
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import inner, kernel
from emt._kernels.explore import take
from emt._kernels.parts import ask, begin, explore, has_room, judge, learn

__all__ = ["Bandit", "Stream", "learn_step", "make_bandit", "play", "predict_step"]


class Bandit(NamedTuple):
    """A learner as its parts, and what they say of each action of the context at hand."""

    memory: Any  # None: no memory
    model: Any  # None: no model
    explorer: Any
    answers: np.ndarray  # the memory's, a row per action
    values: np.ndarray  # predicted rewards
    probabilities: np.ndarray


class Stream(NamedTuple):
    """What there is to see, the dice of exploration, and the rewards that come of it."""

    numeric: np.ndarray
    codes: np.ndarray
    labels: np.ndarray
    dice: np.ndarray
    rewards: np.ndarray


def make_bandit(memory: Any, model: Any, explorer: Any, n_actions: int, n_answers: int = 1) -> Bandit:
    """Return a learner of these parts that has seen nothing."""
    values, probabilities = np.zeros((2, n_actions))
    return Bandit(memory, model, explorer, np.zeros((n_actions, n_answers)), values, probabilities)


@kernel
def play(bandit: Bandit, stream: Stream, start: int) -> int:
    """Play a stream from a step on, until it ends or a part must grow; return the step reached."""
    for t in range(start, len(stream.labels)):
        if not (has_room(bandit.memory) and has_room(bandit.model)):
            return t
        numeric, codes = stream.numeric[t], stream.codes[t]
        _predict(bandit, numeric, codes)
        action = take(bandit.probabilities, stream.dice[t])
        stream.rewards[t] = action == stream.labels[t]
        _learn(bandit, numeric, codes, action, float(stream.rewards[t]), bandit.probabilities[action])
    return len(stream.labels)


@kernel
def predict_step(bandit: Bandit, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Write the probability of each action in a context."""
    _predict(bandit, numeric, codes)


@kernel
def learn_step(
    bandit: Bandit, numeric: np.ndarray, codes: np.ndarray, action: int, reward: float, probability: float
) -> None:
    """Learn from the reward of an action, whatever was predicted last."""
    begin(bandit.memory, numeric, codes)
    begin(bandit.model, numeric, codes)
    _learn(bandit, numeric, codes, action, reward, probability)


@inner
def _predict(bandit: Bandit, numeric: np.ndarray, codes: np.ndarray) -> None:
    begin(bandit.memory, numeric, codes)
    ask(bandit.memory, numeric, codes, bandit.answers)
    begin(bandit.model, numeric, codes)
    judge(bandit.model, bandit.answers, bandit.values)
    explore(bandit.explorer, bandit.model, bandit.values, bandit.probabilities)


@inner
def _learn(
    bandit: Bandit, numeric: np.ndarray, codes: np.ndarray, action: int, reward: float, probability: float
) -> None:
    weight = 1 / (len(bandit.values) * probability)  # importance: 1 for an action drawn uniformly
    learn(bandit.model, numeric, codes, action, bandit.answers, reward, weight)
    learn(bandit.memory, numeric, codes, action, bandit.answers, reward, weight)
    learn(bandit.explorer, numeric, codes, action, bandit.answers, reward, weight)
