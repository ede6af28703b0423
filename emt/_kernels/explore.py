"""How an action is drawn from predicted rewards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import inner, kernel
from emt._kernels.packed import put
from emt._kernels.parts import explore, learn, pack, uncertainty

__all__ = ["EpsilonGreedy", "SquareCB", "UpperConfidence", "epsilon_greedy", "sample", "take", "unpack_explorer"]


class EpsilonGreedy(NamedTuple):
    """Any action with a share of epsilon, else the best: the paper's exploration."""

    epsilon: float


class SquareCB(NamedTuple):
    """Foster and Rakhlin. Beyond UCB: optimal and efficient contextual bandits with regression oracles. ICML 2020.

    An action whose predicted reward is below the best by a gap is taken with probability 1 / (K + gamma gap), and the
    best with what is left. After n steps gamma is scale n^exponent, as in Vowpal Wabbit's ``--squarecb``.
    """

    scale: float
    exponent: float
    n_steps: np.ndarray  # that were learned from: one number


class UpperConfidence(NamedTuple):
    """Li, Chu, Langford and Schapire. A contextual-bandit approach to news recommendation. WWW 2010: LinUCB.

    The action with the greatest predicted reward plus alpha times the model's uncertainty of it, always.
    """

    alpha: float
    bounds: np.ndarray  # of each action's reward, from above


@explore.of(EpsilonGreedy)
def _explore(explorer: EpsilonGreedy, model: Any, values: np.ndarray, probabilities: np.ndarray) -> None:
    share_epsilon(values, explorer.epsilon, probabilities)


@explore.of(SquareCB)
def _explore_gaps(explorer: SquareCB, model: Any, values: np.ndarray, probabilities: np.ndarray) -> None:
    gamma = explorer.scale * explorer.n_steps[0] ** explorer.exponent
    n, best = len(values), 0
    for a in range(n):
        if values[a] > values[best]:
            best = a
    left = 1.0
    for a in range(n):
        if a != best:
            probabilities[a] = 1 / (n + gamma * (values[best] - values[a]))
            left -= probabilities[a]
    probabilities[best] = left


@explore.of(UpperConfidence)
def _explore_bounds(explorer: UpperConfidence, model: Any, values: np.ndarray, probabilities: np.ndarray) -> None:
    bounds = explorer.bounds
    uncertainty(model, bounds)
    for a in range(len(values)):
        bounds[a] = values[a] + explorer.alpha * bounds[a]
    share_epsilon(bounds, 0.0, probabilities)


@learn.of(EpsilonGreedy, UpperConfidence)
def _learn(
    explorer: Any,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
    answers: np.ndarray,
    reward: float,
    weight: float,
) -> None:
    pass


@learn.of(SquareCB)
def _count(
    explorer: SquareCB,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
    answers: np.ndarray,
    reward: float,
    weight: float,
) -> None:
    explorer.n_steps[0] += 1


@pack.register(EpsilonGreedy)
@pack.register(UpperConfidence)
def _pack(explorer: Any) -> dict[str, np.ndarray]:
    return {}


@pack.register
def _pack_steps(explorer: SquareCB) -> dict[str, np.ndarray]:
    return {"n_steps": explorer.n_steps}


def unpack_explorer(explorer: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return an exploration with what `pack` took out of one like it; refuse what is no such exploration."""
    put(pack(explorer), arrays, "the exploration")
    return explorer


@inner
def share_epsilon(values: np.ndarray, epsilon: float, probabilities: np.ndarray) -> None:
    """Write the probability of each action: the greedy share is split equally among tied best actions."""
    n = len(values)
    best = values[0]
    n_best = 0
    for a in range(n):
        if values[a] > best:
            best, n_best = values[a], 1
        elif values[a] == best:
            n_best += 1
    for a in range(n):
        probabilities[a] = epsilon / n
        if values[a] == best:
            probabilities[a] += (1 - epsilon) / n_best


@kernel
def epsilon_greedy(values: np.ndarray, epsilon: float, probabilities: np.ndarray) -> None:
    """Write the probability of each action, for learners that are not compiled."""
    share_epsilon(values, epsilon, probabilities)


@inner
def take(probabilities: np.ndarray, die: float) -> int:
    """Return the action in whose share of [0, 1) the die falls."""
    total = 0.0
    for a in range(len(probabilities)):
        total += probabilities[a]
        if die < total:
            return a
    return len(probabilities) - 1


@kernel
def sample(probabilities: np.ndarray, die: float) -> int:
    """Return the action in whose share of [0, 1) the die falls, for loops in Python."""
    return take(probabilities, die)
