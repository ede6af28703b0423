"""PEMT+ beside its parts in plain Python, its switches, and the same stack over a Contextual Memory Tree."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from plain_linear import PlainLinear

from emt import Environment, Space, evaluate
from emt._kernels.explore import sample
from emt._kernels.vector import offsets
from emt.data import from_arrays, load
from emt.environment import Context
from emt.learners import PCMT, PEMT, PCMTPlus, PEMTPlus
from emt.learners.emt import eigen_options
from emt.reference.eigen import PlainEMT, PlainTree
from emt.reference.stacked import PlainLeastSquares, PlainStack, neighbours_of_action

CONF = Path(__file__).parents[3] / "conf" / "learner"


def mixed(n_rows=150):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, n_rows)
    columns = [rng.normal(labels), rng.normal(size=n_rows), (labels + rng.integers(0, 2, n_rows)) % 4]
    return from_arrays(np.column_stack(columns), labels, categorical=[2], name="mixed")


def by_hand(learner, environment, seed):
    """PEMT+ from plain parts: yield each step's context, answers, probabilities, action and reward."""
    space, shift = environment.space, offsets(environment.space.n_numeric, environment.space.n_levels)
    K = space.n_actions
    memory = PlainEMT(PlainTree(eigen_options(learner, space, seed)))
    joint, stack = PlainLinear(K, constant=True), PlainStack(K, guard=learner.guard)
    ridges = [PlainLeastSquares(np.zeros(1 + space.n_numeric + sum(space.n_levels))) for _ in range(K)]
    for die, (context, label) in zip(environment.dice, environment, strict=True):
        numeric, levels = context.numeric.astype(float), context.categorical
        near = [neighbours_of_action(memory.tree, numeric, levels, a, learner.neighbours or 1) for a in range(K)]
        remembered = memory.ask(numeric, levels)
        answers = np.column_stack([remembered, near])
        codes, x = levels + shift, [1.0, *memory.tree.memory(numeric, levels, 0).x[:-K]]
        J = [-joint.cost(numeric, codes, a, remembered[a]) for a in range(K)]
        R = [ridge.predict(x) if learner.ridge else 0.0 for ridge in ridges]
        seen = answers * [1, bool(learner.neighbours), learner.confidence]
        values = stack.values(J, R, seen)
        best = values == values.max()
        p = 0.1 / K + 0.9 * best / best.sum()
        action = int(sample(p, die))
        reward = float(action == label)
        yield context, answers, p, action, reward
        stack.learn(action, reward, p[action])
        weight = 1 / (K * p[action])
        joint.learn(numeric, codes, action, remembered[action], reward, weight)
        ridges[action].learn(x, reward, weight)
        memory.learn(numeric, levels, action, reward, p[action])


SWITCHES = [
    {},
    {"neighbours": 0},
    {"confidence": False},
    {"ridge": False},
    {"guard": False},
    {"leaf_capacity": 15, "neighbours": 2},
    {"leaf_capacity": 15, "budget": 40},
    {"scorer": "interaction"},
]


@pytest.mark.parametrize("options", SWITCHES, ids=str)
def test_it_is_its_plain_parts_together(options):
    """Step by step on its own dice: what the memory answers, and each action's probability."""
    learner, environment = PEMTPlus(**options), Environment(mixed(), seed=0)
    learner.start(environment.space, 5)
    n_stacked = 0
    for context, answers, p, action, reward in by_hand(learner, environment, 5):
        np.testing.assert_allclose(learner.predict(context, 3), p, atol=1e-9)
        np.testing.assert_allclose(learner._bandit.answers, answers, atol=2e-4)
        learner.learn(context, action, reward, float(p[action]))
        n_stacked += int(np.argmax(p) != np.argmax(learner._bandit.model.z[:, 1]))
    assert n_stacked > 0, "the stack has a say"


@pytest.mark.parametrize("n_actions", [2, 7])  # of many actions a leaf is sorted first
@pytest.mark.parametrize("k", [1, 5, 40])
def test_of_neighbours_as_near_as_each_other_those_stored_last_are_asked(k, n_actions):
    """Four contexts, each stored many times with either reward: most neighbours are ties."""
    rng = np.random.default_rng(0)
    learner = PEMTPlus(neighbours=k, duplicates="both", leaf_capacity=60)
    space = Space(1, (2,), n_actions)
    learner.start(space, seed=1)
    plain = PlainEMT(PlainTree(eigen_options(learner, space, 1)))
    for _ in range(150):
        context = Context(rng.integers(0, 2, 1).astype(np.float32), rng.integers(0, 2, 1))
        numeric, levels = context.numeric.astype(float), context.categorical
        near = [neighbours_of_action(plain.tree, numeric, levels, a, k) for a in range(n_actions)]
        plain.ask(numeric, levels)  # which breaks ties at random
        learner.predict(context, n_actions)
        np.testing.assert_allclose(learner._bandit.answers[:, 1:], near, atol=1e-5)
        action, reward = int(rng.integers(n_actions)), float(rng.integers(2))
        learner.learn(context, action, reward, 0.5)
        plain.learn(numeric, levels, action, reward, 0.5)


def test_what_is_switched_off_has_no_weight():
    environment = Environment(mixed(), seed=0)
    for option, places in (("neighbours", [3]), ("confidence", [4, 5]), ("ridge", [2])):
        learner = PEMTPlus(**{option: 0 if option == "neighbours" else False})
        learner.play(environment, 0)
        assert np.flatnonzero(learner._bandit.model.weight == 0).tolist() == places


def test_a_stack_that_has_been_worse_is_not_followed():
    """While the guard's sums say so, the greedy action is the joint model's."""
    environment, learners = Environment(mixed(), seed=0), [PEMTPlus(), PEMTPlus(guard=False)]
    differ = [0, 0]
    for k, learner in enumerate(learners):
        learner.start(environment.space, 0)
        for context, label in environment:
            learner._bandit.model.guard.sums[:] = -100, 1
            p = learner.predict(context, 3)
            differ[k] += int(np.argmax(p) != np.argmax(learner._bandit.model.z[:, 1]))
            action = int(np.argmax(p))
            learner.learn(context, action, float(action == label), float(p[action]))
    assert differ[0] == 0
    assert differ[1] > 0


def test_the_stack_learns_only_of_what_was_predicted():
    environment, learner = Environment(mixed(), seed=0), PEMTPlus()
    learner.start(environment.space, 0)
    for context, label in environment:
        learner.learn(context, label, 1.0, 0.5)
    assert learner._bandit.model.weight.tolist() == [0, 1, 0, 0, 0, 0]
    assert learner._bandit.memory.tree.counts.memories > 100


@pytest.mark.parametrize("name", ["wine", "balance-scale"])
def test_it_earns_more_than_pemt(name):
    """Where ten seeds tell."""
    environments = [Environment(load(name), seed) for seed in range(10)]
    plus, pemt = ([evaluate(one, each).mean() for each in environments] for one in (PEMTPlus(), PEMT()))
    assert np.mean(plus) > np.mean(pemt) + 0.005


def test_wide_contexts_have_a_first_order_model_and_a_note():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    dataset = from_arrays(rng.normal(size=(80, 160)) + labels[:, None], labels, name="wide")
    learner = PEMTPlus()
    evaluate(learner, Environment(dataset, seed=0))
    assert "161 inputs are too many for a ridge" in learner.note
    learner.start(Space(159, (), 2), 0)
    learner.finish()
    assert learner.note == ""


def test_the_same_stack_stands_on_a_contextual_memory_tree():
    """It hears of one memory's reward, in the place of the neighbours' mean."""
    learner, environment = PCMTPlus(), Environment(mixed(), seed=0)
    learner.play(environment, 0)
    stack = learner._bandit.model
    np.testing.assert_array_equal(stack.z[:, 3], learner._bandit.answers[:, 0])
    assert stack.z[:, 4:].tolist() == [[0, 0]] * 3
    given = yaml.safe_load((CONF / "pcmt_plus.yaml").read_text())
    assert given == {"_target_": "emt.learners.PCMTPlus", "epsilon": 0.1}
    assert PCMTPlus(epsilon=0.1).params.items() >= {k: v for k, v in PCMT().params.items() if k != "class"}.items()


def test_the_config_has_all_parts():
    given = yaml.safe_load((CONF / "pemt_plus.yaml").read_text())
    assert given.pop("_target_") == "emt.learners.PEMTPlus"
    parts = {"neighbours": 5, "confidence": True, "ridge": True, "guard": True, "forgetting": 1.0}
    assert PEMTPlus(**given).params.items() >= (PEMT().params | parts | {"class": "PEMTPlus"}).items()


@pytest.mark.parametrize(
    "options",
    [{"neighbours": -1}, {"ridge": 1}, {"guard": None}, {"confidence": 0}, {"forgetting": 0}, {"forgetting": 1.1}],
    ids=str,
)
def test_impossible_options_are_refused_at_once(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        PEMTPlus(**options)


def test_numbers_of_any_size_leave_probabilities():
    rng, learner = np.random.default_rng(0), PEMTPlus()
    learner.start(Space(3, (), 2), seed=0)
    for _ in range(200):
        x = (rng.choice([-1, 1], 3) * rng.choice([1e-30, 1, 1e20, 1e38], 3)).astype(np.float32)
        p = learner.predict(Context(x, np.zeros(0, int)), 2)
        assert p.sum() == pytest.approx(1)
        learner.learn(Context(x, np.zeros(0, int)), int(rng.integers(2)), float(rng.integers(2)), 0.5)
