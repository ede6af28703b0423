"""Parametric follows Vowpal Wabbit, taught by the same actions and rewards, however its weights are laid out."""

import numpy as np
import pytest
import vowpalwabbit
from compiled import from_python
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_linear import PlainLinear

from emt import Context, Environment, Space, evaluate
from emt._kernels import linear as kernels
from emt._kernels import parts
from emt._kernels.linear import products
from emt._kernels.vector import offsets
from emt.data import from_arrays, load
from emt.learners import PEMT, Learner, Parametric
from emt.learners.parametric import linear_model

begin, judge, learn = map(from_python, (parts.begin, parts.judge, parts.learn))

VW = "--cb_adf --interactions xa --interactions xxa --ignore_linear x -b 26 --quiet"
SPACES = {
    "numeric": Space(5, (), 3),
    "categorical": Space(0, (3, 5, 2), 4),
    "mixed": Space(4, (3, 5), 3),
}
#: Bytes for all features, and for those of numeric coordinates: which of them have positions from the start.
LAYOUTS = {"all": (2**26, 2**28), "numeric": (0, 2**28), "none": (0, 0)}


@pytest.fixture
def lay_out(monkeypatch):
    """Choose a layout of the weights, and room for so many features that occur."""

    def choose(layout, n_bytes=2**29):
        monkeypatch.setattr(kernels, "ALL_BYTES", LAYOUTS[layout][0])
        monkeypatch.setattr(kernels, "NUMERIC_BYTES", LAYOUTS[layout][1])
        monkeypatch.setattr(kernels, "OCCURRING_BYTES", n_bytes)

    return choose


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


def largest_differences(space, n, with_memory=False):
    """Teach both the same and return, per step, the largest difference of scores relative to the largest score."""
    workspace = vowpalwabbit.Workspace(VW if with_memory else f"{VW} --noconstant")
    linear = linear_model(space, constant=with_memory)
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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_are_vowpal_wabbits_in_every_layout(lay_out, layout):
    lay_out(layout)
    assert largest_differences(SPACES["mixed"], 300, with_memory=True).max() < 1e-4


numbers = st.one_of(st.just(0.0), st.floats(-5, 5, width=32), st.sampled_from([1e-20, 100, -30]))
widths = st.sampled_from([0, 1, 2, 7, 8, 9, 20])


@settings(deadline=None, max_examples=60)
@given(st.data(), widths, st.lists(st.integers(2, 4), max_size=3), st.integers(1, 4), st.booleans())
def test_scores_are_those_of_the_plain_model(data, n_numeric, n_levels, n_actions, constant):
    """Dense contexts, lists, and both in turn; learning with and without a prediction before it."""
    space = Space(n_numeric, tuple(n_levels), n_actions)
    plain, linear = PlainLinear(n_actions, constant), linear_model(space, constant=constant)
    values, shift = np.zeros(n_actions), offsets(n_numeric, n_levels)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    for few in data.draw(st.lists(st.booleans(), min_size=1, max_size=12)):
        numeric = np.array(data.draw(st.lists(numbers, min_size=n_numeric, max_size=n_numeric)), np.float32)
        if few and n_numeric:
            numeric[rng.random(n_numeric) < 0.9] = 0
        codes = np.array([rng.integers(n) for n in n_levels], np.int32) + shift
        answers, action = rng.random((n_actions, 1)), int(rng.integers(n_actions))
        begin(linear, numeric, codes)
        if rng.random() < 0.7:
            judge(linear, answers, values)
            costs = [plain.cost(numeric, codes, a, answers[a, 0]) for a in range(n_actions)]
            np.testing.assert_allclose(-values, costs, rtol=1e-3, atol=1e-3)
        reward, weight = float(rng.random()), float(rng.uniform(0.1, 3))
        learn(linear, numeric, codes, action, answers, reward, weight)
        plain.learn(numeric, codes, action, answers[action, 0], reward, weight)


def test_an_action_can_learn_twice_from_a_context():
    """What was predicted for it before the first time is out of date."""
    space = Space(3, (), 2)
    x, none, answers, values = np.ones(3, np.float32), np.zeros(0, np.int32), np.zeros((2, 1)), np.zeros(2)
    predicted, silent = linear_model(space, constant=False), linear_model(space, constant=False)
    for model in (predicted, silent):
        for _ in range(2):
            begin(model, x, none)
            if model is predicted:
                judge(model, answers, values)
            learn(model, x, none, 0, answers, 1.0, 1.0)
            learn(model, x, none, 0, answers, 0.5, 1.0)
    np.testing.assert_array_equal(predicted.weight, silent.weight)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_features_have_positions_of_their_own(lay_out, layout):
    """Every pair of columns, and every pair of levels that can occur together."""
    lay_out(layout)
    linear = linear_model(Space(2, (3, 2), 1), constant=False)
    seen = {}
    for code in range(6):
        codes = np.array([code % 3, code // 3], np.int32) + offsets(2, (3, 2))
        begin(linear, np.array([2.0, 3.0], np.float32), codes)
        dense, n = int(linear.model["n_dense"]), int(linear.model["n_features"])
        positions = [*range(dense), *linear.feature[dense:n].tolist()]
        features = [(k, x) for k, x in zip(positions, linear.value[:n].tolist(), strict=True) if x]
        assert len(features) == 1 + 4 + 10
        assert max(value for _, value in features) == 9
        for position, value in features:
            assert seen.setdefault(position, value) == value
    first, second_within, second_across = 1 + 2 + 5, 3 + 2 * 5 + 5, 3 * 2
    assert len(seen) == first + second_within + second_across
    assert max(seen) < linear.weight.shape[1]


@pytest.mark.parametrize("n_nonzero", [0, 3, 1000])
def test_few_features_are_listed_and_many_are_not(n_nonzero):
    linear = linear_model(Space(1000, (50,) * 10, 2), constant=False)
    begin(linear, (np.arange(1000) < n_nonzero).astype(np.float32), offsets(1000, (50,) * 10))
    listed = linear.model["n_features"] - linear.model["n_dense"]
    if n_nonzero < 1000:
        assert linear.model["n_dense"] == 0
        assert listed == products(1 + n_nonzero + 10)
    else:
        assert 0 <= linear.model["n_dense"] - products(1001) < 32
        assert listed == products(1011) - products(1001)


@pytest.mark.parametrize("layout", ["numeric", "none"])
@pytest.mark.parametrize("kind", [Parametric, PEMT])
def test_numbering_the_features_that_occur_changes_no_reward(lay_out, kind, layout):
    """Compiled and step by step, through several growths of the table."""
    environment = Environment(many_levels(), seed=0)
    expected = evaluate(kind(), environment)
    lay_out(layout)
    learner = kind()
    np.testing.assert_array_equal(evaluate(learner, environment), expected)
    counts = learner._bandit.model.numbering.counts
    assert counts.room > 3 * linear_model(environment.space, constant=False).numbering.counts.room, "it grew"
    assert counts.next < products(1 + 2 + 8 * 60) / 5, "few pairs occur"
    np.testing.assert_array_equal(Learner.play(kind(), environment, environment.learner_seed), expected)
    assert learner.note == ""


def many_levels():
    """Two numbers, and eight columns with so many levels that pairs of them hardly occur twice."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    codes = rng.integers(0, 60, (400, 8))
    codes[:, 0] = labels * 20 + rng.integers(0, 20, 400)
    numbers = rng.normal(size=(400, 2)) + labels[:, None]
    return from_arrays(np.column_stack([numbers, codes]), labels, categorical=range(2, 10), name="many-levels")


@pytest.mark.parametrize("step_by_step", [False, True])
def test_where_features_must_share_weights_the_log_says_so(lay_out, step_by_step):
    environment = Environment(load("iris"), seed=0)
    expected = evaluate(Parametric(), environment)
    lay_out("none", n_bytes=10 * 100)
    learner = Parametric()
    play = Learner.play if step_by_step else Parametric.play
    rewards = play(learner, environment, environment.learner_seed)
    assert learner.note == "too many features: the first 10 have weights, others share theirs"
    assert not np.array_equal(rewards, expected)
    assert rewards.mean() > expected.mean() - 0.1
    assert np.isfinite(learner._bandit.model.weight).all()
    lay_out("all")
    evaluate(learner, environment)
    assert learner.note == ""


def test_wide_data_need_no_more_memory_than_the_features_that_occur():
    """Of 450 million pairs of numeric columns, and of 120 million of levels."""
    for space in (Space(30_000, (), 10), Space(0, (15_487,), 2)):
        model = linear_model(space, constant=False)
        weights = sum(array.nbytes for array in (model.weight, model.adaptive, model.norm, model.numbering.slot))
        assert weights <= 2**29
    assert weights < 2**21
    assert linear_model(Space(64, (), 10), constant=False).numbering.counts.room == products(65)


def test_a_wide_context_with_few_numbers_is_learned():
    rng = np.random.default_rng(0)
    learner = Parametric(epsilon=0)
    learner.start(Space(30_000, (), 3), seed=0)
    for step in range(60):
        numeric = np.zeros(30_000, np.float32)
        numeric[rng.integers(0, 30_000, 30)] = 1
        numeric[right := step % 3] = 1
        context = Context(numeric, np.zeros(0, np.int32))
        p = learner.predict(context, 3)
        if step >= 45:
            assert p.argmax() == right
        for action in range(3):
            learner.learn(context, action, float(action == right), 1 / 3)


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
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Parametric(**options)
