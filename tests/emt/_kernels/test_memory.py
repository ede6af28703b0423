"""The two ways to ask a tree: one key, or a context with every action."""

import pickle

import numpy as np
import pytest
from oracle import Oracle

from emt import EigenMemoryTree
from emt._kernels.memory import learn, make_room, predict_actions

N_ACTIONS = 4


def ask(tree, x, codes):
    values = np.zeros(N_ACTIONS)
    predict_actions(tree._tree, np.array(x, float), np.array(codes, np.int32) + tree._offsets, values)
    return values


def ask_oracle(oracle, x, codes):
    """Actions that share a leaf are answered together; uses count in the order of actions."""
    keys = [oracle.memory(x, codes, action) for action in range(N_ACTIONS)]
    if not oracle.used:
        return [0.0] * N_ACTIONS
    leaves = [oracle.leaf(key) for key in keys]
    found = {}
    for leaf in dict.fromkeys(map(id, leaves)):
        for action in range(N_ACTIONS):
            if id(leaves[action]) == leaf:
                found[action] = oracle.argmin(keys[action], leaves[action].M)
    for action in range(N_ACTIONS):
        if oracle.lru:
            oracle.used.remove(found[action])
            oracle.used.append(found[action])
    return [found[action].y for action in range(N_ACTIONS)]


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
@pytest.mark.parametrize("budget", [None, 25])
@pytest.mark.parametrize("predicted", [True, False])
def test_the_bandits_loop_makes_the_choices_of_the_oracle(variant, scorer, budget, predicted):
    """Ask about every action, learn one; with and without the use of what asking worked out."""
    rng = np.random.default_rng(7)
    options = {"variant": variant, "scorer": scorer, "budget": budget, "leaf_capacity": 6, "seed": 11, "eta": 0.02}
    options |= {"n_levels": (3,), "n_actions": N_ACTIONS}
    tree = EigenMemoryTree(2, **options)
    oracle = Oracle(2, **options, w=tree._tree.weight)
    contexts = [(rng.normal(size=2), [int(rng.integers(3))]) for _ in range(60)]
    for step in range(200):
        x, codes = contexts[rng.integers(60)] if rng.random() < 0.5 else (rng.normal(size=2), [int(rng.integers(3))])
        tree._tree = make_room(tree._tree)
        assert ask(tree, x, codes).tolist() == ask_oracle(oracle, x, codes)
        action, reward, weight = int(rng.integers(N_ACTIONS)), float(rng.integers(2)), float(rng.uniform(0.3, 3))
        learn(tree._tree, x, np.array(codes, np.int32) + tree._offsets, action, reward, weight, predicted)
        oracle.learn(oracle.memory(x, codes, action, reward), weight)
        assert int(tree._tree.count["rng"]) == oracle.rng.state, step
        np.testing.assert_allclose(tree._tree.weight[: len(oracle.w)], oracle.w, rtol=1e-7, atol=1e-9)
        assert [memory.y for memory in tree.memories()] == [memory.y for memory in oracle.used]


def test_asking_about_all_actions_is_asking_about_each():
    rng = np.random.default_rng(0)
    tree = EigenMemoryTree(3, leaf_capacity=10, n_actions=N_ACTIONS)
    for step in range(300):
        tree.learn(rng.normal(size=3), float(step), action=int(rng.integers(N_ACTIONS)), weight=float(rng.random()))
    for _ in range(50):
        x, copy = rng.normal(size=3), pickle.loads(pickle.dumps(tree))
        assert ask(tree, x, []).tolist() == [copy.query(x, action=action) for action in range(N_ACTIONS)]


def test_an_empty_tree_predicts_0():
    assert ask(EigenMemoryTree(1, n_actions=N_ACTIONS), [1.0], []).tolist() == [0] * N_ACTIONS
