"""Loops over keys and over scores: the one place for sums over numeric coordinates and codes.

A *key* is a row of numeric coordinates and a row of codes. A code is the position of a level's indicator among all
coordinates, so that code ``c`` of a categorical column reads weight ``c``, and the indicators are never made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from emt._kernels.compile import inline, inner, inner_strict
from emt._kernels.lanes import LANES, bits, count, equal, first, full, load, smaller, smallest, total
from emt._kernels.rng import uniform

__all__ = [
    "any_least",
    "equal_keys",
    "filled",
    "least",
    "lengthen",
    "offsets",
    "ordered_dot",
    "padded_dot",
    "squared_norm",
]

ROUND = 32  # rows of numbers about a leaf's memories are filled up to a multiple of this


def offsets(n_numeric: int, n_levels: Sequence[int]) -> np.ndarray:
    """Return what turns the levels of each categorical column into codes.

    Examples
    --------
    >>> offsets(2, [3, 5])
    array([2, 5], dtype=int32)
    """
    return np.array([*accumulate(n_levels, initial=n_numeric)][:-1], np.int32)


def lengthen(array: np.ndarray, length: int) -> np.ndarray:
    """Return the array with zeros after it, so many rows in all."""
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@inline
def filled(n: int) -> int:
    """Return the next multiple of 32: loops over so many have no odd ends, which would take as long as the rest."""
    return (n + ROUND - 1) // ROUND * ROUND


@inline
def padded_dot(weights: np.ndarray, numeric: np.ndarray, codes: np.ndarray) -> float:
    """Return <weights, key>; both rows of numbers are as long as whole lanes, and the key's is filled up with zeros."""
    sums = full(weights.dtype.type(0))
    for i in range(0, len(numeric), LANES):
        sums = sums + load(weights, i) * load(numeric, i)
    result = total(sums)
    for j in range(len(codes)):
        result += weights[codes[j]]
    return result


@inner_strict
def ordered_dot(weights: np.ndarray, numeric: np.ndarray, codes: np.ndarray) -> float:
    """Return <weights, key>, the same bits wherever it is called.

    A split and every later query must agree on which side of a boundary a key is: hence sums in a fixed order, in four
    lanes that the processor adds up side by side.
    """
    n = len(numeric)
    s0 = s1 = s2 = s3 = weights.dtype.type(0)
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += weights[i] * numeric[i]
        s1 += weights[i + 1] * numeric[i + 1]
        s2 += weights[i + 2] * numeric[i + 2]
        s3 += weights[i + 3] * numeric[i + 3]
    for i in range(whole, n):
        s0 += weights[i] * numeric[i]
    for j in range(len(codes)):
        s1 += weights[codes[j]]
    return (s0 + s1) + (s2 + s3)


@inline
def squared_norm(numeric: np.ndarray, n_codes: int) -> float:
    """Return the squared norm of a key, in which each categorical column has one indicator that is 1."""
    total = numeric.dtype.type(0)
    for i in range(len(numeric)):
        total += numeric[i] * numeric[i]
    return total + np.float32(n_codes)


@inner
def equal_keys(numeric: np.ndarray, codes: np.ndarray, their_numeric: np.ndarray, their_codes: np.ndarray) -> bool:
    """Tell whether two keys are the same; the second's row of numeric coordinates may be longer."""
    for i in range(len(numeric)):
        if numeric[i] != their_numeric[i]:
            return False
    for j in range(len(codes)):  # noqa: SIM110 (numba has no all())
        if codes[j] != their_codes[j]:
            return False
    return True


@inner
def least(values: np.ndarray) -> float:
    """Return the least of many numbers, whole lanes of them."""
    found = load(values, 0)
    for k in range(LANES, len(values), LANES):
        found = smaller(load(values, k), found)
    return smallest(found)


@inner
def any_least(values: np.ndarray, lowest: float, stream: Any) -> int:
    """Return the position of the least of many numbers, whole lanes of them; of several, any."""
    n_tied, position = 0, len(values) - 1  # what is not a number equals nothing
    for k in range(0, len(values), LANES):
        here = bits(equal(load(values, k), lowest))
        if here != 0:
            position = k + first(here) if n_tied == 0 else position
            n_tied += count(here)
    if n_tied > 1:
        skip = int(uniform(stream) * n_tied)
        for k in range(position, len(values)):
            if values[k] == lowest:
                if skip == 0:
                    return k
                skip -= 1
    return position
