"""UpdateScorer (Algorithm 2): the ranking update, by coin betting as run or by a gradient step as printed.

Coin betting (Orabona and Tommasi, 2017, as Vowpal Wabbit's ``--coin`` has it) sees each weight as a bettor. For a
target t and importance h, with g = 2 (prediction - t) h the slope of the loss,

    stake_i = (ALPHA + wealth_i) bet_i / (most_i (most_i + turnover_i)),    most_i = max |g| x max |z_i|
    w_i = stake_i / scale
    bet_i <- bet_i - g z_i,    turnover_i <- turnover_i + |g z_i|,    wealth_i <- wealth_i - g z_i stake_i

where scale is the average over all updates of the squared norm of z, each z_i in units of its greatest so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.eigen.predict_scorer import MAX_SCORE, argmin, difference
from emt._kernels.eigen.state import Memories, Scorer, Scratch
from emt._kernels.rng import uniform
from emt._kernels.vector import any_least, filled, least

__all__ = ["update_scorer"]

BET, TURNOVER, MAX_Z, WEALTH, MAX_SLOPE = range(5)  # rows of Scorer.coin
ALPHA, BETA = 4.0, 1.0

TINIEST = 1e-18  # a smaller difference teaches nothing: its square vanishes in single precision
GREATEST = 1e15  # no weight and no wealth grows further, so that nothing overflows


@inner
def update_scorer(
    options: Any,
    counts: Any,
    memories: Memories,
    scorer: Scorer,
    scratch: Scratch,
    start: int,
    n: int,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
    value: float,
    weight: float,
) -> bool:
    """Teach the scorer which of two memories of the scanned leaf to prefer; return whether anything changed."""
    if n < 2 or weight == 0:
        return False
    best = argmin(counts, memories.record, scratch, start, n)
    best_error = abs(value - memories.record[scratch.candidate[best]].value)
    alternative, alternative_error = _alternative(counts, memories.record, scratch, start, n, best, value)
    if best_error == alternative_error:
        return False
    # The better of the two moves towards 0, the other towards 1.
    best_target = 1.0 if best_error > alternative_error else 0.0
    index, z = scratch.z_index, scratch.z_value
    if options.coin:
        weight *= abs(best_error - alternative_error)
        first, second, target = best, alternative, best_target
        if uniform(counts) >= 0.5:  # the two updates come in random order
            first, second, target = alternative, best, 1 - best_target
        n_z = _write_z(options, memories, scratch, first, numeric, codes, action)
        _bet(counts, scorer, index[:n_z], z[:n_z], target, weight)
        n_z = _write_z(options, memories, scratch, second, numeric, codes, action)
        _bet(counts, scorer, index[:n_z], z[:n_z], 1 - target, weight)
    else:
        # One gradient of both terms of the loss: both scores are taken before either step.
        step = options.eta * weight
        n_z = _write_z(options, memories, scratch, best, numeric, codes, action)
        best_score = _score(scorer.weight, index[:n_z], z[:n_z])
        n_z = _write_z(options, memories, scratch, alternative, numeric, codes, action)
        alternative_score = _score(scorer.weight, index[:n_z], z[:n_z])
        _descend(scorer.weight, index[:n_z], z[:n_z], alternative_score, 1 - best_target, step)
        n_z = _write_z(options, memories, scratch, best, numeric, codes, action)
        _descend(scorer.weight, index[:n_z], z[:n_z], best_score, best_target, step)
    counts.scorer_version += 1
    return True


@inner
def _alternative(
    counts: Any, record: np.ndarray, scratch: Scratch, start: int, n: int, best: int, value: float
) -> tuple[int, float]:
    """Return the memory, other than the best, whose value is nearest, and its error.

    Ties go to the better score, then to chance.
    """
    end = start + filled(n)
    error, score, rank = scratch.error[start:end], scratch.score[start:end], scratch.rank[start:end]
    for k in range(n):
        error[k] = abs(value - record[scratch.candidate[start + k]].value)
    for k in range(n, end - start):
        error[k] = np.inf
    error[best - start] = np.inf
    lowest = least(error)
    for k in range(end - start):
        rank[k] = score[k] if error[k] == lowest else np.float32(np.inf)
    return start + min(any_least(rank, least(rank), counts), n - 1), lowest


@inner
def _write_z(
    options: Any,
    memories: Memories,
    scratch: Scratch,
    k: int,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
) -> int:
    """Write the non-zero coordinates of z for the query and a candidate; return how many."""
    index, z, memory = scratch.z_index, scratch.z_value, scratch.candidate[k]
    n_inputs, has_action = options.n_inputs, options.has_action
    theirs = memories.action[memory]
    their_numeric, their_codes = memories.numeric[memory, : options.n_numeric], memories.codes[memory]
    one = z.dtype.type(0) + np.float32(1)
    if options.products:
        n, n_all = 0, n_inputs + options.n_actions
        for i in range(len(numeric)):
            if numeric[i] != 0:
                n = _put_key(index, z, n, i * n_all, numeric[i], their_numeric, their_codes)
                if has_action:
                    n = _put(index, z, n, i * n_all + n_inputs + theirs, numeric[i])
        for j in range(len(codes)):
            n = _put_key(index, z, n, codes[j] * n_all, one, their_numeric, their_codes)
            if has_action:
                n = _put(index, z, n, codes[j] * n_all + n_inputs + theirs, one)
        if has_action:
            row = (n_inputs + action) * n_all
            n = _put_key(index, z, n, row, one, their_numeric, their_codes)
            n = _put(index, z, n, row + n_inputs + theirs, one)
        return n
    blocks, signed = n_inputs + options.n_actions, options.signed
    n = _put_differences(index, z, 0, 0, numeric, codes, their_numeric, their_codes, signed)
    if theirs == action:
        if options.crossed:
            block = blocks + action * n_inputs
            n = _put_differences(index, z, n, block, numeric, codes, their_numeric, their_codes, signed)
        return n
    n = _put(index, z, n, n_inputs + action, one)
    n = _put(index, z, n, n_inputs + theirs, one)
    if options.crossed:  # nothing in common: all of the query's block and all of the memory's
        n = _put_magnitudes(index, z, n, blocks + action * n_inputs, numeric, codes, signed)
        n = _put_magnitudes(index, z, n, blocks + theirs * n_inputs, their_numeric, their_codes, signed)
    return n


@inner
def _put(index: np.ndarray, z: np.ndarray, n: int, position: int, value: float) -> int:
    if abs(value) < TINIEST:
        return n
    index[n], z[n] = position, value
    return n + 1


@inner
def _put_differences(
    index: np.ndarray,
    z: np.ndarray,
    n: int,
    block: int,
    numeric: np.ndarray,
    codes: np.ndarray,
    their_numeric: np.ndarray,
    their_codes: np.ndarray,
    signed: bool,
) -> int:
    one = z.dtype.type(0) + np.float32(1)
    for i in range(len(numeric)):
        n = _put(index, z, n, block + i, difference(numeric[i], their_numeric[i], signed))
    for j in range(len(codes)):
        if codes[j] != their_codes[j]:
            n = _put(index, z, n, block + codes[j], one)
            n = _put(index, z, n, block + their_codes[j], one)
    return n


@inner
def _put_magnitudes(
    index: np.ndarray, z: np.ndarray, n: int, block: int, numeric: np.ndarray, codes: np.ndarray, signed: bool
) -> int:
    for i in range(len(numeric)):
        n = _put(index, z, n, block + i, numeric[i] if signed else abs(numeric[i]))
    for j in range(len(codes)):
        n = _put(index, z, n, block + codes[j], z.dtype.type(0) + np.float32(1))
    return n


@inner
def _put_key(
    index: np.ndarray, z: np.ndarray, n: int, block: int, factor: float, numeric: np.ndarray, codes: np.ndarray
) -> int:
    for i in range(len(numeric)):
        n = _put(index, z, n, block + i, factor * numeric[i])
    for j in range(len(codes)):
        n = _put(index, z, n, block + codes[j], factor)
    return n


@inner
def _bet(counts: Any, scorer: Scorer, index: np.ndarray, z: np.ndarray, target: float, weight: float) -> None:
    """Learn that the pair's score should have been the target, by betting on each weight's gradient."""
    if len(z) == 0:  # the same key: its score cannot change
        return
    bet, turnover, max_z, wealth, max_slope = scorer.coin
    prediction = norm = 0.0
    for k in range(len(z)):
        i = index[k]
        greatest = max(max_z[i], abs(z[k]))
        most = max_slope[i] * greatest
        if most > 0:
            prediction += _stake(wealth[i], turnover[i], bet[i], most) * z[k]
        norm += (z[k] / greatest) ** 2
    counts.scale += weight * norm
    counts.scale_weight += weight
    shrink = counts.scale_weight / (counts.scale + 1e-6)  # one over the average norm
    prediction = min(max(prediction * shrink, 0.0), MAX_SCORE)
    slope = 2 * (prediction - target) * weight
    for k in range(len(z)):
        i = index[k]
        max_z[i] = max(max_z[i], abs(z[k]))
        if abs(slope) > max_slope[i]:
            max_slope[i] = max(abs(slope), BETA)
        most = max_slope[i] * max_z[i]
        stake = _stake(wealth[i], turnover[i], bet[i], most) if most > 0 else 0.0
        gradient = slope * z[k]
        bet[i] -= gradient
        turnover[i] += abs(gradient)
        wealth[i] = min(wealth[i] - gradient * stake, GREATEST)
        scorer.weight[i] = max(min(stake * shrink, GREATEST), -GREATEST)


@inner
def _stake(wealth: float, turnover: float, bet: float, most: float) -> float:
    return (ALPHA + wealth) * bet / (most * (most + turnover))


@inner
def _score(weight: np.ndarray, index: np.ndarray, z: np.ndarray) -> float:
    total = 0.0
    for k in range(len(z)):
        total += weight[index[k]] * z[k]
    return total


@inner
def _descend(weight: np.ndarray, index: np.ndarray, z: np.ndarray, score: float, target: float, step: float) -> None:
    """Take one step of w <- w - eta dL/dw for L = (max(0, <w, z>) - target)^2; a clipped score has no slope."""
    if score <= 0:
        return
    slope = 2 * step * (score - target)
    for k in range(len(z)):
        stepped = weight[index[k]] - slope * z[k]
        if abs(stepped) < GREATEST:
            weight[index[k]] = stepped
