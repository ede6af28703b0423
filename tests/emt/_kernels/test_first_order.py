"""The first-order model: the parametric learner's update over [1, x] alone."""

import numpy as np
import pytest
from compiled import from_python
from plain_linear import PlainLinear

from emt._kernels import parts
from emt._kernels.first_order import allocate_first_order

begin, judge, learn, uncertainty = map(from_python, (parts.begin, parts.judge, parts.learn, parts.uncertainty))


class PlainFirstOrder(PlainLinear):
    def features(self, numeric, codes, action, remembered):
        coordinates = [(-1, 1.0), *enumerate(map(float, numeric)), *((int(c), 1.0) for c in codes)]
        return [((action, i), x) for i, x in coordinates if x]


def test_it_learns_as_the_parametric_model_does():
    rng, answers, values, widths = np.random.default_rng(0), np.zeros((2, 1)), np.zeros(2), np.zeros(2)
    model, plain = allocate_first_order(3, (4,), 2), PlainFirstOrder(2, constant=False)
    squares = np.ones((2, 8))
    for _ in range(150):
        numeric = (rng.normal(size=3) * rng.integers(0, 2, 3)).astype(np.float32)
        codes = 3 + rng.integers(0, 4, 1)
        action, reward, weight = int(rng.integers(2)), float(rng.integers(2)), float(rng.exponential())
        begin(model, numeric, codes)
        judge(model, answers, values)
        uncertainty(model, widths)
        x = np.zeros(8)
        x[0], x[1:4], x[1 + codes[0]] = 1, numeric, 1
        for a in range(2):
            assert values[a] == pytest.approx(-plain.cost(numeric, codes, a, 0.0), abs=1e-4)
            assert widths[a] == pytest.approx(np.sqrt((x**2 / squares[a]).sum()), rel=1e-5)
        learn(model, numeric, codes, action, answers, reward, weight)
        plain.learn(numeric, codes, action, 0.0, reward, weight)
        squares[action] += weight * x**2


def test_its_note_says_that_it_is_no_ridge():
    assert "1,001 inputs are too many for a ridge" in parts.remark(allocate_first_order(1000, (), 2))
