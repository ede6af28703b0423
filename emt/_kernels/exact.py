"""A memory that forgets nothing and searches all of it: the k nearest observations of each action.

Cover and Hart. Nearest neighbor pattern classification. IEEE Transactions on Information Theory 1967. Nearness is the
Euclidean distance of the contexts, levels written out as indicators. A step takes as long as there are memories.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.nearest_of_action import Nearest, allocate_nearest, clear, offer
from emt._kernels.packed import require
from emt._kernels.parts import ask, begin, grow, has_room, learn, pack
from emt._kernels.vector import lengthen, offsets

__all__ = ["Exact", "allocate_exact", "unpack_exact"]


class Exact(NamedTuple):
    """The observations in the order they were made, and the nearest to the context at hand."""

    numeric: np.ndarray
    codes: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    size: np.ndarray  # one number
    nearest: Nearest


def allocate_exact(n_numeric: int, n_codes: int, n_actions: int, k: int, n_memories: int) -> Exact:
    """Return an empty memory with room for so many observations."""
    return Exact(
        numeric=np.zeros((n_memories, n_numeric), np.float32),
        codes=np.zeros((n_memories, n_codes), np.int32),
        action=np.zeros(n_memories, np.int64),
        reward=np.zeros(n_memories),
        size=np.zeros(1, np.int64),
        nearest=allocate_nearest(k, n_actions),
    )


@begin.of(Exact)
def begin_context(exact: Exact, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Do nothing."""


@ask.of(Exact)
def ask_nearest(exact: Exact, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Write the mean reward of each action's k nearest observations, 0 where there is none."""
    nearest = exact.nearest
    clear(nearest)
    for m in range(exact.size[0]):
        action, distance = exact.action[m], _distance(numeric, codes, exact.numeric[m], exact.codes[m])
        if distance <= nearest.limit[action]:
            offer(nearest, action, distance, exact.reward[m], m)
    for a in range(len(answers)):
        total = 0.0
        for i in range(nearest.size[a]):
            total += nearest.value[a, i]
        answers[a, 0] = total / max(nearest.size[a], 1)


@inner
def _distance(numeric: np.ndarray, codes: np.ndarray, their_numeric: np.ndarray, their_codes: np.ndarray) -> float:
    """Return the squared distance of two contexts."""
    total, differing = np.float32(0), np.int32(0)
    for i in range(len(numeric)):
        z = numeric[i] - their_numeric[i]
        total += z * z
    for j in range(len(codes)):
        differing += np.int32(codes[j] != their_codes[j])
    return float(total) + 2.0 * differing


@learn.of(Exact)
def learn_action(
    exact: Exact, numeric: np.ndarray, codes: np.ndarray, action: int, answers: np.ndarray, reward: float, weight: float
) -> None:
    """Remember the reward of an action."""
    m = exact.size[0]
    for i in range(len(numeric)):
        exact.numeric[m, i] = numeric[i]
    for j in range(len(codes)):
        exact.codes[m, j] = codes[j]
    exact.action[m], exact.reward[m] = action, reward
    exact.size[0] = m + 1


@has_room.of(Exact)
def exact_has_room(exact: Exact) -> bool:
    """Tell whether there is room for one more observation."""
    return exact.size[0] < len(exact.reward)


@grow.register
def grow_exact(exact: Exact) -> Exact:
    """Return the memory with twice the room."""
    names = ("numeric", "codes", "action", "reward")
    return exact._replace(**{name: lengthen(getattr(exact, name), 2 * len(exact.reward)) for name in names})


@pack.register
def pack_exact(exact: Exact) -> dict[str, np.ndarray]:
    """Return the observations."""
    n = int(exact.size[0])
    return {name: getattr(exact, name)[:n] for name in ("numeric", "codes", "action", "reward")}


def unpack_exact(
    n_numeric: int, n_levels: tuple[int, ...], n_actions: int, k: int, arrays: dict[str, np.ndarray]
) -> Exact:
    """Return the memory that `pack_exact` took apart, or refuse it, before anything is made."""
    n = np.size(arrays["reward"])
    expected = {
        "numeric": (np.float32, (n, n_numeric)),
        "codes": (np.int32, (n, len(n_levels))),
        "action": (np.int64, (n,)),
        "reward": (np.float64, (n,)),
    }
    require(set(arrays) == set(expected), f"it has {', '.join(sorted(arrays))}, not {', '.join(sorted(expected))}")
    for name, (dtype, shape) in expected.items():
        require(arrays[name].dtype == dtype and arrays[name].shape == shape, f"its {name} do not fit its space")
    for name in ("numeric", "reward"):
        require(np.isfinite(arrays[name]).all(), f"its {name} are not finite")
    codes, first = arrays["codes"], offsets(n_numeric, n_levels)
    require(((codes >= first) & (codes < first + np.array(n_levels, int))).all(), "a code is out of range")
    require(((arrays["action"] >= 0) & (arrays["action"] < n_actions)).all(), "an action is out of range")
    exact = allocate_exact(n_numeric, len(n_levels), n_actions, k, n + 1)
    for name, array in arrays.items():
        getattr(exact, name)[:n] = array
    exact.size[0] = n
    return exact
