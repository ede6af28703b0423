"""Large tables of which few entries are ever written."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress
from typing import Any

import numpy as np

__all__ = ["sparse_zeros"]

SMALL = 2**22  # bytes: where NumPy begins to ask for huge pages


def sparse_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return zeros like NumPy's, except that writing one of them takes a page of 4 KiB, not one of 2 MiB.

    Examples
    --------
    >>> sparse_zeros((2, 3), np.float32)
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes < SMALL or not hasattr(mmap, "MADV_NOHUGEPAGE"):  # of Linux, as huge pages are
        return np.zeros(shape, dtype)
    pages = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel that was built without huge pages
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(shape)
