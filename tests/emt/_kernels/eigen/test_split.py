import numpy as np
import pytest
from compiled import from_python

from emt._kernels.eigen import split

_boundary, _sorted = from_python(split._boundary), from_python(split._sorted)
RIGHT, LEFT = False, True  # where a key at the boundary goes


@pytest.mark.parametrize(
    ("projections", "side", "boundary"),
    [
        ([3, 1, 2], RIGHT, 2),
        ([3, 1, 2], LEFT, 2),
        ([4, 1, 2, 3], RIGHT, 2.5),
        ([4, 1, 2, 3], LEFT, 2.5),
        ([1, 2], RIGHT, 1.5),
        # All would be on one side of the median: the next value parts them.
        ([1, 1, 1, 2, 3], RIGHT, 2),
        ([1, 1, 2, 2, 2], RIGHT, 2),
        ([1, 2, 3, 3, 3], LEFT, 2),
        ([1, 1, 1, 2, 3], LEFT, 1),
        ([1, 1, 1, 2], RIGHT, 2),
        ([1, 2, 2, 2], LEFT, 1),
    ],
)
def test_the_boundary_is_the_median_or_next_to_it(projections, side, boundary):
    assert _boundary(np.array(projections, dtype=float), side) == (boundary, True)


@pytest.mark.parametrize("side", [RIGHT, LEFT])
def test_equal_projections_cannot_be_parted(side):
    assert not _boundary(np.full(5, 7.0), side)[1]


@pytest.mark.parametrize("side", [RIGHT, LEFT])
def test_neighbouring_floats_can_be_parted(side):
    low = 1.0
    high = np.nextafter(low, 2)
    for projections in ([low, high], [low, low, high], [low, high, high], [low, low, high, high]):
        boundary, possible = _boundary(np.array(projections), side)
        assert possible
        left = [p < boundary if side == RIGHT else p <= boundary for p in projections]
        assert any(left)
        assert not all(left)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101, 1000])
def test_sorting(n):
    values = np.random.default_rng(n).integers(0, n, n).astype(float)
    before = values.copy()
    np.testing.assert_array_equal(_sorted(values), np.sort(values))
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("projections", [[1, np.inf], [-np.inf, np.inf], [1, np.nan, 2], [np.nan, np.nan]], ids=str)
def test_projections_that_overflow_have_no_boundary(projections):
    """Of which one side would be empty."""
    assert not _boundary(np.array(projections), RIGHT)[1]


@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_the_median_of_numbers_whose_sum_overflows_parts_them(side):
    boundary, possible = _boundary(np.array([1e308, 1.2e308, 1.4e308, 1.7e308]), side)
    assert possible
    assert 1.2e308 < boundary < 1.4e308
