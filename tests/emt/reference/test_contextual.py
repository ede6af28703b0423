"""The Contextual Memory Tree in plain Python gives Vowpal Wabbit's answer to every query."""

import numpy as np
import pytest
from closed_loop import play_reference, play_vw, synthetic

from emt import Environment
from emt.data import from_arrays, load
from emt.reference.contextual import ContextualMemoryTree, Random

SETS = {"iris": 150, "wine": 120, "tic-tac-toe": 150, "multiplexer-11": 150, "digits": 120}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_answer_is_vowpal_wabbits(name, seed):
    environment = Environment(load(name), seed, SETS[name])
    found, tree = play_reference(environment, seed)
    assert tree.n_nodes > 1
    np.testing.assert_array_equal(found, play_vw(environment, seed))


@pytest.mark.parametrize(
    "options",
    [
        {"max_nodes": 9, "leaf_multiplier": 3},
        {"max_nodes": 500},
        {"dreams": 0},
        {"dreams": 3},
        {"leaf_multiplier": 1},
        {"alpha": 0.1},
        {"alpha": 0.9},
    ],
    ids=str,
)
def test_every_answer_is_vowpal_wabbits_with_other_options(options):
    environment = Environment(synthetic(4, 3, 150), 0)
    found, tree = play_reference(environment, 5, **options)
    assert tree.n_nodes > 1
    np.testing.assert_array_equal(found, play_vw(environment, 5, **options))


def test_every_answer_is_vowpal_wabbits_where_features_share_buckets():
    rng = np.random.default_rng(0)
    dataset = from_arrays(rng.normal(size=(150, 20)), np.arange(150) % 3, name="shared")
    environment = Environment(dataset, 0)
    found, _ = play_reference(environment, 3, bits=16, leaf_multiplier=2)  # 5 are left for 20 features
    np.testing.assert_array_equal(found, play_vw(environment, 3, bits=16, leaf_multiplier=2))
    assert (found != play_reference(environment, 3, leaf_multiplier=2)[0]).any(), "sharing makes a difference"


def test_without_bits_no_features_share_a_bucket():
    example = ContextualMemoryTree(max_nodes=2**20, bits=None).example([1.0] * 50, [], action=3)
    assert len(example.flat) == 2 * 50 + 2


def test_the_same_action_doubles_the_similarity_and_the_first_of_equals_wins():
    tree = ContextualMemoryTree()
    for action, reward in ((0, 0.25), (1, 0.5), (1, 0.75)):
        tree.learn([0.5, 1.0], [], action, reward)
    order = [memory.label for memory in tree.root.memories]
    firsts = {action: next(m.label for m in tree.root.memories if m.action == action) for action in (0, 1)}
    assert sorted(order) == [0.25, 0.5, 0.75]
    assert tree.answer([0.5, 1.0], [], 0) == firsts[0]
    assert tree.answer([0.5, 1.0], [], 1) == firsts[1]
    assert tree.answer([0.5, 1.0], [], 2) == order[0]


def test_similarity_is_the_cosine_with_the_constant_included():
    tree = ContextualMemoryTree(dreams=0)
    tree.learn([3.0], [], 0, 0.0)
    tree.learn([0.1], [], 0, 1.0)
    # (1 + 0.5 * 3) / sqrt((1 + 9) (1 + 0.25)) = .71, (1 + 0.05) / sqrt((1 + 0.01) (1 + 0.25)) = .93
    assert tree.answer([0.5], [], 0) == 1.0
    assert tree.answer([8.0], [], 0) == 0.0  # 25 / sqrt(10 * 65) = .98, 1.8 / sqrt(1.01 * 65) = .22


def test_an_empty_tree_has_no_answer():
    assert ContextualMemoryTree().answer([1.0], [], 0) is None


def test_the_random_numbers_are_merand48s():
    rng = Random(2**32 + 1)
    assert rng.state == 1
    rng.uniform()
    assert rng.state == (0xEECE66D5DEECE66D + 2147483647) % 2**64
    numbers = [float(rng.uniform()) for _ in range(1000)]
    assert min(numbers) >= 0
    assert max(numbers) < 1
    assert 0.47 < np.mean(numbers) < 0.53
