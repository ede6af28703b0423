"""The scikit-learn estimators, by scikit-learn's own checks and beside the memory that they are made of."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from emt import EigenMemoryTree
from emt.sklearn import EigenMemoryClassifier, EigenMemoryRegressor

ESTIMATORS = [
    EigenMemoryRegressor(),
    EigenMemoryClassifier(),
    EigenMemoryRegressor(n_neighbors=3, leaf_capacity=10, budget=150, router="random"),
    EigenMemoryClassifier(n_neighbors=3, leaf_capacity=10, budget=150, duplicates="both", variant="as_printed"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks(estimator, check):
    """All of them: no check is expected to fail."""
    check(estimator)


def rows(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, X @ np.arange(d) + rng.normal(0, 0.1, n)


def test_a_regressor_predicts_the_mean_of_the_neighbours_in_its_tree():
    X, y = rows()
    model = EigenMemoryRegressor(n_neighbors=5, leaf_capacity=20, random_state=3).fit(X[:200], y[:200])
    expected = [np.mean([found.y for found in model.tree_.neighbours(x, 5)]) for x in X[200:]]
    assert model.predict(X[200:]) == pytest.approx(expected)
    assert model.score(X[200:], y[200:]) > 0.7


def test_a_memory_is_recalled_exactly():
    X, y = rows()
    assert EigenMemoryRegressor().fit(X, y).predict(X).tolist() == y.tolist()
    labels = np.array(["some", "few", "many"])[np.arange(300) % 3]
    assert EigenMemoryClassifier().fit(X, labels).predict(X).tolist() == labels.tolist()


def test_fitting_in_parts_is_fitting_at_once():
    X, y = rows()
    labels = (y > y.mean()).astype(int) + (y > np.quantile(y, 0.8))
    for whole, target in ((EigenMemoryRegressor(random_state=0), y), (EigenMemoryClassifier(random_state=0), labels)):
        parts = clone(whole)
        for begin in range(0, 200, 7):
            first = {"classes": [0, 1, 2]} if begin == 0 and target is labels else {}
            parts.partial_fit(X[begin : min(begin + 7, 200)], target[begin : min(begin + 7, 200)], **first)
        assert parts.predict(X[200:]).tolist() == whole.fit(X[:200], target[:200]).predict(X[200:]).tolist()


def test_predictions_do_not_change_the_memory():
    X, y = rows()
    model = EigenMemoryRegressor(budget=100, random_state=0).fit(X, y)
    before = [memory.y for memory in model.tree_.memories()]
    model.predict(X)
    assert [memory.y for memory in model.tree_.memories()] == before
    assert isinstance(model.tree_, EigenMemoryTree)
    assert len(before) == 100


def test_shares_of_classes_are_those_of_the_neighbours():
    X = np.array([[0.0], [0.1], [0.2], [5.0]])
    model = EigenMemoryClassifier(n_neighbors=3).partial_fit(X, ["b", "a", "b", "c"], classes=["a", "b", "c", "never"])
    assert model.predict_proba([[0.05]]).round(3).tolist() == [[0.333, 0.667, 0.0, 0.0]]
    assert model.predict([[0.05]]).tolist() == ["b"]


def test_a_value_learned_again_replaces_the_first_unless_told_otherwise():
    X, y = [[1.0], [1.0]], [3.0, 5.0]
    assert EigenMemoryRegressor().fit(X, y).predict([[1.0]]).tolist() == [5.0]
    assert EigenMemoryRegressor(duplicates="first").fit(X, y).predict([[1.0]]).tolist() == [3.0]
    assert EigenMemoryRegressor(2, duplicates="both").fit(X, y).predict([[1.0]]).tolist() == [4.0]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda m: m.partial_fit([[1.0]], ["a"]), "classes must be passed on the first call"),
        (lambda m: m.partial_fit([[1.0]], ["z"], classes=["a", "b"]), r"not among the classes .*'z'"),
        (
            lambda m: m.partial_fit([[1.0]], ["a"], classes=["a"]).partial_fit([[1.0]], ["a"], classes=["b"]),
            "not the same as on the last call",
        ),
        (lambda m: m.set_params(n_neighbors=0).fit([[1.0], [2.0]], ["a", "b"]), "n_neighbors must be a whole number"),
        (lambda m: m.set_params(router="eigne").fit([[1.0], [2.0]], ["a", "b"]), "router must be one of"),
    ],
)
def test_what_cannot_be_is_refused(call, problem):
    with pytest.raises(ValueError, match=problem):
        call(EigenMemoryClassifier())
