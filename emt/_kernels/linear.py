"""The parametric learner: one linear model per action over first and second order features, as Vowpal Wabbit trains it.

VW's default update is adaptive (per-weight rates, Duchi et al., 2011), normalised (Ross et al., 2013) and invariant to
importance weights (Karampatziakis and Langford, 2011). The policy's own features of action a are a, xa and xxa: all
products x_i x_j, i <= j, where x_0 = 1. They have a row of weights per action. Two more weights are shared by all
actions: the constant, and the reward that a memory predicts.

The product x_i x_j is feature j (j + 1) / 2 + i, so that those of the numeric coordinates come first and leave no gap:
where many of them are not 0, only the *blocks* of neighbours that are not all 0 are listed, and sums and updates are
loops over lanes. Other features that are not 0 are listed one by one, with their positions in a row of weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.lanes import LANES, absolute, bits, full, greater, larger, load, nonzero, root, store, total, where
from emt._kernels.numbering import SLOT_BYTES, Numbering, allocate_numbering, more_numbers, number
from emt._kernels.parts import begin, grow, has_room, judge, learn, remark
from emt._kernels.records import record
from emt._kernels.vector import ROUND, filled

__all__ = ["Linear", "allocate"]

#: What was asked for, the sums that the normalised update keeps, and the context at hand.
MODEL = [
    ("direct", "i8"),  # features below this have their number as position; others are numbered as they occur
    ("constant", "?"),
    ("total_weight", "f8"),
    ("total_norm", "f8"),
    ("n_dense", "i8"),  # features at the positions 0, 1, 2, ..., filled up with zeros
    ("n_blocks", "i8"),  # of these that are not all 0
    ("n_features", "i8"),  # the dense ones and the listed ones after them
    ("judged", "?"),  # are the costs below those of this context?
]

LEARNING_RATE = np.float32(0.5)
# No feature but 0 counts as smaller (as in VW, where the limit is 1e-19) or is larger: rates and squares stay finite.
SMALLEST, LARGEST = np.float32(1e-15), np.float32(1e15)
SPARSE = 16  # a context with so many times fewer features than it could have is better listed
CHUNK = 256  # listed features that are updated together
BLOCK = 2 * LANES

#: The most memory for all features, though few of them may occur; for all products of numeric coordinates, most of
#: which do occur; and for the features that occur, where there are too many for either.
ALL_BYTES, NUMERIC_BYTES, OCCURRING_BYTES = 2**26, 2**28, 2**29


class Linear(NamedTuple):
    """A model: its numbers, three arrays with a row of weights per action, and the features of the context at hand."""

    model: Any
    weight: np.ndarray
    adaptive: np.ndarray  # sum of squared gradients
    norm: np.ndarray  # greatest |feature| so far
    shared: np.ndarray  # of the constant and the memory: weight, adaptive, norm; their values and gains
    numbering: Numbering
    block: np.ndarray  # where each block of dense features that are not all 0 starts
    active: np.ndarray  # coordinates that are not 0
    amount: np.ndarray  # and what they are
    feature: np.ndarray  # position of each listed feature
    value: np.ndarray
    gain: np.ndarray  # value x rate
    listed: np.ndarray  # weight, adaptive, norm of some listed features
    cost: np.ndarray  # of each action, less the shared weights' part


def products(n: int) -> int:
    """Return the number of products of so many coordinates."""
    return n * (n + 1) // 2


def allocate(n_numeric: int, n_levels: tuple[int, ...], n_actions: int, *, constant: bool) -> Linear:
    """Return a model of zeros."""
    n_active, n_bytes = 1 + n_numeric + len(n_levels), 3 * 4 * n_actions
    n_dense, n_all = products(1 + n_numeric), products(1 + n_numeric + sum(n_levels))
    direct = n_all if n_all * n_bytes <= ALL_BYTES else n_dense if n_dense * n_bytes <= NUMERIC_BYTES else 0
    at_once = 0 if direct == n_all else products(n_active) - (n_dense if direct else 0)
    numbering = allocate_numbering(direct, at_once, OCCURRING_BYTES // (n_bytes + SLOT_BYTES))
    weights, n = (n_actions, _row_length(numbering)), products(n_active) + ROUND
    return Linear(
        model=record(MODEL, direct=direct, constant=constant),
        weight=np.zeros(weights, np.float32),
        adaptive=np.zeros(weights, np.float32),
        norm=np.zeros(weights, np.float32),
        shared=np.zeros((5, 2), np.float32),
        numbering=numbering,
        block=np.zeros(n // BLOCK, np.int64),
        active=np.zeros(n_active, np.int64),
        amount=np.zeros(n_active + LANES, np.float32),
        feature=np.zeros(n, np.uint32),
        value=np.zeros(n, np.float32),
        gain=np.zeros(n, np.float32),
        listed=np.zeros((3, CHUNK), np.float32),
        cost=np.zeros(n_actions, np.float32),
    )


def _row_length(numbering: Numbering) -> int:
    return int(numbering.counts["room"]) + ROUND  # loops over whole vectors may go beyond the last


@has_room.of(Linear)
def linear_has_room(linear: Linear) -> bool:
    """Tell whether there are positions for all features of another context, or never will be."""
    counts = linear.numbering.counts
    return counts.room == counts.most or counts.next + counts.at_once <= counts.room


@grow.register
def grow_linear(linear: Linear) -> Linear:
    """Return the model with room for more features."""
    numbering = more_numbers(linear.numbering)
    longer = _row_length(numbering) - linear.weight.shape[1]
    weights = {name: np.pad(getattr(linear, name), ((0, 0), (0, longer))) for name in ("weight", "adaptive", "norm")}
    return linear._replace(numbering=numbering, **weights)


@remark.register
def remark_linear(linear: Linear) -> str:
    """Say so if features had to share weights."""
    counts = linear.numbering.counts
    return f"too many features: the first {counts.next:,} have weights, others share theirs" if counts.sharing else ""


@begin.of(Linear)
def make_features(linear: Linear, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Write the features of a context: all products of its numeric coordinates, then a list; or a list alone."""
    model, active, amount, value = linear.model, linear.active, linear.amount, linear.value
    n = 1 + len(numeric)
    n_nonzero = np.int32(1)
    amount[0] = 1
    for i in range(len(numeric)):
        amount[1 + i] = limited(numeric[i])
        n_nonzero += np.int32(numeric[i] != 0)
    n_dense = n * (n + 1) // 2
    if n_dense <= model.direct and n_nonzero * (n_nonzero + 1) // 2 * SPARSE > n_dense:
        for i in range(n, n + LANES):
            amount[i] = 0
        _multiply(amount, n, value)
        for k in range(n_dense, filled(n_dense)):
            value[k] = 0
        model.n_dense = filled(n_dense)
        model.n_blocks = _list_blocks(value, model.n_dense, linear.block)
        n_first = n
        if len(codes):
            for i in range(n):
                active[i] = i
    else:
        model.n_dense = model.n_blocks = n_first = 0
        active[0] = 0
        n = 1
        for i in range(1, 1 + len(numeric)):
            active[n], amount[n] = i, amount[i]
            n += amount[i] != 0
    for j in range(len(codes)):
        active[n], amount[n] = 1 + codes[j], 1
        n += 1
    model.n_features = _list_features(linear, n_first, n)
    model.judged = False


@inner
def limited(x: np.float32) -> np.float32:
    x = x if x < LARGEST else LARGEST
    return x if x > -LARGEST else -LARGEST


@inner
def _multiply(x: np.ndarray, n: int, value: np.ndarray) -> None:
    """Write all products of coordinates; ``x`` is followed by zeros.

    Each row is written in whole vectors of the processor. Where that is too much, the next row writes over it.
    """
    start = 0
    for j in range(n):
        row, x_j = value[start : start + (j + LANES) // LANES * LANES], x[j]
        for i in range(len(row)):
            row[i] = limited(x_j * x[i])
        start += j + 1


@inner
def _list_blocks(value: np.ndarray, n_dense: int, block: np.ndarray) -> int:
    """List the blocks that are not all 0; return how many."""
    n = 0
    for start in range(0, n_dense, BLOCK):
        block[n] = start
        n += (bits(nonzero(load(value, start))) | bits(nonzero(load(value, start + LANES)))) != 0
    return n


@inner
def _list_features(linear: Linear, n_first: int, n_active: int) -> int:
    """List the products of the active coordinates from the n_first on; return where the list ends."""
    active, amount, feature, value = linear.active, linear.amount, linear.feature, linear.value
    n = linear.model.n_dense
    for k in range(n_first, n_active):
        j = active[k]
        row = j * (j + 1) // 2
        features, values, x_j = feature[n : n + k + 1], value[n : n + k + 1], amount[k]
        if row + j < linear.model.direct:
            for m in range(k + 1):
                features[m] = row + active[m]
        else:
            for m in range(k + 1):
                features[m] = number(linear.numbering, row + active[m])
        for m in range(k + 1):
            values[m] = limited(x_j * amount[m])
        n += k + 1
    return n


@judge.of(Linear)
def predict_linear(linear: Linear, answers: np.ndarray, values: np.ndarray) -> None:
    """Write each action's predicted reward; what a memory remembers of it, or 0, is first in its row of answers."""
    n_actions, together = len(values), len(values) // 4 * 4
    for a in range(0, together, 4):
        _four_dense_costs(linear, a)
    for a in range(together, n_actions):
        linear.cost[a] = _dense_cost(linear, a)
    for a in range(n_actions):
        linear.cost[a] += _listed_cost(linear, linear.weight[a])
        values[a] = -(linear.cost[a] + _shared_cost(linear, answers[a, 0]))
    linear.model.judged = True


@inner
def _dense_cost(linear: Linear, action: int) -> np.float32:
    """Return the dense features' share of an action's cost."""
    weight, value, row = linear.weight, linear.value, action * linear.weight.shape[1]
    one = other = full(np.float32(0))
    for k in range(linear.model.n_blocks):
        start = linear.block[k]
        one = one + load(weight, row + start) * load(value, start)
        other = other + load(weight, row + start + LANES) * load(value, start + LANES)
    return total(one + other)


@inner
def _four_dense_costs(linear: Linear, action: int) -> None:
    """Write the dense features' share of the costs of four actions, in the same order of sums as that of one."""
    weight, value, length = linear.weight, linear.value, linear.weight.shape[1]
    row0, row1, row2, row3 = action * length, (action + 1) * length, (action + 2) * length, (action + 3) * length
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = full(np.float32(0))
    for k in range(linear.model.n_blocks):
        start = linear.block[k]
        x, y = load(value, start), load(value, start + LANES)
        a0, b0 = a0 + load(weight, row0 + start) * x, b0 + load(weight, row0 + start + LANES) * y
        a1, b1 = a1 + load(weight, row1 + start) * x, b1 + load(weight, row1 + start + LANES) * y
        a2, b2 = a2 + load(weight, row2 + start) * x, b2 + load(weight, row2 + start + LANES) * y
        a3, b3 = a3 + load(weight, row3 + start) * x, b3 + load(weight, row3 + start + LANES) * y
    linear.cost[action], linear.cost[action + 1] = total(a0 + b0), total(a1 + b1)
    linear.cost[action + 2], linear.cost[action + 3] = total(a2 + b2), total(a3 + b3)


@inner
def _listed_cost(linear: Linear, weight: np.ndarray) -> np.float32:
    """Return the listed features' share of an action's cost."""
    cost = np.float32(0)
    d, n = linear.model.n_dense, linear.model.n_features
    feature, value = linear.feature[d:n], linear.value[d:n]
    for k in range(len(feature)):
        cost += weight[feature[k]] * value[k]
    return cost


@inner
def _shared_cost(linear: Linear, remembered: float) -> np.float32:
    cost = linear.shared[0, 1] * np.float32(remembered)
    return cost + linear.shared[0, 0] if linear.model.constant else cost


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
    model, shared = linear.model, linear.shared
    weights, adaptive, norms = linear.weight[action], linear.adaptive[action], linear.norm[action]
    if not model.judged:
        linear.cost[action] = _dense_cost(linear, action) + _listed_cost(linear, weights)
    model.judged = False
    cost = linear.cost[action] + _shared_cost(linear, answers[action, 0])
    cost = max(np.float32(-1), min(np.float32(0), cost))
    error = np.float32(-reward) - cost
    if error == 0:
        return
    shared[3, 0], shared[3, 1] = model.constant, answers[action, 0]
    squared_gradient = np.float32(4 * error * error * weight)
    d, gain = model.n_dense, linear.gain
    norm, step = _prepare_dense(linear, action, squared_gradient)
    together = 1 if linear.numbering.counts.sharing else CHUNK
    for start in range(d, model.n_features, together):
        end = min(start + together, model.n_features)
        more_norm, more_step = _prepare_listed(linear, start, end, weights, adaptive, norms, squared_gradient)
        norm, step = norm + more_norm, step + more_step
    more_norm, more_step = prepare(shared[3], shared[0], shared[1], shared[2], shared[4], squared_gradient)
    norm, step = norm + more_norm, step + more_step
    model.total_norm += weight * norm
    model.total_weight += weight
    multiplier = np.sqrt(model.total_weight / model.total_norm)
    update = np.float32(error * invariant(LEARNING_RATE * weight, step * multiplier) * multiplier)
    for k in range(model.n_blocks):
        for start in (linear.block[k], linear.block[k] + LANES):
            store(weights, start, load(weights, start) + update * load(gain, start))
    feature, gain = linear.feature[d : model.n_features], gain[d : model.n_features]
    for k in range(len(feature)):
        weights[feature[k]] += update * gain[k]
    for k in range(2):
        shared[0, k] += update * shared[4, k]


@inner
def invariant(scale: float, step: float) -> float:
    """Return how far one example moves its prediction towards its label: as if taken in infinitely many small steps."""
    if scale * step < 1e-6:
        return 2 * scale
    return (1 - np.exp(-2 * scale * step)) / step


@inner
def _prepare_dense(linear: Linear, action: int, squared_gradient: np.float32) -> tuple[np.float32, np.float32]:
    """Prepare the dense features of an action; the same as `prepare`, in lanes."""
    weight, adaptive, norm = linear.weight[action], linear.adaptive[action], linear.norm[action]
    value, gain, zero, one = linear.value, linear.gain, np.float32(0), np.float32(1)
    norms = steps = full(zero)
    for k in range(linear.model.n_blocks):
        for start in (linear.block[k], linear.block[k] + LANES):
            x, old = load(value, start), load(norm, start)
            there = nonzero(x)
            size = where(there, larger(absolute(x), SMALLEST), zero)
            gradients = load(adaptive, start) + squared_gradient * size * size
            store(adaptive, start, gradients)
            new = larger(size, old)
            if bits(greater(size, old)) != 0:
                rescaled = load(weight, start) * where(greater(size, old), old / new, one)
                store(weight, start, rescaled)
                store(norm, start, new)
            deviation = root(gradients)
            rate = one / (deviation * new)
            gains, normed = where(there, x * rate, zero), where(there, size * rate * deviation, zero)
            store(gain, start, gains)
            norms = norms + normed * normed
            steps = steps + x * gains
    return total(norms), total(steps)


@inner
def _prepare_listed(
    linear: Linear,
    start: int,
    end: int,
    weight: np.ndarray,
    adaptive: np.ndarray,
    norm: np.ndarray,
    squared_gradient: np.float32,
) -> tuple[np.float32, np.float32]:
    """Prepare some of the listed features, no two of them with the same weight, as if they were neighbours."""
    feature = linear.feature[start:end]
    weights, adaptives, norms = linear.listed[0], linear.listed[1], linear.listed[2]
    n = len(feature)
    for k in range(n):
        weights[k], adaptives[k], norms[k] = weight[feature[k]], adaptive[feature[k]], norm[feature[k]]
    total, step = prepare(
        linear.value[start:end], weights[:n], adaptives[:n], norms[:n], linear.gain[start:end], squared_gradient
    )
    for k in range(n):
        weight[feature[k]], adaptive[feature[k]], norm[feature[k]] = weights[k], adaptives[k], norms[k]
    return total, step


@inner
def prepare(
    value: np.ndarray,
    weight: np.ndarray,
    adaptive: np.ndarray,
    norm: np.ndarray,
    gain: np.ndarray,
    squared_gradient: np.float32,
) -> tuple[np.float32, np.float32]:
    """Take account of the features' gradients and scales, and write each weight's gain: the feature times its rate.

    Returns the sums of the squares of the features, normalised, and of feature times gain. Where a feature is 0, all
    stays as it is.
    """
    zero, one = np.float32(0), np.float32(1)
    total = step = zero
    for k in range(len(value)):
        x = value[k]
        size = abs(x) if abs(x) > SMALLEST else SMALLEST
        size = size if x != zero else zero
        adaptive[k] += squared_gradient * size * size
        old = norm[k]
        new = size if size > old else old
        # A larger scale than any before: as if it had been known from the start.
        weight[k] *= old / new if size > old else one
        norm[k] = new
        gain[k] = x / (np.sqrt(adaptive[k]) * new) if x != zero else zero
        normed = size / new if x != zero else zero
        total += normed * normed
        step += x * gain[k]
    return total, step
