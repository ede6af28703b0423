"""A linear model packed into what it can be rebuilt from, and checked before it is: what a learner's file holds of it.

Features, values and gains of the context at hand are not packed: every context makes them anew.
"""

from __future__ import annotations

import numpy as np

from emt._kernels.linear import Linear
from emt._kernels.parts import grow, pack

__all__ = ["unpack_linear"]

WEIGHTS = ("weight", "adaptive", "norm")


@pack.register
def pack_linear(linear: Linear) -> dict[str, np.ndarray]:
    """Return the arrays that a model can be rebuilt from."""
    counts, model = linear.numbering.counts, linear.model
    return {
        **{name: getattr(linear, name) for name in WEIGHTS},
        "shared": linear.shared,
        "slot": linear.numbering.slot,
        "numbers": np.array([counts["next"], counts["sharing"]], np.int64),
        "sums": np.array([model["total_weight"], model["total_norm"]]),
    }


def unpack_linear(linear: Linear, arrays: dict[str, np.ndarray]) -> Linear:
    """Return an empty model with what `pack_linear` took out of one like it; refuse what is no such model."""
    counts = linear.numbering.counts
    while linear.weight.size < np.size(arrays["weight"]) and counts["room"] < counts["most"]:
        linear = grow(linear)
    expected = pack_linear(linear)
    _require(set(arrays) == set(expected), f"it has {', '.join(sorted(arrays))}, not {', '.join(sorted(expected))}")
    for name, array in expected.items():
        fits = arrays[name].dtype == array.dtype and arrays[name].shape == array.shape
        _require(fits, f"the model's {name} do not fit its space")
    for name in (*WEIGHTS, "shared", "sums"):
        _require(np.isfinite(arrays[name]).all(), f"the model's {name} are not finite")
    (following, sharing), slot = arrays["numbers"], arrays["slot"]
    taken = np.sort(slot[slot[:, 0] != 0, 1])
    in_range = counts["first"] <= following <= counts["room"] and sharing in (0, 1)
    _require(in_range, "the model's numbers are out of range")
    _require(np.array_equal(taken, np.arange(counts["first"], following)), "the model's features are not numbered")
    for name in (*WEIGHTS, "shared"):
        getattr(linear, name)[:] = arrays[name]
    linear.numbering.slot[:] = slot
    counts["next"], counts["sharing"] = following, sharing
    linear.model["total_weight"], linear.model["total_norm"] = arrays["sums"]
    return linear


def _require(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
