import numpy as np
import pytest
from compiled import from_python

from emt._kernels import vector
from emt._kernels.records import record

ordered_dot, equal_keys = from_python(vector.ordered_dot), from_python(vector.equal_keys)
least, any_least = from_python(vector.least), from_python(vector.any_least)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 17])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_projection_is_an_inner_product_with_indicators(n, dtype):
    rng = np.random.default_rng(n)
    router, x, codes = (
        rng.normal(size=n + 9).astype(dtype),
        rng.normal(size=n).astype(dtype),
        np.array([n, n + 4], np.int32),
    )
    indicators = np.zeros(9)
    indicators[[0, 4]] = 1
    expected = router.astype(float) @ np.concatenate([x, indicators])
    assert ordered_dot(router, x, codes) == pytest.approx(expected, rel=1e-12 if dtype == "float64" else 1e-5)


def test_keys_are_equal_where_all_coordinates_and_codes_are():
    numeric, codes = np.array([1.0, -0.0]), np.array([3, 5], np.int32)
    assert equal_keys(numeric, codes, np.array([1.0, 0.0, 9.0]), codes), "the second row may be longer"
    assert not equal_keys(numeric, codes, np.array([1.0, 1e-300]), codes)
    assert not equal_keys(numeric, codes, numeric, np.array([3, 6], np.int32))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_least_of_many_numbers_is_found_wherever_it_is(dtype):
    values = np.random.default_rng(0).permutation(32).astype(dtype)
    stream = record([("rng", "u8")])
    assert least(values) == 0
    assert any_least(values, values.dtype.type(0), stream) == np.argmin(values)
    assert stream.rng == 0, "no random number is used up where there is one"


def test_of_several_least_numbers_any_is_found_as_often():
    values, stream = np.ones(32, np.float32), record([("rng", "u8")])
    tied = [3, 8, 30]
    values[tied] = -np.inf
    found = [any_least(values, np.float32(-np.inf), stream) for _ in range(3000)]
    assert sorted(set(found)) == tied
    assert min(found.count(place) for place in tied) > 900
