"""The stack of models that PEMTPlus and PCMTPlus have over their memories."""

from __future__ import annotations

from typing import Any

import numpy as np

from emt._kernels.linear_packing import unpack_linear
from emt._kernels.packed import put, require, within
from emt._kernels.stack import ASKED, Stack, allocate_stack, own_arrays
from emt.arguments import check_yes_or_no
from emt.environment import Space
from emt.learners.compiled import Arrays
from emt.learners.parametric import linear_model
from emt.learners.ridge import ridge_model, unpacked_ridge

__all__ = ["keep_stack", "stacked_model", "unpacked_stack"]


def keep_stack(learner: Any, ridge: bool, guard: bool, forgetting: float) -> None:
    """Check the options of a learner's stack, and keep them under their names."""
    check_yes_or_no(ridge=ridge, guard=guard)
    if not (isinstance(forgetting, int | float) and 0 < forgetting <= 1):
        raise ValueError(f"forgetting must be a number above 0, at most 1, not {forgetting!r}")
    learner.ridge, learner.guard, learner.forgetting = ridge, guard, forgetting


def stacked_model(learner: Any, space: Space) -> Stack:
    """Return the untrained stack that a learner's options describe."""
    return allocate_stack(
        linear_model(space, constant=True),
        ridge_model(space) if learner.ridge else None,
        space.n_actions,
        neighbours=bool(getattr(learner, "neighbours", True)),
        confidence=getattr(learner, "confidence", False),
        guard=learner.guard,
        forgetting=float(learner.forgetting),
    )


def unpacked_stack(learner: Any, space: Space, arrays: Arrays) -> Stack:
    """Return the stack of a file, or refuse it."""
    joint = unpack_linear(linear_model(space, constant=True), within(arrays, "joint"))
    ridge = unpacked_ridge(space, within(arrays, "ridge")) if learner.ridge else None
    stack = stacked_model(learner, space)._replace(joint=joint, ridge=ridge)
    own = own_arrays(stack)
    rest = {name: array for name, array in arrays.items() if name.partition(".")[0] not in ("joint", "ridge")}
    put(own, rest, "the stack")
    asked, most = own["asked"], np.array([1, space.n_actions - 1, space.n_actions - 1])
    require(((asked >= 0) & (asked <= most)).all(), "asked of the stack is out of range")
    for name, value in zip(ASKED, asked, strict=True):
        stack.options[name] = value
    return stack
