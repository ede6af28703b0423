"""The river models, by river's own checks and with features that come and go."""

import random

import numpy as np
import pytest
from river import checks, evaluate, metrics, preprocessing

from emt.river import EigenMemoryClassifier, EigenMemoryRegressor

MODELS = [
    EigenMemoryRegressor(),
    EigenMemoryClassifier(),
    EigenMemoryRegressor(n_neighbors=3, leaf_capacity=10, budget=50, router="random", duplicates="both"),
    EigenMemoryClassifier(n_neighbors=3, leaf_capacity=10, budget=50, variant="as_printed"),
]
CHECKS = [(model, check) for model in MODELS for check in checks.yield_checks(model)]


@pytest.mark.parametrize(
    ("model", "check"),
    CHECKS,
    ids=[f"{MODELS.index(model)}-{check.__name__}-{n}" for n, (model, check) in enumerate(CHECKS)],
)
def test_rivers_own_checks(model, check):
    """All of them: none is skipped."""
    assert not model._unit_test_skips()
    random.seed(0)  # some checks shuffle with the global generator
    check(model.clone())


def test_a_model_learns_in_a_pipeline():
    rng = np.random.default_rng(0)
    stream = [({"x": x, "y": y}, x > y) for x, y in rng.random((400, 2)).tolist()]
    model = preprocessing.StandardScaler() | EigenMemoryClassifier()
    assert evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get() > 0.85


def test_what_was_learned_is_recalled_after_new_features_have_come():
    rng, model, learned = np.random.default_rng(1), EigenMemoryRegressor(leaf_capacity=10), []
    for step in range(200):
        x = {f"f{j}": float(rng.random()) for j in rng.permutation(1 + step // 10)[:5]}
        learned.append((x, float(step)))
        model.learn_one(x, float(step))
    assert [model.predict_one(x) for x, _ in learned] == [y for _, y in learned]


def test_an_absent_feature_is_zero_and_an_unknown_one_is_ignored():
    model = EigenMemoryRegressor()
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"b": 1.0}, 2.0)
    assert model.predict_one({"a": 1.0, "b": 0.0, "new": 7.0}) == 1.0
    assert model.predict_one({"b": 1.0}) == 2.0


def test_an_observation_without_features_is_one_like_any_other():
    model = EigenMemoryClassifier()
    model.learn_one({}, "nothing")
    model.learn_one({"a": 1}, "something")
    assert (model.predict_one({}), model.predict_one({"a": 1})) == ("nothing", "something")


def test_text_and_truth_are_features():
    model = EigenMemoryClassifier()
    model.learn_one({"colour": "red", "ripe": True}, "apple")
    model.learn_one({"colour": "green", "ripe": np.bool_(False)}, "pear")
    assert model.predict_one({"colour": "red", "ripe": False}) == "apple"
    assert model.predict_one({"colour": "green", "ripe": True}) == "pear"


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), [1]])
def test_other_features_are_refused_by_name(value):
    model = EigenMemoryRegressor()
    with pytest.raises(ValueError, match=r"feature 'age' is .*: features are finite numbers, or text"):
        model.learn_one({"age": value}, 1.0)
    model.learn_one({"age": 1}, 1.0)
    with pytest.raises(ValueError, match="feature 'age' is"):
        model.predict_one({"age": value})


def test_shares_of_classes_are_those_of_the_neighbours_with_every_class_that_came_up():
    model = EigenMemoryClassifier(n_neighbors=3)
    for place, y in enumerate(["b", "a", "b", "c"]):
        model.learn_one({"x": place / 10 if y != "c" else 5.0}, y)
    assert model.predict_proba_one({"x": 0.05}) == pytest.approx({"b": 2 / 3, "a": 1 / 3, "c": 0.0})


def test_the_budget_is_kept_and_predictions_do_not_count_as_use():
    model = EigenMemoryRegressor(budget=2)
    for x in (1.0, 2.0):
        model.learn_one({"x": x}, x)
    model.predict_one({"x": 1.0})
    model.learn_one({"x": 3.0}, 3.0)  # learning looks at its nearest, 2.0, so 1.0 goes
    assert [model.predict_one({"x": x}) for x in (1.0, 2.0, 3.0)] == [2.0, 2.0, 3.0]
