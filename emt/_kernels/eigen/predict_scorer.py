"""PredictScorer for a whole leaf (Algorithm 2): how unlike the query each memory is.

    score(f, f') = clip(<w, z> + 1 - exp(-|f - f'|)),    z = |f - f'| coordinate by coordinate

f is a key over the x, a and xa blocks. The xa block is never built. A memory of the query's own action differs in the
x block and, by the same amounts, in that action's xa block; a memory of another action differs in the x block, in both
action indicators and in all of both xa blocks. One pass over a memory therefore gives its score for *every* action the
query may have: ``same`` and ``other``.

The levels of a categorical column need one look-up per memory: the weights at the query's levels plus those at the
memory's, less twice those at the levels they share. Each action has a table of what a level comes to, in the x block
and in its own xa block together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inline, inner
from emt._kernels.eigen.leaf import list_rows
from emt._kernels.eigen.state import PAGE, Memories, Scorer, Scratch, Tree
from emt._kernels.lanes import LANES, absolute, bits, count, fetch, full, load, matches, nonzero, store, total, where
from emt._kernels.vector import any_least, equal_keys, filled, least, padded_dot, squared_norm

__all__ = ["MAX_SCORE", "argmin", "begin_question", "scan", "score_action"]

MAX_SCORE = 3  # scores that start from the distance are clipped to [0, 3], others at 0 alone
FETCHED, LINE = 1024, 16  # so many numbers of a page are fetched ahead, and so many at once: the others follow


@inner
def begin_question(
    options: Any,
    counts: Any,
    scorer: Scorer,
    scratch: Scratch,
    numeric: np.ndarray,
    codes: np.ndarray,
    first_action: int,
    end_action: int,
) -> None:
    """Begin a query with some of the actions.

    Gathers the weights that it meets in every memory: at its codes, and in its xa block with each of these actions.
    """
    counts.question += 1
    counts.scanned = 0
    for i in range(len(numeric)):
        scratch.numeric[i] = numeric[i]
    if options.products:
        _multiply(scorer.weight, options.n_inputs + options.n_actions, numeric, codes, scratch.image)
        return
    n_inputs, n_actions = options.n_inputs, options.n_actions
    for j in range(len(codes)):
        scratch.codes[j] = codes[j]
        scratch.at_codes[0, j] = scorer.weight[codes[j]]
    for a in range(first_action, end_action):
        block = n_inputs + n_actions + a * n_inputs
        w = scorer.weight[block : block + n_inputs]
        dense, levels = _own_share(numeric, codes, w, scratch.at_codes[a + 1], options.signed)
        scratch.own_levels[a] = levels
        scratch.own[a] = dense + levels + scorer.weight[n_inputs + a]


@inner
def scan(tree: Tree, leaf: int, numeric: np.ndarray, codes: np.ndarray) -> int:
    """Score a leaf's memories for a query of their own action (``same``) and of any other (``other``), once a question.

    ``other`` lacks the query's own share, which depends on its action: `score_action` adds it.
    An exact match has ``same`` = minus infinity. Returns where the leaf's candidates start.
    """
    options, counts, scratch = tree.options, tree.counts, tree.scratch
    node = tree.nodes.node[leaf]
    if node.scanned == counts.question:
        return node.start
    start, end = counts.scanned, counts.scanned + filled(node.size)
    n = list_rows(tree.nodes, leaf, scratch.candidate[start:end])
    _fetch_pages(tree.memories, scratch.candidate[start : start + n])
    _copy_pages(tree.memories, scratch, start, n, squared_norm(numeric, len(codes)))
    for k in range(start + n, end):  # what fills up is further away than anything
        scratch.candidate[k] = scratch.action[k] = 0
        scratch.distance[k] = scratch.same[k] = scratch.other[k] = np.inf
    if options.products:
        _scan_products(options, tree.memories, scratch, start, n, codes)
    else:
        _scan_differences(options, tree.memories, tree.scorer, scratch, start, n, codes)
    distance = scratch.distance[start:end]
    nearest = least(distance)
    if options.initial:
        same, other = scratch.same[start:end], scratch.other[start:end]
        _add_initial(distance, scratch.near[start:end], scratch.far[start:end], same, other, options.crossed)
    # Squares of tiny differences vanish, so a distance of zero is only a hint.
    if nearest < 1e-12 and options.exact:
        for k in range(start, start + n):
            row = scratch.candidate[k]
            if equal_keys(numeric, codes, tree.memories.numeric[row], tree.memories.codes[row]):
                scratch.same[k] = -np.inf
    node.start, node.scanned = start, counts.question
    counts.scanned = end
    return start


@inner
def _fetch_pages(memories: Memories, rows: np.ndarray) -> None:
    """Have the pages of a leaf fetched side by side: those of a large tree are all over the main memory."""
    width, n_padded = memories.numeric.shape[1], memories.codes.shape[1]
    for k in range(0, len(rows), PAGE):
        row = np.int64(rows[k])
        fetch(memories.action, row)
        fetch(memories.square, row)
        fetch(memories.value, row)
        fetch(memories.value, row + PAGE // 2)
        for i in range(0, min(PAGE * width, FETCHED), LINE):
            fetch(memories.numeric, row * width + i)
        fetch(memories.codes, row * n_padded)


@inner
def _copy_pages(memories: Memories, scratch: Scratch, start: int, n: int, query_square: float) -> None:
    """Put each candidate's action, and its squared norm and the query's together, beside each other."""
    for k in range(start, start + n, PAGE):
        row = scratch.candidate[k]
        action, square = memories.action[row : row + PAGE], memories.square[row : row + PAGE]
        actions, far = scratch.action[k : k + PAGE], scratch.far[k : k + PAGE]
        for i in range(PAGE):
            actions[i] = action[i]
            far[i] = query_square + square[i]


@inline
def score_action(
    options: Any, memories: Memories, scorer: Scorer, scratch: Scratch, start: int, n: int, action: int
) -> None:
    """Write the scores of the scanned memories for a query with this action (Algorithm 2, PredictScorer)."""
    end = start + filled(n)
    actions, score = scratch.action[start:end], scratch.score[start:end]
    same, other = scratch.same[start:end], scratch.other[start:end]
    most = scorer.weight.dtype.type(MAX_SCORE if options.initial else np.inf)
    if not options.products:
        _combine(actions, same, other, score, np.uint32(action), scratch.own[action], most)
    else:
        # The ablation: what the query's action indicator meets is its row of the weights times each memory.
        n_all = options.n_inputs + options.n_actions
        weights = scorer.weight[(options.n_inputs + action) * n_all : (options.n_inputs + action + 1) * n_all]
        for k in range(end - start):
            score[k] = same[k] if actions[k] == np.uint32(action) else other[k]
            if options.has_action:
                row = scratch.candidate[start + k]
                score[k] += (
                    padded_dot(weights, memories.numeric[row], memories.codes[row, : options.n_codes])
                    + weights[options.n_inputs + actions[k]]
                )
        _combine(actions, score, score, score, np.uint32(action), scorer.weight.dtype.type(0), most)


@inline
def argmin(counts: Any, record: np.ndarray, scratch: Scratch, start: int, n: int) -> int:
    """Return the candidate with the least score; ties are broken at random, among exact matches the latest wins."""
    score = scratch.score[start : start + filled(n)]
    lowest = least(score)
    if lowest != -np.inf:
        position = start + min(any_least(score, lowest, counts), n - 1)  # where all overflow, all are infinite
    else:
        latest = position = -1
        for k in range(start, start + n):
            serial = record[scratch.candidate[k]].serial
            if scratch.score[k] == lowest and serial > latest:
                latest, position = serial, k
    return position


@inline
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

    Below at 0, so that no memory beats an exact match, whose score is minus infinity; and above, if there is a most.
    What fills up stays infinite.
    """
    zero = score.dtype.type(0)
    for k in range(len(score)):
        s = same[k] if actions[k] == action else other[k] + share
        clipped = s if s < most else most  # where numbers overflow, NaN too
        clipped = clipped if clipped > zero else zero
        score[k] = s if abs(s) == np.inf else clipped


@inline
def _scan_differences(
    options: Any, memories: Memories, scorer: Scorer, scratch: Scratch, start: int, n: int, codes: np.ndarray
) -> None:
    """<w, z> with z = |f - f'|, the self-consistent scorer."""
    n_inputs, n_actions, end = options.n_inputs, options.n_actions, start + n
    _numeric_differences(
        scratch.numeric,
        memories.numeric,
        scorer.weight,
        scorer.weight[n_inputs : n_inputs + n_actions],
        scorer.weight[n_inputs + n_actions :],
        n_inputs,
        options.signed,
        scratch.candidate[start:end],
        scratch.action[start:end],
        scratch.same[start:end],
        scratch.other[start:end],
        scratch.distance[start:end],
    )
    if len(codes):
        _level_differences(memories.codes, scorer, scratch, start, end, codes)


@inner
def _numeric_differences(
    query: np.ndarray,
    numeric: np.ndarray,
    w_x: np.ndarray,
    w_a: np.ndarray,
    w_xa: np.ndarray,
    n_inputs: int,
    signed: bool,
    rows: np.ndarray,
    actions: np.ndarray,
    same_of: np.ndarray,
    other_of: np.ndarray,
    distance_of: np.ndarray,
) -> None:
    """Write each memory's share of the numeric coordinates: under its own action, under any other, and |z|^2.

    The padding of the coordinates meets the weights that follow those of its action's block, but adds nothing.
    """
    zero, width = query.dtype.type(0), len(query)
    for k in range(len(rows)):
        a = np.int64(actions[k])
        row, block = np.int64(rows[k]) * width, a * n_inputs
        same, other, distance = full(zero), full(zero), full(zero)
        for i in range(0, width, LANES):
            x, y, w, crossed = load(query, i), load(numeric, row + i), load(w_x, i), load(w_xa, block + i)
            z, size = differences(x, y, signed), y if signed else absolute(y)
            same = same + z * (w + crossed)
            other = other + (z * w + size * crossed)
            distance = distance + z * z
        same_of[k], other_of[k], distance_of[k] = total(same), total(other) + w_a[a], total(distance)


@inline
def differences(x: Any, theirs: Any, signed: bool) -> Any:
    """Return lanes of z: |x - x'|; a coordinate that only one key has (the other's is 0) may keep its sign."""
    z = absolute(x - theirs)
    if signed:
        z = where(nonzero(x), where(nonzero(theirs), z, x), theirs)
    return z


@inner
def _level_differences(
    codes_of: np.ndarray, scorer: Scorer, scratch: Scratch, start: int, end: int, codes: np.ndarray
) -> None:
    """Add each memory's share of the categorical columns."""
    query_x, n_codes = scorer.weight.dtype.type(0), len(codes)
    for j in range(n_codes):
        query_x += scratch.at_codes[0, j]
    for k in range(start, end):
        action, theirs = scratch.action[k], codes_of[scratch.candidate[k], :n_codes]
        shared_x, shared_xa, n_shared = _shared_levels(scratch, codes_of, scratch.candidate[k], action)
        in_x = query_x - (shared_x + shared_x) + _at_levels(theirs, scorer.level[action])
        scratch.same[k] += in_x + scratch.own_levels[action] - (shared_xa + shared_xa)
        scratch.other[k] += in_x
        scratch.distance[k] += np.float32(2 * (n_codes - n_shared))


@inner
def _at_levels(codes: np.ndarray, level: np.ndarray) -> float:
    """Return the sum of the weights at a memory's levels, in the x block and in its own xa block."""
    total = level.dtype.type(0)
    for j in range(len(codes)):
        total += level[np.uint32(codes[j])]
    return total


@inline
def _shared_levels(scratch: Scratch, codes_of: np.ndarray, row: int, action: int) -> tuple[float, float, int]:
    """Return the weights at the levels that two keys share, in the x block and in an xa block, and their number."""
    zero, width = scratch.score.dtype.type(0), len(scratch.codes)
    in_x, in_xa, n_shared = full(zero), full(zero), 0
    theirs, w_xa = np.int64(row) * width, (np.int64(action) + 1) * width
    for j in range(0, width, LANES):
        shared = matches(scratch.codes, j, codes_of, theirs + j)
        in_x = in_x + where(shared, load(scratch.at_codes, j), zero)
        in_xa = in_xa + where(shared, load(scratch.at_codes, w_xa + j), zero)
        n_shared += count(bits(shared))
    return total(in_x), total(in_xa), n_shared


@inner
def _own_share(
    numeric: np.ndarray, codes: np.ndarray, w: np.ndarray, at_codes: np.ndarray, signed: bool
) -> tuple[float, float]:
    """Return <w, |x|> of a key's numeric coordinates and of its levels, and write the weights at its levels."""
    dense = levels = w.dtype.type(0)
    if signed:
        for i in range(len(numeric)):
            dense += numeric[i] * w[i]
    else:
        for i in range(len(numeric)):
            dense += abs(numeric[i]) * w[i]
    for j in range(len(codes)):
        at_codes[j] = w[codes[j]]
        levels += w[codes[j]]
    return dense, levels


@inner
def _multiply(weight: np.ndarray, n_all: int, numeric: np.ndarray, codes: np.ndarray, image: np.ndarray) -> None:
    """Multiply the query's x block with the ablation's weights: z = f f' is a matrix, but <w, z> = (f W) f'.

    The padding of the image meets the weights that follow, and is never read.
    """
    for k in range(0, len(image), LANES):
        store(image, k, full(image.dtype.type(0)))
    for i in range(len(numeric)):
        if numeric[i] != 0:
            _add_row(weight, i * n_all, numeric[i], image)
    for j in range(len(codes)):
        _add_row(weight, codes[j] * n_all, image.dtype.type(1), image)


@inner
def _add_row(weight: np.ndarray, start: int, factor: float, image: np.ndarray) -> None:
    for k in range(0, len(image), LANES):
        store(image, k, load(image, k) + factor * load(weight, start + k))


@inner
def _scan_products(options: Any, memories: Memories, scratch: Scratch, start: int, n: int, codes: np.ndarray) -> None:
    """<w, z> with z = all products of the two keys' coordinates, the ablation's scorer."""
    for k in range(start, start + n):
        row = scratch.candidate[k]
        theirs, their_codes = memories.numeric[row], memories.codes[row, : options.n_codes]
        squares = full(scratch.image.dtype.type(0))
        for i in range(0, len(theirs), LANES):
            z = load(scratch.numeric, i) - load(theirs, i)
            squares = squares + z * z
        distance = total(squares)
        for j in range(len(codes)):
            distance += np.float32(2 * (codes[j] != their_codes[j]))
        product = padded_dot(scratch.image, theirs, their_codes)
        if options.has_action:
            product += scratch.image[options.n_inputs + memories.action[row]]
        scratch.same[k] = scratch.other[k] = product
        scratch.distance[k] = distance


@inline
def _add_initial(
    distance: np.ndarray, near: np.ndarray, far: np.ndarray, same: np.ndarray, other: np.ndarray, crossed: bool
) -> None:
    """Add 1 - exp(-|f - f'|) to each score, the distance over all blocks that the scorer sees.

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


@inline
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
