"""CMT and PCMT: Vowpal Wabbit's rewards, step by step."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from closed_loop import synthetic

from emt import Environment, Space, evaluate
from emt.data import load
from emt.learners import CMT, PCMT, VWCMT, VWPCMT

CONF = Path(__file__).parents[3] / "conf" / "learner"


@pytest.mark.parametrize("name", ["iris", "wine", "tic-tac-toe", "multiplexer-11", "digits"])
@pytest.mark.parametrize("seed", [0, 1])
def test_cmt_earns_vowpal_wabbits_very_rewards(name, seed):
    environment = Environment(load(name), seed, horizon=300)
    np.testing.assert_array_equal(evaluate(CMT(), environment), evaluate(VWCMT(), environment))


@pytest.mark.parametrize("options", [{"max_nodes": 9}, {"dreams": 0}, {"leaf_multiplier": 1}, {"alpha": 0.9}], ids=str)
def test_cmt_earns_them_with_other_options_too(options):
    environment = Environment(load("tic-tac-toe"), 0, horizon=300)
    np.testing.assert_array_equal(evaluate(CMT(**options), environment), evaluate(VWCMT(**options), environment))


@pytest.mark.parametrize("name", ["iris", "wine", "balance-scale"])
def test_pcmt_earns_vowpal_wabbits_very_rewards_where_the_linear_model_follows_it(name):
    environment = Environment(load(name), 0, horizon=300)
    np.testing.assert_array_equal(evaluate(PCMT(), environment), evaluate(VWPCMT(), environment))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(10, 2), (50, 10), (20, 26), "tic-tac-toe", "monks-2-rule"], ids=str)
def test_pcmt_earns_what_vowpal_wabbit_earns(shape):
    """Within two standard errors over 20 paired seeds: the two part where sums of second-order features round."""
    dataset = load(shape) if isinstance(shape, str) else synthetic(*shape, 600)
    pairs = [[evaluate(one, Environment(dataset, seed)).mean() for one in (PCMT(), VWPCMT())] for seed in range(20)]
    differences = np.diff(pairs, axis=1).ravel()
    error = differences.std(ddof=1) / np.sqrt(20)
    print(f"{shape}: {differences.mean():+.4f} +- {error:.4f}, {np.mean(differences == 0):.0%} of seeds equal")
    assert abs(differences.mean()) <= 2 * error


def test_the_configs_are_those_of_the_paper():
    paper = {"epsilon": 0.1, "max_nodes": 2000, "leaf_multiplier": 9, "dreams": 10, "alpha": 0.5, "bits": 25}
    for name, kind in (("cmt", CMT), ("pcmt", PCMT)):
        given = yaml.safe_load((CONF / f"{name}.yaml").read_text())
        assert given.pop("_target_") == f"emt.learners.{kind.__name__}"
        assert kind(**given).params.items() >= paper.items()


def test_its_size_is_that_of_its_nodes_and_features():
    """Not Vowpal Wabbit's gigabyte."""
    learner = CMT()
    evaluate(learner, Environment(load("digits"), seed=0, horizon=1000))
    tree = learner._bandit.memory
    arrays = [tree.nodes, tree.routers, tree.greatest, *tree.examples, *tree.candidates, *tree.tables]
    assert sum(array.nbytes for array in arrays) < 20e6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 2}, "epsilon must be a number between 0 and 1"),
        ({"alpha": -0.1}, "alpha must be a number between 0 and 1"),
        ({"max_nodes": 0}, "max_nodes must be a whole number, at least 1"),
        ({"leaf_multiplier": 1.5}, "leaf_multiplier must be a whole number"),
        ({"dreams": -1}, "dreams must be a whole number, at least 0"),
        ({"bits": 0}, "bits must be a whole number, at least 1"),
    ],
)
@pytest.mark.parametrize("kind", [CMT, PCMT])
def test_impossible_options_are_refused_at_once(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options)


def test_it_starts_anew_for_every_stream():
    learner = CMT()
    for shape in (Space(3, (), 2), Space(0, (3, 4), 5)):
        learner.start(shape, seed=1)
        assert int(learner._bandit.memory.count.memories) == 0
