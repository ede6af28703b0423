"""A tree packed into what it can be rebuilt from, and checked before it is: what its file and its pickle hold.

Rows, pages and lists of free ones are not packed, so none can be wrong. Nodes come level by level from the root, each
with its ``size``: the number of its memories, or `INNER`. The children of the k-th inner node are then nodes 2 k + 1
and 2 k + 2. Memories come leaf by leaf; ``stored`` and ``used`` are the orders in which they were, the oldest first.

| arrays | an entry for each |
| --- | --- |
| ``size`` | node |
| ``boundary``, ``router`` | inner node |
| ``numeric``, ``codes``, ``action``, ``square``, ``value``, ``id``, ``stored``, ``used`` | memory |
| ``weight``, ``coin`` | weight of the scorer |
| ``sums`` | of coin betting's two |
| ``stream`` | random stream: one, its state |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.eigen import update_scorer as coin
from emt._kernels.eigen.state import NONE, PAGE, Memories, Nodes, Tree, allocate, measure, sum_levels
from emt._kernels.parts import pack
from emt._kernels.vector import offsets
from emt.options import GREATEST, TreeOptions

__all__ = ["unpack", "widen"]

INNER = -1

#: Sums of coin betting that are larger are no tree's: the greatest observations add 1e121, or 1e33, to one at a time.
GREATEST_SUM = {"float64": 1e150, "float32": 1e37}
ABOUT = 1.001  # a bound that holds but for rounding


@pack.register
def pack_tree(tree: Tree) -> dict[str, np.ndarray]:
    """Return the arrays that a tree can be rebuilt from."""
    options, counts, memories, (node, router, _) = tree.options, tree.counts, tree.memories, tree.nodes
    order = _level_order(tree.nodes, int(counts.root))
    is_leaf = node["left"][order] == NONE
    inner, rows = order[~is_leaf], _rows(tree.nodes, order[is_leaf])
    packed = np.zeros(len(memories.record), np.int64)
    packed[rows] = np.arange(len(rows))
    return {
        "size": np.where(is_leaf, node["size"][order], INNER).astype(np.int64),
        "boundary": node["boundary"][inner],
        "router": router[inner],
        "numeric": memories.numeric[rows, : options.n_numeric],
        "codes": memories.codes[rows, : options.n_codes],
        "action": memories.action[rows],
        "square": memories.square[rows],
        "value": memories.value[rows],
        "id": memories.record["id"][rows],
        "stored": np.argsort(memories.record["serial"][rows]),
        "used": packed[_order_of_use(memories, int(counts.oldest))],
        "weight": tree.scorer.weight[: options.n_weights].copy(),
        "coin": tree.scorer.coin[:, : options.n_weights].copy(),
        "sums": np.array([counts.scale, counts.scale_weight]),
        "stream": np.array([counts.rng]),
    }


def unpack(options: TreeOptions, arrays: dict[str, np.ndarray]) -> Tree:
    """Return the tree with these options that `pack_tree` took apart, or refuse it, before anything is made."""
    _check_shapes(options, arrays)
    _check_structure(options, arrays)
    _check_numbers(options, arrays)
    size, n = arrays["size"], len(arrays["value"])
    is_leaf = size != INNER
    leaves, inner = np.flatnonzero(is_leaf), np.flatnonzero(~is_leaf)
    n_pages_of = -(-size[leaves] // PAGE)
    n_pages, n_nodes = int(n_pages_of.sum()), len(size)
    tree = allocate(options, n, n_pages + 1, n_nodes + 1)
    _put_nodes(tree.nodes, arrays, leaves, inner, n_pages_of)
    rows = _rows(tree.nodes, leaves)
    _put_memories(tree.memories, arrays, rows)
    used, counts = rows[arrays["used"]], tree.counts
    if n:
        counts.oldest, counts.newest = used[0], used[-1]
    counts.memories, counts.serial, counts.leaves, counts.largest = n, n, len(leaves), size.max()
    counts.free_page, counts.free_pages = n_pages, len(tree.nodes.page) - n_pages
    counts.free_node = n_nodes
    counts.scale, counts.scale_weight = arrays["sums"]
    counts.rng = arrays["stream"][0]
    tree.scorer.weight[: tree.options.n_weights] = arrays["weight"]
    tree.scorer.coin[:, : arrays["coin"].shape[1]] = arrays["coin"]
    sum_levels(tree)
    return tree


def widen(options: TreeOptions, wider: TreeOptions, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a tree whose keys have more numeric coordinates, 0 in every memory so far.

    Routers do not see the new coordinates; their weights in the scorer are those of a new tree.
    """
    more = wider.n_features - options.n_features
    n_inputs, n_actions, _ = measure(options)
    new = pack_tree(allocate(wider, 0))
    kept = np.arange(n_inputs)
    kept[options.n_features :] += more  # where a position of the x block is now
    whole = np.concatenate([kept, n_inputs + more + np.arange(n_actions)])
    if options.scorer == "interaction":
        weights = (whole[:, None] * (n_inputs + more + n_actions) + whole).ravel()
    else:
        crossed = n_inputs + more + n_actions + np.arange(n_actions)[:, None] * (n_inputs + more) + kept
        weights = np.concatenate([whole, crossed.ravel()])
    weight, coin = new["weight"], new["coin"]
    weight[weights] = arrays["weight"]
    if coin.size:
        coin[:, weights] = arrays["coin"]
    router = np.zeros((len(arrays["router"]), len(whole) + more), options.dtype)
    router[:, whole] = arrays["router"]
    numeric = np.pad(arrays["numeric"], ((0, 0), (0, more)))
    return arrays | {
        "numeric": numeric,
        "codes": (arrays["codes"] + more).astype(np.int32),
        "router": router,
        "weight": weight,
        "coin": coin,
    }


def _put_nodes(
    nodes: Nodes, arrays: dict[str, np.ndarray], leaves: np.ndarray, inner: np.ndarray, n_pages_of: np.ndarray
) -> None:
    """Link nodes and pages; those that are left over are chained as free already."""
    node, page, size = nodes.node[: len(arrays["size"])], nodes.page[: n_pages_of.sum()], arrays["size"]
    for name in ("left", "right", "first_page", "last_page"):
        node[name] = NONE
    node["size"][leaves] = size[leaves]
    children = 1 + 2 * np.arange(len(inner))
    node["left"][inner], node["right"][inner] = children, children + 1
    node["parent"][0] = NONE
    node["parent"][children] = node["parent"][children + 1] = inner
    node["boundary"][inner], nodes.router[inner] = arrays["boundary"], arrays["router"]
    after = np.cumsum(n_pages_of)
    has_pages = n_pages_of > 0
    first, last = (after - n_pages_of)[has_pages], after[has_pages] - 1
    node["first_page"][leaves[has_pages]], node["last_page"][leaves[has_pages]] = first, last
    page["leaf"] = np.repeat(leaves, n_pages_of)
    page["before"], page["after"] = np.arange(len(page)) - 1, np.arange(len(page)) + 1
    page["before"][first], page["after"][last] = NONE, NONE


def _put_memories(memories: Memories, arrays: dict[str, np.ndarray], rows: np.ndarray) -> None:
    memories.numeric[rows, : arrays["numeric"].shape[1]] = arrays["numeric"]
    memories.codes[rows, : arrays["codes"].shape[1]], memories.action[rows] = arrays["codes"], arrays["action"]
    memories.square[rows] = arrays["square"]
    record, used = memories.record, rows[arrays["used"]]
    memories.value[rows], record["id"][rows] = arrays["value"], arrays["id"]
    record["serial"][rows[arrays["stored"]]] = np.arange(len(rows))
    record["older"][used[:1]] = record["newer"][used[-1:]] = NONE
    record["older"][used[1:]], record["newer"][used[:-1]] = used[:-1], used[1:]


def _level_order(nodes: Nodes, root: int) -> np.ndarray:
    """Return the nodes level by level."""
    left, right = nodes.node["left"], nodes.node["right"]
    levels, level = [], np.array([root])
    while len(level):
        levels.append(level)
        inner = level[left[level] != NONE]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(levels)


def _rows(nodes: Nodes, leaves: np.ndarray) -> np.ndarray:
    """Return the rows of the memories, leaf by leaf."""
    size, pages, owners = nodes.node["size"][leaves], [], []
    page, owner = nodes.node["first_page"][leaves], np.arange(len(leaves))
    while len(page):  # the first page of every leaf, then the second of those that have one, ...
        page, owner = page[page != NONE], owner[page != NONE]
        pages.append(page)
        owners.append(owner)
        page = nodes.page["after"][page]
    page, owner = np.concatenate(pages), np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    page, starts = page[order].astype(np.int64), np.cumsum(size) - size
    n_pages_of = -(-size // PAGE)
    first = np.repeat(np.cumsum(n_pages_of) - n_pages_of, size)
    within = np.arange(size.sum()) - np.repeat(starts, size)
    return page[first + within // PAGE] * PAGE + within % PAGE


def _order_of_use(memories: Memories, oldest: int) -> np.ndarray:
    """Return the rows of the memories, the one that was used longest ago first."""
    newer, used, memory = memories.record["newer"].tolist(), [], oldest
    while memory != NONE:
        used.append(memory)
        memory = newer[memory]
    return np.array(used, np.int64)


def _check_shapes(options: TreeOptions, arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays that do not fit each other and the options, of which no memory has been made yet."""
    n, n_inner = np.size(arrays["value"]), np.size(arrays["boundary"])
    n_inputs, n_actions, n_weights = measure(options)
    expected: dict[str, tuple[Any, tuple[int, ...]]] = {
        "size": (np.int64, (2 * n_inner + 1,)),
        "boundary": (options.dtype, (n_inner,)),
        "router": (options.dtype, (n_inner, n_inputs + n_actions)),
        "numeric": (options.dtype, (n, options.n_features)),
        "codes": (np.int32, (n, len(options.n_levels))),
        "action": (np.uint32, (n,)),
        "square": (options.dtype, (n,)),
        "value": (np.float64, (n,)),
        "id": (np.int64, (n,)),
        "stored": (np.int64, (n,)),
        "used": (np.int64, (n,)),
        "weight": (options.dtype, (n_weights,)),
        "coin": (options.dtype, (5, n_weights if options.learning == "coin" else 0)),
        "sums": (np.float64, (2,)),
        "stream": (np.uint64, (1,)),
    }
    _require(set(arrays) == set(expected), f"it has {', '.join(sorted(arrays))}, not {', '.join(sorted(expected))}")
    for name, (dtype, shape) in expected.items():
        _require(arrays[name].dtype == dtype and arrays[name].shape == shape, f"its {name} do not fit its options")


def _check_structure(options: TreeOptions, arrays: dict[str, np.ndarray]) -> None:
    """Refuse nodes that are no tree, memories that are not those of its leaves, and an order that is not theirs."""
    size, n = arrays["size"], len(arrays["value"])
    inner = np.flatnonzero(size == INNER)
    _require(len(inner) == len(arrays["boundary"]), "its inner nodes do not add up")
    _require((inner < 2 * np.arange(len(inner)) + 1).all(), "a node comes before its parent")  # or is its own
    leaves = size[size != INNER]
    _require(((leaves >= (len(size) > 1)) & (leaves <= n)).all(), "a leaf is empty, or too large")
    _require(leaves.sum() == n, "its leaves do not add up")
    for name in ("stored", "used"):
        _require(np.array_equal(np.sort(arrays[name]), np.arange(n)), f"what it has {name} is not its memories")
    _require(options.budget is None or n <= options.budget, "it has more memories than its budget")


def _check_numbers(options: TreeOptions, arrays: dict[str, np.ndarray]) -> None:
    """Refuse numbers that no tree has."""
    least = offsets(options.n_features, options.n_levels)
    codes = arrays["codes"]
    _require(((codes >= least) & (codes < least + np.array(options.n_levels, int))).all(), "a code is out of range")
    _require((arrays["action"] < max(options.n_actions, 1)).all(), "an action is out of range")
    _require((arrays["id"] >= NONE).all(), "an identifier is negative")
    greatest, greatest_sum = GREATEST[options.dtype], GREATEST_SUM[options.dtype]
    sizes = {
        "numeric": greatest,
        "value": greatest,
        "router": 1.01,
        "weight": ABOUT * coin.GREATEST,
        "coin": greatest_sum,
    }
    for name, most in sizes.items():
        _require((np.abs(arrays[name]) <= most).all(), f"its {name} are not numbers of size {most:g} at most")
    for name in ("boundary", "square"):
        _require(np.isfinite(arrays[name]).all(), f"its {name} are not finite")
    sums = arrays["sums"]
    _require(((sums >= 0) & (sums <= GREATEST_SUM["float64"])).all(), "its sums are negative, or too large")
    _check_coin(arrays["coin"])


def _check_coin(rows: np.ndarray) -> None:
    """Refuse what coin betting cannot have come to, such as a bet above its turnover: a weight could be infinite."""
    bet, turnover, max_z, wealth, max_slope = rows
    _require((np.abs(bet) <= ABOUT * turnover).all(), "a weight has bet more than its turnover")
    _require(((max_z == 0) | (max_z >= coin.TINIEST / ABOUT)).all(), "a difference is too small to have been learned")
    _require(((max_slope == 0) | (max_slope >= coin.BETA)).all(), "a slope is too small to have been learned")
    _require((wealth >= -ABOUT * coin.ALPHA).all(), "a weight has lost more than it had")
    _require((wealth <= ABOUT * coin.GREATEST).all(), "a weight has won more than there is")


def _require(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
