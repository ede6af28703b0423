"""Eight numbers at a time round as one at a time."""

import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from emt._kernels.lanes import (
    absolute,
    bits,
    count,
    equal,
    first,
    full,
    greater,
    larger,
    largest,
    load,
    matches,
    nonzero,
    root,
    smaller,
    smallest,
    store,
    total,
    where,
)

eight = arrays(np.float32, 8, elements=st.floats(width=32, allow_nan=False))


@numba.njit(error_model="numpy")
def compute(a, b, out):
    x, y = load(a, 0), load(b, 0)
    results = (
        x + y,
        x - y,
        x * y,
        x / y,
        absolute(x),
        larger(x, y),
        smaller(x, y),
        where(greater(x, y), x, full(b[0])),
        root(absolute(x)),
    )
    for k in range(len(results)):
        store(out, 8 * k, results[k])
    present = bits(nonzero(x))
    return total(x), largest(x), smallest(x), present, count(present), first(present), bits(equal(x, y))


@given(eight, eight)
def test_arithmetic_is_numpys(a, b):
    out = np.zeros(72, np.float32)
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, a / b, abs(a), np.where(a > b, a, b), np.where(a < b, a, b)]
        expected += [np.where(a > b, a, b[0]), np.sqrt(abs(a))]
        half = a[:4] + a[4:]
        half = half[:2] + half[2:]
        summed = half[0] + half[1]
    found, most, lowest, present, n_present, first_present, same = compute(a, b, out)
    np.testing.assert_array_equal(out, np.concatenate(expected))
    np.testing.assert_array_equal(found, summed)
    assert most == a.max()
    assert lowest == a.min()
    assert n_present == np.count_nonzero(a)
    assert n_present == 0 or first_present == np.flatnonzero(a)[0]
    assert present == sum(1 << k for k in range(8) if a[k] != 0)
    assert same == sum(1 << k for k in range(8) if a[k] == b[k])


@numba.njit
def compare(a, b):
    return bits(matches(a, 2, b, 0))


def test_whole_numbers_match_where_they_are_equal():
    a, b = np.arange(10, dtype=np.int32), np.array([2, 3, 0, 5, -1, 7, 8, 0], np.int32)
    assert compare(a, b) == 0b01101011
