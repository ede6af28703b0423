import numpy as np
import pytest

from emt._kernels.route import goes_left, project


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
    assert project(router, x, codes) == pytest.approx(expected, rel=1e-12 if dtype == "float64" else 1e-5)


def test_the_boundary_itself_goes_right_as_run_and_left_as_printed():
    assert [goes_left(p, 1.0, True) for p in (0.9, 1.0, 1.1)] == [True, False, False]
    assert [goes_left(p, 1.0, False) for p in (0.9, 1.0, 1.1)] == [True, True, False]
