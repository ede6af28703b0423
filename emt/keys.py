"""Keys and observations in the kernels' form, or refused: one, or many at once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from emt._kernels.eigen import NONE, Keys
from emt._kernels.vector import offsets
from emt.arguments import check_counts
from emt.options import GREATEST, TreeOptions

__all__ = ["many_keys", "many_observations", "one_key", "one_observation"]


def one_key(options: TreeOptions, x: Any, categorical: Any, action: Any) -> Keys:
    """Return a key as a row of its own."""
    numeric, codes = np.asarray(x), np.asarray(categorical)
    if numeric.shape != (options.n_features,):
        raise ValueError(f"x must have {options.n_features} coordinates, not shape {numeric.shape}")
    if codes.shape != (len(options.n_levels),):
        raise ValueError(f"categorical must have {len(options.n_levels)} codes, not shape {codes.shape}")
    if action is None and options.n_actions > 0:
        raise ValueError(f"action is None: actions are whole numbers from 0 to {options.n_actions - 1}")
    return _keys(options, numeric[None], codes[None], None if action is None else np.asarray(action)[None], "")


def many_keys(options: TreeOptions, X: Any, categorical: Any, action: Any) -> Keys:
    """Return keys, a row each."""
    numeric = np.asarray(X)
    if numeric.ndim != 2 or numeric.shape[1] != options.n_features:
        raise ValueError(
            f"X must have a row of {options.n_features} coordinates for each key, not shape {numeric.shape}"
        )
    n = len(numeric)
    codes = np.zeros((n, 0), np.int32) if categorical is None else np.asarray(categorical)
    if codes.shape != (n, len(options.n_levels)):
        shape = (n, len(options.n_levels))
        raise ValueError(f"categorical must have a row of codes for each key, shape {shape}, not {codes.shape}")
    actions = None if action is None else np.asarray(action)
    if options.n_actions > 0 and (actions is None or actions.shape != (n,)):
        raise ValueError(f"action must have an action for each of the {n} keys")
    return _keys(options, numeric, codes, actions, "key {}: ")


def one_observation(options: TreeOptions, y: Any, weight: Any, id: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the value, the weight and the identifier of one observation, each as an array of one."""
    if id is not None:
        check_counts(0, 2**63 - 1, id=id)
    return _observations(options, np.array([y], float), np.array([weight], float), [NONE if id is None else id], "")


def many_observations(
    options: TreeOptions, n: int, y: Any, weight: Any, id: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values, weights and identifiers of so many observations; a single weight is that of all."""
    values, weights = np.array(y, float), np.array(weight, float)
    weights = np.full(n, weights) if weights.ndim == 0 else weights
    ids = np.full(n, NONE) if id is None else np.asarray(id)
    for name, array in (("y", values), ("weight", weights), ("id", ids)):
        if array.shape != (n,):
            raise ValueError(f"{name} must have a number for each of the {n} keys, not shape {array.shape}")
    if id is not None and (ids.dtype.kind not in "iu" or (ids < 0).any() or (ids > 2**63 - 1).any()):
        raise ValueError("id must have a whole number, at least 0, for each key")
    return _observations(options, values, weights, ids, "key {}: ")


def _keys(options: TreeOptions, numeric: np.ndarray, codes: np.ndarray, actions: Any, where: str) -> Keys:
    with np.errstate(over="ignore"):  # of what is refused below
        numbers = np.array(numeric, options.dtype, order="C")
    greatest = GREATEST[options.dtype]
    for row, j in _others(np.abs(numbers) <= greatest):
        rule = f"coordinates must be finite numbers of size {greatest:g} at most"
        raise ValueError(where.format(row) + f"x[{j}] is {numeric[row, j]}: {rule}")
    n_levels, n_actions = options.n_levels, options.n_actions
    if n_levels:
        for row, j in _others(_whole(codes, np.array(n_levels, np.int64))):
            rule = f"codes of this column are whole numbers from 0 to {n_levels[j] - 1}"
            raise ValueError(where.format(row) + f"categorical[{j}] is {codes[row, j]}: {rule}")
        codes = codes + _offsets(options.n_features, n_levels)
    if n_actions == 0:
        if actions is not None:
            raise ValueError("this tree's keys have no action: give n_actions when it is made")
        actions = np.zeros(len(numbers), np.int64)
    for (row,) in _others(_whole(actions, max(n_actions, 1))):
        rule = f"actions are whole numbers from 0 to {n_actions - 1}"
        raise ValueError(where.format(row) + f"action is {actions[row]}: {rule}")
    return Keys(numbers, np.array(codes, np.int32, order="C"), np.array(actions, np.int64))


def _observations(
    options: TreeOptions, values: np.ndarray, weights: np.ndarray, ids: Any, where: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    greatest = GREATEST[options.dtype]
    for (row,) in _others(np.abs(values) <= greatest):
        rule = f"y must be a finite number of size {greatest:g} at most"
        raise ValueError(where.format(row) + f"{rule}, not {values[row]}")
    for (row,) in _others((weights >= 0) & (weights <= greatest)):
        rule = f"weight must be a finite number from 0 to {greatest:g}"
        raise ValueError(where.format(row) + f"{rule}, not {weights[row]}")
    return values, weights, np.array(ids, np.int64)


def _whole(numbers: np.ndarray, n: Any) -> np.ndarray:
    """Tell which numbers are whole numbers from 0 to n - 1."""
    return np.asarray((numbers >= 0) & (numbers < n) & (numbers == np.trunc(numbers)))


def _others(taken: np.ndarray) -> list[tuple[int, ...]]:
    """Return the place of the first number that is not taken, if there is any."""
    return [] if taken.all() else [tuple(np.argwhere(~taken)[0].tolist())]


@cache
def _offsets(n_features: int, n_levels: tuple[int, ...]) -> np.ndarray:
    return offsets(n_features, n_levels)
