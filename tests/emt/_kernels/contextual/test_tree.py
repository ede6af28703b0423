"""The compiled tree does what the plain one does, whatever the shape of contexts; and nothing is lost in it."""

import hashlib
import pickle

import numpy as np
import pytest
from closed_loop import codes, many_levels, play_compiled, play_reference, synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from emt import Environment
from emt._kernels.compile import kernel
from emt._kernels.contextual import tree as contextual
from emt._kernels.contextual.state import NONE, allocate
from emt._kernels.parts import ask as ask_part
from emt._kernels.parts import grow, has_room
from emt._kernels.parts import learn as learn_part
from emt._kernels.vector import offsets
from emt.data import load
from emt.reference.contextual import ContextualMemoryTree

ANSWERS = np.zeros((0, 1))  # what was answered plays no part in what is learned


@kernel
def ask(tree, numeric, codes, answers):
    ask_part(tree, numeric, codes, answers)


@kernel
def find(tree, numeric, codes, found):
    contextual.find(tree, numeric, codes, found)


@kernel
def learn(tree, numeric, codes, action, reward, weight):
    learn_part(tree, numeric, codes, action, ANSWERS, reward, weight)


#: Digests of every answer of two runs, and the state of the random stream at their end.
FROZEN = {
    "digits": (600, "bba41c6f7a67c4e2", 15420721937330277088),
    "tic-tac-toe": (600, "a33c4c7f1eca2db6", 5415862456262794049),
}


def leaves(tree):
    """Each leaf's memories, in order."""
    found = {}
    for node in range(int(tree.count["nodes"])):
        if tree.nodes[node]["child"] == NONE:
            found[node], m = [], tree.nodes[node]["first"] if tree.nodes[node]["size"] else NONE
            while m != NONE:
                found[node].append(int(m))
                m = tree.examples.link[m]["next"]
    return found


def plain_leaves(tree):
    """The same of a plain tree: the rewards of each leaf's memories."""
    found, nodes = {}, [tree.root]
    while nodes:
        node = nodes.pop()
        if node.left is None:
            found[node.number] = [memory.label for memory in node.memories]
        else:
            nodes += [node.left, node.right]
    return found


def assert_sound(tree):
    """Every memory is in exactly one leaf; sizes add up; inner nodes are empty; children are there."""
    n_nodes, held = int(tree.count["nodes"]), leaves(tree)
    assert sorted(m for leaf in held.values() for m in leaf) == list(range(int(tree.count["memories"])))
    assert all(tree.nodes[leaf]["size"] == len(members) for leaf, members in held.items())
    inner = [node for node in range(n_nodes) if node not in held]
    assert tree.nodes["size"][inner].sum() == 0
    children = [int(child) for node in inner for child in (tree.nodes[node]["child"], tree.nodes[node]["child"] + 1)]
    assert sorted(children) == list(range(1, n_nodes))


shapes = st.tuples(st.integers(0, 9), st.lists(st.integers(1, 5), max_size=3).map(tuple), st.integers(1, 4))
options = st.fixed_dictionaries(
    {
        "max_nodes": st.sampled_from([1, 2, 3, 9, 40]),
        "leaf_multiplier": st.integers(1, 3),
        "dreams": st.integers(0, 4),
        "alpha": st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
        "bits": st.sampled_from([25, None, 9, 11]),  # with 40 nodes, 9 leave 8 buckets
        "seed": st.integers(0, 2**64 - 1),
    }
)
values = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, -0.3, 1e-20, 100.0, 1e4])


@settings(max_examples=60, deadline=None)
@given(shape=shapes, options=options, data=st.data())
def test_it_does_what_the_plain_tree_does(shape, options, data):
    n_numeric, n_levels, n_actions = shape
    tree = allocate(n_numeric, n_levels, n_actions, n_memories=1, **options)
    plain = ContextualMemoryTree(**options)
    rows = st.tuples(
        st.lists(values, min_size=n_numeric, max_size=n_numeric),
        st.tuples(*(st.integers(0, n - 1) for n in n_levels)),
        st.integers(0, n_actions - 1),
        st.sampled_from([0.0, 1.0, 0.25]),
    )
    pool = data.draw(st.lists(rows, min_size=1, max_size=20))
    found, answers = np.zeros(n_actions, np.int64), np.zeros((n_actions, 1))
    for row in pool + pool[::-1] + pool:
        numeric, action, reward = np.array(row[0], np.float32), row[2], row[3]
        levels = np.array(row[1], np.int32) + offsets(n_numeric, n_levels)
        find(tree, numeric, levels, found)
        ask(tree, numeric, levels, answers)
        labels = [None if m == NONE else tree.examples.memory[m]["label"] for m in found]
        assert labels == [plain.answer(numeric, levels, a) for a in range(n_actions)]
        assert answers[:, 0].tolist() == [label or 0.0 for label in labels]
        while not has_room(tree):
            tree = grow(tree)
        learn(tree, numeric, levels, action, reward, 1.0)
        plain.learn(numeric, levels, action, reward)
        assert int(tree.count["rng"]) == plain.rng.state
    assert_sound(tree)
    labels = tree.examples.memory["label"]
    assert {leaf: labels[members].tolist() for leaf, members in leaves(tree).items()} == plain_leaves(plain)
    assert (tree.count["norms"], tree.count["weights"]) == (plain.coin.norms, plain.coin.weights)


@pytest.mark.parametrize("name", FROZEN)
def test_the_answers_of_two_runs_are_frozen(name):
    n, digest, state = FROZEN[name]
    found, tree = play_compiled(Environment(load(name), 0, n), 11)
    assert (hashlib.sha256(found.tobytes()).hexdigest()[:16], int(tree.count["rng"])) == (digest, state)


@pytest.mark.parametrize("max_nodes", [1, 5])
def test_leaves_grow_without_bound_once_there_are_all_nodes(max_nodes):
    environment = Environment(synthetic(3, 2, 500), 0)
    found, tree = play_compiled(environment, 1, max_nodes=max_nodes, leaf_multiplier=4, n_memories=1)
    assert_sound(tree)
    assert tree.count["nodes"] == max_nodes == len(tree.nodes)
    assert tree.nodes["size"].max() > 100
    expected, plain = play_reference(environment, 1, max_nodes=max_nodes, leaf_multiplier=4)
    np.testing.assert_array_equal(found, expected)
    assert int(tree.count["rng"]) == plain.rng.state


@pytest.mark.parametrize("name", ["wine", "tic-tac-toe"])
def test_a_tree_that_had_to_grow_is_the_same(name):
    environment = Environment(load(name), 0, 170)
    small, grown = play_compiled(environment, 2, n_memories=1, leaf_multiplier=1)
    large, ample = play_compiled(environment, 2, n_memories=4000, leaf_multiplier=1)
    np.testing.assert_array_equal(small, large)
    assert grown.count == ample.count
    n = int(grown.count["nodes"])
    assert grown.routers[:n].tobytes() == ample.routers[:n].tobytes()


def test_to_learn_it_need_not_be_asked():
    environment = Environment(load("wine"), 0)
    asked, unasked = (allocate(13, (), 3, seed=5, n_memories=178) for _ in range(2))
    answers = np.zeros((3, 1))
    for t, (numeric, levels) in enumerate(zip(environment.numeric, codes(environment), strict=True)):
        ask(asked, numeric, levels, answers)
        for tree in (asked, unasked):
            learn(tree, numeric, levels, t % 3, float(t % 2), 1.0)
    for name in ("child", "first", "size", "n_left", "n_right"):
        assert asked.nodes[name].tolist() == unasked.nodes[name].tolist()
    assert asked.routers.tobytes() == unasked.routers.tobytes()


def test_importance_weights_are_ignored():
    trees = [allocate(13, (), 3, seed=5, n_memories=178) for _ in range(2)]
    environment = Environment(load("wine"), 0)
    for t, (numeric, levels) in enumerate(zip(environment.numeric, codes(environment), strict=True)):
        for tree, weight in zip(trees, (1.0, 7.0), strict=True):
            learn(tree, numeric, levels, t % 3, float(t % 2), weight)
    assert trees[0].routers.tobytes() == trees[1].routers.tobytes()


@pytest.mark.parametrize("name", ["digits", "tic-tac-toe"])
def test_where_no_features_share_buckets_the_number_of_bits_does_not_matter(name):
    environment = Environment(load(name), 0, 300)
    found, tree = play_compiled(environment, 3)
    assert not tree.config["shared"]
    np.testing.assert_array_equal(found, play_compiled(environment, 3, bits=None)[0])


def test_without_bits_no_features_share_buckets():
    environment = Environment(many_levels(), 0)
    sharing, as_run = play_compiled(environment, 1)
    apart, tree = play_compiled(environment, 1, bits=None)
    assert as_run.config["shared"]
    assert not tree.config["shared"]
    assert (sharing != apart).any()
    np.testing.assert_array_equal(apart, play_reference(environment, 1, bits=None)[0])


def test_a_tree_survives_pickling():
    environment = Environment(load("wine"), 0)
    _, tree = play_compiled(environment, 2)
    copy = pickle.loads(pickle.dumps(tree))
    for numeric, levels in zip(environment.numeric[:50], codes(environment)[:50], strict=True):
        answers, expected = np.zeros((2, 3, 1))
        ask(tree, numeric, levels, expected)
        ask(copy, numeric, levels, answers)
        assert answers.tolist() == expected.tolist()


def test_room_is_in_proportion_to_nodes_and_features():
    small, wide = (allocate(n, (), 2, seed=0, n_memories=1000) for n in (8, 80))
    assert small.routers.nbytes < 2e6
    assert wide.routers.nbytes < 12 * small.routers.nbytes
