"""EigenMemoryTree: the same choices as the oracle, its API, its refusals, its files."""

import itertools
import pickle
import subprocess
import sys

import inside
import numpy as np
import pytest
from oracle import Oracle

from emt import EigenMemoryTree
from emt.array_files import load_arrays, save_arrays
from emt.options import CHOICES, VARIANTS

SPACES = {
    "numeric": {"n_features": 3},
    "numeric and action": {"n_features": 3, "n_actions": 3},
    "mixed": {"n_features": 2, "n_levels": (3, 2)},
    "mixed and action": {"n_features": 2, "n_levels": (3, 2), "n_actions": 3},
}
CATEGORICAL = {
    "categorical": {"n_features": 0, "n_levels": (3, 4, 5)},
    "categorical and action": {"n_features": 0, "n_levels": (3, 4, 2), "n_actions": 3},
}
BUDGETS = {
    "unbounded": {},
    "lru": {"budget": 15, "eviction": "lru"},
    "fifo": {"budget": 15, "eviction": "fifo"},
}
ALGORITHMS = list(itertools.product(("as_run", "as_printed"), ("self_consistent", "interaction"), ("eigen", "random")))


def n_bytes(tree):
    return sum(array.nbytes for part in tree._tree[2:] for array in part)


def draw_key(rng, space, coarse=False):
    numbers = rng.integers(0, 3, space["n_features"]) if coarse else rng.normal(size=space["n_features"])
    if space["n_features"]:
        numbers[0] = 2.5  # a constant column
    codes = [int(rng.integers(n)) for n in space.get("n_levels", ())]
    return {
        "x": numbers,
        "categorical": codes,
        "action": int(rng.integers(space["n_actions"])) if "n_actions" in space else None,
    }


def stream(seed, space, n, coarse=False):
    """Pairs of a key to query and an observation to learn; a quarter of the keys were there before."""
    rng = np.random.default_rng(seed)
    keys = [draw_key(rng, space, coarse)]
    for _ in range(n):
        keys.append(keys[rng.integers(len(keys))] if rng.random() < 0.25 else draw_key(rng, space, coarse))
        query = keys[rng.integers(len(keys))] if rng.random() < 0.25 else draw_key(rng, space, coarse)
        value = float(rng.integers(2)) if rng.random() < 0.5 else float(rng.normal())
        yield query, keys[-1], value, float(rng.choice([0, 0.5, 1, 2]))


def make_pair(space, algorithm, budget, seed):
    options = dict(zip(("variant", "scorer", "router"), algorithm, strict=True)) | space | budget
    options |= {"leaf_capacity": 4, "seed": seed, "eta": 0.02}
    tree = EigenMemoryTree(**options)
    return tree, Oracle(**options)


def assert_same_step(tree, oracle, query, key, value, weight):
    found = tree.retrieve(**query)
    memory = oracle.query(oracle.memory(*query.values()))
    assert (found is None) == (memory is None)
    if found is not None:
        score = oracle.predict_scorer(oracle.memory(*query.values()), memory)
        assert found.score == pytest.approx(score, abs=1e-9)
        assert found.y == memory.y
        assert found.memory.x.tolist() == memory.x[: len(found.memory.x)]
    tree.learn(y=value, weight=weight, **key)
    oracle.learn(oracle.memory(*key.values(), value), weight)
    np.testing.assert_allclose(tree._tree.scorer.weight[: len(oracle.w)], oracle.w, rtol=1e-7, atol=1e-9)
    assert int(tree._tree.counts.rng) == oracle.rng.state, "not the same number of random draws"
    assert [memory.y for memory in tree.memories()] == [memory.y for memory in oracle.used]


def assert_same_nodes(tree, oracle, row=None, node=None):
    """The same routers and boundaries, and the same memories in the same leaves."""
    row, node = (int(tree._tree.counts.root), oracle.root) if node is None else (row, node)
    assert inside.is_leaf(tree, row) == (node.router is None)
    if node.router is None:
        there = inside.leaves(tree).get(row, [])
        assert sorted(memory.y for memory in there) == sorted(memory.y for memory in node.M)
        return
    here = tree._tree.nodes.node[row]
    np.testing.assert_allclose(tree._tree.nodes.router[row], node.router, atol=1e-7)
    assert here["boundary"] == pytest.approx(node.boundary, abs=1e-7)
    assert_same_nodes(tree, oracle, int(here["left"]), node.left)
    assert_same_nodes(tree, oracle, int(here["right"]), node.right)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=", ".join)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_tree_makes_the_choices_of_the_oracle(algorithm, space, budget):
    seed = ALGORITHMS.index(algorithm)
    tree, oracle = make_pair(SPACES[space], algorithm, BUDGETS[budget], seed)
    for step in stream(seed, SPACES[space], 150):
        assert_same_step(tree, oracle, *step)
    assert_same_nodes(tree, oracle)
    assert tree.n_leaves > 4, "the stream is there to split leaves"


VALUES = {
    **{choice.name: {choice.as_run, choice.as_printed} for choice in CHOICES},
    "epochs": {1, 3, 40},
    "duplicates": {"first", "last", "both"},
    "cross_terms": {"absolute", "signed"},
}
TURNED = [
    {"variant": variant, name: value}
    for variant, preset in VARIANTS.items()
    for name, values in VALUES.items()
    for value in sorted(values, key=str)
    if value != preset[name]
]


@pytest.mark.parametrize("turned", TURNED, ids=str)
def test_any_one_choice_can_be_turned(turned):
    """Each beside either variant, alone, with both scorers, with and without a budget."""
    for seed, (scorer, budget, space) in enumerate(
        [
            ("self_consistent", "unbounded", "mixed and action"),
            ("interaction", "lru", "mixed"),
            *[("self_consistent", budget, "numeric and action") for budget in ("lru", "fifo")],
        ]
    ):
        options = SPACES[space] | BUDGETS[budget] | turned
        options |= {"scorer": scorer, "leaf_capacity": 4, "seed": seed, "eta": 0.02}
        tree, oracle = EigenMemoryTree(**options), Oracle(**options)
        for step in stream(seed, SPACES[space], 80):
            assert_same_step(tree, oracle, *step)
        assert_same_nodes(tree, oracle)


@pytest.mark.parametrize("seed", range(12))
def test_any_choices_can_be_combined(seed):
    rng = np.random.default_rng(seed)
    options = {name: rng.choice(sorted(values, key=str)).item() for name, values in VALUES.items()}
    options |= {"scorer": rng.choice(["self_consistent", "interaction"]).item(), "leaf_capacity": 4, "seed": seed}
    options |= SPACES["mixed and action"] | BUDGETS[rng.choice(list(BUDGETS)).item()] | {"eta": 0.02}
    tree, oracle = EigenMemoryTree(**options), Oracle(**options)
    for step in stream(seed, SPACES["mixed and action"], 120):
        assert_same_step(tree, oracle, *step)
    assert_same_nodes(tree, oracle)


def test_zeros_and_signs_matter_to_signed_cross_terms():
    """Coordinates that are 0 in one key and negative in another: where the two ways part."""
    rng = np.random.default_rng(0)
    for terms in ("absolute", "signed"):
        options = {"n_features": 4, "n_actions": 3, "leaf_capacity": 10, "cross_terms": terms}
        tree, oracle = EigenMemoryTree(**options), Oracle(**options)
        draw = lambda: np.where(rng.random(4) < 0.4, 0, rng.normal(size=4))  # noqa: E731
        for _ in range(120):
            query, key = ({"x": draw(), "categorical": [], "action": int(rng.integers(3))} for _ in range(2))
            assert_same_step(tree, oracle, query, key, float(rng.integers(2)), 1.0)
        assert oracle.w[-1] != 0


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=", ".join)
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_tree_makes_the_choices_of_the_oracle_among_ties(algorithm, budget):
    """Coarse numbers and levels alone: many exact ties. A stream may end where rounding decides between the two."""
    steps = 0
    for space, seed in itertools.product((*SPACES.values(), *CATEGORICAL.values()), range(2)):
        tree, oracle = make_pair(space, algorithm, BUDGETS[budget], seed)
        for step in stream(seed, space, 100, coarse=True):
            try:
                assert_same_step(tree, oracle, *step)
            except AssertionError:
                if oracle.closest > 1e-9:
                    raise
                break
            steps += 1
    assert steps > 0.75 * 1200


def test_oja_finds_the_first_principal_component():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(101, 6)) * [3, 1, 1, 0.5, 0.1, 0] + 7
    tree = EigenMemoryTree(6)
    for x in X:
        tree.learn(x, 0.0)
    router = tree._tree.nodes.router[int(tree._tree.counts.root)][:6]
    top = np.linalg.eigh(np.cov(X.T))[1][:, -1]
    assert abs(router @ top) / np.linalg.norm(router) > 0.98


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
def test_when_a_leaf_splits(variant):
    tree = EigenMemoryTree(2, leaf_capacity=10, variant=variant)
    rng = np.random.default_rng(0)
    sizes = []
    for _ in range(11):
        tree.learn(rng.normal(size=2), 0.0)
        sizes.append(tree.n_leaves)
    first = sizes.index(2) + 1
    assert first == {"as_run": 11, "as_printed": 10}[variant]
    assert tree.depth == 1
    assert sorted(map(len, inside.leaves(tree).values())) == [5, 6]


def test_as_run_starts_from_weights_of_0_and_as_printed_from_random_ones():
    assert not EigenMemoryTree(5)._tree.scorer.weight.any()
    first, second = (EigenMemoryTree(5, variant="as_printed", seed=seed)._tree.scorer.weight for seed in (0, 1))
    assert first[:5].all()
    assert not np.array_equal(first, second)


def test_without_a_learned_scorer_as_run_retrieves_the_nearest():
    tree = EigenMemoryTree(2)
    for x, y in (([0, 0], 1.0), ([1, 1], 2.0), ([3, 0], 3.0)):
        tree.learn(x, y, weight=0)
    found = tree.retrieve([2, 0.5])
    assert found.y == 3.0 or found.y == 2.0
    assert found.score == pytest.approx(1 - np.exp(-np.sqrt(1.25)), abs=1e-9)
    assert tree.query([0.1, 0.1]) == 1.0


def test_the_scorer_learns_which_coordinate_matters():
    """The value is the sign of x[0]; x[1] is loud noise."""
    rng = np.random.default_rng(0)
    draw = lambda: np.array([rng.choice([-0.3, 0.3]) + rng.normal(0, 0.05), rng.normal(0, 1)])  # noqa: E731
    for variant in ("as_run", "as_printed"):
        tree = EigenMemoryTree(2, variant=variant, eta=0.01)
        early = []
        for _ in range(1500):
            x = draw()
            early.append(tree.query(x) == np.sign(x[0]))
            tree.learn(x, np.sign(x[0]))
        assert np.mean(early[-300:]) > 0.97
        assert tree._tree.scorer.weight[0] > 2 * abs(tree._tree.scorer.weight[1])


# Self-consistency and duplicates


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
@pytest.mark.parametrize("space", [*SPACES, *CATEGORICAL])
def test_stored_keys_return_their_own_values(variant, space, tmp_path):
    space = (SPACES | CATEGORICAL)[space]
    tree = EigenMemoryTree(**space, variant=variant, leaf_capacity=5, budget=60)
    latest = {}
    for _, key, value, weight in stream(1, space, 300):
        tree.learn(y=value, weight=weight, **key)
    tree.save(tmp_path / "tree")
    for memory in tree.memories():  # the oldest first, and an equal key that is newer answers for it
        latest[memory.x.tobytes(), memory.categorical.tobytes(), memory.action] = memory
    for one in (tree, EigenMemoryTree.load(tmp_path / "tree")):
        order = sorted(latest.values(), key=lambda memory: memory.y)
        for memory in order:
            found = one.retrieve(memory.x, categorical=memory.categorical, action=memory.action)
            assert found.score == -np.inf
            if variant == "as_run":
                assert found.y == memory.y


@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
def test_as_run_keeps_the_first_of_equal_keys(scorer):
    tree = EigenMemoryTree(1, scorer=scorer)
    tree.learn([1.0], 1.0)
    tree.learn([1.0], 2.0)
    assert (len(tree), tree.query([1.0])) == (1, 1.0)


@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
def test_the_last_value_of_a_key_can_be_kept_instead(scorer, variant):
    tree = EigenMemoryTree(1, scorer=scorer, variant=variant, duplicates="last", leaf_capacity=4)
    for step in range(50):
        tree.learn([float(step % 7)], float(step))
        assert tree.query([float(step % 7)]) == step
    assert len(tree) == 7


def test_a_key_that_is_learned_again_is_the_newest():
    tree = EigenMemoryTree(1, duplicates="last", budget=2, eviction="fifo")
    for value in (1.0, 2.0, 1.0, 3.0):
        tree.learn([value], value)
    assert [memory.y for memory in tree.memories()] == [1.0, 3.0]


def test_as_printed_keeps_all_of_equal_keys_and_the_latest_answers():
    tree = EigenMemoryTree(1, variant="as_printed", leaf_capacity=4)
    for step in range(50):
        tree.learn([float(step % 7)], float(step))
        assert tree.query([float(step % 7)]) == step
    assert len(tree) == 50


def test_an_exact_match_wins_where_negative_weights_clip_all_scores_to_0():
    tree = EigenMemoryTree(2, variant="as_printed")
    tree._tree.scorer.weight[:] = -1
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(40, 2))
    for k, key in enumerate(keys):
        tree.learn(key, float(k), weight=0)
    assert [tree.query(key) for key in keys] == list(range(40))
    assert tree.retrieve([9.0, 9.0]).score == 0


def test_keys_that_are_tiny_distances_apart_are_told_apart():
    tree = EigenMemoryTree(1)
    for k in range(5):
        tree.learn([k * 1e-200], float(k), weight=0)
    assert len(tree) == 5
    assert [tree.query([k * 1e-200]) for k in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
@pytest.mark.parametrize(
    ("dtype", "sizes"), [("float64", (1e-320, 1e-170, 1.0, 1e29)), ("float32", (1e-42, 1e-25, 1.0, 1e7))]
)
def test_numbers_of_any_size_leave_a_sound_tree(variant, scorer, dtype, sizes):
    """Squares of differences vanish or are huge; so are values and weights."""
    tree = EigenMemoryTree(2, leaf_capacity=4, variant=variant, scorer=scorer, dtype=dtype, n_actions=2)
    rng, keys = np.random.default_rng(0), {}
    for _ in range(300):
        x, action = (rng.normal(size=2) * rng.choice(sizes, 2)).astype(dtype), int(rng.integers(2))
        y, weight = float(rng.normal() * rng.choice(sizes)), float(rng.random() * rng.choice(sizes))
        tree.learn(x, y, weight, action=action)
        keys[x.tobytes(), action] = x, y
        assert np.isfinite(tree._tree.scorer.weight).all()
    inside.assert_sound(tree, unlike=False)
    assert len(pickle.loads(pickle.dumps(tree))) == len(tree), "a sound tree is taken for one"
    if scorer == "self_consistent":
        assert all(tree.query(x, action=action) == y for (_, action), (x, y) in keys.items())


def test_a_leaf_of_equal_keys_overflows_and_splits_once_another_comes():
    tree = EigenMemoryTree(2, variant="as_printed", leaf_capacity=3)
    for _ in range(50):
        tree.learn([1.0, 2.0], 0.0)
    assert (len(tree), tree.n_leaves) == (50, 1)
    tree.learn([1.0, 3.0], 1.0)
    assert tree.n_leaves == 2
    assert tree.query([1.0, 3.0]) == 1.0


def test_a_leaf_whose_projections_are_equal_overflows():
    """Keys may differ where the router does not look: in a coordinate whose share of the sum is lost to rounding."""
    tree = EigenMemoryTree(2, leaf_capacity=2, router="random")
    for k in range(20):
        tree.learn([1e29, k * 1.0], float(k))
    assert tree.n_leaves == 1
    assert [tree.query([1e29, k * 1.0]) for k in range(20)] == list(range(20))


# Budget


def test_lru_forgets_what_was_not_used():
    tree = EigenMemoryTree(1, budget=2, eviction="lru")
    tree.learn([1.0], 1.0)
    tree.learn([2.0], 2.0, weight=0)
    # learning [2.0] queried first, and found [1.0]; now [2.0] is the newest. Use [1.0] once more:
    tree.query([1.0])
    tree.learn([5.0], 5.0)  # its query finds [2.0], the nearest, so [1.0] goes
    assert [memory.y for memory in tree.memories()] == [2.0, 5.0]
    tree.learn([0.9], 0.9)
    assert [memory.y for memory in tree.memories()] == [2.0, 0.9]


def test_fifo_forgets_the_oldest_whatever_is_queried():
    tree = EigenMemoryTree(1, budget=2, eviction="fifo")
    for value in (1.0, 2.0, 3.0):
        tree.learn([value], value)
        tree.query([1.0])
    assert [memory.y for memory in tree.memories()] == [2.0, 3.0]


def test_a_key_that_is_known_is_used_again():
    tree = EigenMemoryTree(1, budget=2)
    for value in (1.0, 9.0, 1.0, 5.0):
        tree.learn([value], value)
    assert len(tree) == 2
    assert {memory.y for memory in tree.memories()} == {1.0, 5.0} or {memory.y for memory in tree.memories()} == {
        9.0,
        5.0,
    }


@pytest.mark.parametrize("eviction", ["lru", "fifo"])
@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
def test_a_bounded_tree_stays_small_for_ever(variant, eviction):
    """The data drift, so that old leaves empty; leaves, depth and bytes are bounded by the budget."""
    tree = EigenMemoryTree(2, leaf_capacity=5, budget=50, variant=variant, eviction=eviction)
    rng, sizes = np.random.default_rng(0), []
    for step in range(6000):
        tree.learn(rng.normal(size=2) + step / 100, 0.0)
        if step % 100 == 0:
            assert len(tree) == min(step + 1, 50)
            inside.assert_sound(tree)
            assert tree.depth < 50
            sizes.append(n_bytes(tree))
    assert max(sizes[10:]) <= 2 * sizes[10]
    assert sizes[-1] == sizes[30]


def test_a_budget_of_one():
    tree = EigenMemoryTree(1, leaf_capacity=1, budget=1)
    for value in range(10):
        tree.learn([value], float(value))
        assert [memory.y for memory in tree.memories()] == [value]
    assert tree.query([100.0]) == 9


# Keys


def test_an_empty_tree():
    tree = EigenMemoryTree(2)
    assert tree.query([0, 0]) == 0.0
    assert tree.retrieve([0, 0]) is None
    assert (len(tree), tree.depth, tree.n_leaves, list(tree.memories())) == (0, 0, 1, [])


def test_memories_come_back_as_they_went_in():
    tree = EigenMemoryTree(2, n_levels=[3, 5], n_actions=4)
    tree.learn([0.25, -3.0], 7.5, categorical=[2, 4], action=3)
    (memory,) = tree.memories()
    assert memory.x.tolist() == [0.25, -3.0]
    assert memory.categorical.tolist() == [2, 4]
    assert (memory.action, memory.y) == (3, 7.5)
    found = tree.retrieve([0.25, -3.0], categorical=[2, 4], action=3)
    assert (found.y, found.score, found.memory.action) == (7.5, -np.inf, 3)
    (memory,) = [*EigenMemoryTree(1).memories(), memory]
    tree = EigenMemoryTree(1)
    tree.learn([1.0], 2.0)
    assert next(tree.memories()).action is None


def test_memories_are_copies():
    tree = EigenMemoryTree(1)
    tree.learn([1.0], 2.0)
    next(tree.memories()).x[0] = 9
    assert tree.retrieve([1.0]).score == -np.inf


@pytest.mark.parametrize(
    "convert", [list, tuple, np.array, lambda x: np.array(x, dtype=np.float32), lambda x: np.array(x, dtype=np.int64)]
)
def test_keys_may_be_any_sequence_of_numbers(convert):
    tree = EigenMemoryTree(2, n_levels=[3])
    tree.learn(convert([1, 2]), 1, categorical=convert([2]))
    assert tree.retrieve([1.0, 2.0], categorical=[2]).score == -np.inf


def test_levels_and_actions_count_as_indicators():
    """A tree over codes and actions scores and learns like one over their indicators written out."""
    rng = np.random.default_rng(0)
    options = {"leaf_capacity": 5, "variant": "as_printed", "seed": 3}
    coded = EigenMemoryTree(2, n_levels=[3, 4], n_actions=2, **options)
    written = EigenMemoryTree(2 + 3 + 4 + 2, **options)
    written._tree.scorer.weight[:11] = coded._tree.scorer.weight[:11]
    for _ in range(4):  # before the first split: after it their random streams part
        x, codes, action, y = (
            rng.normal(size=2),
            [int(rng.integers(3)), int(rng.integers(4))],
            int(rng.integers(2)),
            rng.random(),
        )
        full = [*x, *np.eye(3)[codes[0]], *np.eye(4)[codes[1]], *np.eye(2)[action]]
        one, other = coded.retrieve(x, categorical=codes, action=action), written.retrieve(full)
        assert (one is None and other is None) or one.score == pytest.approx(other.score, abs=1e-12)
        coded.learn(x, y, categorical=codes, action=action)
        written.learn(full, y)
    np.testing.assert_allclose(coded._tree.scorer.weight[:11], written._tree.scorer.weight[:11], rtol=1e-12)


def test_wide_levels_take_no_room_per_memory():
    tree = EigenMemoryTree(1, leaf_capacity=1000, n_levels=[100_000] * 3)
    before, n = n_bytes(tree), len(tree._tree.memories.record)
    for k in range(n + 1):
        tree.learn([k], float(k), categorical=[k, 99_999, 7])
    assert n_bytes(tree) - before < 1000 * n


def test_single_precision_follows_double_precision():
    rng = np.random.default_rng(0)
    trees = [EigenMemoryTree(3, n_actions=2, leaf_capacity=20, dtype=dtype) for dtype in ("float64", "float32")]
    same = []
    for _ in range(300):
        x, action = rng.random(3).astype(np.float32), int(rng.integers(2))
        same.append(len({tree.query(x, action=action) for tree in trees}) == 1)
        for tree in trees:
            tree.learn(x, float(x[0] > 0.5) == action, action=action)
    assert np.mean(same) > 0.9
    assert trees[1]._tree.memories.numeric.dtype == np.float32


def test_the_seed_decides():
    def answers(seed):
        tree, rng = EigenMemoryTree(2, leaf_capacity=3, seed=seed), np.random.default_rng(0)
        for _ in range(60):
            tree.learn(rng.normal(size=2), rng.random())
        return [tree.query(x) for x in rng.normal(size=(50, 2))]

    assert answers(1) == answers(1)
    assert answers(1) != answers(2)
    assert answers(-1) == answers(2**64 - 1)


# Refusals


REFUSED_OPTIONS = [
    ({"n_features": -1}, "n_features must be a whole number, at least 0, not -1"),
    ({"n_features": 2.0}, "n_features must be a whole number"),
    ({"n_features": 0}, "a key needs something"),
    ({"n_features": 2**31}, "a key has 2147483648 coordinates"),
    ({"n_levels": [2**30, 2**30]}, "coordinates"),
    ({"n_actions": 2**63}, "coordinates"),
    ({"seed": 0.5}, "seed must be a whole number, not 0.5"),
    ({"leaf_capacity": 0}, "leaf_capacity must be a whole number, at least 1, not 0"),
    ({"leaf_capacity": -5}, "leaf_capacity must be"),
    ({"budget": 0}, "budget must be a whole number, at least 1, not 0"),
    ({"budget": -1}, "budget must be"),
    ({"budget": 10.5}, "budget must be"),
    ({"budget": 2**63}, "budget must be a whole number, at most 4611686018427387904, not"),
    ({"epochs": 10**9}, "epochs must be a whole number, at most 1000, not 1000000000"),
    ({"variant": "printed"}, "variant must be one of as_run, as_printed, not 'printed'"),
    ({"scorer": "dot"}, "scorer must be one of self_consistent, interaction"),
    ({"router": "best"}, "router must be one of eigen, random"),
    ({"eviction": "random"}, "eviction must be one of lru, fifo"),
    ({"n_levels": [3, 0]}, "n_levels must be a whole number, at least 1, not 0"),
    ({"n_actions": -1}, "n_actions must be"),
    ({"eta": 0.0}, "eta must be a positive number"),
    ({"eta": float("nan")}, "eta must be a positive number"),
    ({"dtype": "float16"}, "dtype must be one of float64, float32"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED_OPTIONS, ids=lambda case: str(case))
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        EigenMemoryTree(**({"n_features": 2} | options))


def test_whole_numbers_of_numpy_are_whole_numbers(tmp_path):
    """As they are they would wrap around, and be no JSON."""
    options = {"leaf_capacity": np.uint64(2**64 - 1), "seed": np.int32(3), "budget": np.int16(500)}
    tree = EigenMemoryTree(n_features=np.int8(1), **options)
    tree.learn_many(np.arange(300)[:, None], np.zeros(300))
    assert tree.n_leaves == 1
    tree.save(tmp_path / "tree")
    assert repr(EigenMemoryTree.load(tmp_path / "tree")) == repr(tree)
    assert "np." not in repr(tree)


@pytest.mark.parametrize("leaf_capacity", [2**63 - 1, 2**64, 10**30])
def test_a_leaf_may_have_any_capacity(leaf_capacity):
    tree = EigenMemoryTree(1, leaf_capacity=leaf_capacity)
    tree.learn_many(np.arange(200)[:, None], np.zeros(200))
    assert tree.n_leaves == 1


GOOD = {"x": [0.5, 0.5], "categorical": [1, 2], "action": 1}
REFUSED_KEYS = [
    ({"x": [0.5]}, "x must have 2 coordinates"),
    ({"x": [0.5] * 3}, "x must have 2 coordinates"),
    ({"x": [[0.5, 0.5]]}, "x must have 2 coordinates"),
    ({"x": 0.5}, "x must have 2 coordinates"),
    ({"x": [0.5, np.nan]}, r"x\[1\] is nan"),
    ({"x": [-np.inf, 0.5]}, r"x\[0\] is -inf"),
    ({"x": [1e300, 0.5]}, r"x\[0\] is 1e\+300: coordinates must be finite numbers of size 1e\+30 at most"),
    ({"x": ["a", "b"]}, "could not convert|must be"),
    ({"categorical": [1]}, "categorical must have 2 codes"),
    ({"categorical": ()}, "categorical must have 2 codes"),
    ({"categorical": [3, 2]}, r"categorical\[0\] is 3: codes of this column are whole numbers from 0 to 2"),
    ({"categorical": [1, -1]}, r"categorical\[1\] is -1"),
    ({"categorical": [1, 1.5]}, r"categorical\[1\] is 1.5"),
    ({"categorical": [1, np.nan]}, r"categorical\[1\] is nan"),
    ({"action": 2}, "action is 2: actions are whole numbers from 0 to 1"),
    ({"action": -1}, "action is -1"),
    ({"action": 0.5}, "action is 0.5"),
    ({"action": np.nan}, "action is nan"),
    ({"action": None}, "action is None"),
]


def grown_tree():
    tree, rng = EigenMemoryTree(2, leaf_capacity=5, budget=40, n_levels=[3, 4], n_actions=2), np.random.default_rng(0)
    for _ in range(60):
        tree.learn(rng.normal(size=2), rng.random(), categorical=rng.integers(0, 3, 2), action=int(rng.integers(2)))
    return tree


@pytest.mark.parametrize(("changes", "message"), REFUSED_KEYS, ids=lambda case: str(case))
def test_bad_keys_are_refused_and_leave_the_tree_as_it_was(changes, message):
    tree = grown_tree()
    before = inside.state(tree)
    with pytest.raises(ValueError, match=message):
        tree.query(**(GOOD | changes))
    with pytest.raises(ValueError, match=message):
        tree.learn(y=1.0, **(GOOD | changes))
    assert inside.state(tree) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.nan}, "y must be a finite number .*, not nan"),
        ({"y": np.inf}, "y must be a finite number"),
        ({"y": -1e200}, "y must be a finite number of size"),
        ({"weight": np.nan}, "weight must be a finite number"),
        ({"weight": -1.0}, "weight must be a finite number from 0 .*, not -1.0"),
        ({"weight": np.inf}, "weight must be a finite number"),
        ({"weight": 1e200}, "weight must be a finite number"),
    ],
    ids=lambda case: str(case),
)
def test_bad_observations_are_refused_and_leave_the_tree_as_it_was(changes, message):
    tree = grown_tree()
    before = inside.state(tree)
    with pytest.raises(ValueError, match=message):
        tree.learn(**({"y": 1.0} | GOOD | changes))
    assert inside.state(tree) == before


def test_an_action_for_a_tree_without_actions_is_refused():
    tree = EigenMemoryTree(1)
    with pytest.raises(ValueError, match="no action: give n_actions"):
        tree.learn([1.0], 1.0, action=0)


# Files


def test_a_tree_goes_on_from_its_file_or_pickle_as_if_nothing_had_happened(tmp_path):
    for space, algorithm in zip((*SPACES.values(), *CATEGORICAL.values()), ALGORITHMS, strict=False):
        options = dict(zip(("variant", "scorer", "router"), algorithm, strict=True)) | space
        tree = EigenMemoryTree(**options, leaf_capacity=4, budget=30)
        steps = list(stream(5, space, 120))
        for _, key, value, weight in steps[:60]:
            tree.learn(y=value, weight=weight, **key)
        tree.save(tmp_path / "tree.npz")
        trees = [tree, EigenMemoryTree.load(tmp_path / "tree.npz"), pickle.loads(pickle.dumps(tree))]
        assert len({repr(one) for one in trees}) == 1
        for query, key, value, weight in steps[60:]:
            assert len({one.query(**query) for one in trees}) == 1
            for one in trees:
                one.learn(y=value, weight=weight, **key)
        assert inside.state(trees[0]) == inside.state(trees[1]) == inside.state(trees[2])


def test_a_file_is_read_in_another_process(tmp_path):
    tree = EigenMemoryTree(1)
    tree.learn([1.0], 42.0)
    tree.save(tmp_path / "tree")
    code = f"from emt import EigenMemoryTree; print(EigenMemoryTree.load({str(tmp_path / 'tree')!r}).query([1.0]))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "42.0\n"


def test_truncated_files_are_refused(tmp_path):
    grown_tree().save(tmp_path / "tree")
    whole = (tmp_path / "tree").read_bytes()
    for size in [*range(0, 200, 13), *range(200, len(whole), len(whole) // 40), len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"cut is not a tree written by EigenMemoryTree\.save, or is damaged"):
            EigenMemoryTree.load(tmp_path / "cut")


def test_files_with_changed_bytes_are_refused_or_read_right(tmp_path):
    tree = grown_tree()
    tree.save(tmp_path / "tree")
    whole, want = (tmp_path / "tree").read_bytes(), inside.state(tree)
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            loaded = EigenMemoryTree.load(tmp_path / "damaged")
        except ValueError:
            continue
        assert inside.state(loaded) == want


def foreign_files(folder):
    (folder / "text").write_text("hello\n")
    (folder / "empty").write_bytes(b"")
    np.save(folder / "array.npy", np.arange(3))
    np.savez(folder / "arrays.npz", a=np.arange(3))
    (folder / "pickle").write_bytes(pickle.dumps({"options": {}}))
    grown_tree().save(folder / "tree")
    about, arrays = load_arrays(folder / "tree")
    (folder / "tree").unlink()
    save_arrays(folder / "no_format", {"options": about["options"]}, arrays)
    save_arrays(folder / "other_format", about | {"format": "emt-tree-1"}, arrays)
    save_arrays(folder / "no_options", {"format": about["format"]}, arrays)
    save_arrays(folder / "strange_options", about | {"options": [1, 2]}, arrays)
    save_arrays(folder / "no_arrays", about, {})
    save_arrays(folder / "short_array", about, arrays | {"numeric": arrays["numeric"][:5]})
    save_arrays(folder / "other_dtype", about, arrays | {"weight": arrays["weight"].astype(np.float32)})
    others = {"n_features": 3, "scorer": "interaction", "learning": "gradient", "n_levels": [3, 7], "colour": "red"}
    for name, value in (others | {"epochs": 10**15, "budget": -1}).items():
        save_arrays(folder / f"other_{name}", about | {"options": about["options"] | {name: value}}, arrays)
    return sorted(folder.iterdir())


def test_foreign_files_are_refused(tmp_path):
    for path in foreign_files(tmp_path):
        with pytest.raises(ValueError, match=f"{path.name} is not a tree written by"):
            EigenMemoryTree.load(path)


def test_a_file_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    tree = grown_tree()
    tree.save(tmp_path / "tree")
    before = (tmp_path / "tree").read_bytes()
    tree.learn([9.0, 9.0], 1.0, categorical=[0, 0], action=0)
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: pytest.fail("no space left"))
        with pytest.raises(pytest.fail.Exception, match="no space left"):
            tree.save(tmp_path / "tree")
    assert (tmp_path / "tree").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        EigenMemoryTree.load(tmp_path / "nowhere")


# Its looks


def test_repr_says_what_and_how_much():
    assert repr(EigenMemoryTree(3)) == "EigenMemoryTree(n_features=3) with 0 memories in 1 leaf, depth 0"
    tree = EigenMemoryTree(2, leaf_capacity=2, variant="as_printed", n_levels=[3], seed=5)
    for k in range(6):
        tree.learn([k, k * k], 0.0, categorical=[k % 3])
    options = "n_features=2, n_levels=(3,), leaf_capacity=2, variant='as_printed', seed=5"
    counts = f"6 memories in {tree.n_leaves} leaves, depth {tree.depth}"
    assert repr(tree) == f"EigenMemoryTree({options}) with {counts}"
