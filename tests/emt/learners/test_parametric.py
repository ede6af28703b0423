"""Parametric follows Vowpal Wabbit, taught by the same actions and rewards."""

import numpy as np
import pytest
import vowpalwabbit
from compiled import from_python

from emt import Context, Environment, Space, evaluate
from emt._kernels import parts
from emt._kernels.linear import allocate
from emt._kernels.vector import offsets
from emt.data import load
from emt.learners import Parametric
from emt.learners.parametric import linear_model

begin, judge, learn = map(from_python, (parts.begin, parts.judge, parts.learn))

VW = "--cb_adf --interactions xa --interactions xxa --ignore_linear x -b 26 --quiet"
SPACES = {
    "numeric": Space(5, (), 3),
    "categorical": Space(0, (3, 5, 2), 4),
    "mixed": Space(4, (3, 5), 3),
}


def stream(space, n, seed=0):
    """Contexts with zeros, large and negative numbers; rewards that depend on them."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([0.01, 1, 30], space.n_numeric)
    for _ in range(n):
        numeric = (rng.normal(size=space.n_numeric) * scale * (rng.random(space.n_numeric) < 0.8)).astype(np.float32)
        codes = np.array([rng.integers(levels) for levels in space.n_levels], np.int32)
        action, probability = int(rng.integers(space.n_actions)), float(rng.uniform(0.05, 1))
        right = int(numeric.sum() > 0) if space.n_numeric else int(codes[0])
        reward = float(rng.random() < (0.9 if action == right else 0.2))
        memory = (rng.random(space.n_actions) < 0.5).astype(float)
        yield numeric, codes, action, probability, reward, memory


def lines(numeric, codes, n_actions, memory=None):
    """VW's text format."""
    names = [f"n{i}:{value!r}" for i, value in enumerate(numeric.tolist()) if value]
    names += [f"c{code}" for code in codes]
    told = [" |m m:1" if memory is not None and memory[a] else "" for a in range(n_actions)]
    return ["shared |x " + " ".join(names)] + [f"|a a{a}{told[a]}" for a in range(n_actions)]


def largest_differences(space, n, with_memory=False, bits=None):
    """Teach both the same and return, per step, the largest difference of scores relative to the largest score."""
    workspace = vowpalwabbit.Workspace(VW if with_memory else f"{VW} --noconstant")
    linear = allocate(space.n_numeric, space.n_levels, space.n_actions, constant=with_memory, bits=bits)
    values, differences = np.zeros(space.n_actions), []
    for numeric, levels, action, probability, reward, memory in stream(space, n):
        codes = levels + offsets(space.n_numeric, space.n_levels)
        answers = (memory if with_memory else np.zeros(space.n_actions))[:, None].copy()
        example = lines(numeric, codes, space.n_actions, memory if with_memory else None)
        begin(linear, numeric, codes)
        judge(linear, answers, values)
        costs = np.array(workspace.predict(example))
        differences.append(np.abs(costs + values).max() / max(np.abs(costs).max(), 1e-3))
        example[action + 1] = f"{action}:{-reward}:{probability} {example[action + 1]}"
        workspace.learn(example)
        weight = 1 / (space.n_actions * probability)
        learn(linear, numeric, codes, action, answers, reward, weight)
    workspace.finish()
    assert np.abs(values).max() > 0.1, "something was learned"
    return np.array(differences)


@pytest.mark.parametrize("space", SPACES)
def test_scores_are_vowpal_wabbits(space):
    assert largest_differences(SPACES[space], 2000).max() < 1e-4


@pytest.mark.parametrize("space", SPACES)
def test_scores_with_a_constant_and_a_memorys_advice_are_vowpal_wabbits(space):
    """As PEMT has them."""
    assert largest_differences(SPACES[space], 2000, with_memory=True).max() < 1e-4


def test_a_hashed_table_without_collisions_is_no_different():
    assert largest_differences(SPACES["mixed"], 300, bits=24).max() < 1e-4


def test_features_have_places_of_their_own():
    """Every pair of columns, and every pair of levels that can occur together, has its weight."""
    linear = allocate(2, (3, 2), 1, constant=False, bits=None)
    seen = {}
    for code in range(6):
        codes = np.array([code % 3, code // 3], np.int32) + offsets(2, (3, 2))
        begin(linear, np.array([2.0, 3.0], np.float32), codes)
        n = int(linear.model["n_features"])
        assert n == 1 + 4 + 10
        assert linear.value[:n].max() == 9
        for index, value in zip(linear.feature[:n].tolist(), linear.value[:n].tolist(), strict=True):
            assert seen.setdefault(index, value) == value
    first, second_within, second_across = 1 + 2 + 5, 3 + 2 * 5 + 5, 3 * 2
    assert len(seen) == first + second_within + second_across
    assert max(seen) < linear.model["block"]


def test_zeros_cost_nothing():
    linear = allocate(1000, (50,) * 10, 2, constant=False, bits=20)
    begin(linear, np.zeros(1000, np.float32), offsets(1000, (50,) * 10))
    assert linear.model["n_features"] == 1 + 10 + 55


def test_wide_data_fall_back_on_hashed_weights_and_the_log_says_so():
    space = Space(30_000, (), 10)  # 450 million pairs an action: 50 GiB
    model, note = linear_model(space, 2**30, constant=False)
    assert "GiB of weights are over max_bytes: hashed into 2**24" in note
    assert len(model.weight) == 2**24 + 2
    assert sum(array.nbytes for array in (model.weight, model.adaptive, model.norm)) < 2**30
    assert linear_model(Space(64, (), 10), 2**30, constant=False)[1] == ""


def test_the_fallback_learns_as_well():
    environment = Environment(load("iris"), seed=0)
    dense, hashed = Parametric(), Parametric(max_bytes=0)
    rewards = evaluate(hashed, environment)
    assert hashed.note.startswith("0.0 GiB of weights are over max_bytes")
    assert rewards.mean() > 0.5
    np.testing.assert_array_equal(rewards, evaluate(dense, environment))
    assert dense.note == ""


@pytest.mark.parametrize("constant", [1e-40, 1e-30, 1e10, 1e20, -3e38])
def test_numbers_of_any_size_leave_finite_weights(constant):
    """A constant column stays as it is, and its square may vanish or overflow."""
    learner, rng = Parametric(), np.random.default_rng(0)
    learner.start(Space(4, (), 2), seed=0)
    for _ in range(300):
        x = rng.normal(size=4) * rng.choice([1e-30, 1e-18, 1, 1e6], 4)
        x[0] = constant
        context = Context(x.astype(np.float32), np.zeros(0, np.int32))
        assert np.isfinite(learner.predict(context, 2)).all()
        learner.learn(context, int(rng.integers(2)), float(rng.integers(2)), float(rng.uniform(0.01, 1)))
    assert np.isfinite(learner._bandit.model.weight).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 1.5}, "epsilon must be a number between 0 and 1, not 1.5"),
        ({"epsilon": -0.1}, "epsilon must be"),
        ({"max_bytes": -1}, "max_bytes must be a whole number, at least 0, not -1"),
        ({"max_bytes": 0.5}, "max_bytes must be"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Parametric(**options)
