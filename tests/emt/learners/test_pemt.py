"""PEMT: the memory's advice as a feature of the parametric learner."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from compiled import from_python

from emt import Environment, evaluate
from emt._kernels import parts
from emt._kernels.explore import epsilon_greedy, sample
from emt._kernels.vector import offsets
from emt.data import load
from emt.learners import EMT, PEMT, Learner, Parametric
from emt.learners.parametric import linear_model

begin, judge, learn = map(from_python, (parts.begin, parts.judge, parts.learn))
CONF = Path(__file__).parents[3] / "conf" / "learner"


def by_hand(environment, seed, **options):
    """An EMT that is asked what it remembers, and a linear model that is told."""
    space = environment.space
    memory, shift = EMT(**options), offsets(space.n_numeric, space.n_levels)
    memory.start(space, seed)
    model = linear_model(space, constant=True)
    values, p, rewards = np.zeros(space.n_actions), np.empty(space.n_actions), []
    for die, (context, label) in zip(environment.dice, environment, strict=True):
        memory.predict(context, space.n_actions)
        answers, codes = memory._bandit.answers.copy(), context.categorical + shift
        begin(model, context.numeric, codes)
        judge(model, answers, values)
        epsilon_greedy(values, 0.1, p)
        action = sample(p, die)
        rewards.append(int(action == label))
        weight = 1 / (space.n_actions * p[action])
        learn(model, context.numeric, codes, action, answers, float(rewards[-1]), weight)
        memory.learn(context, action, float(rewards[-1]), p[action])
    return rewards


@pytest.mark.parametrize("options", [{}, {"budget": 50}, {"variant": "as_printed"}], ids=str)
@pytest.mark.parametrize("name", ["iris", "monks-1-rule"])
def test_it_is_an_emt_that_advises_a_linear_model(name, options):
    environment = Environment(load(name), seed=0)
    rewards = by_hand(environment, 5, **options)
    assert PEMT(**options).play(environment, 5).tolist() == rewards
    assert Learner.play(PEMT(**options), environment, 5).tolist() == rewards


def test_the_advice_is_listened_to():
    """One more weight, shared by all actions: it grows large where the memory is right."""
    learner = PEMT()
    evaluate(learner, Environment(load("wine"), seed=0))
    constant, advice = learner._bandit.model.shared[0]
    assert constant != 0
    assert advice < -0.1, "costs are minus rewards"


def test_both_together_are_better_than_the_parametric_one_alone():
    def mean(learner):
        return np.mean([evaluate(learner, Environment(load("wine"), seed)).mean() for seed in range(20)])

    assert mean(PEMT()) > mean(Parametric()) + 0.01


def test_the_config_is_that_of_the_paper():
    given = yaml.safe_load((CONF / "pemt.yaml").read_text())
    assert given.pop("_target_") == "emt.learners.PEMT"
    expected = {"epsilon": 0.1, "leaf_capacity": 100, "budget": None, "variant": "as_run", "eviction": "lru"}
    assert PEMT(**given).params.items() >= expected.items()


def test_as_printed_by_config():
    given = yaml.safe_load((CONF / "pemt_as_printed.yaml").read_text())
    assert given["variant"] == "as_printed"


@pytest.mark.parametrize("options", [{"epsilon": -1}, {"leaf_capacity": 0}, {"budget": 0}], ids=str)
def test_impossible_options_are_refused_at_once(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        PEMT(**options)
