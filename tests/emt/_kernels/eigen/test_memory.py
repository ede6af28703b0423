"""The memory in the loop: a context with every action, and what is learned of one."""

import pickle

import numpy as np
import pytest
from oracle import Oracle

from emt import EigenMemoryTree
from emt._kernels.eigen.memory import make_room
from emt._kernels.eigen.state import sum_levels
from emt._kernels.explore import EpsilonGreedy
from emt._kernels.play import learn_step, make_bandit, predict_step
from emt.reference.eigen import PlainEMT

N_ACTIONS = 4


def bandit_of(tree):
    return make_bandit(tree._tree, None, EpsilonGreedy(0.1), N_ACTIONS)


def ask(tree, x, codes):
    bandit = bandit_of(tree)
    predict_step(bandit, np.array(x, float), np.array(codes, np.int32) + tree._offsets)
    return bandit.answers[:, 0], bandit.probabilities


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
@pytest.mark.parametrize("budget", [None, 25])
def test_the_bandits_loop_makes_the_choices_of_algorithm_4(variant, scorer, budget):
    """Ask about every action, learn one."""
    rng = np.random.default_rng(7)
    options = {"variant": variant, "scorer": scorer, "budget": budget, "leaf_capacity": 6, "seed": 11, "eta": 0.02}
    options |= {"n_levels": (3,), "n_actions": N_ACTIONS}
    tree = EigenMemoryTree(2, **options)
    oracle = Oracle(2, **options)
    plain = PlainEMT(oracle)
    contexts = [(rng.normal(size=2), [int(rng.integers(3))]) for _ in range(60)]
    for step in range(200):
        x, codes = contexts[rng.integers(60)] if rng.random() < 0.5 else (rng.normal(size=2), [int(rng.integers(3))])
        tree._tree = make_room(tree._tree)
        _, probabilities = ask(tree, x, codes)
        assert probabilities.tolist() == pytest.approx(plain.predict(x, codes)), step
        action, reward, probability = int(rng.integers(N_ACTIONS)), float(rng.integers(2)), float(rng.uniform(0.1, 1))
        learn_step(bandit_of(tree), x, np.array(codes, np.int32) + tree._offsets, action, reward, probability)
        plain.learn(x, codes, action, reward, probability)
        assert int(tree._tree.counts.rng) == oracle.rng.state, step
        np.testing.assert_allclose(tree._tree.scorer.weight[: len(oracle.w)], oracle.w, rtol=1e-7, atol=1e-9)
        assert [memory.y for memory in tree.memories()] == [memory.y for memory in oracle.used]


def test_asking_about_all_actions_is_asking_about_each():
    rng = np.random.default_rng(0)
    tree = EigenMemoryTree(3, leaf_capacity=10, n_actions=N_ACTIONS)
    for step in range(300):
        tree.learn(rng.normal(size=3), float(step), action=int(rng.integers(N_ACTIONS)), weight=float(rng.random()))
    for _ in range(50):
        x, copy = rng.normal(size=3), pickle.loads(pickle.dumps(tree))
        assert ask(tree, x, [])[0].tolist() == [copy.query(x, action=action) for action in range(N_ACTIONS)]


def test_an_empty_tree_predicts_0():
    assert ask(EigenMemoryTree(1, n_actions=N_ACTIONS), [1.0], [])[0].tolist() == [0] * N_ACTIONS


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
def test_what_levels_come_to_follows_the_weights(variant):
    rng = np.random.default_rng(3)
    tree = EigenMemoryTree(2, n_levels=(3, 4), n_actions=3, leaf_capacity=8, variant=variant, crossed=True, eta=0.1)
    keys = rng.random((400, 2)), np.column_stack([rng.integers(3, size=400), rng.integers(4, size=400)])
    tree.learn_many(
        keys[0], rng.integers(0, 2, 400).astype(float), categorical=keys[1], action=rng.integers(3, size=400)
    )
    kept = tree._tree.scorer.level.copy()
    sum_levels(tree._tree)
    assert np.any(kept[:, 2:] != kept[0, 2:]), "the scorer has learned"
    np.testing.assert_array_equal(kept[:, 2:], tree._tree.scorer.level[:, 2:])


@pytest.mark.parametrize("duplicates", ["first", "both"])
def test_room_for_candidates_is_for_the_leaves_of_a_question_not_for_all_memories(duplicates):
    tree, rng = EigenMemoryTree(2, n_actions=3, leaf_capacity=20, duplicates=duplicates), np.random.default_rng(0)
    tree.learn_many(rng.random((3000, 2)), np.zeros(3000), action=rng.integers(3, size=3000))
    room = len(tree._tree.scratch.candidate)
    assert room < 300
    tree.learn_many(np.full((1000, 2), 0.5), np.arange(1000.0), action=np.zeros(1000, int))  # one leaf overflows
    grown = len(tree._tree.scratch.candidate)
    assert grown == room if duplicates == "first" else grown >= 1000
    assert tree.query([0.5, 0.5], action=0) == (0 if duplicates == "first" else 999)
