"""EMT: the tree as a bandit."""

from pathlib import Path

import inside
import numpy as np
import pytest
import yaml

from emt import Context, EigenMemoryTree, Environment, Space, evaluate
from emt._kernels.explore import sample
from emt.data import from_arrays, load
from emt.learners import EMT, Learner

CONF = Path(__file__).parents[3] / "conf" / "learner"
SPACE = Space(2, (3,), 4)


def contexts(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        context = Context(rng.random(2).astype(np.float32), rng.integers(0, 3, 1).astype(np.int32))
        yield context, int(rng.integers(4)), float(rng.integers(2)), float(rng.uniform(0.1, 1))


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
def test_it_learns_as_its_tree_does(variant, scorer):
    """Keys are context and action; as run, observations weigh 1 / (|A| p), as printed 1."""
    options = {"leaf_capacity": 10, "budget": 50, "variant": variant, "scorer": scorer, "eviction": "fifo"}
    learner = EMT(**options)
    learner.start(SPACE, seed=4)
    tree = EigenMemoryTree(2, n_levels=(3,), n_actions=4, seed=4, dtype="float32", **options)
    for context, action, reward, probability in contexts(200):
        learner.learn(context, action, reward, probability)
        weight = 1 / (4 * probability) if variant == "as_run" else 1.0
        tree.learn(context.numeric, reward, weight, categorical=context.categorical, action=action)
    np.testing.assert_array_equal(learner._bandit.memory.scorer.weight, tree._tree.scorer.weight)
    twin = EigenMemoryTree(2, n_levels=(3,), n_actions=4, dtype="float32", **options)
    twin._tree = learner._bandit.memory
    assert inside.state(twin) == inside.state(tree)


def test_it_explores_epsilon_greedily_by_remembered_rewards():
    learner = EMT(epsilon=0.2)
    learner.start(Space(1, (), 4), seed=0)
    here = Context(np.ones(1, np.float32), np.zeros(0, np.int32))
    assert learner.predict(here, 4).tolist() == pytest.approx([0.25] * 4), "an empty memory predicts 0"
    for action, reward in enumerate((0.0, 1.0, 0.0, 1.0)):
        learner.learn(here, action, reward, 0.25)
    assert learner.predict(here, 4).tolist() == pytest.approx([0.05, 0.45, 0.05, 0.45])


@pytest.mark.parametrize("name", ["iris", "tic-tac-toe"])
@pytest.mark.parametrize("options", [{}, {"budget": 40}, {"variant": "as_printed"}, {"scorer": "interaction"}], ids=str)
def test_play_is_the_loop_step_by_step(name, options):
    """Growing on the way, more than once."""
    environment = Environment(load(name), seed=1)
    for seed in (0, 2**64 - 1):
        played = EMT(**options).play(environment, seed)
        looped = Learner.play(EMT(**options), environment, seed)
        np.testing.assert_array_equal(played, looped)


def test_one_query_per_action_and_step_counts_as_use():
    """Asking about all actions touches what each of them finds, in their order."""
    learner = EMT(budget=100)
    learner.start(Space(1, (), 3), seed=0)
    here = Context(np.ones(1, np.float32), np.zeros(0, np.int32))
    for action in (2, 1, 0):
        learner.learn(here, action, float(action), 0.3)
    tree = EigenMemoryTree(1, n_actions=3, budget=100, dtype="float32")
    tree._tree = learner._bandit.memory
    learner.predict(here, 3)
    assert [memory.action for memory in tree.memories()] == [0, 1, 2]


def test_a_budget_bounds_the_memories():
    learner = EMT(budget=30)
    evaluate(learner, Environment(load("iris"), seed=0))
    assert int(learner._bandit.memory.counts.memories) == 30


def test_memory_helps():
    """Better than chance by far, and with self-consistency better than without."""
    means = {}
    for name, options in {"emt": {}, "ablation": {"scorer": "interaction", "leaf_capacity": 50}}.items():
        means[name] = np.mean([evaluate(EMT(**options), Environment(load("wine"), seed)).mean() for seed in range(5)])
    assert means["emt"] > 0.7
    assert means["ablation"] < means["emt"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "emt",
            {"epsilon": 0.1, "leaf_capacity": 100, "scorer": "self_consistent", "variant": "as_run", "budget": None},
        ),
        ("emt_not_self_consistent", {"leaf_capacity": 50, "scorer": "interaction", "variant": "as_run"}),
        ("emt_as_printed", {"variant": "as_printed", "scorer": "self_consistent"}),
        ("emt_random_router", {"router": "random"}),
    ],
)
def test_the_configs_are_those_of_the_paper(name, values):
    given = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    assert given.pop("_target_") == "emt.learners.EMT"
    assert EMT(**given).params.items() >= values.items()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 2}, "epsilon must be a number between 0 and 1"),
        ({"leaf_capacity": 0}, "leaf_capacity must be a whole number, at least 1, not 0"),
        ({"budget": -1}, "budget must be a whole number"),
        ({"variant": "as_ran"}, "variant must be one of as_run, as_printed, not 'as_ran'"),
        ({"scorer": "x"}, "scorer must be one of"),
        ({"router": "x"}, "router must be one of"),
        ({"eviction": "x"}, "eviction must be one of"),
        ({"epochs": 0}, "epochs must be a whole number, at least 1, not 0"),
        ({"weighted": "yes"}, "weighted must be True or False, not 'yes'"),
    ],
)
def test_impossible_options_are_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        EMT(**options)


def test_a_loop_of_ones_own_earns_what_evaluate_says():
    environment, learner = Environment(load("iris"), seed=2, horizon=60), EMT()
    learner.start(environment.space, environment.learner_seed)
    rewards = []
    for die, (context, label) in zip(environment.dice, environment, strict=True):
        p = learner.predict(context, 3)
        action = int(sample(p, die))
        rewards.append(int(action == label))
        learner.learn(context, action, float(rewards[-1]), float(p[action]))
    assert rewards == evaluate(EMT(), environment).tolist()


@pytest.mark.parametrize("size", [1e10, 1e20, 3e38])
@pytest.mark.parametrize("options", [{}, {"variant": "as_printed"}, {"scorer": "interaction"}, {"budget": 50}])
def test_columns_so_large_that_scores_overflow_do_no_harm(size, options):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.random((300, 2)), np.full(300, size)])
    environment = Environment(from_arrays(x, rng.integers(3, size=300), name="huge"), seed=0)
    assert len(evaluate(EMT(leaf_capacity=20, **options), environment)) == 300
