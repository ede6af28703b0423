import numpy as np
import pytest
from compiled import from_python

from emt._kernels import parts
from emt._kernels.explore import SquareCB, epsilon_greedy, sample
from emt.reference.stacked import square_cb

explore, learn = from_python(parts.explore), from_python(parts.learn)
OTHER = " --gamma_scale 3 --gamma_exponent 0.25"


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


@pytest.mark.parametrize("n_steps", [0, 1, 50])
def test_squarecb_explores_by_gaps(n_steps):
    explorer, values, p = SquareCB(10.0, 0.5, np.zeros(1, np.int64)), np.array([0.2, 0.9, 0.5, 0.9]), np.zeros(4)
    for _ in range(n_steps):
        learn(explorer, np.zeros(1), np.zeros(0, np.int32), 0, np.zeros((4, 1)), 1.0, 1.0)
    explore(explorer, None, values, p)
    np.testing.assert_allclose(p, square_cb(values, 10 * n_steps**0.5))
    assert p.sum() == pytest.approx(1)
    if n_steps == 0:
        np.testing.assert_allclose(p, 0.25)


def test_squarecb_explores_as_vowpal_wabbit_does():
    """Its probabilities tell the gaps, which tell those of another that has learned the same with another gamma."""
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    lines, rng, n_explored = ["|a one", "|b two", "|c three"], np.random.default_rng(0), 0
    usual, other = (vowpalwabbit.Workspace(f"--quiet --cb_explore_adf --squarecb{more}") for more in ("", OTHER))
    explorer, p = SquareCB(3.0, 0.25, np.zeros(1, np.int64)), np.zeros(3)
    for step in range(30):
        seen = np.array(usual.predict(lines))
        gaps = (1 / seen - 3) / (10 * max(step, 1) ** 0.5)
        gaps[np.argmax(seen)] = 0
        explore(explorer, None, -gaps, p)
        np.testing.assert_allclose(other.predict(lines), p, atol=1e-4)
        n_explored += p.max() > 0.4
        action = int(rng.integers(3))
        cost = -float(rng.random() < 0.4 * action)
        taken = [f"0:{cost}:0.5 {line}" if a == action else line for a, line in enumerate(lines)]
        for one in (usual, other):
            one.learn(taken)
        learn(explorer, np.zeros(1), np.zeros(0, np.int32), 0, np.zeros((3, 1)), 1.0, 1.0)
    for one in (usual, other):
        one.finish()
    assert n_explored > 20
