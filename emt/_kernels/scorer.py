"""UpdateScorer (Algorithm 2): the ranking update, by coin betting as run or by a gradient step as printed."""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit
from emt._kernels.rng import uniform
from emt._kernels.score import MAX_SCORE, any_least, argmin, least
from emt._kernels.state import RANK, SCORE, Tree, filled

__all__ = ["update_scorer"]

# Columns of Tree.coin, beside each weight: sum of negative gradients, sum of absolute gradients, greatest |z|,
# wealth, greatest gradient. Orabona and Tommasi (2017), as Vowpal Wabbit's --coin has it.
BET, TURNOVER, MAX_Z, WEALTH, MAX_GRADIENT = range(5)
ALPHA, BETA = 4.0, 1.0

TINIEST = 1e-18  # a smaller difference teaches nothing: its square vanishes in single precision
GREATEST = 1e15  # no weight and no wealth grows further, so that nothing overflows


@njit
def update_scorer(
    tree: Tree,
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
    best = argmin(tree, start, n)
    best_error = abs(value - tree.memories[tree.candidate[best]].value)
    alternative, alternative_error = _alternative(tree, start, n, best, value)
    if best_error == alternative_error:
        return False
    # The better of the two moves towards 0, the other towards 1.
    best_target = 1.0 if best_error > alternative_error else 0.0
    if tree.config.as_run:
        weight *= abs(best_error - alternative_error)
        if uniform(tree.count) < 0.5:
            _bet(tree, _pair(tree, best, numeric, codes, action), best_target, weight)
            _bet(tree, _pair(tree, alternative, numeric, codes, action), 1 - best_target, weight)
        else:
            _bet(tree, _pair(tree, alternative, numeric, codes, action), 1 - best_target, weight)
            _bet(tree, _pair(tree, best, numeric, codes, action), best_target, weight)
    else:
        # One gradient of both terms of the loss: both scores are taken before either step.
        best_score = _score(tree, _pair(tree, best, numeric, codes, action))
        n_z = _pair(tree, alternative, numeric, codes, action)
        _descend(tree, n_z, _score(tree, n_z), 1 - best_target, weight)
        _descend(tree, _pair(tree, best, numeric, codes, action), best_score, best_target, weight)
    tree.count.version += 1
    return True


@njit
def _alternative(tree: Tree, start: int, n: int, best: int, value: float) -> tuple[int, float]:
    """Return the memory, other than the best, whose value is nearest, and its error.

    Ties go to the better score, then to chance.
    """
    end = start + filled(n)
    error, score, rank = tree.error[start:end], tree.work[SCORE, start:end], tree.work[RANK, start:end]
    for k in range(n):
        error[k] = abs(value - tree.memories[tree.candidate[start + k]].value)
    for k in range(n, end - start):
        error[k] = np.inf
    error[best - start] = np.inf
    lowest = least(error)
    for k in range(end - start):
        rank[k] = score[k] if error[k] == lowest else np.float32(np.inf)
    return start + min(any_least(rank, least(rank), tree.count), n - 1), lowest


@njit
def _pair(tree: Tree, k: int, numeric: np.ndarray, codes: np.ndarray, action: int) -> int:
    """Write the non-zero coordinates of z for the query and a scanned memory; return how many."""
    memory = tree.candidate[k]
    if tree.config.interaction:
        return _products(tree, memory, numeric, codes, action)
    n_inputs, theirs = tree.config.n_inputs, tree.action[memory]
    blocks = n_inputs + tree.config.n_actions
    n = _differences(tree, 0, 0, memory, numeric, codes)
    if theirs == action:
        if tree.config.crossed:
            n = _differences(tree, n, blocks + action * n_inputs, memory, numeric, codes)
        return n
    n = _put(tree, n, n_inputs + action, tree.weight.dtype.type(0) + np.float32(1))
    n = _put(tree, n, n_inputs + theirs, tree.weight.dtype.type(0) + np.float32(1))
    if tree.config.crossed:  # nothing in common: all of the query's block and all of the memory's
        n = _magnitudes(tree, n, blocks + action * n_inputs, numeric, codes)
        theirs_numeric = tree.numeric[memory, : tree.config.n_numeric]
        n = _magnitudes(tree, n, blocks + theirs * n_inputs, theirs_numeric, tree.codes[memory])
    return n


@njit
def _put(tree: Tree, n: int, index: int, z: float) -> int:
    if abs(z) < TINIEST:
        return n
    tree.z[n].index = index
    tree.z[n].value = z
    return n + 1


@njit
def _differences(tree: Tree, n: int, block: int, memory: int, numeric: np.ndarray, codes: np.ndarray) -> int:
    one = tree.weight.dtype.type(0) + np.float32(1)
    for i in range(len(numeric)):
        n = _put(tree, n, block + i, abs(numeric[i] - tree.numeric[memory, i]))
    for j in range(len(codes)):
        if codes[j] != tree.codes[memory, j]:
            n = _put(tree, n, block + codes[j], one)
            n = _put(tree, n, block + tree.codes[memory, j], one)
    return n


@njit
def _magnitudes(tree: Tree, n: int, block: int, numeric: np.ndarray, codes: np.ndarray) -> int:
    for i in range(len(numeric)):
        n = _put(tree, n, block + i, abs(numeric[i]))
    for j in range(len(codes)):
        n = _put(tree, n, block + codes[j], tree.weight.dtype.type(0) + np.float32(1))
    return n


@njit
def _products(tree: Tree, memory: int, numeric: np.ndarray, codes: np.ndarray, action: int) -> int:
    one = tree.weight.dtype.type(0) + np.float32(1)
    n_all = tree.config.n_inputs + tree.config.n_actions
    n = 0
    for i in range(len(numeric)):
        if numeric[i] != 0:
            n = _row_of_products(tree, n, i * n_all, numeric[i], memory)
    for j in range(len(codes)):
        n = _row_of_products(tree, n, codes[j] * n_all, one, memory)
    if tree.config.has_action:
        n = _row_of_products(tree, n, (tree.config.n_inputs + action) * n_all, one, memory)
    return n


@njit
def _row_of_products(tree: Tree, n: int, row: int, x: float, memory: int) -> int:
    for i in range(tree.config.n_numeric):
        n = _put(tree, n, row + i, x * tree.numeric[memory, i])
    for j in range(tree.codes.shape[1]):
        n = _put(tree, n, row + tree.codes[memory, j], x)
    if tree.config.has_action:
        n = _put(tree, n, row + tree.config.n_inputs + tree.action[memory], x)
    return n


@njit
def _bet(tree: Tree, n_z: int, target: float, weight: float) -> None:
    """Learn that the pair's score should have been the target, by betting on each weight's gradient."""
    if n_z == 0:  # the same key: its score cannot change
        return
    coin = tree.coin
    prediction = norm = 0.0
    for k in range(n_z):
        i, z = tree.z[k].index, tree.z[k].value
        max_z = max(coin[i, MAX_Z], abs(z))
        most = coin[i, MAX_GRADIENT] * max_z
        if most > 0:
            prediction += _stake(coin[i, WEALTH], coin[i, TURNOVER], coin[i, BET], most) * z
        norm += (z / max_z) ** 2
    tree.count.scale += weight * norm
    tree.count.scale_weight += weight
    shrink = tree.count.scale_weight / (tree.count.scale + 1e-6)
    prediction = min(max(prediction * shrink, 0.0), MAX_SCORE)
    slope = 2 * (prediction - target) * weight
    for k in range(n_z):
        i, z = tree.z[k].index, tree.z[k].value
        coin[i, MAX_Z] = max(coin[i, MAX_Z], abs(z))
        if abs(slope) > coin[i, MAX_GRADIENT]:
            coin[i, MAX_GRADIENT] = max(abs(slope), BETA)
        most = coin[i, MAX_GRADIENT] * coin[i, MAX_Z]
        stake = _stake(coin[i, WEALTH], coin[i, TURNOVER], coin[i, BET], most) if most > 0 else 0.0
        gradient = slope * z
        coin[i, BET] -= gradient
        coin[i, TURNOVER] += abs(gradient)
        coin[i, WEALTH] = min(coin[i, WEALTH] - gradient * stake, GREATEST)
        tree.weight[i] = max(min(stake * shrink, GREATEST), -GREATEST)


@njit
def _stake(wealth: float, turnover: float, bet: float, most: float) -> float:
    return (ALPHA + wealth) * bet / (most * (most + turnover))


@njit
def _score(tree: Tree, n_z: int) -> float:
    total = 0.0
    for k in range(n_z):
        total += tree.weight[tree.z[k].index] * tree.z[k].value
    return total


@njit
def _descend(tree: Tree, n_z: int, score: float, target: float, weight: float) -> None:
    """Take one step of w <- w - eta dL/dw for L = (max(0, <w, z>) - target)^2; a clipped score has no slope."""
    if score <= 0:
        return
    step = 2 * tree.config.eta * weight * (score - target)
    for k in range(n_z):
        stepped = tree.weight[tree.z[k].index] - step * tree.z[k].value
        if abs(stepped) < GREATEST:
            tree.weight[tree.z[k].index] = stepped
