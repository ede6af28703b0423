import numpy as np
import pytest

from emt._kernels.explore import epsilon_greedy, sample


def probabilities(values, epsilon):
    p = np.empty(len(values))
    epsilon_greedy(np.array(values, dtype=float), epsilon, p)
    return p.tolist()


@pytest.mark.parametrize(
    ("values", "epsilon", "expected"),
    [
        ([0, 1, 0, 0], 0.2, [0.05, 0.85, 0.05, 0.05]),
        ([1, 1, 0, 0], 0.2, [0.45, 0.45, 0.05, 0.05]),
        ([0, 0], 0.1, [0.5, 0.5]),
        ([-3, -1, -1], 0, [0, 0.5, 0.5]),
        ([2, 1], 1, [0.5, 0.5]),
        ([7], 0.1, [1]),
    ],
)
def test_the_greedy_share_is_split_among_tied_best_actions(values, epsilon, expected):
    assert probabilities(values, epsilon) == pytest.approx(expected)


def test_a_draw_falls_into_an_actions_share():
    p = np.array([0.25, 0.0, 0.75])
    assert [sample(p, draw) for draw in (0, 0.2499, 0.25, 0.9, 0.999999)] == [0, 0, 2, 2, 2]
    assert sample(np.array([0.5, 0.5 - 1e-12]), 1 - 1e-15) == 1, "rounding never leaves without an action"
