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

from emt._kernels.compile import inline, inner
from emt._kernels.eigen.predict_scorer import MAX_SCORE, argmin, difference
from emt._kernels.eigen.state import Memories, Scorer, Scratch
from emt._kernels.lanes import LANES, absolute, bits, full, greater, larger, load, nonzero, smaller, store, total, where
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
    if options.coin:
        weight *= abs(best_error - alternative_error)
        first, second, target = best, alternative, best_target
        if uniform(counts) >= 0.5:  # the two updates come in random order
            first, second, target = alternative, best, 1 - best_target
        rows, n_listed = _write_z(options, memories, scratch, first, numeric, codes, action)
        _bet(counts, scorer, scratch, rows, n_listed, target, weight)
        rows, n_listed = _write_z(options, memories, scratch, second, numeric, codes, action)
        _bet(counts, scorer, scratch, rows, n_listed, 1 - target, weight)
    else:
        # One gradient of both terms of the loss: both scores are taken before either step.
        step = options.eta * weight
        rows, n_listed = _write_z(options, memories, scratch, best, numeric, codes, action)
        best_score = _score(scorer.weight, scratch, rows, n_listed)
        rows, n_listed = _write_z(options, memories, scratch, alternative, numeric, codes, action)
        alternative_score = _score(scorer.weight, scratch, rows, n_listed)
        _descend(scorer.weight, scratch, rows, n_listed, alternative_score, 1 - best_target, step)
        rows, n_listed = _write_z(options, memories, scratch, best, numeric, codes, action)
        _descend(scorer.weight, scratch, rows, n_listed, best_score, best_target, step)
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
) -> tuple[int, int]:
    """Write z for the query and a candidate: rows of neighbours, then a list; return how many of each.

    A row is what numeric coordinates of the memory come to; what levels and actions come to is listed.
    """
    memory = scratch.candidate[k]
    n_inputs, has_action = options.n_inputs, options.has_action
    theirs = memories.action[memory]
    their_numeric, their_codes = memories.numeric[memory, : options.n_numeric], memories.codes[memory]
    one = scratch.z_value.dtype.type(1)
    rows = n = 0
    if options.products:
        n_all = n_inputs + options.n_actions
        for i in range(len(numeric)):
            if numeric[i] != 0:
                rows, n = _put_key(options, scratch, rows, n, i * n_all, numeric[i], their_numeric, their_codes, theirs)
        for j in range(len(codes)):
            rows, n = _put_key(options, scratch, rows, n, codes[j] * n_all, one, their_numeric, their_codes, theirs)
        if has_action:
            row = (n_inputs + action) * n_all
            rows, n = _put_key(options, scratch, rows, n, row, one, their_numeric, their_codes, theirs)
        return rows, n
    blocks, signed = n_inputs + options.n_actions, options.signed
    rows, n = _put_differences(scratch, rows, n, 0, numeric, codes, their_numeric, their_codes, signed)
    if theirs == action:
        if options.crossed:
            block = blocks + action * n_inputs
            rows, n = _put_differences(scratch, rows, n, block, numeric, codes, their_numeric, their_codes, signed)
        return rows, n
    n = _put(scratch, n, n_inputs + action, one)
    n = _put(scratch, n, n_inputs + theirs, one)
    if options.crossed:  # nothing in common: all of the query's block and all of the memory's
        rows, n = _put_magnitudes(scratch, rows, n, blocks + action * n_inputs, numeric, codes, signed)
        rows, n = _put_magnitudes(scratch, rows, n, blocks + theirs * n_inputs, their_numeric, their_codes, signed)
    return rows, n


@inner
def _put(scratch: Scratch, n: int, position: int, value: float) -> int:
    scratch.z_index[n], scratch.z_value[n] = position, value
    return n + 1


@inner
def _new_row(scratch: Scratch, rows: int, block: int) -> int:
    """Begin a row of z for the weights from a position on; return where it is. What fills it up is 0 already."""
    scratch.row_start[rows] = block
    return rows * len(scratch.numeric)


@inner
def _unless_tiny(value: Any) -> Any:
    return value if abs(value) >= TINIEST else np.float32(0)


@inner
def _put_differences(
    scratch: Scratch,
    rows: int,
    n: int,
    block: int,
    numeric: np.ndarray,
    codes: np.ndarray,
    their_numeric: np.ndarray,
    their_codes: np.ndarray,
    signed: bool,
) -> tuple[int, int]:
    one = scratch.z_value.dtype.type(1)
    start = _new_row(scratch, rows, block)
    for i in range(len(numeric)):
        scratch.z_row[start + i] = _unless_tiny(difference(numeric[i], their_numeric[i], signed))
    for j in range(len(codes)):
        if codes[j] != their_codes[j]:
            n = _put(scratch, n, block + codes[j], one)
            n = _put(scratch, n, block + their_codes[j], one)
    return rows + 1, n


@inner
def _put_magnitudes(
    scratch: Scratch, rows: int, n: int, block: int, numeric: np.ndarray, codes: np.ndarray, signed: bool
) -> tuple[int, int]:
    start = _new_row(scratch, rows, block)
    for i in range(len(numeric)):
        scratch.z_row[start + i] = _unless_tiny(numeric[i] if signed else abs(numeric[i]))
    for j in range(len(codes)):
        n = _put(scratch, n, block + codes[j], scratch.z_value.dtype.type(1))
    return rows + 1, n


@inner
def _put_key(
    options: Any,
    scratch: Scratch,
    rows: int,
    n: int,
    block: int,
    factor: float,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
) -> tuple[int, int]:
    start = _new_row(scratch, rows, block)
    for i in range(len(numeric)):
        scratch.z_row[start + i] = _unless_tiny(factor * numeric[i])
    if abs(factor) >= TINIEST:
        for j in range(len(codes)):
            n = _put(scratch, n, block + codes[j], factor)
        if options.has_action:
            n = _put(scratch, n, block + options.n_inputs + action, factor)
    return rows + 1, n


@inner
def _bet(counts: Any, scorer: Scorer, scratch: Scratch, rows: int, n: int, target: float, weight: float) -> None:
    """Learn that the pair's score should have been the target, by betting on each weight's gradient."""
    bet, turnover, max_z, wealth, max_slope = scorer.coin
    prediction, norm, any_z = _weigh_rows(scorer, scratch, rows)
    for k in range(n):
        i, z = scratch.z_index[k], scratch.z_value[k]
        greatest = max(max_z[i], abs(z))
        most = max_slope[i] * greatest
        if most > 0:
            prediction += _stake(wealth[i], turnover[i], bet[i], most) * z
        norm += (z / greatest) ** 2
    if n == 0 and not any_z:  # the same key: its score cannot change
        return
    counts.scale += weight * norm
    counts.scale_weight += weight
    shrink = counts.scale_weight / (counts.scale + 1e-6)  # one over the average norm
    prediction = min(max(prediction * shrink, 0.0), MAX_SCORE)
    slope = 2 * (prediction - target) * weight
    _bet_rows(scorer, scratch, rows, slope, shrink)
    for k in range(n):
        i, z = scratch.z_index[k], scratch.z_value[k]
        max_z[i] = max(max_z[i], abs(z))
        if abs(slope) > max_slope[i]:
            max_slope[i] = max(abs(slope), BETA)
        most = max_slope[i] * max_z[i]
        stake = _stake(wealth[i], turnover[i], bet[i], most) if most > 0 else 0.0
        gradient = slope * z
        bet[i] -= gradient
        turnover[i] += abs(gradient)
        wealth[i] = min(wealth[i] - gradient * stake, GREATEST)
        scorer.weight[i] = max(min(stake * shrink, GREATEST), -GREATEST)


@inner
def _weigh_rows(scorer: Scorer, scratch: Scratch, rows: int) -> tuple[float, float, bool]:
    """Return the rows' shares of the score and of the norm, and whether there is any z; keep each weight's stake."""
    bet, turnover, max_z, wealth, max_slope = scorer.coin
    width = len(scratch.numeric)
    prediction, norm, any_z = full(0.0), full(0.0), 0
    for r in range(rows):
        for i in range(0, width, LANES):
            z, at = load(scratch.z_row, r * width + i), scratch.row_start[r] + i
            there = nonzero(z)
            if bits(there) == 0:
                continue
            any_z = 1
            greatest = larger(load(max_z, at), absolute(z))
            most = load(max_slope, at) * greatest
            stake = _stake(load(wealth, at), load(turnover, at), load(bet, at), most)
            stake = where(there, where(greater(most, 0.0), stake, 0.0), 0.0)
            store(scratch.stake, r * width + i, stake)
            prediction = prediction + stake * z
            share = where(there, z / greatest, z)
            norm = norm + share * share
    return total(prediction), total(norm), any_z != 0


@inner
def _bet_rows(scorer: Scorer, scratch: Scratch, rows: int, slope: float, shrink: float) -> None:
    """Bet on the weights of the rows; where z is 0, all stays as it is."""
    bet, turnover, max_z, wealth, max_slope = scorer.coin
    width = len(scratch.numeric)
    real = scorer.weight.dtype.type
    steep = real(abs(slope))
    for r in range(rows):
        for i in range(0, width, LANES):
            z, at = load(scratch.z_row, r * width + i), scratch.row_start[r] + i
            there = nonzero(z)
            if bits(there) == 0:
                continue
            stake = load(scratch.stake, r * width + i)
            old_bet, old_turnover, old_wealth = load(bet, at), load(turnover, at), load(wealth, at)
            greatest, steepest = larger(load(max_z, at), absolute(z)), load(max_slope, at)
            if bits(greater(steep, steepest)) != 0:
                steeper = where(greater(steep, steepest), max(steep, real(BETA)), steepest)
                most = steeper * greatest
                stake = _stake(old_wealth, old_turnover, old_bet, most)
                stake = where(there, where(greater(most, 0.0), stake, 0.0), 0.0)
                store(max_slope, at, where(there, steeper, steepest))
            gradient = slope * z
            store(max_z, at, greatest)
            store(bet, at, old_bet - gradient)
            store(turnover, at, old_turnover + absolute(gradient))
            store(wealth, at, smaller(old_wealth - gradient * stake, GREATEST))
            learned = larger(smaller(stake * shrink, GREATEST), -GREATEST)
            store(scorer.weight, at, where(there, learned, load(scorer.weight, at)))


@inline
def _stake(wealth: Any, turnover: Any, bet: Any, most: Any) -> Any:
    return (ALPHA + wealth) * bet / (most * (most + turnover))


@inner
def _score(weight: np.ndarray, scratch: Scratch, rows: int, n: int) -> float:
    total, width = 0.0, len(scratch.numeric)
    for r in range(rows):
        start = scratch.row_start[r]
        for i in range(width):
            total += weight[start + i] * scratch.z_row[r * width + i]
    for k in range(n):
        total += weight[scratch.z_index[k]] * scratch.z_value[k]
    return total


@inner
def _descend(weight: np.ndarray, scratch: Scratch, rows: int, n: int, score: float, target: float, step: float) -> None:
    """Take one step of w <- w - eta dL/dw for L = (max(0, <w, z>) - target)^2; a clipped score has no slope."""
    if score <= 0:
        return
    slope, width = 2 * step * (score - target), len(scratch.numeric)
    for r in range(rows):
        start = scratch.row_start[r]
        for i in range(width):
            _step(weight, start + i, slope * scratch.z_row[r * width + i])
    for k in range(n):
        _step(weight, scratch.z_index[k], slope * scratch.z_value[k])


@inline
def _step(weight: np.ndarray, i: int, gradient: float) -> None:
    stepped = weight[i] - gradient
    if abs(stepped) < GREATEST:
        weight[i] = stepped
