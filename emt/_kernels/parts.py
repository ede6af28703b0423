"""The parts of a learner, and what the loop asks of them.

A learner is a memory, a model, or both, and a way to explore. Each is a NamedTuple of arrays; a part that a learner
does not have is None. A new memory or model implements the functions below for its kind (``ask.of(Kind)``) and is
played by the loop in ``play.py`` as it is.

``numeric`` and ``codes`` are one context: a row of numbers, and the position of each categorical column's level among
all coordinates. ``answers`` has a row of numbers for each action, what is remembered first. Implementations make no
arrays; what must, is an `emt._kernels.compile.inner_new` function that they call.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from emt._kernels.compile import by_kind

__all__ = [
    "ask",
    "begin",
    "explore",
    "grow",
    "has_room",
    "judge",
    "learn",
    "pack",
    "remark",
    "uncertainty",
]


@by_kind
def begin(part: Any, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Get ready for questions about a context, and for learning from it."""


@by_kind
def ask(memory: Any, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    """Write what a memory answers for every action."""


@by_kind
def judge(model: Any, answers: np.ndarray, values: np.ndarray) -> None:
    """Write the reward that a model predicts for every action, given the context it has begun and the answers."""


@by_kind
def uncertainty(model: Any, widths: np.ndarray) -> None:
    """Write how unsure a model is of every action's reward in the context it has begun; not every model can tell."""


@by_kind
def explore(explorer: Any, model: Any, values: np.ndarray, probabilities: np.ndarray) -> None:
    """Write the probability of every action, given the values that the model has predicted."""


@by_kind
def learn(
    part: Any, numeric: np.ndarray, codes: np.ndarray, action: int, answers: np.ndarray, reward: float, weight: float
) -> None:
    """Learn the reward of an action in the context that was begun; ``weight`` is its importance."""


@by_kind
def has_room(part: Any) -> bool:
    """Tell whether one `learn` has all the room that it may need."""
    return True


@singledispatch
def grow(part: Any) -> Any:
    """Return the part with more room (in Python: arrays are made there)."""
    return part


@singledispatch
def remark(part: Any) -> str:
    """Return what a reader of the run log should know of a part after a stream (in Python)."""
    return ""


@singledispatch
def pack(part: Any) -> dict[str, np.ndarray]:
    """Return the arrays that a part can be rebuilt from, to be saved (in Python)."""
    raise TypeError(f"a learner with a {type(part).__name__} cannot be saved")


# A part that is not there

nothing = type(None)


@begin.of(nothing)
def _begin(part: None, numeric: np.ndarray, codes: np.ndarray) -> None:
    pass


@ask.of(nothing)
def _ask(memory: None, numeric: np.ndarray, codes: np.ndarray, answers: np.ndarray) -> None:
    pass


@judge.of(nothing)
def _judge(model: None, answers: np.ndarray, values: np.ndarray) -> None:
    for a in range(len(values)):  # a memory alone: what it remembers
        values[a] = answers[a, 0]


@learn.of(nothing)
def _learn(
    part: None, numeric: np.ndarray, codes: np.ndarray, action: int, answers: np.ndarray, reward: float, weight: float
) -> None:
    pass


@has_room.of(nothing)
def _has_room(part: None) -> bool:
    return True


@pack.register
def _pack(part: None) -> dict[str, np.ndarray]:
    return {}
