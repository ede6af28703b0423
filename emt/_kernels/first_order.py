"""A linear model per action over [1, x] alone, trained as the parametric learner's is: where a ridge is too large.

Its uncertainty is LinUCB's with a diagonal P: as if coordinates had nothing to do with each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.linear import LEARNING_RATE, invariant, limited, prepare
from emt._kernels.packed import put
from emt._kernels.parts import begin, has_room, judge, learn, pack, remark, uncertainty
from emt._kernels.records import record

__all__ = ["FirstOrder", "allocate_first_order", "unpack_first_order"]

#: Sums that the normalised update keeps, and how many coordinates of the context at hand are not 0.
SUMS = [("total_weight", "f8"), ("total_norm", "f8"), ("n_active", "i8")]


class FirstOrder(NamedTuple):
    """Its sums, four arrays with a row per action, and the context at hand."""

    sums: Any
    weight: np.ndarray
    adaptive: np.ndarray  # sum of squared gradients
    norm: np.ndarray  # greatest |coordinate| so far
    square: np.ndarray  # sum of importance x^2
    active: np.ndarray  # coordinates that are not 0
    value: np.ndarray  # and what they are
    gain: np.ndarray  # value x rate
    gathered: np.ndarray  # weight, adaptive, norm of the active coordinates


def allocate_first_order(n_numeric: int, n_levels: tuple[int, ...], n_actions: int) -> FirstOrder:
    """Return a model of zeros."""
    n, n_active = 1 + n_numeric + sum(n_levels), 1 + n_numeric + len(n_levels)
    weight, adaptive, norm, square = (np.zeros((n_actions, n), np.float32) for _ in range(4))
    value, gain = np.zeros((2, n_active), np.float32)
    active, gathered = np.zeros(n_active, np.int64), np.zeros((3, n_active), np.float32)
    return FirstOrder(record(SUMS), weight, adaptive, norm, square, active, value, gain, gathered)


@begin.of(FirstOrder)
def list_coordinates(model: FirstOrder, numeric: np.ndarray, codes: np.ndarray) -> None:
    """List the coordinates of a context that are not 0."""
    model.active[0], model.value[0] = 0, 1
    n = 1
    for i in range(len(numeric)):
        if numeric[i] != 0:
            model.active[n], model.value[n] = 1 + i, limited(numeric[i])
            n += 1
    for j in range(len(codes)):
        model.active[n], model.value[n] = 1 + codes[j], 1
        n += 1
    model.sums.n_active = n


@judge.of(FirstOrder)
def predict_first_order(model: FirstOrder, answers: np.ndarray, values: np.ndarray) -> None:
    """Write each action's predicted reward."""
    for a in range(len(values)):
        values[a] = _predict(model, a)


@inner
def _predict(model: FirstOrder, action: int) -> np.float32:
    total, weight = np.float32(0), model.weight[action]
    for k in range(model.sums.n_active):
        total += weight[model.active[k]] * model.value[k]
    return total


@uncertainty.of(FirstOrder)
def write_diagonal_widths(model: FirstOrder, widths: np.ndarray) -> None:
    """Write sqrt(x' P x) of each action, P = 1 / (1 + sum of importance x^2) in each coordinate."""
    for a in range(len(widths)):
        total, square = np.float32(0), model.square[a]
        for k in range(model.sums.n_active):
            total += model.value[k] * model.value[k] / (np.float32(1) + square[model.active[k]])
        widths[a] = np.sqrt(total)


@learn.of(FirstOrder)
def learn_first_order(
    model: FirstOrder,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
    answers: np.ndarray,
    reward: float,
    weight: float,
) -> None:
    """Learn the reward of the action that was taken: adaptive, normalised, importance-invariant gradient descent."""
    sums, n = model.sums, model.sums.n_active
    active, value, gain, gathered = model.active[:n], model.value[:n], model.gain[:n], model.gathered[:, :n]
    square = model.square[action]
    for k in range(n):
        square[active[k]] += np.float32(weight) * value[k] * value[k]
    error = np.float32(reward) - max(np.float32(0), min(np.float32(1), _predict(model, action)))
    if error == 0:
        return
    weights, adaptive, norms = model.weight[action], model.adaptive[action], model.norm[action]
    for k in range(n):
        i = active[k]
        gathered[0, k], gathered[1, k], gathered[2, k] = weights[i], adaptive[i], norms[i]
    squared_gradient = np.float32(4 * error * error * weight)
    norm, step = prepare(value, gathered[0], gathered[1], gathered[2], gain, squared_gradient)
    sums.total_norm += weight * norm
    sums.total_weight += weight
    multiplier = np.sqrt(sums.total_weight / sums.total_norm)
    update = np.float32(error * invariant(LEARNING_RATE * weight, step * multiplier) * multiplier)
    for k in range(n):
        i = active[k]
        weights[i], adaptive[i], norms[i] = gathered[0, k] + update * gain[k], gathered[1, k], gathered[2, k]


@has_room.of(FirstOrder)
def first_order_has_room(model: FirstOrder) -> bool:
    """Return True: it never grows."""
    return True


@remark.register
def remark_first_order(model: FirstOrder) -> str:
    """Say that it is no ridge."""
    return f"{model.weight.shape[1]:,} inputs are too many for a ridge: first-order gradient descent in its place"


@pack.register
def pack_first_order(model: FirstOrder) -> dict[str, np.ndarray]:
    """Return the arrays that a model can be rebuilt from."""
    weights = {name: getattr(model, name) for name in ("weight", "adaptive", "norm", "square")}
    return weights | {"sums": np.array([model.sums["total_weight"], model.sums["total_norm"]])}


def unpack_first_order(model: FirstOrder, arrays: dict[str, np.ndarray]) -> FirstOrder:
    """Return an empty model with what `pack_first_order` took out of one like it; refuse what does not fit."""
    packed = pack_first_order(model)
    put(packed, arrays, "the model")
    model.sums["total_weight"], model.sums["total_norm"] = packed["sums"]
    return model
