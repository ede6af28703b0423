import subprocess
import sys

import numpy as np
import pytest

from emt import Environment
from emt.data import Dataset, from_arrays, load

N = 200


@pytest.fixture
def mixed() -> Dataset:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(N), rng.normal(5, 3, N), np.full(N, 7.0), rng.integers(0, 4, N)])
    return from_arrays(X, np.arange(N) % 3, categorical=[3], name="mixed")


def rows_of(environment: Environment, dataset: Dataset) -> np.ndarray:
    """Which rows of the dataset an environment has, by its first numeric column, which is 0, 1, 2, ..."""
    scaled = environment.numeric[:, 0]
    extent = np.ptp(dataset.numeric[:, 0]) if len(environment) == len(dataset) else None
    if extent is None:  # 1 / (max - min) of the taken rows: the steps of the grid give it away
        extent = 1 / np.min(np.diff(np.sort(scaled.astype(float))))
    return np.rint(scaled * extent).astype(int)


def test_a_full_environment_is_a_permutation_of_the_rows(mixed):
    environment = Environment(mixed, seed=3, horizon=4000)
    rows = rows_of(environment, mixed)
    assert sorted(rows) == list(range(N))
    np.testing.assert_array_equal(environment.labels, mixed.labels[rows])
    np.testing.assert_array_equal(environment.categorical, mixed.categorical[rows])


def test_all_seeds_take_the_same_rows_in_another_order(mixed):
    rows = [rows_of(Environment(mixed, seed, horizon=120), mixed) for seed in range(4)]
    assert len(rows[0]) == 120
    assert len({tuple(sorted(taken)) for taken in rows}) == 1
    assert len({tuple(taken) for taken in rows}) == 4
    assert set(rows[0]) != set(range(120)), "the rows are a random draw, not the first ones"


def test_scaling_is_by_the_extent_of_the_taken_rows_without_a_shift(mixed):
    for horizon in (50, 4000):
        environment = Environment(mixed, seed=1, horizon=horizon)
        np.testing.assert_allclose(np.ptp(environment.numeric[:, :2], axis=0), 1, rtol=1e-5)
        np.testing.assert_array_equal(environment.numeric[:, 2], 7.0)
    assert environment.numeric[:, 1].mean() == pytest.approx(
        mixed.numeric[:, 1].mean() / np.ptp(mixed.numeric[:, 1]), rel=1e-5
    )


def test_the_types_are_what_compiled_code_expects(mixed):
    environment = Environment(mixed, seed=0)
    for array, dtype in (
        (environment.numeric, np.float32),
        (environment.categorical, np.int32),
        (environment.labels, np.int32),
    ):
        assert array.dtype == dtype
        assert array.flags.c_contiguous
    assert environment.space.n_numeric == 3
    assert environment.space.n_levels == (4,)
    assert environment.space.n_actions == 3


def test_iterating_gives_the_rows_in_order(mixed):
    environment = Environment(mixed, seed=0, horizon=5)
    steps = list(environment)
    assert len(steps) == len(environment) == 5
    for step, (context, label) in enumerate(steps):
        np.testing.assert_array_equal(context.numeric, environment.numeric[step])
        np.testing.assert_array_equal(context.categorical, environment.categorical[step])
        assert label == environment.labels[step]


def test_dice_and_the_learners_seed_come_from_dataset_and_seed():
    X, y = np.arange(50.0)[:, None], np.arange(50) % 2
    made = {
        (name, seed): Environment(from_arrays(X, y, name=name), seed) for name in ("one", "other") for seed in (0, 1)
    }
    assert len({environment.dice.tobytes() for environment in made.values()}) == 4
    assert len({environment.learner_seed for environment in made.values()}) == 4
    again = Environment(from_arrays(X, y, name="one"), 0, horizon=20)
    np.testing.assert_array_equal(again.dice, made["one", 0].dice[:20], "a shorter stream has the first of them")
    assert again.learner_seed == made["one", 0].learner_seed
    assert all(0 <= environment.learner_seed < 2**64 for environment in made.values())
    assert all(((environment.dice >= 0) & (environment.dice < 1)).all() for environment in made.values())


def test_the_order_is_the_same_in_another_process_and_after_other_environments():
    code = "from emt import Environment; from emt.data import load; e = Environment(load('wine'), 5, 60)"
    code += "; print(e.labels.tolist())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    Environment(load("iris"), 5, 60)
    assert other == str(Environment(load("wine"), 5, 60).labels.tolist())


def test_the_order_comes_from_the_name():
    X, y = np.arange(50.0)[:, None], np.arange(50) % 2
    one, same, other = (Environment(from_arrays(X, y, name=name), 0) for name in ("one", "one", "other"))
    np.testing.assert_array_equal(one.numeric, same.numeric)
    assert not np.array_equal(one.numeric, other.numeric)


def test_extents_beyond_float32_do_not_overflow():
    X = np.array([[-3e38], [3e38], [1.0]])
    environment = Environment(from_arrays(X, [0, 1, 0]), seed=0)
    assert np.isfinite(environment.numeric).all()
    assert np.ptp(environment.numeric) == pytest.approx(1)


def test_a_set_without_numeric_columns():
    environment = Environment(load("tic-tac-toe"), seed=0)
    assert environment.numeric.shape == (958, 0)
    assert environment.space.n_levels == (3,) * 9


@pytest.mark.parametrize("horizon", [0, -1, 10.0, True, None])
def test_a_horizon_that_is_no_positive_whole_number_is_refused(horizon):
    with pytest.raises(ValueError, match="horizon must be a whole number, at least 1"):
        Environment(load("wine"), 0, horizon)


@pytest.mark.parametrize("seed", [1.5, "a", None, float("nan"), True])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be a whole number, not "):
        Environment(load("wine"), seed)


def test_numpys_whole_numbers_are_whole_numbers():
    plain, numpys = Environment(load("wine"), 3, 60), Environment(load("wine"), np.int64(3), np.int32(60))
    np.testing.assert_array_equal(plain.dice, numpys.dice)
    np.testing.assert_array_equal(plain.labels, numpys.labels)


def test_an_empty_dataset_is_refused():
    none = np.zeros((0, 0))
    empty = Dataset("empty", none, none, np.zeros(0), np.zeros(0), ("a", "b"), (), ())
    with pytest.raises(ValueError, match="'empty' has no rows"):
        Environment(empty, 0)
