"""Contextual Memory Trees in closed loop: every answer to every query, from Vowpal Wabbit, in plain Python, compiled.

All three act epsilon-greedily on their own answers with the same draws. An answer is the reward of the memory that was
found, or -1 where there was none.
"""

from __future__ import annotations

import numpy as np

from emt import Environment
from emt._kernels.compile import kernel
from emt._kernels.contextual.state import NONE, allocate
from emt._kernels.contextual.tree import find
from emt._kernels.explore import epsilon_greedy, sample, share_epsilon, take
from emt._kernels.parts import ask, grow, has_room, learn
from emt._kernels.vector import offsets
from emt.data import from_arrays
from emt.reference.contextual import ContextualMemoryTree

EPSILON = 0.1
ACTION = ord("a")


def synthetic(n_features, n_classes, n_rows, *, offset=0.0):
    """Two clusters per class, some of whose coordinates are noise."""
    rng = np.random.default_rng(n_features)
    centres, cluster = rng.normal(size=(2 * n_classes, n_features)), np.arange(n_rows) % (2 * n_classes)
    X = centres[cluster] + rng.normal(0, 0.5, (n_rows, n_features)) + offset
    return from_arrays(X, cluster % n_classes, name=f"synthetic-{n_features}-{n_classes}-{offset}")


def many_levels():
    """Two numeric columns, and twelve categorical ones whose levels and their products are more than VW's buckets."""
    rng = np.random.default_rng(1)
    label = np.arange(300) % 5
    levels = np.stack([rng.permutation(300) for _ in range(12)], axis=1)
    levels[:, 0] = 5 * rng.integers(0, 3, 300) + label
    return from_arrays(np.hstack([rng.normal(size=(300, 2)), levels]), label, categorical=range(2, 14), name="levels")


def codes(environment):
    return environment.categorical + offsets(environment.space.n_numeric, environment.space.n_levels)


def draws(environment, seed):
    return np.random.default_rng(seed).random(len(environment))


def _act(answers, draw):
    values, probabilities = np.maximum(answers, 0).astype(float), np.zeros(len(answers))
    epsilon_greedy(values, EPSILON, probabilities)
    return int(sample(probabilities, draw))


def play_vw(
    environment: Environment, seed: int, *, max_nodes=2000, leaf_multiplier=9, dreams=10, alpha=0.5, bits=25
) -> np.ndarray:
    import pylibvw

    from emt.learners.vw.workspace import Memory

    command = (
        f"--memory_tree {max_nodes} --leaf_example_multiplier {leaf_multiplier} --dream_repeats {dreams} "
        f"--alpha {alpha} --learn_at_leaf --online --max_number_of_labels 2 --coin --power_t 0 -b {bits} "
        "--interactions xa"
    )
    memory = Memory(command, environment.space, seed, EPSILON, zero=1, weighted=False)
    found = np.zeros((len(environment), environment.space.n_actions), np.int8)
    for t, ((context, label), draw) in enumerate(zip(environment, draws(environment, seed), strict=True)):
        example = memory.example({"x": memory.context(context), "a": memory._actions[0]})
        for a, index in enumerate(memory._action_indices):
            pylibvw.example.pop_feature(example, ACTION)
            pylibvw.example.push_hashed_feature(example, ACTION, index, 1.0)
            pylibvw.vw.predict(memory.workspace, example)
            found[t, a] = example.get_multiclass_prediction() - 1
        action = _act(found[t], draw)
        memory.learn(context, action, float(action == label), 1.0)
    memory.finish()
    return found


def play_reference(environment: Environment, seed: int, **options) -> tuple[np.ndarray, ContextualMemoryTree]:
    tree = ContextualMemoryTree(seed=seed, **options)
    found = np.zeros((len(environment), environment.space.n_actions), np.int8)
    rows = zip(environment.numeric, codes(environment), environment.labels, draws(environment, seed), strict=True)
    for t, (numeric, levels, label, draw) in enumerate(rows):
        rewards = [tree.answer(numeric, levels, a) for a in range(found.shape[1])]
        found[t] = [-1 if reward is None else reward for reward in rewards]
        action = _act(found[t], draw)
        tree.learn(numeric, levels, action, float(action == label))
    return found, tree


@kernel
def _play(tree, numeric, levels, labels, draws, found, answers, memories, probabilities, start):
    for t in range(start, len(labels)):
        if not has_room(tree):
            return t
        find(tree, numeric[t], levels[t], memories)
        ask(tree, numeric[t], levels[t], answers)
        for a in range(len(answers)):
            found[t, a] = -1 if memories[a] == NONE else answers[a, 0]
        share_epsilon(answers[:, 0], EPSILON, probabilities)
        action = take(probabilities, draws[t])
        learn(tree, numeric[t], levels[t], action, answers, 1.0 if action == labels[t] else 0.0, 1.0)
    return len(labels)


def play_compiled(environment: Environment, seed: int, *, n_memories=None, **options):
    space, n = environment.space, len(environment)
    tree = allocate(
        space.n_numeric,
        space.n_levels,
        space.n_actions,
        seed=seed,
        n_memories=n if n_memories is None else n_memories,
        **options,
    )
    found, answers = np.zeros((n, space.n_actions), np.int8), np.zeros((space.n_actions, 1))
    memories, probabilities = np.zeros(space.n_actions, np.int64), np.zeros(space.n_actions)
    stream = environment.numeric, codes(environment), environment.labels, draws(environment, seed)
    t = 0
    while (t := _play(tree, *stream, found, answers, memories, probabilities, t)) < n:
        tree = grow(tree)
    return found, tree
