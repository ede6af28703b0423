"""PCMT on VW: the parametric learner with what a VWCMT remembers as one more feature."""

import numpy as np

from emt import Context, Environment, Space, evaluate
from emt.data import load
from emt.learners import VWCMT, VWPCMT, VWParametric
from emt.learners.vw.parametric import parametric_policy
from emt.learners.vw.workspace import Memory

SPACE = Space(n_numeric=2, n_levels=(), n_actions=3)


def contexts(n):
    rng = np.random.default_rng(0)
    return [Context(rng.random(2).astype(np.float32), np.zeros(0, dtype=np.int32)) for _ in range(n)]


def test_it_is_its_memory_and_its_policy():
    learner = VWPCMT()
    learner.start(SPACE, seed=3)
    memory, policy = VWCMT().build(SPACE, 3), parametric_policy(SPACE, 3, 0.1, 26, constant=True)
    for step, context in enumerate(contexts(60)):
        remembered = memory.rewards(context)
        expected = policy.probabilities(context, remembered)
        np.testing.assert_array_equal(learner.predict(context, 3), expected)
        action, reward = step % 3, float(context.numeric[0] * 3 // 1 == step % 3)
        policy.learn(context, action, reward, 0.3, remembered)
        memory.learn(context, action, reward, 0.3)
        learner.learn(context, action, reward, 0.3)
    for part in (learner, memory, policy):
        part.finish()


def test_the_memory_is_asked_once_a_step(monkeypatch):
    asked = []
    rewards = Memory.rewards
    monkeypatch.setattr(Memory, "rewards", lambda self, context: asked.append(context) or rewards(self, context))
    learner = VWPCMT()
    learner.start(SPACE, seed=3)
    for context in contexts(5):
        learner.predict(context, 3)
        learner.learn(context, 0, 1.0, 0.5)
    assert len(asked) == 5
    learner.learn(contexts(1)[0], 0, 1.0, 0.5)  # not predicted before: asked now
    assert len(asked) == 6
    learner.finish()


def test_the_constant_is_kept_and_the_memory_is_one_feature_that_is_absent_when_0():
    policy = parametric_policy(SPACE, 3, 0.1, 18, constant=True)
    assert "--noconstant" not in policy.workspace.get_arguments()
    for forgotten, remembered in policy._examples:
        assert forgotten.num_features_in("m") == 0
        assert [remembered.feature("m", 0), remembered.feature_weight("m", 0)] == [policy._index("m", 0), 1.0]
    policy.finish()


def test_what_is_remembered_moves_the_policy():
    policy = parametric_policy(SPACE, 3, 0.1, 18, constant=True)
    for step, context in enumerate(contexts(200)):
        remembered = [int(action == step % 3) for action in range(3)]
        policy.learn(context, step % 2, float(remembered[step % 2]), 0.5, remembered)
    assert np.argmax(policy.probabilities(contexts(1)[0], [0, 0, 1])) == 2
    policy.finish()


def test_a_memory_helps_on_wine():
    environments = [Environment(load("wine"), seed) for seed in range(10)]
    with_memory, without = (
        np.mean([evaluate(learner, environment).mean() for environment in environments])
        for learner in (VWPCMT(), VWParametric())
    )
    assert with_memory > without
