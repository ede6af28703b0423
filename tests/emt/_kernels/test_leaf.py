import numpy as np
import pytest

from emt._kernels.leaf import _boundary, _sorted

AS_RUN, AS_PRINTED = True, False


@pytest.mark.parametrize(
    ("projections", "variant", "boundary"),
    [
        ([3, 1, 2], AS_RUN, 2),
        ([3, 1, 2], AS_PRINTED, 2),
        ([4, 1, 2, 3], AS_RUN, 2.5),
        ([4, 1, 2, 3], AS_PRINTED, 2.5),
        ([1, 2], AS_RUN, 1.5),
        # All would be on one side of the median: the next value parts them.
        ([1, 1, 1, 2, 3], AS_RUN, 2),
        ([1, 1, 2, 2, 2], AS_RUN, 2),
        ([1, 2, 3, 3, 3], AS_PRINTED, 2),
        ([1, 1, 1, 2, 3], AS_PRINTED, 1),
        ([1, 1, 1, 2], AS_RUN, 2),
        ([1, 2, 2, 2], AS_PRINTED, 1),
    ],
)
def test_the_boundary_is_the_median_or_next_to_it(projections, variant, boundary):
    assert _boundary(np.array(projections, dtype=float), variant) == (boundary, True)


@pytest.mark.parametrize("variant", [AS_RUN, AS_PRINTED])
def test_equal_projections_cannot_be_parted(variant):
    assert not _boundary(np.full(5, 7.0), variant)[1]


@pytest.mark.parametrize("variant", [AS_RUN, AS_PRINTED])
def test_neighbouring_floats_can_be_parted(variant):
    low = 1.0
    high = np.nextafter(low, 2)
    for projections in ([low, high], [low, low, high], [low, high, high], [low, low, high, high]):
        boundary, possible = _boundary(np.array(projections), variant)
        assert possible
        left = [p < boundary if variant == AS_RUN else p <= boundary for p in projections]
        assert any(left)
        assert not all(left)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101, 1000])
def test_sorting(n):
    values = np.random.default_rng(n).integers(0, n, n).astype(float)
    before = values.copy()
    np.testing.assert_array_equal(_sorted(values), np.sort(values))
    np.testing.assert_array_equal(values, before)
