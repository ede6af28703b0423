"""The Contextual Memory Tree (Sun et al., 2019), compiled: ask and learn, as Vowpal Wabbit does online.

`emt.reference.contextual` is the same in plain Python, and the text to read first.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.compile import njit_strict
from emt._kernels.contextual.dense import goes_left, prediction, train_dense, weigh
from emt._kernels.contextual.listed import flatten, list_features, predict_listed, train_listed
from emt._kernels.contextual.merand import index, uniform
from emt._kernels.contextual.nearest import dense_norm, nearest
from emt._kernels.contextual.scorer import train_scorer
from emt._kernels.contextual.state import FIELDS, NONE, ContextualTree

__all__ = ["ask", "find", "learn"]

ZERO, ONE = np.float32(0), np.float32(1)
LOG2 = np.log(2.0)


@njit_strict
def ask(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Write the remembered reward of every action, 0 where there is none."""
    _begin(tree, numeric, codes)
    for a in range(len(answers)):
        m = _find(tree, a)
        answers[a, 0] = 0.0 if m == NONE else tree.examples.memory[m].label


@njit_strict
def find(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray, found: np.ndarray) -> None:
    """Write the memory that is retrieved for every action, or NONE."""
    _begin(tree, numeric, codes)
    for a in range(len(found)):
        found[a] = _find(tree, a)


@njit_strict
def learn(
    tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray, action: int, reward: float, weight: float
) -> None:
    """Remember the reward of an action. Its importance weight is ignored, as in VW."""
    _begin(tree, numeric, codes)
    new = tree.count.memories
    memory, x = tree.examples.memory[new], tree.examples.x[new]
    memory.label, memory.action, memory.fresh = reward, action, True
    if tree.config.dense:
        memory.norm = dense_norm(x, tree.tables.order[1 + action])
    else:
        list_features(tree.examples, tree.tables, new, action, tree.config.n_numeric)
        flatten(tree.examples, new)
    memory.inverse = ONE / np.sqrt(memory.norm)
    _learn_from_query(tree, new)
    tree.count.memories += 1
    _insert(tree, new)
    for _ in range(tree.config.dreams):
        dreamt = _take_out(tree)
        if dreamt != NONE:
            _insert(tree, dreamt)


@njit_strict
def _begin(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Write a context into the row after the last memory."""
    tree.count.query += 1
    tree.count.used = 0
    row = tree.count.memories
    x, theirs, square = tree.examples.x[row], tree.examples.codes[row], ZERO
    for i in range(len(numeric)):
        x[i] = numeric[i]
        square += x[i] * x[i]
    x[len(numeric)] = ONE
    for j in range(len(codes)):
        theirs[j] = codes[j]
        square += ONE
    tree.examples.memory[row].square = square
    tree.examples.memory[row].fresh = True


@njit_strict
def _find(tree: ContextualTree, action: int) -> int:
    """Return the memory that is retrieved for the context at hand with this action."""
    row = tree.count.memories
    if not tree.config.dense:
        list_features(tree.examples, tree.tables, row, action, tree.config.n_numeric)
    length = _path(tree, row, action, 0)
    return nearest(tree, tree.nodes[length - 1].path, row, action)


@njit_strict
def _path(tree: ContextualTree, row: int, action: int, node: int) -> int:
    """Write the path from a node to the leaf of the example at hand; return its length."""
    nodes, length = tree.nodes, 1
    nodes[0].path = node
    while nodes[node].left != NONE:
        node = nodes[node].left if _says_left(tree, node, row, action) else nodes[node].right
        nodes[length].path = node
        length += 1
    return length


@njit_strict
def _says_left(tree: ContextualTree, node: int, row: int, action: int) -> bool:
    """Return whether a node's router sends the example at hand left; its sum over block 0 serves all actions."""
    router, here = tree.routers[node], tree.nodes[node]
    if not tree.config.dense:
        return predict_listed(router, tree.examples.features[row], tree.examples.memory[row].length) < ZERO
    x = tree.examples.x[row]
    own = FIELDS * len(x) * (1 + action)
    if here.weighed != tree.count.query:
        here.sum, here.sizes = weigh(router, 0, x)
        here.weighed = tree.count.query
    s, size = weigh(router, own, x)
    return goes_left(
        here.sum + s, tree.config.rounding * (here.sizes + size), router, own, x, tree.config.n_numeric, True
    )


@njit_strict
def _learn_from_query(tree: ContextualTree, new: int) -> None:
    """Train the router of a random node on the way by how well one of its sides, at random, retrieves."""
    nodes, config, memory = tree.nodes, tree.config, tree.examples.memory
    action = memory[new].action
    length = _path(tree, new, action, 0)
    if length == 1:
        return
    node = nodes[index(tree.count, length)].path
    if nodes[node].left == NONE:
        if nodes[node].size > 0:
            m = nodes[node].first
            for _ in range(index(tree.count, nodes[node].size)):
                m = memory[m].next
            train_scorer(tree, new, m, ONE)
        return
    right = uniform(tree.count) < np.float32(0.5)
    child = nodes[node].right if right else nodes[node].left
    depth = _path(tree, new, action, child)
    m = nearest(tree, nodes[depth - 1].path, new, action)
    gain = 0.0
    if m != NONE:
        gain = 1.0 if memory[m].label == memory[new].label else 0.0
        train_scorer(tree, new, m, np.float32(length) / (np.float32(length) - ONE))
    alpha = np.float64(config.alpha)
    balance = np.log(nodes[node].n_left / nodes[node].n_right)
    objective = np.float32((1 - alpha) * balance + alpha * (gain if right else -gain))
    weight = abs(objective)
    if weight >= np.float32(100):
        weight = np.float32(100)
    elif weight < np.float32(0.01):
        weight = np.float32(0.01)
    _train(tree, node, new, -ONE if objective < ZERO else ONE, weight)


@njit_strict
def _train(tree: ContextualTree, node: int, row: int, label: np.float32, weight: np.float32) -> bool:
    """Train a node's router; return whether it now says left."""
    config, router, memory = tree.config, tree.routers[node], tree.examples.memory[row]
    if config.dense:
        x = tree.examples.x[row]
        own = FIELDS * len(x) * (1 + memory.action)
        return train_dense(
            router, own, x, config.n_numeric, memory.fresh, label, weight, tree.count, config.rounding, tree.work
        )
    return train_listed(
        router, tree.examples.features[row], memory.length, config.shared, label, weight, tree.count, tree.work
    )


@njit_strict
def _side(tree: ContextualTree, node: int, row: int) -> np.float32:
    """Return the label on which a node is trained: -1 for the left side, 1 for the right.

    It is the side that the router predicts, unless the node's counts are out of balance.
    """
    config, here = tree.config, tree.nodes[node]
    ratio = here.n_left / (here.n_right + 0.1)
    if ratio > config.high:
        return ONE
    if 0 <= ratio < config.low:
        return -ONE
    alpha = config.alpha
    balance = (1 - np.float64(alpha)) * np.log(ratio) / LOG2
    router, memory = tree.routers[node], tree.examples.memory[row]
    if config.dense:
        x = tree.examples.x[row]
        own = FIELDS * len(x) * (1 + memory.action)
        s, size = weigh(router, 0, x)
        s_own, size_own = weigh(router, own, x)
        s, error = s + s_own, config.rounding * (size + size_own)
        low, high = _is_left(tree, balance, s - error), _is_left(tree, balance, s + error)
        if low == high:
            return -ONE if low else ONE
        s = prediction(router, own, x, config.n_numeric, memory.fresh)
    else:
        s = predict_listed(router, tree.examples.features[row], memory.length)
    return -ONE if _is_left(tree, balance, s) else ONE


@njit_strict
def _is_left(tree: ContextualTree, balance: float, s: np.float32) -> bool:
    """Return whether balance and the prediction, a sum that is clipped to the range of labels, are negative together."""
    count = tree.count
    p = count.highest if s > count.highest else (count.lowest if s < count.lowest else s)
    p = ZERO if np.isnan(p) else p
    return np.float32(balance + np.float64(tree.config.alpha * p)) < ZERO


@njit_strict
def _insert(tree: ContextualTree, row: int) -> None:
    """Go down where the routers say after they were trained on the memory, and append it; split a full leaf."""
    nodes, node = tree.nodes, 0
    while True:
        left = _train(tree, node, row, _side(tree, node, row), ONE)
        here = nodes[node]
        if left:
            here.n_left += 1
        else:
            here.n_right += 1
        if here.left == NONE:
            break
        node = here.left if left else here.right
    _append(tree, node, row)
    if here.size >= tree.config.max_leaf and tree.count.nodes + 2 <= tree.config.max_nodes:
        _split(tree, node)


@njit_strict
def _append(tree: ContextualTree, leaf: int, row: int) -> None:
    node, memory = tree.nodes[leaf], tree.examples.memory
    memory[row].next = NONE
    if node.size == 0:
        node.first = row
    else:
        memory[node.last].next = row
    node.last = row
    node.size += 1


@njit_strict
def _split(tree: ContextualTree, leaf: int) -> None:
    """Turn a leaf into an inner node; its memories train the routers of the leaves that they go to."""
    nodes, memory, count = tree.nodes, tree.examples.memory, tree.count
    node, m = nodes[leaf], nodes[leaf].first
    children = count.nodes
    count.nodes += 2
    count.query += 1  # what was weighed for an example is not for the next
    while m != NONE:
        after = memory[m].next
        child = children if _sends_left(tree, leaf, m) else children + 1
        _append(tree, child, m)
        if _train(tree, child, m, _side(tree, child, m), ONE):
            nodes[child].n_left += 1
        else:
            nodes[child].n_right += 1
        m = after
    node.left, node.right = children, children + 1
    node.first, node.last, node.size = NONE, NONE, 0
    node.n_left = max(np.float64(nodes[children].size), 0.001)
    node.n_right = max(np.float64(nodes[children + 1].size), 0.001)


@njit_strict
def _sends_left(tree: ContextualTree, node: int, row: int) -> bool:
    """Return whether a node's router sends a memory left."""
    router, memory = tree.routers[node], tree.examples.memory[row]
    if not tree.config.dense:
        return predict_listed(router, tree.examples.features[row], memory.length) < ZERO
    x = tree.examples.x[row]
    own = FIELDS * len(x) * (1 + memory.action)
    s, size = weigh(router, 0, x)
    s_own, size_own = weigh(router, own, x)
    error = tree.config.rounding * (size + size_own)
    return goes_left(s + s_own, error, router, own, x, tree.config.n_numeric, memory.fresh)


@njit_strict
def _take_out(tree: ContextualTree) -> int:
    """Take a random memory out of a leaf that is reached at random; return it, or NONE where the leaf is empty."""
    nodes, memory, node = tree.nodes, tree.examples.memory, 0
    while nodes[node].left != NONE:
        here = nodes[node]
        if here.n_left < 1:
            left = False
        elif here.n_right < 1:
            left = True
        else:
            left = np.float64(uniform(tree.count)) < here.n_left / (here.n_right + here.n_left)
        if left:
            here.n_left -= 1
            node = here.left
        else:
            here.n_right -= 1
            node = here.right
    leaf = nodes[node]
    if leaf.size == 0:
        return NONE
    m, before = leaf.first, NONE
    for _ in range(index(tree.count, leaf.size)):
        before, m = m, memory[m].next
    if before == NONE:
        leaf.first = memory[m].next
    else:
        memory[before].next = memory[m].next
    if leaf.last == m:
        leaf.last = before
    leaf.size -= 1
    return m
