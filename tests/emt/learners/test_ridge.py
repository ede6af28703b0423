"""The ridge bandit and LinUCB, beside plain regressions; exploration as an argument of every learner."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from emt import Environment, evaluate
from emt._kernels.explore import sample
from emt.data import load
from emt.learners import CMT, EMT, KNN, PCMT, PEMT, LinUCB, Parametric, PCMTPlus, PEMTPlus, Ridge
from emt.reference.stacked import PlainLeastSquares, square_cb

CONF = Path(__file__).parents[3] / "conf" / "learner"


def bounds(values, widths, step):
    upper = values + 0.3 * widths
    best = np.isclose(upper, upper.max(), atol=1e-9)
    return best / best.sum()


def greedy(values, widths, step):
    best = np.isclose(values, values.max(), atol=1e-9)
    return 0.1 / len(values) + 0.9 * best / best.sum()


LEARNERS = [
    (Ridge(), greedy),
    (LinUCB(), bounds),
    (Ridge(explore="linucb"), bounds),
    (Ridge(explore="squarecb"), lambda values, widths, step: square_cb(values, 10 * step**0.5)),
    (
        Ridge(explore={"kind": "squarecb", "scale": 3, "exponent": 0.25}),
        lambda values, widths, step: square_cb(values, 3 * step**0.25),
    ),
]


@pytest.mark.parametrize(("learner", "exploration"), LEARNERS, ids=range(len(LEARNERS)))
def test_its_probabilities_are_those_of_plain_regressions(learner, exploration):
    environment = Environment(load("iris"), seed=0)
    plain = [PlainLeastSquares(np.zeros(5)) for _ in range(3)]
    learner.start(environment.space, 0)
    for step, (context, label) in enumerate(environment):
        x = [1.0, *context.numeric.astype(float)]
        values, widths = (np.array([getattr(one, of)(x) for one in plain]) for of in ("predict", "width"))
        p = exploration(values, widths, step)
        np.testing.assert_allclose(learner.predict(context, 3), p, atol=1e-7)
        action = int(sample(p, environment.dice[step]))
        learner.learn(context, action, float(action == label), float(p[action]))
        plain[action].learn(x, float(action == label), 1 / (3 * p[action]))


def test_linucb_is_ridge_with_the_bonus():
    environment = Environment(load("wine"), seed=1)
    np.testing.assert_array_equal(evaluate(LinUCB(), environment), evaluate(Ridge(explore="linucb"), environment))
    given = yaml.safe_load((CONF / "linucb.yaml").read_text())
    assert given == {"_target_": "emt.learners.LinUCB", "alpha": 0.3}


@pytest.mark.parametrize("kind", [Parametric, EMT, PEMT, CMT, PCMT, KNN])
def test_without_a_ridge_there_is_no_bonus(kind):
    with pytest.raises(ValueError, match=f"explore='linucb' needs a ridge regression, which {kind.__name__} has not"):
        kind(explore="linucb")


@pytest.mark.parametrize("kind", [PEMTPlus, PCMTPlus])
def test_a_stack_has_the_bonus_of_its_ridge(kind):
    with pytest.raises(ValueError, match="needs a ridge regression"):
        kind(explore="linucb", ridge=False)
    environment, learner = Environment(load("iris"), seed=0), kind(explore="linucb")
    learner.start(environment.space, 0)
    plain = [PlainLeastSquares(np.zeros(5)) for _ in range(3)]
    for step, (context, label) in enumerate(environment):
        x = [1.0, *context.numeric.astype(float)]
        p = learner.predict(context, 3)
        expected = bounds(learner._bandit.values, np.array([one.width(x) for one in plain]), step)
        np.testing.assert_allclose(p, expected, atol=1e-6)
        action = int(sample(p, environment.dice[step]))
        learner.learn(context, action, float(action == label), float(p[action]))
        plain[action].learn(x, float(action == label), 1 / (3 * p[action]))


REFUSED = [
    ("thompson", "explore must be one of epsilon, squarecb, linucb, not 'thompson'"),
    (3, "explore must be one of epsilon, squarecb, linucb, or have it as its kind, not 3"),
    ({"scale": 3}, "or have it as its kind"),
    ({"kind": "squarecb", "alpha": 3}, "must be one of scale, exponent, not 'alpha'"),
    ({"kind": "squarecb", "scale": -3}, "scale must be a positive number, not -3"),
]


@pytest.mark.parametrize(("explore", "message"), REFUSED, ids=str)
def test_impossible_explorations_are_refused_at_once(explore, message):
    with pytest.raises(ValueError, match=message):
        EMT(explore=explore)


def test_the_default_is_the_papers():
    environment = Environment(load("iris"), seed=0)
    for kind in (Parametric, EMT, PEMT):
        assert kind().params["explore"] == "epsilon"
        np.testing.assert_array_equal(evaluate(kind(), environment), evaluate(kind(explore="epsilon"), environment))
