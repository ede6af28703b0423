"""A tree as a memory of its own: neighbours, identifiers, forgetting, and many keys at once, beside the plain tree."""

import pickle

import inside
import numpy as np
import pytest
from oracle import Oracle

from emt import EigenMemoryTree
from emt._kernels.eigen.memory import learn_keys, query_keys

SPACES = [{"n_features": 3}, {"n_features": 2, "n_levels": (3, 2), "n_actions": 3}]
ALGORITHMS = [
    {"variant": variant, "scorer": scorer, "budget": budget, "duplicates": duplicates}
    for variant in ("as_run", "as_printed")
    for scorer in ("self_consistent", "interaction")
    for budget, duplicates in ((None, "first"), (25, "last"), (25, "both"))
]


def draw_key(rng, space):
    return {
        "x": rng.normal(size=space["n_features"]),
        "categorical": [int(rng.integers(n)) for n in space.get("n_levels", ())],
        "action": int(rng.integers(space["n_actions"])) if "n_actions" in space else None,
    }


def draw_keys(rng, space, n):
    """Keys, of which a quarter come again."""
    keys = [draw_key(rng, space) for _ in range(n)]
    return [keys[rng.integers(k + 1)] if rng.random() < 0.25 else key for k, key in enumerate(keys)]


def together(keys):
    """Keys as the arrays that take many."""
    arrays = {"X": [key["x"] for key in keys], "categorical": [key["categorical"] for key in keys]}
    return arrays | {"action": None if keys[0]["action"] is None else [key["action"] for key in keys]}


def grown_pair(space, algorithm, seed, n=120):
    """A tree and the plain one, after the same observations; identifiers come three times."""
    options = space | algorithm | {"leaf_capacity": 6, "seed": seed, "eta": 0.02}
    tree, oracle, rng = EigenMemoryTree(**options), Oracle(**options), np.random.default_rng(seed)
    for k, key in enumerate(draw_keys(rng, space, n)):
        y, id = float(rng.normal()), k % (n // 3) if k % 7 else None
        tree.learn(y=y, id=id, **key)
        oracle.learn(oracle.memory(*key.values(), y, id))
    return tree, oracle, rng


def all_of(tree):
    return [(memory.y, memory.id) for memory in tree.memories()]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_neighbours_are_those_of_the_plain_tree(algorithm, space):
    tree, oracle, rng = grown_pair(space, algorithm, seed=ALGORITHMS.index(algorithm))
    known = list(tree.memories())
    for step in range(40):
        key = draw_key(rng, space)
        if step % 4 == 0:  # a key that is there
            memory = known[rng.integers(len(known))]
            key = {"x": memory.x, "categorical": memory.categorical, "action": memory.action}
        k, query = int(rng.integers(1, 9)), oracle.memory(*key.values())
        found, plain = tree.neighbours(k=k, **key), oracle.neighbours(query, k)
        scores = [oracle.predict_scorer(query, memory) for memory in plain]
        assert [one.score for one in found] == pytest.approx(scores, abs=1e-9)
        if len(set(np.round(scores, 7))) == len(scores):
            assert [(one.y, one.id) for one in found] == [(memory.y, memory.id) for memory in plain]


def test_of_equal_scores_the_memory_that_was_stored_last_comes_first():
    tree = EigenMemoryTree(1, duplicates="both")
    tree.learn_many([[1.0], [1.0], [3.0], [1.0]], [0.0, 1.0, 2.0, 3.0], weight=0)
    assert [found.y for found in tree.neighbours([1.0], 3)] == [3.0, 1.0, 0.0]
    assert [found.y for found in tree.neighbours([2.0], 9)] == [3.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize("budget", [None, 25])
def test_looking_at_neighbours_changes_nothing(budget):
    tree, _, rng = grown_pair(SPACES[1], {"budget": budget}, seed=0)
    before = inside.state(tree)
    for _ in range(30):
        assert tree.neighbours(k=3, **draw_key(rng, SPACES[1]))
    assert inside.state(tree) == before


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_the_mean_of_the_nearest_is_that_of_the_plain_tree(algorithm):
    tree, oracle, rng = grown_pair(SPACES[0], algorithm, seed=3)
    for step in range(40):
        key, k = draw_key(rng, SPACES[0]), 2 + step % 5
        assert tree.query(k=k, **key) == pytest.approx(oracle.mean(oracle.memory(*key.values()), k))
        assert all_of(tree) == [(memory.y, memory.id) for memory in oracle.used], "not the same order of use"
        assert int(tree._tree.counts.rng) == oracle.rng.state


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_is_forgotten_is_what_the_plain_tree_forgets(algorithm, space):
    """By key and by identifier, with learning in between, until nothing is left."""
    tree, oracle, rng = grown_pair(space, algorithm, seed=ALGORITHMS.index(algorithm))
    n_forgotten, n_left = 0, [len(tree)]
    for step in range(400):
        if step % 3 == 0:
            id = int(rng.integers(50))
            n = tree.forget(id=id)
            assert n == oracle.forget_id(id)
        elif step % 3 == 1 and oracle.used:
            memory = list(tree.memories())[rng.integers(len(tree))]
            key = {"x": memory.x, "categorical": memory.categorical, "action": memory.action}
            n = tree.forget(**key)
            assert n == oracle.forget_key(oracle.memory(*key.values()))
            assert n >= 1
        elif step < 200:
            key, y, n = draw_key(rng, space), float(rng.normal()), 0
            tree.learn(y=y, id=step, **key)
            oracle.learn(oracle.memory(*key.values(), y, step))
        n_forgotten += n
        n_left.append(len(tree))
        assert all_of(tree) == [(memory.y, memory.id) for memory in oracle.used]
    assert n_forgotten > 60
    assert n_left[-1] == 0
    inside.assert_sound(tree)
    assert (tree.query(**draw_key(rng, space)), tree.n_leaves) == (0.0, 1)


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_tree_that_forgets_stays_sound(by):
    tree, _, rng = grown_pair(SPACES[1], {"duplicates": "both"}, seed=5, n=300)
    while len(tree):
        memory = list(tree.memories())[rng.integers(len(tree))]
        if by == "id" and memory.id is not None:
            assert tree.forget(id=memory.id) >= 1
        else:
            assert tree.forget(memory.x, categorical=memory.categorical, action=memory.action) >= 1
        inside.assert_sound(tree, unlike=False)


def test_forgetting_needs_a_key_or_an_identifier():
    tree = EigenMemoryTree(1)
    for arguments in ({}, {"x": [1.0], "id": 3}):
        with pytest.raises(ValueError, match="give the key, or the id"):
            tree.forget(**arguments)
    with pytest.raises(ValueError, match="id must be a whole number, at least 0"):
        tree.forget(id=-1)
    assert (tree.forget([1.0]), tree.forget(id=3)) == (0, 0)


def test_minus_0_is_0_to_forget_as_to_recall():
    tree = EigenMemoryTree(1)
    tree.learn([-0.0], 1.0)
    assert tree.forget([0.0]) == 1


# Identifiers


def test_an_identifier_comes_back_with_its_memory(tmp_path):
    tree = EigenMemoryTree(1, leaf_capacity=3, budget=20)
    for k in range(30):
        tree.learn([k], float(-k), id=2**63 - 1 - k if k % 2 else None)
    tree.save(tmp_path / "tree")
    for one in (tree, EigenMemoryTree.load(tmp_path / "tree"), pickle.loads(pickle.dumps(tree))):
        for memory in list(one.memories()):
            k = int(memory.x[0])
            assert one.retrieve([k]).id == memory.id == (2**63 - 1 - k if k % 2 else None)


@pytest.mark.parametrize(("duplicates", "y", "id"), [("first", 1.0, 10), ("last", 2.0, 11), ("both", 2.0, 11)])
def test_an_identifier_is_kept_with_the_value(duplicates, y, id):
    tree = EigenMemoryTree(1, duplicates=duplicates)
    tree.learn([1.0], 1.0, id=10)
    tree.learn([1.0], 2.0, id=11)
    found = tree.retrieve([1.0])
    assert (found.y, found.id) == (y, id)
    assert tree.forget(id=id) == 1


@pytest.mark.parametrize("id", [-1, 1.5, 2**63, "a", True])
def test_impossible_identifiers_are_refused(id):
    tree = EigenMemoryTree(1)
    with pytest.raises(ValueError, match="id must be a whole number"):
        tree.learn([1.0], 1.0, id=id)
    assert len(tree) == 0


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_impossible_numbers_of_neighbours_are_refused(k):
    tree = EigenMemoryTree(1)
    for look in (tree.query, tree.neighbours):
        with pytest.raises(ValueError, match="k must be a whole number, at least 1"):
            look([1.0], k=k)
    for look in (tree.query_many, tree.neighbours_many):
        with pytest.raises(ValueError, match="k must be a whole number, at least 1"):
            look([[1.0]], k=k)


def test_an_empty_tree_has_no_neighbours():
    tree = EigenMemoryTree(1)
    assert (tree.neighbours([1.0], 3), tree.query([1.0], k=3), tree.query_many([[1.0]]).tolist()) == ([], 0.0, [0.0])
    assert tree.query_many([[1.0]], k=3).tolist() == [0.0]
    assert tree.neighbours_many([[1.0]], 3).y.shape == (1, 0)


# Many at once


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_at_once_are_the_same_bits_as_one_by_one(algorithm, space, dtype):
    options = space | algorithm | {"leaf_capacity": 20, "dtype": dtype}
    one, many, rng = EigenMemoryTree(**options), EigenMemoryTree(**options), np.random.default_rng(0)
    for n in (1, 400, 0, 50):
        keys = [draw_key(rng, space), *draw_keys(rng, space, n)][:n] or [draw_key(rng, space)]
        y, weight = rng.normal(size=len(keys)), rng.integers(0, 3, len(keys)).astype(float)
        ids = rng.integers(0, 9, len(keys))
        for k, key in enumerate(keys):
            one.learn(y=y[k], weight=weight[k], id=int(ids[k]), **key)
        many.learn_many(y=y, weight=weight, id=ids, **together(keys))
        assert inside.state(many) == inside.state(one)
        keys = [draw_key(rng, space) for _ in range(60)]
        assert many.query_many(**together(keys)).tolist() == [one.query(**key) for key in keys]
        assert inside.state(many) == inside.state(one)
    assert len(one) == 25 or len(one) > 300, "enough to grow"


def test_no_keys_at_all_change_nothing():
    tree = EigenMemoryTree(2)
    tree.learn_many(np.zeros((0, 2)), [])
    assert len(tree) == 0
    assert tree.query_many(np.zeros((0, 2))).shape == (0,)


GOOD = {"X": np.zeros((3, 2)), "y": [0.0, 1.0, 2.0], "categorical": [[0], [1], [2]], "action": [0, 1, 1]}
BAD = [
    ({"X": np.zeros(2)}, "X must have a row of 2 coordinates for each key"),
    ({"X": np.zeros((3, 3))}, "X must have a row of 2 coordinates for each key"),
    ({"X": [[0, 0], [0, np.nan], [0, 0]]}, r"key 1: x\[1\] is nan"),
    ({"categorical": None}, "categorical must have a row of codes for each key"),
    ({"categorical": [[0], [1], [3]]}, r"key 2: categorical\[0\] is 3"),
    ({"action": None}, "action must have an action for each of the 3 keys"),
    ({"action": [0, 1]}, "action must have an action for each of the 3 keys"),
    ({"action": [0, 1, -1]}, "key 2: action is -1"),
    ({"y": [0.0, 1.0]}, "y must have a number for each of the 3 keys"),
    ({"y": [0.0, np.inf, 1.0]}, "key 1: y must be a finite number"),
    ({"weight": [1.0, 1.0]}, "weight must have a number for each"),
    ({"weight": [1.0, -1.0, 1.0]}, "key 1: weight must be a finite number"),
    ({"id": [1, 2]}, "id must have a number for each"),
    ({"id": [1, 2, -3]}, "id must have a whole number, at least 0"),
    ({"id": [1.0, 2.0, 3.0]}, "id must have a whole number"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=str)
def test_if_any_is_refused_none_is_learned(changes, message):
    tree = EigenMemoryTree(2, n_levels=[3], n_actions=2)
    with pytest.raises(ValueError, match=message):
        tree.learn_many(**(GOOD | changes))
    assert len(tree) == 0
    tree.learn_many(**GOOD)
    assert len(tree) == 3


def test_arrays_that_cannot_be_written_to_are_taken_as_they_are():
    """And nothing is compiled for them."""
    tree, X = EigenMemoryTree(2), np.random.default_rng(0).random((9, 4))[:, ::2]
    tree.learn_many(X, np.arange(9.0))
    X.flags.writeable = False
    y = np.arange(9.0)
    y.flags.writeable = False
    before = len(learn_keys.overloads), len(query_keys.overloads)
    tree.learn_many(X, y, y)
    tree.learn(X[0], 1.0)
    tree.query(X[0])
    tree.query_many(X)
    assert (len(learn_keys.overloads), len(query_keys.overloads)) == before


@pytest.mark.parametrize("k", [2, 5, 1000])
def test_neighbours_and_means_of_many_keys_are_those_of_each(k):
    tree, _, rng = grown_pair(SPACES[1], {"budget": 60}, seed=1)
    keys = [draw_key(rng, SPACES[1]) for _ in range(50)]
    before = inside.state(tree)
    found = tree.neighbours_many(k=k, **together(keys))
    for row, key in enumerate(keys):
        expected = tree.neighbours(k=k, **key)
        n = len(expected)
        assert 0 < n <= k
        assert found.y[row, :n].tolist() == [one.y for one in expected]
        assert found.score[row, :n].tolist() == [one.score for one in expected]
        assert found.id[row, :n].tolist() == [-1 if one.id is None else one.id for one in expected]
        assert np.isnan(found.y[row, n:]).all()
        assert (found.score[row, n:] == np.inf).all()
        assert (found.id[row, n:] == -1).all()
    assert found.y.shape[1] <= k
    assert inside.state(tree) == before, "looking changes nothing"
    again = pickle.loads(pickle.dumps(tree))
    assert tree.query_many(k=k, **together(keys)).tolist() == [again.query(k=k, **key) for key in keys]
    assert all_of(tree) == all_of(again), "not the same order of use"


# More coordinates


def with_zeros(key, n):
    return key | {"x": np.append(key["x"], np.zeros(n))}


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_wider_tree_finds_what_it_found_before(algorithm, space):
    tree, _, rng = grown_pair(space, algorithm, seed=5)
    keys = [draw_key(rng, space) for _ in range(40)]
    stored, found = list(tree.memories()), [tree.neighbours(k=4, **key) for key in keys]
    shape = (len(tree), tree.n_leaves, tree.depth)
    tree.widen(space["n_features"] + 9)
    assert (len(tree), tree.n_leaves, tree.depth) == shape
    for memory, before in zip(tree.memories(), stored, strict=True):
        assert memory.x.tolist() == [*before.x, *[0.0] * 9]
        assert memory.categorical.tolist() == before.categorical.tolist()
        assert (memory.action, memory.y, memory.id) == (before.action, before.y, before.id)
    for key, before in zip(keys, found, strict=True):
        now = tree.neighbours(k=4, **with_zeros(key, 9))
        assert [one.score for one in now] == pytest.approx([one.score for one in before], abs=1e-9)


@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_wider_tree_goes_on_as_one_that_was_as_wide_from_the_start(scorer, space):
    """As long as no leaf is split: a split draws a number for each coordinate."""
    options, rng = {"scorer": scorer, "leaf_capacity": 500}, np.random.default_rng(2)
    tree = EigenMemoryTree(**space | options)
    wide = EigenMemoryTree(**space | options | {"n_features": space["n_features"] + 2})
    for step in range(80):
        key, y = draw_key(rng, space), float(rng.normal())
        if step == 40:
            tree.widen(space["n_features"] + 2)
        long = key | {"x": np.append(key["x"], rng.normal(size=2) if step >= 40 else np.zeros(2))}
        tree.learn(y=y, **(long if step >= 40 else key))
        wide.learn(y=y, **long)
    for _ in range(20):
        key = with_zeros(draw_key(rng, space), 2)
        here, there = tree.neighbours(k=5, **key), wide.neighbours(k=5, **key)
        assert [one.y for one in here] == [one.y for one in there]
        assert [one.score for one in here] == pytest.approx([one.score for one in there], abs=1e-9)


def test_a_tree_is_not_made_narrower():
    tree = EigenMemoryTree(3)
    with pytest.raises(ValueError, match="n_features must be a whole number, at least 3, not 2"):
        tree.widen(2)
