"""The parametric learner: one linear model per action over first and second order features, as Vowpal Wabbit trains it.

VW's default update is adaptive (per-weight rates, Duchi et al., 2011), normalised (Ross et al., 2013) and invariant to
importance weights (Karampatziakis and Langford, 2011). The policy's own features of action a are a, xa and xxa: a
block of weights per action, the same positions in each. Two more weights are shared by all actions: the constant, and
the reward that a memory predicts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.parts import begin, judge, learn

__all__ = ["Linear", "allocate", "dense_bytes"]

#: What was asked for, and the sums that the normalised update keeps.
MODEL = [
    ("n_inputs", "i8"),
    ("n_actions", "i8"),
    ("block", "i8"),  # weights per action; 0 where all actions share a hashed table
    ("mask", "u8"),
    ("constant", "?"),
    ("total_weight", "f8"),
    ("total_norm", "f8"),
    ("n_features", "i8"),  # of the context at hand
]

LEARNING_RATE = np.float32(0.5)
PRIME = np.uint64(16777619)  # FNV's, with which VW hashes interactions
# No feature counts as smaller (as in VW, where the limit is 1e-19) or is larger: rates and squares stay finite.
SMALLEST, LARGEST = np.float32(1e-15), np.float32(1e15)


class Linear(NamedTuple):
    """A model: its numbers, three arrays with one entry per weight, and the features of the context at hand."""

    model: Any
    weight: np.ndarray
    adaptive: np.ndarray  # sum of squared gradients
    norm: np.ndarray  # greatest |feature| so far
    feature: np.ndarray  # positions in an action's block
    value: np.ndarray
    rate: np.ndarray


def dense_bytes(n_inputs: int, n_actions: int) -> int:
    """Return the size of a model with a weight of its own for every feature of every action."""
    return 3 * 4 * (n_actions * (1 + n_inputs + n_inputs * (n_inputs + 1) // 2) + 2)


def allocate(n_numeric: int, n_levels: tuple[int, ...], n_actions: int, *, constant: bool, bits: int | None) -> Linear:
    """Return a model of zeros, dense or, given a number of bits, with 2**bits hashed weights."""
    n_inputs, n_active = n_numeric + sum(n_levels), n_numeric + len(n_levels)
    block = 0 if bits else 1 + n_inputs + n_inputs * (n_inputs + 1) // 2
    n_weights = (2**bits if bits else n_actions * block) + 2
    n_features = 1 + n_active + n_active * (n_active + 1) // 2
    model = (n_inputs, n_actions, block, 2**bits - 1 if bits else 0, constant, 0.0, 0.0, 0)
    return Linear(
        model=np.array([model], MODEL)[0],
        weight=np.zeros(n_weights, np.float32),
        adaptive=np.zeros(n_weights, np.float32),
        norm=np.zeros(n_weights, np.float32),
        feature=np.zeros(n_features, np.int64),
        value=np.zeros(n_features, np.float32),
        rate=np.zeros(n_features + 2, np.float32),  # two more: the constant's and the memory's
    )


@begin.of(Linear)
def make_features(linear: Linear, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Write the non-zero features a, xa and xxa of a context, by position in an action's block."""
    n_inputs, hashed = linear.model.n_inputs, linear.model.block == 0
    index, value = linear.feature, linear.value
    index[0], value[0] = 0, 1
    n = 1
    for i in range(len(numeric)):
        if numeric[i] != 0:
            index[n], value[n] = 1 + i, _limited(numeric[i])
            n += 1
    for j in range(len(codes)):
        index[n], value[n] = 1 + codes[j], 1
        n += 1
    n_first = n
    for k in range(1, n_first):
        i = index[k] - 1
        # Row i of the upper triangle, so that adding j - i to its start gives the position of the pair.
        row = 1 + n_inputs + i * n_inputs - i * (i - 1) // 2 - i
        x = value[k]
        for m in range(k, n_first):
            j = index[m] - 1
            index[n] = _hash(i + 1, j + 1) if hashed else row + j
            value[n] = _limited(x * value[m])
            n += 1
    linear.model.n_features = n


@inner
def _limited(x: np.float32) -> np.float32:
    return max(-LARGEST, min(x, LARGEST))


@judge.of(Linear)
def predict_linear(linear: Linear, answers: np.ndarray, values: np.ndarray) -> None:
    """Write each action's predicted reward; what a memory remembers of it, or 0, is first in its row of answers."""
    shared, n = len(linear.weight) - 2, linear.model.n_features
    for a in range(len(values)):
        cost = _cost(linear, n, a)
        if linear.model.constant:
            cost += linear.weight[shared]
        cost += linear.weight[shared + 1] * np.float32(answers[a, 0])
        values[a] = -cost


@learn.of(Linear)
def learn_linear(
    linear: Linear,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
    answers: np.ndarray,
    reward: float,
    weight: float,
) -> None:
    """Learn the cost (minus the reward) of the action that was taken, with this importance weight."""
    shared, n = len(linear.weight) - 2, linear.model.n_features
    constant = np.float32(1 if linear.model.constant else 0)
    remembered = np.float32(answers[action, 0])
    cost = _cost(linear, n, action)
    cost += linear.weight[shared] * constant + linear.weight[shared + 1] * remembered
    cost = max(np.float32(-1), min(np.float32(0), cost))
    error = np.float32(-reward) - cost
    if error == 0:
        return
    squared_gradient = np.float32(4 * error * error * weight)
    norm = step = np.float32(0)
    for k in range(n):
        slot = _slot(linear, action, linear.feature[k])
        rate, normed = _prepare_weight(linear, slot, linear.value[k], squared_gradient)
        linear.rate[k] = rate
        norm += normed
        step += linear.value[k] * linear.value[k] * rate
    for k, x in enumerate((constant, remembered)):
        linear.rate[n + k] = 0
        if x != 0:
            rate, normed = _prepare_weight(linear, shared + k, x, squared_gradient)
            linear.rate[n + k] = rate
            norm += normed
            step += x * x * rate
    linear.model.total_norm += weight * norm
    linear.model.total_weight += weight
    multiplier = np.sqrt(linear.model.total_weight / linear.model.total_norm)
    step *= multiplier
    update = error * _invariant(LEARNING_RATE * weight, step) * multiplier
    for k in range(n):
        slot = _slot(linear, action, linear.feature[k])
        linear.weight[slot] += update * linear.value[k] * linear.rate[k]
    linear.weight[shared] += update * constant * linear.rate[n]
    linear.weight[shared + 1] += update * remembered * linear.rate[n + 1]


@inner
def _invariant(scale: float, step: float) -> float:
    """Return how far one example moves its prediction towards its label: as if taken in infinitely many small steps."""
    if scale * step < 1e-6:
        return 2 * scale
    return (1 - np.exp(-2 * scale * step)) / step


@inner
def _prepare_weight(linear: Linear, slot: int, x: float, squared_gradient: float) -> tuple[float, float]:
    """Take account of a feature's gradient and scale; return the weight's rate and the feature's normalised square."""
    size = abs(x) if abs(x) > SMALLEST else SMALLEST
    linear.adaptive[slot] += squared_gradient * size * size
    norm = linear.norm[slot]
    if size > norm:
        if norm > 0:  # as if the new scale had been known from the start
            linear.weight[slot] *= norm / size
        linear.norm[slot] = norm = size
    rate = np.float32(1) / (np.sqrt(linear.adaptive[slot]) * norm)
    return rate, (size / norm) * (size / norm)


@inner
def _cost(linear: Linear, n: int, action: int) -> np.float32:
    total = np.float32(0)
    if linear.model.block:
        weight = linear.weight[action * linear.model.block :]
        for k in range(n):
            total += weight[linear.feature[k]] * linear.value[k]
    else:
        for k in range(n):
            total += linear.weight[_slot(linear, action, linear.feature[k])] * linear.value[k]
    return total


@inner
def _slot(linear: Linear, action: int, index: int) -> Any:
    """Return where an action's weight of a feature is: in its block, or anywhere in the hashed table."""
    if linear.model.block:
        return action * linear.model.block + index
    return np.int64(_hash(index, action + 1) & linear.model.mask)


@inner
def _hash(i: int, j: int) -> np.uint64:
    return np.uint64((np.uint64(i) * PRIME) ^ np.uint64(j)) * PRIME
