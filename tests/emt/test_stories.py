import numpy as np
import pytest

from emt import Environment, evaluate
from emt.data import from_arrays, load
from emt.learners import EMT, Learner
from emt.stories import STORIES, change_steps

N, K = 403, 3


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    labels = rng.choice(K, N, p=(0.5, 0.3, 0.2))
    numeric = rng.random((N, 3))
    numeric[:, 1] += labels == 0
    X = np.column_stack([numeric, rng.integers(0, 4, N), labels, np.zeros(N)])
    return from_arrays(X, labels, categorical=[3, 4, 5], name="mixed")


def streams(dataset, story, seed=5):
    return Environment(dataset, seed), Environment(dataset, seed, story=story)


@pytest.mark.parametrize("story", STORIES)
def test_a_story_has_the_same_rows_dice_and_shape(mixed, story):
    plain, told = streams(mixed, story)
    assert told.space == plain.space
    assert told.learner_seed == plain.learner_seed
    np.testing.assert_array_equal(told.dice, plain.dice)
    for name in ("numeric", "categorical", "labels"):
        assert getattr(told, name).dtype == getattr(plain, name).dtype
        assert getattr(told, name).flags.c_contiguous
    assert ("story" in repr(told)) == (story != "none")
    assert (told.labels < K).all()
    assert (told.categorical < mixed.n_levels).all()


def test_where_nothing_happens_the_stream_is_what_it_was(mixed):
    plain, told = streams(mixed, "none")
    np.testing.assert_array_equal(told.numeric, plain.numeric)
    np.testing.assert_array_equal(told.labels, plain.labels)


@pytest.mark.parametrize(
    ("story", "changed"),
    [("abrupt", lambda t: t >= N // 2), ("recurring", lambda t: (N // 4 <= t < N // 2) or t >= 3 * N // 4)],
)
def test_labels_move_on_by_one_and_contexts_stay(mixed, story, changed):
    plain, told = streams(mixed, story)
    expected = [(label + changed(t)) % K for t, label in enumerate(plain.labels)]
    np.testing.assert_array_equal(told.labels, expected)
    np.testing.assert_array_equal(told.numeric, plain.numeric)
    np.testing.assert_array_equal(told.categorical, plain.categorical)
    at = np.flatnonzero(np.diff(told.labels != plain.labels)) + 1
    assert tuple(at) == change_steps(story, N)


def test_gradually_columns_become_their_neighbours(mixed):
    plain, told = streams(mixed, "gradual")
    for t in (0, 100, N - 1):
        for column in range(3):
            expected = (1 - t / N) * plain.numeric[t, column] + t / N * plain.numeric[t, column - 1]
            assert told.numeric[t, column] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_array_equal(told.labels, plain.labels)


def test_gradually_levels_become_the_next(mixed):
    plain, told = streams(mixed, "gradual")
    moved = (told.categorical - plain.categorical) % mixed.n_levels
    assert set(np.unique(moved)) == {0, 1}
    assert not moved[:, 2].any()  # one level: there is no other
    halves = moved[:, :2].reshape(-1, 2)
    assert halves[: N // 2].mean() == pytest.approx(0.25, abs=0.06)  # the mean of t/T there
    assert halves[N // 2 :].mean() == pytest.approx(0.75, abs=0.06)
    again = Environment(mixed, 5, story="gradual")
    np.testing.assert_array_equal(again.categorical, told.categorical)
    assert (Environment(mixed, 6, story="gradual").categorical != told.categorical).any()


def test_sorted_by_the_numeric_column_that_tells_the_majority(mixed):
    plain, told = streams(mixed, "sorted")
    assert (np.diff(told.numeric[:, 1]) >= 0).all()
    assert sorted(map(tuple, told.numeric)) == sorted(map(tuple, plain.numeric))
    order = {tuple(row): label for row, label in zip(plain.numeric, plain.labels, strict=True)}
    assert told.labels.tolist() == [order[tuple(row)] for row in told.numeric]


def test_without_numeric_columns_sorted_by_the_share_of_the_majority_in_a_level():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 300)
    told_by = np.where(rng.random(300) < 0.9, 2 * labels, 1)  # level 0: only label 0; level 2: only label 1
    dataset = from_arrays(
        np.column_stack([rng.integers(0, 3, 300), told_by]), labels, categorical=[0, 1], name="levels"
    )
    stream = Environment(dataset, 0, story="sorted")
    majority = np.bincount(labels).argmax()
    shares = [np.mean(dataset.labels[dataset.categorical[:, 1] == level] == majority) for level in range(3)]
    assert (np.diff(np.array(shares)[stream.categorical[:, 1]]) >= 0).all()
    ties = [Environment(dataset, seed, story="sorted").categorical[:, 0].tolist() for seed in (0, 1)]
    assert ties[0] != ties[1]  # rows with equal values stay in the seed's order


def test_constant_columns_sort_nothing():
    dataset = from_arrays(np.ones((20, 2)), np.arange(20) % 2, name="constant")
    plain, told = streams(dataset, "sorted")
    np.testing.assert_array_equal(told.labels, plain.labels)


def test_an_unknown_story_is_refused(mixed):
    with pytest.raises(ValueError, match="story must be one of none, abrupt, recurring, gradual, sorted, not 'sudden'"):
        Environment(mixed, 0, story="sudden")


@pytest.mark.parametrize("story", STORIES)
def test_compiled_learners_play_a_story_as_the_python_loop_does(story):
    environment = Environment(load("tic-tac-toe"), 1, horizon=120, story=story)
    rewards = evaluate(EMT(), environment)
    np.testing.assert_array_equal(rewards, Learner.play(EMT(), environment, environment.learner_seed))


def test_a_change_of_concept_hurts_a_memory():
    dataset = load("digits")
    after = {s: evaluate(EMT(), Environment(dataset, 0, 1600, s))[800:1000].mean() for s in ("none", "abrupt")}
    assert after["abrupt"] < after["none"] - 0.3
