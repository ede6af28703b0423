"""Named numbers: records that Python and compiled code read and change by the same names."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["Fields", "record", "record_type"]

Fields = list[tuple[str, Any]]


def record_type(fields: Fields) -> np.dtype[Any]:
    """Return the type of arrays whose entries have named numbers."""
    return _record_type(tuple(fields))


@lru_cache
def _record_type(fields: tuple[tuple[str, Any], ...]) -> np.dtype[Any]:
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


def record(fields: Fields, **values: Any) -> Any:
    """Return one record; numbers that are not given are 0.

    Examples
    --------
    >>> counts = record([("memories", "i8"), ("scale", "f8")], scale=0.5)
    >>> counts.memories += 1
    >>> counts.memories.item(), counts.scale.item()
    (1, 0.5)
    """
    numbers = dict.fromkeys([name for name, _ in fields], 0) | values
    if len(numbers) > len(fields):
        raise TypeError(f"there are no fields {', '.join(list(numbers)[len(fields) :])}")
    return np.array([tuple(numbers.values())], record_type(fields))[0]
