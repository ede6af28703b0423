"""A Contextual Memory Tree packed into what it can be rebuilt from: its observations, in the order they were learned.

Queries change nothing, so the seed and the observations decide all of it. Unpacking learns them again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.compile import kernel
from emt._kernels.contextual.state import ContextualTree
from emt._kernels.parts import grow, has_room, learn, pack
from emt._kernels.vector import offsets

__all__ = ["pack_tree", "unpack"]

NOTHING = np.zeros((0, 1))  # what was answered plays no part in what is learned


@pack.register
def pack_tree(tree: ContextualTree) -> dict[str, np.ndarray]:
    """Return the seed and the observations."""
    n, examples = int(tree.count.memories), tree.examples
    return {
        "seed": np.array([tree.config.seed]),
        "numeric": examples.x[:n, : tree.config.n_numeric].copy(),
        "codes": examples.codes[:n].copy(),
        "action": examples.memory["action"][:n].astype(np.int64),
        "reward": examples.memory["label"][:n].copy(),
    }


def unpack(empty: Any, n_levels: tuple[int, ...], arrays: dict[str, np.ndarray]) -> ContextualTree:
    """Return the tree that `pack_tree` took apart, or refuse it; ``empty`` makes an empty one of a seed and a size."""
    n = len(arrays["reward"])
    for name, array in pack_tree(empty(0, 1)).items():
        rows = 1 if name == "seed" else n
        if arrays[name].dtype != array.dtype or arrays[name].shape != (rows, *array.shape[1:]):
            raise ValueError(f"its {name} do not fit its options")
    tree: ContextualTree = empty(int(arrays["seed"][0]), 1)
    numeric, codes, action, reward = (arrays[name] for name in ("numeric", "codes", "action", "reward"))
    levels = codes - offsets(numeric.shape[1], n_levels)
    if not (np.isfinite(numeric).all() and np.isfinite(reward).all()):
        raise ValueError("its memories have numbers that are not finite")
    if ((levels < 0) | (levels >= np.array(n_levels, np.int64))).any():
        raise ValueError("its memories have levels that there are not")
    if ((action < 0) | (action >= tree.config.n_actions)).any():
        raise ValueError("its memories have actions that there are not")
    step = 0
    while step < n:
        while not has_room(tree):
            tree = grow(tree)
        step = _learn_again(tree, numeric, codes, action, reward, step)
    return tree


@kernel
def _learn_again(
    tree: ContextualTree, numeric: np.ndarray, codes: np.ndarray, action: np.ndarray, reward: np.ndarray, start: int
) -> int:
    """Learn observations from a step on, until the tree must grow; return the step reached."""
    for t in range(start, len(reward)):
        if not has_room(tree):
            return t
        learn(tree, numeric[t], codes[t], action[t], NOTHING, reward[t], 1.0)
    return len(reward)
