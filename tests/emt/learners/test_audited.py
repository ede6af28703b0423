import numpy as np
import pytest

from emt import Environment, evaluate
from emt.data import load
from emt.learners import EMT, AuditedEMT
from emt.learners.emt import eigen_options
from emt.reference.eigen import PlainEMT, PlainTree


@pytest.mark.parametrize("name", ["digits", "tic-tac-toe"])
def test_an_audit_changes_no_reward(name):
    environment = Environment(load(name), 0, horizon=500)
    for options in ({"leaf_capacity": 20}, {"leaf_capacity": 20, "budget": 100}, {"variant": "as_printed"}):
        audited = AuditedEMT(**options)
        np.testing.assert_array_equal(evaluate(audited, environment), evaluate(EMT(**options), environment))
        n_actions = environment.space.n_actions
        assert audited.measures["queries"] == 49 * n_actions  # every tenth; the first finds an empty memory
        assert 0 <= audited.measures["different"] <= audited.measures["misses"] <= audited.measures["queries"]


def test_one_leaf_never_misses_and_small_leaves_miss_more():
    environment = Environment(load("digits"), 0, horizon=500)
    misses = {}
    for capacity in (10, 100, 10**6):
        learner = AuditedEMT(leaf_capacity=capacity)
        evaluate(learner, environment)
        misses[capacity] = learner.measures["misses"]
    assert misses[10] > misses[100] > misses[10**6] == 0


class Recorded(AuditedEMT):
    """Keeps what it learns, and is audited in every context."""

    every = 1

    def learn(self, context, action, reward, probability):
        self.learned = [*getattr(self, "learned", []), (context, action, reward, probability)]
        super().learn(context, action, reward, probability)


def test_misses_are_those_that_the_plain_tree_counts():
    environment, learner = Environment(load("iris"), 0), Recorded(leaf_capacity=10)
    evaluate(learner, environment)
    plain = PlainEMT(PlainTree(eigen_options(learner, environment.space, environment.learner_seed)))
    tree, misses = plain.tree, 0
    for context, *learned in learner.learned:
        numeric, levels = context.numeric.tolist(), context.categorical.tolist()
        for a in range(plain.n_actions if tree.used else 0):
            key = tree.memory(numeric, levels, a)
            scores = [[tree.predict_scorer(key, one) for one in M] for M in (tree.used, tree.leaf(key).M)]
            misses += min(scores[0]) < min(scores[1])
        plain.ask(numeric, levels)
        plain.learn(numeric, levels, *learned)
    assert misses > 50
    assert learner.measures["misses"] == pytest.approx(misses, rel=0.15)  # in single precision some splits are others
