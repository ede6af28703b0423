"""The Contextual Memory Tree (Sun et al., 2019) as a memory that the loop can play: what Vowpal Wabbit does online.

`emt.reference.contextual` is the same in plain Python, and the text to read first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import inline, inner_strict
from emt._kernels.contextual.dense import dense_says_left, list_columns, route_dense, train_dense
from emt._kernels.contextual.listed import flatten, list_features, listed_says_left, route_listed, train_listed
from emt._kernels.contextual.merand import index, uniform
from emt._kernels.contextual.nearest import dense_norm, nearest
from emt._kernels.contextual.scorer import train_scorer
from emt._kernels.contextual.state import NONE, WHOLE, ContextualTree, grow_tree
from emt._kernels.parts import ask, begin, grow, has_room, learn

__all__ = ["find"]

ZERO, ONE = np.float32(0), np.float32(1)
ROOT = WHOLE(0)


@begin.of(ContextualTree)
def begin_context(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Do nothing: asking and learning write the context down themselves."""


@ask.of(ContextualTree)
def ask_actions(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Write the remembered reward of every action, 0 where there is none."""
    find(tree, numeric, codes, tree.found)
    for a in range(len(answers)):
        m = tree.found[a]
        answers[a, 0] = 0.0 if m == NONE else tree.examples.memory[m].label


@inner_strict
def find(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray, found: np.ndarray) -> None:
    """Write the memory that is retrieved for every action, or NONE."""
    row = _begin(tree, numeric, codes)
    for a in range(len(found)):
        length = _route(tree, row, a, ROOT)
        found[a] = nearest(tree, WHOLE(tree.nodes[length - 1].path), row, a)


@learn.of(ContextualTree)
def learn_action(
    tree: ContextualTree,
    numeric: np.ndarray,
    codes: np.ndarray,
    action: int,
    answers: np.ndarray,
    reward: float,
    weight: float,
) -> None:
    """Remember the reward of an action. Its importance weight is ignored, as in VW."""
    _learn(tree, numeric, codes, action, reward)


@has_room.of(ContextualTree)
def tree_has_room(tree: ContextualTree) -> bool:
    """Return whether one more example can be learned: a row is left after it, and nodes for its splits and dreams."""
    config, count = tree.config, tree.count
    n_nodes = min(count.nodes + 2 * (1 + config.dreams), config.max_nodes)
    return count.memories + 1 < len(tree.examples.memory) and n_nodes <= len(tree.nodes)


grow.register(ContextualTree)(grow_tree)


@inner_strict
def _learn(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray, action: int, reward: float) -> None:
    """Learn from a query, insert the new memory, and dream."""
    new = _begin(tree, numeric, codes)
    memory = tree.examples.memory[new]
    memory.label, memory.action, memory.fresh = reward, action, True
    link = tree.examples.link[new]
    link.action = action
    if tree.config.dense:
        link.norm = dense_norm(tree.examples.x[new], tree.tables.order[1 + action])
        list_columns(tree.examples.x[new], tree.examples.columns[new], memory)
    else:
        list_features(tree.examples, tree.tables, new, action, tree.config.n_numeric)
        flatten(tree.examples, new)
    link.inverse = ONE / np.sqrt(link.norm)
    _learn_from_query(tree, new)
    tree.count.memories += 1
    for k in range(1 + tree.config.dreams):
        row = new if k == 0 else _take_out(tree.nodes, tree.examples.link, tree.count)
        if row != NONE:
            leaf = _insert(tree, row)
            if tree.nodes[leaf].size >= tree.config.max_leaf and tree.count.nodes + 2 <= tree.config.max_nodes:
                _split(tree, leaf)


@inline
def _begin(tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray) -> int:
    """Write a context into the row after the last memory, and return which that is."""
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
    return row


@inline
def _route(tree: ContextualTree, row: int, action: int, node: int) -> int:
    """Write the path from a node to the leaf of the example at hand with an action; return its length."""
    if tree.config.dense:
        return route_dense(tree.nodes, tree.routers, tree.examples.x[row], action, node, tree.config, tree.count)
    list_features(tree.examples, tree.tables, row, action, tree.config.n_numeric)
    return route_listed(
        tree.nodes, tree.routers, tree.examples.features[row], tree.examples.memory[row], node, tree.count
    )


@inline
def _train(tree: ContextualTree, node: int, row: int, label: np.float32, weight: np.float32) -> bool:
    """Train a node's router on a label (0: on the one that the node chooses); return whether it now says left."""
    here, router, memory = tree.nodes[node], tree.routers[node], tree.examples.memory[row]
    if tree.config.dense:
        x, columns = tree.examples.x[row], tree.examples.columns[row]
        return train_dense(here, router, x, columns, memory, label, weight, tree.config, tree.count, tree.work)
    features = tree.examples.features[row]
    return train_listed(here, router, features, memory, label, weight, tree.config, tree.count, tree.work)


@inner_strict
def _learn_from_query(tree: ContextualTree, new: int) -> None:
    """Train the router of a random node on the way by how well one of its sides, at random, retrieves."""
    nodes, memory = tree.nodes, tree.examples.memory
    action = WHOLE(memory[new].action)
    length = _route(tree, new, action, ROOT)
    if length == 1:
        return
    node = WHOLE(nodes[index(tree.count, length)].path)
    if nodes[node].child == NONE:
        if nodes[node].size > 0:
            m = WHOLE(nodes[node].first)
            for _ in range(index(tree.count, WHOLE(nodes[node].size))):
                m = WHOLE(tree.examples.link[m].next)
            train_scorer(tree, new, m, ONE)
        return
    right = uniform(tree.count) < np.float32(0.5)
    depth = _route(tree, new, action, WHOLE(nodes[node].child) + (1 if right else 0))
    m = nearest(tree, WHOLE(nodes[depth - 1].path), new, action)
    gain = 0.0
    if m != NONE:
        gain = 1.0 if memory[m].label == memory[new].label else 0.0
        train_scorer(tree, new, m, np.float32(length) / (np.float32(length) - ONE))
    alpha = np.float64(tree.config.alpha)
    balance = np.log(nodes[node].n_left / nodes[node].n_right)
    objective = np.float32((1 - alpha) * balance + alpha * (gain if right else -gain))
    weight = abs(objective)
    if weight >= np.float32(100):
        weight = np.float32(100)
    elif weight < np.float32(0.01):
        weight = np.float32(0.01)
    _train(tree, node, new, -ONE if objective < ZERO else ONE, weight)


@inline
def _count(node: Any, left: bool, number: int) -> int:
    """Count an example that goes left, or right; return the child on that side. No branch: it could not be foreseen."""
    went_left = WHOLE(left)
    node.n_left += number * went_left
    node.n_right += number * (1 - went_left)
    return WHOLE(node.child) + 1 - went_left


@inline
def _insert(tree: ContextualTree, row: int) -> int:
    """Append a memory to the leaf where the routers say after they were trained on it; return the leaf."""
    node = ROOT
    while True:
        here = tree.nodes[node]
        left = _train(tree, node, row, ZERO, ONE)
        child = _count(here, left, 1)
        if here.child == NONE:
            break
        node = child
    _append(here, tree.examples.link, row)
    return node


@inline
def _append(leaf: Any, link: np.ndarray, row: int) -> None:
    link[row].next = NONE
    if leaf.size == 0:
        leaf.first = row
    else:
        link[leaf.last].next = row
    leaf.last = row
    leaf.size += 1


@inner_strict
def _split(tree: ContextualTree, leaf: int) -> None:
    """Turn a leaf into an inner node; its memories train the routers of the leaves that they go to."""
    nodes, memory, count = tree.nodes, tree.examples.memory, tree.count
    node, m = nodes[leaf], nodes[leaf].first
    children = count.nodes
    count.nodes += 2
    router = tree.routers[leaf]
    while m != NONE:
        after = tree.examples.link[m].next
        if tree.config.dense:
            left = dense_says_left(router, tree.examples.x[m], memory[m], tree.config, count)
        else:
            left = listed_says_left(router, tree.examples.features[m], memory[m], count)
        child = children if left else children + 1
        _append(nodes[child], tree.examples.link, m)
        _count(nodes[child], _train(tree, child, m, ZERO, ONE), 1)
        m = after
    node.child = children
    node.first, node.last, node.size = NONE, NONE, 0
    node.n_left = max(np.float64(nodes[children].size), 0.001)
    node.n_right = max(np.float64(nodes[children + 1].size), 0.001)


@inner_strict
def _take_out(nodes: np.ndarray, link: np.ndarray, count: Any) -> int:
    """Take a random memory out of a leaf that is reached at random; return it, or NONE where the leaf is empty."""
    node = ROOT
    while nodes[node].child != NONE:
        here = nodes[node]
        if here.n_left < 1 or here.n_right < 1:
            left = here.n_left >= 1
        else:
            left = np.float64(uniform(count)) < here.n_left / (here.n_right + here.n_left)
        node = _count(here, left, -1)
    leaf = nodes[node]
    if leaf.size == 0:
        return NONE
    m, before = np.uint32(leaf.first), np.uint32(leaf.first)
    for _ in range(index(count, WHOLE(leaf.size))):
        before, m = m, np.uint32(link[m].next)
    link[before].next = link[m].next
    if leaf.first == m:
        leaf.first = link[m].next
    if leaf.last == m:
        leaf.last = before
    leaf.size -= 1
    return int(m)
