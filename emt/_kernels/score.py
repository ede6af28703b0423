"""PredictScorer for a whole leaf (Algorithm 2): how unlike the query each memory is.

The xa block is never built. With z = |f1 - f2| a memory of the query's own action differs in the x block and, by the
same amounts, in that action's xa block; a memory of another action differs in the x block, in both action indicators
and in all of both xa blocks. One pass over a memory therefore gives its score for *every* action the query may have.

The levels of a categorical column need no look-up per memory either: the weights at the query's levels plus those at
the memory's, less twice those at the levels they share. The memory's sum changes only with the weights, and is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import njit, njit_inline
from emt._kernels.leaf import list_rows
from emt._kernels.rng import uniform
from emt._kernels.state import DISTANCE, FAR, NEAR, OTHER, SAME, SCORE, Tree, filled

__all__ = [
    *("MAX_SCORE", "action_scores", "any_least", "argmin"),
    *("least", "prepare_query", "scan", "squared_norm"),
]

MAX_SCORE = 3  # as run, scores are clipped to [0, 3]; as printed they are clipped at 0 alone


@njit_inline
def squared_norm(numeric: np.ndarray, n_codes: int) -> float:
    """Return the squared norm of a key's x block, where each categorical column has one indicator that is 1."""
    total = numeric.dtype.type(0)
    for i in range(len(numeric)):
        total += numeric[i] * numeric[i]
    return total + np.float32(n_codes)


@njit
def prepare_query(tree: Tree, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Begin a query: gather the weights that it meets in every memory, at its codes and in its xa block per action."""
    tree.count.query += 1
    tree.count.used = 0
    for i in range(len(numeric)):
        tree.query[i] = numeric[i]
    if tree.config.interaction:
        _image(tree, numeric, codes)
        return
    n_inputs = tree.config.n_inputs
    w_x, w_a = tree.weight[:n_inputs], tree.weight[n_inputs:]
    for j in range(len(codes)):
        tree.match[0, j] = w_x[codes[j]]
    for a in range(tree.config.n_actions):
        block = n_inputs + tree.config.n_actions + a * n_inputs
        dense, levels = _own(numeric, codes, tree.weight[block : block + n_inputs], tree.match[a + 1])
        tree.query_own[a, 0] = levels
        tree.query_own[a, 1] = dense + levels + w_a[a]


@njit
def scan(tree: Tree, leaf: int, numeric: np.ndarray, codes: np.ndarray) -> int:
    """Score a leaf's memories for a query of their own action (``same``) and of any other (``other``), once per query.

    ``other`` lacks the query's own share, which depends on its action: `action_scores` adds it.
    An exact match has ``same`` = minus infinity. Returns where the leaf's candidates start.
    """
    if tree.nodes[leaf].scanned == tree.count.query:
        return tree.nodes[leaf].start
    config, start = tree.config, tree.count.used
    n = list_rows(tree, leaf, tree.candidate[start:])
    end = start + filled(n)
    if config.interaction:
        nearest = _scan_products(tree, start, n, numeric, codes)
    else:
        nearest = _scan_differences(tree, start, n, codes)
    for k in range(start + n, end):  # what fills up is further away than anything
        tree.candidate[k] = tree.candidate_action[k] = 0
        tree.work[DISTANCE, k] = 0
        tree.work[SAME, k] = tree.work[OTHER, k] = np.inf
    if config.as_run:
        distance, near, far = tree.work[DISTANCE, start:end], tree.work[NEAR, start:end], tree.work[FAR, start:end]
        query_square = squared_norm(numeric, len(codes))
        for k in range(end - start):
            far[k] = query_square + tree.square[tree.candidate[start + k]]
        _add_initial(distance, near, far, tree.work[SAME, start:end], tree.work[OTHER, start:end], config.crossed)
    # Squares of tiny differences vanish, so a distance of zero is only a hint.
    if nearest < 1e-12 and (config.as_run or not config.interaction):
        for k in range(start, start + n):
            index = tree.candidate[k]
            if _equal(numeric, codes, tree.numeric[index], tree.codes[index]):
                tree.work[SAME, k] = -np.inf
    tree.nodes[leaf].start, tree.nodes[leaf].scanned = start, tree.count.query
    tree.count.used = end
    return start


@njit_inline
def action_scores(tree: Tree, start: int, n: int, action: int) -> None:
    """Write the scores of the scanned memories for a query with this action (Algorithm 2, PredictScorer)."""
    end = start + filled(n)
    actions, score = tree.candidate_action[start:end], tree.work[SCORE, start:end]
    same, other = tree.work[SAME, start:end], tree.work[OTHER, start:end]
    most = tree.weight.dtype.type(MAX_SCORE if tree.config.as_run else np.inf)
    if not tree.config.interaction:
        _combine(actions, same, other, score, np.uint32(action), tree.query_own[action, 1], most)
        return
    # The ablation: what the query's action indicator meets is its row of the weights times each memory.
    n_all = tree.config.n_inputs + tree.config.n_actions
    row = (tree.config.n_inputs + action) * n_all
    weights = tree.weight[row : row + n_all]
    for k in range(end - start):
        score[k] = same[k] if actions[k] == np.uint32(action) else other[k]
        if tree.config.has_action:
            memory = tree.candidate[start + k]
            indicator = tree.config.n_inputs + actions[k]
            score[k] += _times_key(weights, tree.numeric[memory], tree.codes[memory], tree.config.n_numeric, indicator)
    _combine(actions, score, score, score, np.uint32(action), tree.weight.dtype.type(0), most)


@njit_inline
def argmin(tree: Tree, start: int, n: int) -> int:
    """Return the candidate with the least score; ties are broken at random, among exact matches the latest wins."""
    score = tree.work[SCORE, start : start + filled(n)]
    lowest = least(score)
    if lowest != -np.inf:
        return start + min(any_least(score, lowest, tree.count), n - 1)  # where all overflow, all are infinite
    latest, position = -1, -1
    for k in range(start, start + n):
        serial = tree.memories[tree.candidate[k]].serial
        if tree.work[SCORE, k] == lowest and serial > latest:
            latest, position = serial, k
    return position


@njit
def least(values: np.ndarray) -> float:
    """Return the least of many numbers."""
    lowest = values[0]
    for k in range(len(values)):
        lowest = values[k] if values[k] < lowest else lowest
    return lowest


@njit
def any_least(values: np.ndarray, lowest: float, rng: Any) -> int:
    """Return the position of the least number; of several, any."""
    n_tied = np.int32(0)
    for k in range(len(values)):
        n_tied = np.int32(n_tied + (np.int32(1) if values[k] == lowest else np.int32(0)))
    skip = int(uniform(rng) * n_tied) if n_tied > 1 else 0
    for k in range(len(values)):
        if values[k] == lowest:
            if skip == 0:
                return k
            skip -= 1
    return len(values) - 1  # not a number


@njit_inline
def _combine(
    actions: np.ndarray,
    same: np.ndarray,
    other: np.ndarray,
    score: np.ndarray,
    action: int,
    share: float,
    most: float,
) -> None:
    """Take each memory's score as its action demands, and clip it.

    Below at 0, so that no memory beats an exact match, whose score is minus infinity; and above, as run. What fills up
    stays infinite.
    """
    zero = score.dtype.type(0)
    for k in range(len(score)):
        s = same[k] if actions[k] == action else other[k] + share
        clipped = s if s < most else most  # where numbers overflow, NaN too
        clipped = clipped if clipped > zero else zero
        score[k] = s if abs(s) == np.inf else clipped


@njit_inline
def _scan_differences(tree: Tree, start: int, n: int, codes: np.ndarray) -> float:
    """<w, z> with z = |f1 - f2|, the self-consistent scorer; return the least squared distance."""
    n_inputs, n_actions = tree.config.n_inputs, tree.config.n_actions
    w_a, w_xa = tree.weight[n_inputs : n_inputs + n_actions], tree.weight[n_inputs + n_actions :]
    end = start + n
    _numeric_differences(
        tree.query,
        tree.numeric,
        tree.action,
        tree.weight,
        w_a,
        w_xa[: n_actions * n_inputs].reshape(n_actions, n_inputs),
        tree.candidate[start:end],
        tree.candidate_action[start:end],
        tree.work[:, start:end],
    )
    if len(codes):
        _level_differences(tree, start, n, codes)
    return least(tree.work[DISTANCE, start:end])


@njit
def _numeric_differences(
    query: np.ndarray,
    numeric: np.ndarray,
    action: np.ndarray,
    w_x: np.ndarray,
    w_a: np.ndarray,
    w_xa: np.ndarray,
    rows: np.ndarray,
    actions: np.ndarray,
    work: np.ndarray,
) -> None:
    """Write each memory's share of the numeric coordinates: under its own action, under any other, and |z|^2."""
    same_of, other_of, distance_of = work[SAME], work[OTHER], work[DISTANCE]
    for k in range(len(rows)):
        a = action[rows[k]]
        theirs, crossed = numeric[rows[k]], w_xa[a]
        same = other = distance = query.dtype.type(0)
        for i in range(len(query)):
            z = abs(query[i] - theirs[i])
            same += z * (w_x[i] + crossed[i])
            other += z * w_x[i] + abs(theirs[i]) * crossed[i]
            distance += z * z
        same_of[k], other_of[k], distance_of[k], actions[k] = same, other + w_a[a], distance, a


@njit
def _level_differences(tree: Tree, start: int, n: int, codes: np.ndarray) -> None:
    """Add each memory's share of the categorical columns."""
    query_x, n_codes = tree.weight.dtype.type(0), len(codes)
    for j in range(n_codes):
        query_x += tree.match[0, j]
    for k in range(start, start + n):
        index, action = tree.candidate[k], tree.candidate_action[k]
        if tree.memories[index].own_version != tree.count.version:
            _refresh(tree, index)
        shared_x, shared_xa, n_shared = _shared_levels(codes, tree.codes[index], tree.match[0], tree.match[action + 1])
        in_x = query_x - (shared_x + shared_x) + tree.own_levels[index]
        tree.work[SAME, k] += in_x + tree.query_own[action, 0] - (shared_xa + shared_xa)
        tree.work[OTHER, k] += in_x
        tree.work[DISTANCE, k] += np.float32(2 * (n_codes - n_shared))


@njit_inline
def _shared_levels(
    codes: np.ndarray, theirs: np.ndarray, w_x: np.ndarray, w_xa: np.ndarray
) -> tuple[float, float, np.int32]:
    """Return the weights at the levels that two keys share, in the x block and in an xa block, and their number."""
    zero = w_x.dtype.type(0)
    in_x = in_xa = zero
    n_shared = np.int32(0)
    for j in range(len(codes)):
        shared = codes[j] == theirs[j]
        in_x += w_x[j] if shared else zero
        in_xa += w_xa[j] if shared else zero
        n_shared += np.int32(shared)
    return in_x, in_xa, n_shared


@njit
def _own(numeric: np.ndarray, codes: np.ndarray, w: np.ndarray, at_codes: np.ndarray) -> tuple[float, float]:
    """Return <w, |x|> of a key's numeric coordinates and of its levels, and write the weights at its levels."""
    dense = levels = w.dtype.type(0)
    for i in range(len(numeric)):
        dense += abs(numeric[i]) * w[i]
    for j in range(len(codes)):
        at_codes[j] = w[codes[j]]
        levels += w[codes[j]]
    return dense, levels


@njit
def _refresh(tree: Tree, index: int) -> None:
    """Renew the sum of the weights at a memory's levels, in the x block and in its own xa block."""
    n_inputs = tree.config.n_inputs
    block = n_inputs + tree.config.n_actions + tree.action[index] * n_inputs
    w_x, w_xa = tree.weight[:n_inputs], tree.weight[block : block + n_inputs]
    levels = w_x.dtype.type(0)
    for j in range(tree.codes.shape[1]):
        levels += w_x[tree.codes[index, j]] + w_xa[tree.codes[index, j]]
    tree.own_levels[index] = levels
    tree.memories[index].own_version = tree.count.version


@njit
def _image(tree: Tree, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Multiply the query's x block with the ablation's weights: z = f1 f2' is a matrix, but <w, z> = (f1 W) f2."""
    n_all = tree.config.n_inputs + tree.config.n_actions
    for k in range(n_all):
        tree.image[k] = 0
    for i in range(len(numeric)):
        for k in range(n_all):
            tree.image[k] += numeric[i] * tree.weight[i * n_all + k]
    for j in range(len(codes)):
        for k in range(n_all):
            tree.image[k] += tree.weight[codes[j] * n_all + k]


@njit_inline
def _times_key(vector: np.ndarray, numeric: np.ndarray, codes: np.ndarray, n_numeric: int, indicator: int) -> float:
    """Return <vector, f> of a key's x and a blocks; ``indicator`` is where its action is, if it has one."""
    total = vector.dtype.type(0)
    for i in range(n_numeric):
        total += vector[i] * numeric[i]
    for j in range(len(codes)):
        total += vector[codes[j]]
    if indicator >= 0:
        total += vector[indicator]
    return total


@njit
def _scan_products(tree: Tree, start: int, n: int, numeric: np.ndarray, codes: np.ndarray) -> float:
    """<w, z> with z = all products of the two keys' coordinates, the ablation's scorer; return the least distance."""
    nearest = tree.weight.dtype.type(np.inf)
    for k in range(start, start + n):
        index = tree.candidate[k]
        distance = tree.weight.dtype.type(0)
        for i in range(len(numeric)):
            z = numeric[i] - tree.numeric[index, i]
            distance += z * z
        for j in range(len(codes)):
            distance += np.float32(2 * (codes[j] != tree.codes[index, j]))
        indicator = tree.config.n_inputs + tree.action[index] if tree.config.has_action else -1
        product = _times_key(tree.image, tree.numeric[index], tree.codes[index], tree.config.n_numeric, indicator)
        tree.work[SAME, k] = tree.work[OTHER, k] = product
        tree.work[DISTANCE, k] = distance
        tree.candidate_action[k] = tree.action[index]
        nearest = min(nearest, distance)
    return nearest


@njit_inline
def _add_initial(
    distance: np.ndarray, near: np.ndarray, far: np.ndarray, same: np.ndarray, other: np.ndarray, crossed: bool
) -> None:
    """As run, a score starts from 1 - exp(-|f1 - f2|), the distance over all blocks that the scorer sees.

    In the same xa block the same difference counts twice. Two xa blocks have nothing in common: ``far`` brings the
    squared norms of the two keys' x blocks together.
    """
    real = distance.dtype.type
    one, twice, apart = real(1), real(2 if crossed else 1), real(1 if crossed else 0)
    for k in range(len(distance)):
        near[k] = np.sqrt(twice * distance[k])
        far[k] = np.sqrt(distance[k] + real(2) + apart * far[k])  # two action indicators differ
    _exp_minus(near)
    _exp_minus(far)
    for k in range(len(distance)):
        same[k] += one - near[k]
        other[k] += one - far[k]


@njit_inline
def _exp_minus(x: np.ndarray) -> None:
    """Replace x >= 0 by exp(-x), by arithmetic alone so that it vectorises.

    A series gives exp(-x / 16), which is squared four times. The absolute error is below 1e-11 in double precision.
    """
    real = x.dtype.type
    one = real(1)
    c2, c3, c4, c5, c6 = real(1 / 2), real(1 / 3), real(1 / 4), real(1 / 5), real(1 / 6)
    c7, c8, c9, c10 = real(1 / 7), real(1 / 8), real(1 / 9), real(1 / 10)
    for k in range(len(x)):
        t = x[k] * real(1 / 16)
        t = t if t < real(2) else real(2)  # exp(-32) is as good as nought
        e = one - t * c7 * (one - t * c8 * (one - t * c9 * (one - t * c10)))
        e = one - t * (one - t * c2 * (one - t * c3 * (one - t * c4 * (one - t * c5 * (one - t * c6 * e)))))
        e *= e
        e *= e
        e *= e
        x[k] = e * e


@njit
def _equal(numeric: np.ndarray, codes: np.ndarray, their_numeric: np.ndarray, their_codes: np.ndarray) -> bool:
    for i in range(len(numeric)):
        if numeric[i] != their_numeric[i]:
            return False
    for j in range(len(codes)):  # noqa: SIM110 (numba has no all())
        if codes[j] != their_codes[j]:
            return False
    return True
