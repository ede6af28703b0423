import inside
import numpy as np
import pytest

from emt import EigenMemoryTree
from emt._kernels.eigen.packing import INNER, unpack
from emt._kernels.parts import pack
from emt.options import TreeOptions


def grown_tree(**options):
    """A tree that has split, filled pages, evicted and pruned."""
    options = {"n_features": 3, "n_levels": (3, 4), "n_actions": 2, "leaf_capacity": 40, "budget": 150} | options
    tree, rng = EigenMemoryTree(**options), np.random.default_rng(0)
    for step in range(400):
        x, codes = rng.normal(size=3) + step / 50, rng.integers(0, 3, 2)
        tree.learn(x, rng.random(), categorical=codes, action=int(rng.integers(2)))
        tree.query(x + 0.1, categorical=codes, action=0)
    return tree


def test_a_packed_tree_is_rebuilt_to_the_last_bit():
    for options in ({}, {"dtype": "float32"}, {"leaf_capacity": 1}, {"variant": "as_printed", "budget": None}):
        tree = grown_tree(**options)
        again = EigenMemoryTree.__new__(EigenMemoryTree)
        again.__setstate__(tree.__getstate__())
        inside.assert_sound(again)
        assert inside.state(again) == inside.state(tree)
        assert (again.depth, again.n_leaves, len(again)) == (tree.depth, tree.n_leaves, len(tree))


def test_an_empty_tree_is_rebuilt():
    options = TreeOptions(n_features=2)
    packed = EigenMemoryTree(2).__getstate__()["arrays"]
    again = unpack(options, packed)
    assert packed["size"].tolist() == [0]
    assert again.counts.memories == 0
    assert pack(again).keys() == packed.keys()


def test_nothing_packed_is_shared_with_the_tree():
    tree = grown_tree()
    for array in pack(tree._tree).values():
        array[...] = 0
    inside.assert_sound(tree)
    assert tree._tree.scorer.weight.any()


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def empty_a_leaf(size):
    leaves = np.flatnonzero(size != INNER)
    size[leaves[0]], size[leaves[1]] = 0, size[leaves[0]] + size[leaves[1]]
    return size


FAULTS = [
    ("size", lambda size: size[:-1], "its size do not fit its options"),
    ("size", lambda size: size.astype(np.int32), "its size do not fit its options"),
    ("router", lambda router: router[:, 1:], "its router do not fit"),
    ("weight", lambda weight: weight[1:], "its weight do not fit"),
    ("coin", lambda coin: coin[:4], "its coin do not fit"),
    ("numeric", lambda numeric: numeric[:, :2], "its numeric do not fit"),
    ("value", lambda value: value[1:], "do not fit"),
    ("size", put(0, 5), "its inner nodes do not add up"),
    ("size", lambda size: size[::-1].copy(), "a node comes before its parent"),
    ("size", empty_a_leaf, "a leaf is empty, or too large"),
    ("size", put(-1, 2**62), "a leaf is empty, or too large"),
    ("size", put(-1, -2), "a leaf is empty, or too large"),
    ("size", put(-1, 3), "its leaves do not add up"),
    ("used", put(0, 150), "what it has used is not its memories"),
    ("used", put(0, -1), "what it has used is not its memories"),
    ("used", lambda used: np.repeat(used[:75], 2), "what it has used is not its memories"),
    ("stored", put(3, 7), "what it has stored is not its memories"),
    ("codes", put((0, 0), 2), "a code is out of range"),
    ("codes", put((0, 0), 6), "a code is out of range"),
    ("codes", put((9, 1), 10), "a code is out of range"),
    ("action", put(9, 2), "an action is out of range"),
    ("id", put(9, -2), "an identifier is negative"),
    ("numeric", put((9, 2), np.nan), "its numeric are not numbers of size 1e.30 at most"),
    ("numeric", put((9, 2), 2e30), "its numeric are not numbers of size 1e.30 at most"),
    ("value", put(9, -np.inf), "its value are not numbers of size 1e.30 at most"),
    ("router", put((0, 0), 1.5), "its router are not numbers of size 1.01 at most"),
    ("boundary", put(0, np.nan), "its boundary are not finite"),
    ("square", put(0, np.inf), "its square are not finite"),
    ("weight", put(0, np.nan), "its weight are not numbers of size 1.*e.15 at most"),
    ("weight", put(0, -1e16), "its weight are not numbers of size 1.*e.15 at most"),
    ("coin", put((0, 0), np.inf), "its coin are not numbers of size 1e.150 at most"),
    ("coin", put((slice(2), 0), 1e300), "its coin are not numbers of size 1e.150 at most"),
    ("coin", put((0, 0), -1e15), "a weight has bet more than its turnover"),
    ("coin", put((1, 0), -1.0), "a weight has bet more than its turnover"),
    ("coin", put((2, 0), 1e-320), "a difference is too small to have been learned"),
    ("coin", put((2, 0), -1.0), "a difference is too small to have been learned"),
    ("coin", put((4, 0), 1e-320), "a slope is too small to have been learned"),
    ("coin", put((3, 0), -5.0), "a weight has lost more than it had"),
    ("coin", put((3, 0), 1e16), "a weight has won more than there is"),
    ("sums", put(0, np.nan), "its sums are negative, or too large"),
    ("sums", put(0, -1e-6), "its sums are negative, or too large"),
    ("sums", put(1, 1e300), "its sums are negative, or too large"),
]


@pytest.mark.parametrize(("name", "change", "message"), FAULTS, ids=lambda case: case if isinstance(case, str) else "")
def test_arrays_that_are_no_tree_are_refused(name, change, message):
    state = grown_tree().__getstate__()
    state["arrays"][name] = change(state["arrays"][name])
    with pytest.raises(ValueError, match=message):
        EigenMemoryTree.__new__(EigenMemoryTree).__setstate__(state)


def test_more_memories_than_the_budget_are_refused():
    state = grown_tree().__getstate__()
    state["options"]["budget"] = 149
    with pytest.raises(ValueError, match="more memories than its budget"):
        EigenMemoryTree.__new__(EigenMemoryTree).__setstate__(state)


@pytest.mark.parametrize("change", [lambda arrays: arrays.pop("used"), lambda arrays: arrays.update(more=np.zeros(1))])
def test_other_names_are_refused(change):
    state = grown_tree().__getstate__()
    change(state["arrays"])
    with pytest.raises(ValueError, match=r"it has .*, not "):
        EigenMemoryTree.__new__(EigenMemoryTree).__setstate__(state)


@pytest.mark.parametrize(
    "options",
    [{"n_features": 10**9}, {"n_actions": 10**9}, {"n_levels": [10**9, 10**9]}, {"scorer": "interaction"}],
    ids=str,
)
def test_options_cannot_ask_for_more_than_the_arrays_hold(options, monkeypatch):
    """They are compared before anything of their size is made."""
    monkeypatch.setattr("emt._kernels.eigen.packing.allocate", lambda *_: pytest.fail("allocated first"))
    state = grown_tree(variant="as_printed").__getstate__()
    with pytest.raises(ValueError, match="do not fit its options"):
        EigenMemoryTree.__new__(EigenMemoryTree).__setstate__(state | {"options": state["options"] | options})
