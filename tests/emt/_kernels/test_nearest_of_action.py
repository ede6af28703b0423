import numpy as np
import pytest
from compiled import from_python

from emt._kernels import nearest_of_action
from emt._kernels.compile import kernel
from emt._kernels.nearest_of_action import allocate_nearest

clear = from_python(nearest_of_action.clear)


@kernel
def offer_all(nearest, actions, scores):
    for m in range(len(actions)):
        if scores[m] <= nearest.limit[actions[m]]:
            nearest_of_action.offer(nearest, actions[m], scores[m], float(m), m)


@pytest.mark.parametrize("k", [1, 2, 5, 300])
def test_the_nearest_are_those_of_a_sort(k):
    """By score, and of equal scores the last: three actions, of which one has few memories, many of them equal."""
    rng, nearest = np.random.default_rng(k), allocate_nearest(k, 3)
    for _ in range(20):
        actions = rng.choice(3, 100, p=[0.6, 0.38, 0.02])
        scores = rng.integers(0, 12, 100) / 4
        clear(nearest)
        offer_all(nearest, actions, scores)
        for a in range(3):
            expected = sorted((scores[m], -m) for m in np.flatnonzero(actions == a))[:k]
            n = nearest.size[a]
            found = sorted(zip(nearest.score[a, :n], -nearest.serial[a, :n], strict=True))
            assert found == expected
            assert sorted(nearest.value[a, :n]) == sorted(-m for _, m in expected)
