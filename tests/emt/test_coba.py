"""Learners here in coba's experiments, and coba's here: the same rewards on the same stream."""

import coba
import numpy as np
import pytest

from emt import Environment, evaluate
from emt.checks import check_learner
from emt.coba import CobaEnvironment, CobaLearner, ForCoba
from emt.data import from_arrays, load
from emt.learners import CMT, EMT, PCMT, PEMT, Parametric
from experiments import store
from experiments.cli import compose
from experiments.config import study
from experiments.run import run

LEARNERS = [EMT(), PEMT(budget=50), Parametric(), CMT(), PCMT()]


def rewards_in_coba(environment, learners):
    """The rewards of each learner in a coba experiment."""
    result = coba.Experiment([CobaEnvironment(environment)], learners).run(quiet=True)
    return [list(result.interactions.where(learner_id=k)["reward"]) for k in range(len(learners))]


def mixed():
    """A set with numbers and categories, and the same set with the categories as indicators."""
    rng = np.random.default_rng(0)
    numbers, codes = rng.random((150, 2)), rng.integers(0, [3, 4], (150, 2))
    labels = (codes[:, 0] + (numbers[:, 0] > 0.5)) % 3
    indicators = np.hstack([np.eye(3)[codes[:, 0]], np.eye(4)[codes[:, 1]]])
    rows = np.hstack([numbers, codes])
    return (
        from_arrays(rows, labels, name="mixed", categorical=[2, 3]),
        from_arrays(np.hstack([numbers, indicators]), labels, name="mixed"),
    )


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_rewards_in_coba_are_the_rewards_here_with_the_same_dice(kind):
    """Categories reach a learner as the indicators that coba makes of them, so they are indicators here, too."""
    given, same = (load("iris"), load("iris")) if kind == "numbers" else mixed()
    there = rewards_in_coba(Environment(given, seed=4), [ForCoba(learner, seed=7) for learner in LEARNERS])
    environment = Environment(same, seed=4)
    environment.dice = np.array(coba.CobaRandom(7).randoms(len(environment)))
    for learner, rewards in zip(LEARNERS, there, strict=True):
        assert rewards == learner.play(environment, seed=7).tolist(), learner
        assert 0.3 < np.mean(rewards) < 1


def test_learners_may_share_an_experiment_of_many_environments():
    """Coba copies learners for each environment; each starts with its first context."""
    environments = [CobaEnvironment(Environment(load(name), seed=0, horizon=60)) for name in ("iris", "wine")]
    result = coba.Experiment(environments, [ForCoba(EMT()), coba.RandomLearner()]).run(quiet=True)
    assert len(result.interactions) == 240
    assert next(iter(result.learners["family"])) == "EMT"


def test_a_learner_of_ours_works_on_environments_of_cobas():
    linear = coba.Environments.from_linear_synthetic(
        200, n_actions=3, n_context_features=2, n_action_features=0, seed=1
    )
    result = coba.Experiment(linear, [ForCoba(Parametric()), coba.RandomLearner()]).run(quiet=True)
    ours, random = (np.mean(list(result.interactions.where(learner_id=k)["reward"])) for k in (0, 1))
    assert ours > random


@pytest.mark.parametrize("kind", ["LinUCBLearner", "LinTSLearner", "BanditEpsilonLearner"])
@pytest.mark.parametrize("categories", [False, True])
def test_a_learner_of_cobas_has_the_rewards_here_that_it_has_in_coba(kind, categories):
    environment = Environment(mixed()[0] if categories else load("iris"), seed=2)
    made = getattr(coba, kind)(seed=environment.learner_seed)
    [there] = rewards_in_coba(environment, [made])
    assert evaluate(CobaLearner(f"coba.{kind}"), environment).tolist() == there


def test_a_learner_on_vowpal_wabbit_gets_what_it_told_itself():
    """VowpalLearner.predict returns the actions for its own learn."""
    pytest.importorskip("vowpalwabbit")
    environment = Environment(load("iris"), seed=2)
    arguments = {"args": "--cb_explore_adf --epsilon 0.1 --interactions xa --ignore_linear x --quiet", "seed": 3}
    [there] = rewards_in_coba(environment, [coba.VowpalLearner(**arguments)])
    assert evaluate(CobaLearner("coba.VowpalLearner", arguments), environment).tolist() == there
    assert np.mean(there) > 0.5


def test_a_learner_of_cobas_passes_the_checks_of_learners():
    check_learner(CobaLearner("coba.LinUCBLearner", {"alpha": 0.5}))


def test_a_learner_of_cobas_is_one_of_a_study(tmp_path):
    linucb = "{name:linucb,_target_:emt.coba.CobaLearner,kind:coba.LinUCBLearner,arguments:{alpha:0.5}}"
    words = [f"results={tmp_path}", "suite.datasets=[iris]", "seeds=1", "horizon=50", f"learners=[emt,{linucb}]"]
    cfg = compose([*words, "engine=serial"])
    asked = study(cfg)
    assert run(asked, cfg) == 0
    log = store.read(asked.folder).set_index("learner").loc["linucb"]
    expected = evaluate(CobaLearner("coba.LinUCBLearner", {"alpha": 0.5}), Environment(load("iris"), 0, horizon=50))
    assert store.unpack(log["rewards"], log["n_steps"]).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["LinUCBLearner", "coba.NoLearner", "nowhere.Learner", ""])
def test_a_class_that_is_not_there_is_refused(kind):
    with pytest.raises(ValueError, match="name a class, as in coba"):
        CobaLearner(kind)


def test_contexts_and_actions_that_do_not_fit_are_refused():
    learner = ForCoba(EMT())
    with pytest.raises(ValueError, match="predicts before it learns"):
        learner.learn([1.0], "a", 1.0, 0.5)
    for context in ({"a": 1}, ["red", 2], [[1], [2, 3]]):
        with pytest.raises(ValueError, match="Categorical are taken"):
            ForCoba(EMT()).predict(context, ["a", "b"])
    learner.predict([1.0], ["a", "b"])
    with pytest.raises(ValueError, match="must be the same throughout"):
        learner.predict([1.0], ["a", "c"])


def test_a_context_may_be_a_number_or_nothing():
    for context in (None, 0.5):
        learner = ForCoba(EMT())
        action, probability = learner.predict(context, ["a", "b"])
        learner.learn(context, action, 1.0, probability)
        assert learner.predict(context, ["a", "b"])[1] > 0
