"""A ridge regression of the reward on [1, x] for each action, exact after every step.

Hoerl and Kennard. Ridge regression: biased estimation for nonorthogonal problems. Technometrics 1970. The penalty is 1,
also on the constant; an observation counts as much as its importance. It is the model of LinUCB, and can tell how
unsure it is of an action.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.least_squares import fit, predict, squared_width
from emt._kernels.packed import put
from emt._kernels.parts import begin, has_room, judge, learn, pack, uncertainty

__all__ = ["MOST_INPUTS", "Ridge", "allocate_ridge", "unpack_ridge"]

MOST_INPUTS = 160  # and the constant among them: each step costs their square
LARGEST = np.float32(1e6)  # a square beyond it would leave P no digits


class Ridge(NamedTuple):
    """Weights and P of each action, and the context at hand."""

    weight: np.ndarray
    inverse: np.ndarray  # P: a matrix for each action
    x: np.ndarray  # [1, x], indicators of levels written out
    image: np.ndarray  # P x


def allocate_ridge(n_inputs: int, n_actions: int) -> Ridge:
    """Return regressions of so many coordinates that have seen nothing."""
    n = 1 + n_inputs
    inverse = np.zeros((n_actions, n, n))
    inverse[:, np.arange(n), np.arange(n)] = 1
    return Ridge(np.zeros((n_actions, n)), inverse, np.zeros(n), np.zeros(n))


@begin.of(Ridge)
def write_context(ridge: Ridge, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Write a context out."""
    x, n = ridge.x, 1 + len(numeric)
    x[0] = 1
    for i in range(len(numeric)):
        x[1 + i] = max(-LARGEST, min(LARGEST, numeric[i]))
    for i in range(n, len(x)):
        x[i] = 0
    for j in range(len(codes)):
        x[1 + codes[j]] = 1


@judge.of(Ridge)
def predict_ridge(ridge: Ridge, answers: np.ndarray, values: np.ndarray) -> None:
    """Write each action's predicted reward."""
    for a in range(len(values)):
        values[a] = predict(ridge.weight[a], ridge.x)


@uncertainty.of(Ridge)
def write_widths(ridge: Ridge, widths: np.ndarray) -> None:
    """Write sqrt(x' P x) of each action."""
    for a in range(len(widths)):
        widths[a] = np.sqrt(squared_width(ridge.inverse[a], ridge.image, ridge.x))


@learn.of(Ridge)
def learn_ridge(
    ridge: Ridge, numeric: np.ndarray, codes: np.ndarray, action: int, answers: np.ndarray, reward: float, weight: float
) -> None:
    """Learn the reward of the action that was taken."""
    fit(ridge.weight[action], ridge.inverse[action], ridge.image, ridge.x, reward, weight, 1.0)


@has_room.of(Ridge)
def ridge_has_room(ridge: Ridge) -> bool:
    """Return True: it never grows."""
    return True


@pack.register
def pack_ridge(ridge: Ridge) -> dict[str, np.ndarray]:
    """Return the arrays that the regressions can be rebuilt from."""
    return {"weight": ridge.weight, "inverse": ridge.inverse}


def unpack_ridge(ridge: Ridge, arrays: dict[str, np.ndarray]) -> Ridge:
    """Return empty regressions with what `pack_ridge` took out of some like them; refuse what does not fit."""
    put(pack_ridge(ridge), arrays, "the ridge")
    return ridge
