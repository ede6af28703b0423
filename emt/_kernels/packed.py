"""What a file holds of a part, checked before it is taken over."""

from __future__ import annotations

import numpy as np

__all__ = ["put", "require", "within"]


def require(holds: bool | np.bool_, otherwise: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise ValueError(otherwise)


def put(into: dict[str, np.ndarray], arrays: dict[str, np.ndarray], whose: str) -> None:
    """Copy arrays into those of the same names; refuse other names, types and shapes, and numbers that are not finite.

    Examples
    --------
    >>> weight = np.zeros(2)
    >>> put({"weight": weight}, {"weight": np.ones(2)}, "the model")
    >>> weight
    array([1., 1.])
    >>> put({"weight": weight}, {"weight": np.ones(3)}, "the model")
    Traceback (most recent call last):
    ...
    ValueError: weight of the model does not fit its space
    """
    require(set(arrays) == set(into), f"{whose} has {', '.join(sorted(arrays))}, not {', '.join(sorted(into))}")
    for name, array in into.items():
        fits = arrays[name].dtype == array.dtype and arrays[name].shape == array.shape
        require(fits, f"{name} of {whose} does not fit its space")
        require(np.isfinite(arrays[name]).all(), f"{name} of {whose} is not finite")
    for name, array in into.items():
        array[...] = arrays[name]


def within(arrays: dict[str, np.ndarray], part: str) -> dict[str, np.ndarray]:
    """Return the arrays of a part within a part, by their own names.

    Examples
    --------
    >>> list(within({"ridge.weight": np.zeros(1), "beta": np.zeros(1)}, "ridge"))
    ['weight']
    """
    return {name.partition(".")[2]: array for name, array in arrays.items() if name.partition(".")[0] == part}
