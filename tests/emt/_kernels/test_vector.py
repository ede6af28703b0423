import numpy as np
import pytest
from compiled import from_python

from emt._kernels import vector

ordered_dot, equal_keys = from_python(vector.ordered_dot), from_python(vector.equal_keys)


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
