"""UpdateScorer (Algorithm 2): the ranking update, by coin betting as run or by a gradient step as printed.

Coin betting (Orabona and Tommasi, 2017, as Vowpal Wabbit's ``--coin`` has it) sees each weight as a bettor. For a
target t and importance h, with g = 2 (prediction - t) h the slope of the loss,

    stake_i = (ALPHA + wealth_i) bet_i / (most_i (most_i + turnover_i)),    most_i = max |g| x max |z_i|
    w_i = stake_i / scale
    bet_i <- bet_i - g z_i,    turnover_i <- turnover_i + |g z_i|,    wealth_i <- wealth_i - g z_i stake_i

where scale is the average over all updates of the squared norm of z, each z_i in units of its greatest so far.

z is kept in groups of *rows* and *lanes*: eight neighbouring numbers each, of which not all are 0. Every row of a group
starts at a weight of its own, and has the same lanes, times a factor. In the ablation a row is a coordinate of the
query, and the lanes are the memory; otherwise the x block and the xa block of an action that both keys have are two
rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.eigen.predict_scorer import MAX_SCORE, argmin, differences
from emt._kernels.eigen.state import PAGE, Memories, Scorer, Scratch
from emt._kernels.lanes import LANES, absolute, bits, full, greater, larger, load, smaller, store, total, where
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
    best_error = abs(value - memories.value[scratch.candidate[best]])
    alternative, alternative_error = _alternative(counts, memories.value, scratch, start, n, best, value)
    if best_error == alternative_error:
        return False
    # The better of the two moves towards 0, the other towards 1.
    best_target = 1.0 if best_error > alternative_error else 0.0
    first, second, target = best, alternative, best_target
    if options.coin:
        weight *= abs(best_error - alternative_error)
        if uniform(counts) >= 0.5:  # the two updates come in random order
            first, second, target = alternative, best, 1 - best_target
        n_groups = _write_z(options, memories, scratch, first, numeric, codes, action)
        _bet(counts, scorer, scratch, n_groups, target, weight)
        n_groups = _write_z(options, memories, scratch, second, numeric, codes, action)
        _bet(counts, scorer, scratch, n_groups, 1 - target, weight)
    else:
        # One gradient of both terms of the loss: both scores are taken before either step.
        step = options.eta * weight
        n_groups = _write_z(options, memories, scratch, first, numeric, codes, action)
        score = _score(scorer.weight, scratch, n_groups)
        n_groups = _write_z(options, memories, scratch, second, numeric, codes, action)
        _descend(scorer.weight, scratch, n_groups, _score(scorer.weight, scratch, n_groups), 1 - target, step)
        n_groups = _write_z(options, memories, scratch, first, numeric, codes, action)
        _descend(scorer.weight, scratch, n_groups, score, target, step)
    if scorer.level.size:
        _sum_levels(options, memories, scorer, scratch.candidate[first], codes, action)
        _sum_levels(options, memories, scorer, scratch.candidate[second], codes, action)
    return True


@inner
def _alternative(
    counts: Any, value_of: np.ndarray, scratch: Scratch, start: int, n: int, best: int, value: float
) -> tuple[int, float]:
    """Return the memory, other than the best, whose value is nearest, and its error.

    Ties go to the better score, then to chance.
    """
    end = start + filled(n)
    error, score, rank = scratch.error[: end - start], scratch.score[start:end], scratch.rank[start:end]
    for k in range(0, n, PAGE):
        row = scratch.candidate[start + k]
        values, errors = value_of[row : row + PAGE], error[k : k + PAGE]
        for i in range(PAGE):
            errors[i] = abs(value - values[i])
    for k in range(n, end - start):
        error[k] = np.inf
    error[best - start] = np.inf
    lowest = least(error)
    for k in range(end - start):
        rank[k] = score[k] if error[k] == lowest else np.float32(np.inf)
    return start + min(any_least(rank, least(rank), counts), n - 1), lowest


@inner
def _sum_levels(options: Any, memories: Memories, scorer: Scorer, memory: int, codes: np.ndarray, action: int) -> None:
    """Work out anew what levels come to whose weights may have changed."""
    theirs, their_codes = np.int64(memories.action[memory]), memories.codes[memory]
    weight, level, n_inputs = scorer.weight, scorer.level, options.n_inputs
    blocks = n_inputs + options.n_actions
    for j in range(len(codes)):
        one, other = np.int64(codes[j]), np.int64(their_codes[j])
        if one != other:
            for a in range(options.n_actions):
                level[a, one] = weight[one] + weight[blocks + a * n_inputs + one]
                level[a, other] = weight[other] + weight[blocks + a * n_inputs + other]
        elif theirs != action:
            level[action, one] = weight[one] + weight[blocks + action * n_inputs + one]
            level[theirs, one] = weight[one] + weight[blocks + theirs * n_inputs + one]


@inner
def _write_z(
    options: Any, memories: Memories, scratch: Scratch, k: int, numeric: np.ndarray, codes: np.ndarray, action: int
) -> int:
    """Write z for the query and a candidate; return the number of groups."""
    memory, n_inputs = scratch.candidate[k], options.n_inputs
    theirs = np.int64(memories.action[memory])
    their_numeric, their_codes = memories.numeric[memory], memories.codes[memory, : options.n_codes]
    one = scratch.lane.dtype.type(1)
    if options.products:
        n_all, rows = n_inputs + options.n_actions, 0
        for i in range(len(numeric)):
            if numeric[i] != 0:
                rows = _put_row(scratch, rows, i * n_all, numeric[i])
        for j in range(len(codes)):
            rows = _put_row(scratch, rows, codes[j] * n_all, one)
        lanes = _put_key(scratch, 0, their_numeric, their_codes, True)
        if options.has_action:
            rows = _put_row(scratch, rows, (n_inputs + action) * n_all, one)
            lanes = _put_one(scratch, 0, lanes, n_inputs + theirs)
        return _end_group(scratch, 0, 0, rows, 0, lanes)
    blocks, signed = n_inputs + options.n_actions, options.signed
    rows = _put_row(scratch, 0, 0, one)
    if theirs == action and options.crossed:
        rows = _put_row(scratch, rows, blocks + action * n_inputs, one)
    lanes = _put_differences(scratch, their_numeric, codes, their_codes, signed)
    n_groups = _end_group(scratch, 0, 0, rows, 0, lanes)
    if theirs == action:
        return n_groups
    if options.crossed:  # nothing in common: all of the query's block and all of the memory's
        _put_row(scratch, rows, blocks + action * n_inputs, one)
        end = _put_key(scratch, lanes, scratch.numeric, codes, signed)
        n_groups = _end_group(scratch, n_groups, rows, rows + 1, lanes, end)
        rows, lanes = rows + 1, end
        _put_row(scratch, rows, blocks + theirs * n_inputs, one)
        end = _put_key(scratch, lanes, their_numeric, their_codes, signed)
        n_groups = _end_group(scratch, n_groups, rows, rows + 1, lanes, end)
        rows, lanes = rows + 1, end
    _put_row(scratch, rows, n_inputs + action, one)
    _put_row(scratch, rows + 1, n_inputs + theirs, one)
    return _end_group(scratch, n_groups, rows, rows + 2, lanes, _put_one(scratch, lanes, lanes, 0))


@inner
def _end_group(scratch: Scratch, group: int, row: int, end_row: int, lane: int, end_lane: int) -> int:
    scratch.group[group, 0], scratch.group[group, 1] = row, end_row
    scratch.group[group, 2], scratch.group[group, 3] = lane, end_lane
    return group + 1


@inner
def _put_row(scratch: Scratch, row: int, start: int, factor: float) -> int:
    scratch.row_start[row], scratch.row_factor[row] = start, factor
    return row + 1


@inner
def _put_one(scratch: Scratch, first: int, lanes: int, position: int) -> int:
    """Put a 1 into the last lane, if it has that position and is not before the first, or into a new one."""
    if lanes == first or position >= scratch.lane_start[lanes - 1] + LANES:
        scratch.lane_start[lanes] = position // LANES * LANES
        store(scratch.lane, lanes * LANES, full(scratch.lane.dtype.type(0)))
        lanes += 1
    scratch.lane[(lanes - 1) * LANES + position - scratch.lane_start[lanes - 1]] = 1
    return lanes


@inner
def _put_differences(
    scratch: Scratch, their_numeric: np.ndarray, codes: np.ndarray, their_codes: np.ndarray, signed: bool
) -> int:
    """Put the x block of |f - f'| into lanes; return how many. Codes ascend from column to column."""
    lanes = 0
    for i in range(0, len(their_numeric), LANES):
        x, y = load(scratch.numeric, i), load(their_numeric, i)
        scratch.lane_start[lanes] = i
        store(scratch.lane, lanes * LANES, differences(x, y, signed))
        lanes += 1
    for j in range(len(codes)):
        if codes[j] != their_codes[j]:
            lanes = _put_one(scratch, 0, lanes, min(codes[j], their_codes[j]))
            lanes = _put_one(scratch, 0, lanes, max(codes[j], their_codes[j]))
    return lanes


@inner
def _put_key(scratch: Scratch, first: int, numeric: np.ndarray, codes: np.ndarray, signed: bool) -> int:
    """Put the x block of a key into lanes from the first on, or its magnitudes; return where they end."""
    lanes = first
    for i in range(0, len(numeric), LANES):
        x = load(numeric, i)
        scratch.lane_start[lanes] = i
        store(scratch.lane, lanes * LANES, x if signed else absolute(x))
        lanes += 1
    for j in range(len(codes)):
        lanes = _put_one(scratch, first, lanes, codes[j])
    return lanes


@inner
def _bet(counts: Any, scorer: Scorer, scratch: Scratch, n_groups: int, target: float, weight: float) -> None:
    """Learn that the pair's score should have been the target, by betting on each weight's gradient."""
    prediction = norm = 0.0
    for g in range(n_groups):
        more, more_norm = _weigh(scorer, scratch, g)
        prediction, norm = prediction + more, norm + more_norm
    if norm == 0:  # the same key: its score cannot change
        return
    counts.scale += weight * norm
    counts.scale_weight += weight
    shrink = counts.scale_weight / (counts.scale + 1e-6)  # one over the average norm
    prediction = min(max(prediction * shrink, 0.0), MAX_SCORE)
    real = scorer.weight.dtype.type
    slope = real(2 * (prediction - target) * weight)
    for g in range(n_groups):
        _pay(scorer, scratch, g, slope, real(shrink))


@inner
def _weigh(scorer: Scorer, scratch: Scratch, group: int) -> tuple[float, float]:
    """Return a group's shares of the score and of the norm, and keep what its weights stake."""
    bet, turnover, max_z, wealth, max_slope = scorer.coin
    real = scorer.weight.dtype.type
    zero, tiniest, alpha = real(0), real(TINIEST), real(ALPHA)
    prediction, norm = full(zero), full(zero)
    stakes = _first_stake(scratch, group)
    row, end_row, lane, end_lane = scratch.group[group]
    for r in range(row, end_row):
        for k in range(lane, end_lane):
            z, at = scratch.row_factor[r] * load(scratch.lane, k * LANES), scratch.row_start[r] + scratch.lane_start[k]
            size = absolute(z)
            there = greater(size, tiniest)
            if bits(there) != 0:
                greatest = larger(load(max_z, at), size)
                most = load(max_slope, at) * greatest
                stake = (alpha + load(wealth, at)) * load(bet, at) / (most * (most + load(turnover, at)))
                stake = where(greater(where(there, most, zero), zero), stake, zero)
                store(scratch.stake, stakes, stake)
                prediction = prediction + stake * z
                share = where(there, z / greatest, zero)
                norm = norm + share * share
            stakes += LANES
    return total(prediction), total(norm)


@inner
def _pay(scorer: Scorer, scratch: Scratch, group: int, slope: float, shrink: float) -> None:
    """Let a group's weights win or lose what they have staked; where z is 0, all stays as it is."""
    bet, turnover, max_z, wealth, max_slope = scorer.coin
    real = scorer.weight.dtype.type
    zero, tiniest, alpha, beta, greatest_of = real(0), real(TINIEST), real(ALPHA), real(BETA), real(GREATEST)
    steep = abs(slope)
    stakes = _first_stake(scratch, group)
    row, end_row, lane, end_lane = scratch.group[group]
    for r in range(row, end_row):
        for k in range(lane, end_lane):
            z, at = scratch.row_factor[r] * load(scratch.lane, k * LANES), scratch.row_start[r] + scratch.lane_start[k]
            there = greater(absolute(z), tiniest)
            if bits(there) != 0:
                z = where(there, z, zero)
                stake = load(scratch.stake, stakes)
                old_bet, old_turnover, old_wealth = load(bet, at), load(turnover, at), load(wealth, at)
                greatest, steepest = larger(load(max_z, at), absolute(z)), load(max_slope, at)
                if bits(greater(steep, steepest)) != 0:
                    steeper = where(greater(steep, steepest), max(steep, beta), steepest)
                    most = steeper * greatest
                    stake = (alpha + old_wealth) * old_bet / (most * (most + old_turnover))
                    stake = where(greater(where(there, most, zero), zero), stake, zero)
                    store(max_slope, at, where(there, steeper, steepest))
                gradient = slope * z
                store(max_z, at, greatest)
                store(bet, at, old_bet - gradient)
                store(turnover, at, old_turnover + absolute(gradient))
                store(wealth, at, smaller(old_wealth - gradient * stake, greatest_of))
                learned = larger(smaller(stake * shrink, greatest_of), -greatest_of)
                store(scorer.weight, at, where(there, learned, load(scorer.weight, at)))
            stakes += LANES


@inner
def _first_stake(scratch: Scratch, group: int) -> int:
    """Return where the stakes of a group start: those of the groups before it come first."""
    stakes = 0
    for g in range(group):
        row, end_row, lane, end_lane = scratch.group[g]
        stakes += (end_row - row) * (end_lane - lane) * LANES
    return stakes


@inner
def _score(weight: np.ndarray, scratch: Scratch, n_groups: int) -> float:
    sums = full(weight.dtype.type(0))
    for g in range(n_groups):
        row, end_row, lane, end_lane = scratch.group[g]
        for r in range(row, end_row):
            for k in range(lane, end_lane):
                z = scratch.row_factor[r] * load(scratch.lane, k * LANES)
                sums = sums + load(weight, scratch.row_start[r] + scratch.lane_start[k]) * z
    return float(total(sums))


@inner
def _descend(weight: np.ndarray, scratch: Scratch, n_groups: int, score: float, target: float, step: float) -> None:
    """Take one step of w <- w - eta dL/dw for L = (max(0, <w, z>) - target)^2; a clipped score has no slope."""
    if score <= 0:
        return
    real = weight.dtype.type
    slope, greatest = real(2 * step * (score - target)), real(GREATEST)
    for g in range(n_groups):
        row, end_row, lane, end_lane = scratch.group[g]
        for r in range(row, end_row):
            for k in range(lane, end_lane):
                at = scratch.row_start[r] + scratch.lane_start[k]
                old = load(weight, at)
                stepped = old - slope * (scratch.row_factor[r] * load(scratch.lane, k * LANES))
                store(weight, at, where(greater(greatest, absolute(stepped)), stepped, old))
