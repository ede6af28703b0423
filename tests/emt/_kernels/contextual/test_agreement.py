"""The compiled Contextual Memory Tree gives Vowpal Wabbit's answer to every query, in closed loop."""

import numpy as np
import pytest
from closed_loop import many_levels, play_compiled, play_vw, synthetic

from emt import Environment
from emt.data import DatasetError, load

EMBEDDED = {
    "iris": 150,
    "wine": 178,
    "breast-cancer-diagnostic": 300,
    "digits": 250,
    "tic-tac-toe": 400,
    "multiplexer-11": 400,
}
SYNTHETIC = {"10-2": (10, 2, 300), "50-10": (50, 10, 200), "20-26": (20, 26, 200)}

#: OpenML tasks: nominal, mixed, numeric, of many classes (2076, 6), and such that features share buckets (from 45 on).
TASKS = [3, 2076, 2139, 6, 9985, 18, 22, 125922, 14, 16, 28, 43, 37, 53, 146822, 11, 9952, 2074, 29, 31]
TASKS += [45, 156, 146199, 34539]

OPTIONS = [
    {"max_nodes": 9, "leaf_multiplier": 3},
    {"max_nodes": 500},
    {"dreams": 0},
    {"dreams": 3},
    {"leaf_multiplier": 1},
    {"alpha": 0.1},
    {"alpha": 0.9},
    {"max_nodes": 64, "leaf_multiplier": 2, "dreams": 2, "alpha": 0.3},
]


def assert_equal(environment, seed, **options):
    found, tree = play_compiled(environment, seed, **options)
    theirs = play_vw(environment, seed, **options)
    different = np.flatnonzero((found != theirs).any(axis=1))
    assert not len(different), f"{environment}: {len(different)} steps differ, the first is {different[0]}"
    assert tree.count["nodes"] > 1, "a tree of one leaf shows nothing"
    return tree


@pytest.mark.parametrize("name", EMBEDDED)
@pytest.mark.parametrize("seed", [0, 1, 2**40 + 2])
def test_on_embedded_sets(name, seed):
    assert_equal(Environment(load(name), seed, EMBEDDED[name]), seed)


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("seed", [3, 4])
def test_on_synthetic_sets(name, seed):
    assert_equal(Environment(synthetic(*SYNTHETIC[name]), seed), seed)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["iris", "tic-tac-toe"])
def test_with_other_options(name, options):
    assert_equal(Environment(load(name), 0, 250), 6, **options)


@pytest.mark.parametrize("seed", range(3))
def test_where_all_similarities_are_nearly_equal(seed):
    environment = Environment(synthetic(12, 4, 300, offset=100.0), seed)
    found, _ = play_compiled(environment, seed)
    np.testing.assert_array_equal(found, play_vw(environment, seed))


def test_where_thousands_of_levels_share_buckets():
    tree = assert_equal(Environment(many_levels(), 0), 0)
    assert tree.config["shared"]


def test_where_numeric_features_of_one_example_share_buckets():
    tree = assert_equal(Environment(synthetic(30, 3, 200), 0), 1, bits=16, leaf_multiplier=3)
    assert tree.config["shared"]


@pytest.mark.slow
@pytest.mark.parametrize("name", EMBEDDED)
@pytest.mark.parametrize("seed", range(5))
def test_on_embedded_sets_at_full_length(name, seed):
    assert_equal(Environment(load(name), seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("seed", range(3))
def test_on_prepared_tasks(task, seed):
    try:
        dataset = load(task)
    except DatasetError as error:
        pytest.skip(f"OpenML task {task} is not prepared: {error}")
    assert_equal(Environment(dataset, seed, 1000), seed + 10)
