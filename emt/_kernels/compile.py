"""How the kernels are compiled: once, into a cache on disk that notices changes and repairs itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

__all__ = ["njit", "njit_inline", "njit_new", "njit_strict"]

#: A digest of every kernel's source. Numba looks only at the file that defines a function, and would go on using a
#: cached caller after one of its callees in another file has changed.
SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()

SUMS = {"reassoc", "contract"}  # what the compiler may do: take sums in any order, and fuse them with products


def _cached(function: Callable, fastmath: Any = False, counted: bool = False, **options: Any) -> Any:
    """Compile on the first call; later processes load the result from disk.

    A kernel that makes no arrays need not count who refers to them. Counting (Numba's ``_nrt``) costs more than the
    work where small kernels hand each other a tree of two dozen arrays.
    """
    options |= {"cache": True, "error_model": "numpy", "fastmath": fastmath, "_nrt": counted}
    dispatcher = numba.njit(**options)(function)
    cache = dispatcher._cache
    cache._cache_file._source_stamp = SOURCES
    load = cache.load_overload

    def load_or_repair(*signature: Any) -> Any:
        try:
            return load(*signature)
        except Exception:  # a truncated or foreign file: forget it and compile again
            cache.flush()
            return None

    cache.load_overload = load_or_repair
    return dispatcher


def njit(function: Callable) -> Any:
    """Compile a kernel whose sums may be taken in any order, so that they vectorise.

    NaN and infinity keep their meaning: only the order of sums is free (``reassoc``, ``contract``).
    """
    return _cached(function, SUMS)


def njit_new(function: Callable) -> Any:
    """Like `njit`, for kernels that make arrays, or call one that returns them."""
    return _cached(function, SUMS, counted=True)


def njit_inline(function: Callable) -> Any:
    """Like `njit`, but written out wherever it is called: for inner loops that cost no more than a call would."""
    return _cached(function, SUMS, inline="always")


def njit_strict(function: Callable) -> Any:
    """Compile a kernel that gives the same bits wherever it is inlined: its sums keep the order they are written in."""
    return _cached(function)
