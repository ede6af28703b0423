"""What every learner is fed from: a cleaned, encoded classification set."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["Dataset", "DatasetError"]


class DatasetError(ValueError):
    """A dataset cannot be used; the message says what is wrong with which column, and what to do."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A classification set: numeric columns, categorical columns as codes, and labels.

    Made by `emt.data.load`, `emt.data.from_frame` and `emt.data.from_arrays`, which clean and encode. Nothing is scaled
    here: that belongs to the rows a study takes, and so to `emt.Environment`.

    Attributes
    ----------
    name : str
        What the set is called in logs; the order of its rows in an environment comes from it.
    numeric : ndarray of float32, shape (n_rows, n_numeric)
        Numeric columns, unscaled, finite.
    categorical : ndarray of int32, shape (n_rows, n_categorical)
        Codes 0..n_levels - 1 of each categorical column.
    n_levels : ndarray of int32, shape (n_categorical,)
        Number of levels of each categorical column; every level occurs.
    labels : ndarray of int32, shape (n_rows,)
        Codes 0..n_classes - 1; every class occurs.
    classes : tuple of str
        Names of the classes.
    numeric_names, categorical_names : tuple of str
        Names of the columns.
    facts : dict
        Where the set comes from and what was dropped: plain values, ready for JSON.

    Examples
    --------
    >>> from emt.data import load
    >>> load("wine")
    Dataset('wine': 178 rows, 13 numeric, 0 categorical, 3 classes)
    """

    name: str
    numeric: np.ndarray
    categorical: np.ndarray
    n_levels: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    numeric_names: tuple[str, ...]
    categorical_names: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, n_axes in (("numeric", 2), ("categorical", 2), ("n_levels", 1), ("labels", 1)):
            if len(shape := np.shape(getattr(self, name))) != n_axes:
                raise DatasetError(f"{self.name}: {name} must have {n_axes} dimension(s), not the shape {shape}")
        try:
            facts = json.loads(json.dumps(self.facts, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise DatasetError(f"{self.name}: facts must be plain values, ready for JSON: {error}") from error
        object.__setattr__(self, "facts", facts)  # as they will be read back: keys are strings, tuples are lists

    @property
    def n_classes(self) -> int:
        """Number of classes, which is the number of actions."""
        return len(self.classes)

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of all that can change a run: name, values, codes, labels and their names."""
        words = [self.name, self.classes, self.numeric_names, self.categorical_names, self.numeric.shape]
        total = hashlib.blake2b(json.dumps(words).encode(), digest_size=16)
        for array in (self.numeric, self.categorical, self.n_levels, self.labels):
            total.update(np.ascontiguousarray(array).data)
        return total.hexdigest()

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        (n_rows, n_numeric), n_categorical = self.numeric.shape, len(self.n_levels)
        columns = f"{n_numeric} numeric, {n_categorical} categorical"
        return f"Dataset({self.name!r}: {n_rows} rows, {columns}, {self.n_classes} classes)"
