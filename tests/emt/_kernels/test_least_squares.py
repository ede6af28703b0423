"""Recursive least squares and the ridge, beside closed forms and scikit-learn."""

import numpy as np
import pytest
from compiled import from_python
from sklearn.linear_model import Ridge as SklearnRidge

from emt._kernels import least_squares, parts
from emt._kernels.ridge import allocate_ridge
from emt.reference.stacked import PlainLeastSquares

fit, predict = from_python(least_squares.fit), from_python(least_squares.predict)
begin, judge, learn, uncertainty = map(from_python, (parts.begin, parts.judge, parts.learn, parts.uncertainty))


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_each_step_gives_the_weights_of_the_normal_equations(forgetting):
    rng, start = np.random.default_rng(0), np.array([0.0, 1.0, 0.0, -2.0])
    weights, inverse, image = start.copy(), np.eye(4) / 10, np.zeros(4)
    plain = PlainLeastSquares(start, penalty=10, forgetting=forgetting)
    for _ in range(200):
        z, target, importance = rng.normal(size=4), rng.normal(), rng.exponential()
        fit(weights, inverse, image, z, target, importance, forgetting)
        plain.learn(z, target, importance)
        np.testing.assert_allclose(weights, plain.weights(), rtol=1e-8, atol=1e-10)
        assert predict(weights, z) == pytest.approx(plain.predict(z))
    np.testing.assert_allclose(inverse, np.linalg.inv(plain.moments), rtol=1e-7, atol=1e-12)


def test_where_nothing_is_seen_a_forgetful_inverse_stays_bounded():
    weights, inverse, image = np.zeros(2), np.eye(2) / 10, np.zeros(2)
    largest = 0.0
    for _ in range(20000):
        fit(weights, inverse, image, np.array([1.0, 0.0]), 1.0, 1.0, 0.998)
        largest = max(largest, inverse[1, 1])
    assert 500 <= inverse[1, 1] <= largest <= 1002
    assert weights.tolist() == pytest.approx([1, 0])


def test_without_forgetting_nothing_is_halved():
    weights, inverse, image = np.zeros(1), np.full((1, 1), 5000.0), np.zeros(1)
    fit(weights, inverse, image, np.zeros(1), 1.0, 1.0, 1.0)
    assert inverse[0, 0] == 5000


def test_the_ridge_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    numeric, codes = rng.normal(size=(60, 3)).astype(np.float32), rng.integers(0, 2, (60, 1)) + 3
    rewards, actions, weights = rng.integers(0, 2, 60).astype(float), rng.integers(0, 2, 60), rng.exponential(size=60)
    ridge, answers, values, widths = allocate_ridge(5, 2), np.zeros((2, 1)), np.zeros(2), np.zeros(2)
    for t in range(60):
        begin(ridge, numeric[t], codes[t])
        learn(ridge, numeric[t], codes[t], actions[t], answers, rewards[t], weights[t])
    X = np.column_stack([np.ones(60), numeric, np.eye(2)[codes[:, 0] - 3]])
    for t in range(60):
        begin(ridge, numeric[t], codes[t])
        judge(ridge, answers, values)
        uncertainty(ridge, widths)
        for a in range(2):
            mine = actions == a
            theirs = SklearnRidge(alpha=1, fit_intercept=False).fit(X[mine], rewards[mine], weights[mine])
            assert values[a] == pytest.approx(theirs.predict(X[t : t + 1])[0])
            moments = np.eye(6) + (X[mine] * weights[mine, None]).T @ X[mine]
            assert widths[a] == pytest.approx(np.sqrt(X[t] @ np.linalg.inv(moments) @ X[t]))


def test_huge_numbers_leave_the_ridge_finite():
    ridge, answers, values = allocate_ridge(2, 1), np.zeros((1, 1)), np.zeros(1)
    rng, no_codes = np.random.default_rng(0), np.zeros(0, np.int32)
    for _ in range(300):
        x = rng.choice([1e30, -1e30, 1e-30, 3, 1e5], 2).astype(np.float32)
        begin(ridge, x, no_codes)
        learn(ridge, x, no_codes, 0, answers, float(rng.integers(2)), 1.0)
        judge(ridge, answers, values)
        assert np.isfinite(values).all()
        assert np.isfinite(ridge.inverse).all()
