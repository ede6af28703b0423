"""How the kernels are compiled: cached on disk, with sums that may be reassociated so that they vectorise."""

from __future__ import annotations

from typing import Any

import numba

__all__ = ["njit"]


def njit(function: Any) -> Any:
    """Compile a kernel on its first call; later processes load it from the on-disk cache.

    NaN and infinity keep their meaning: only the order of sums is free (``reassoc``, ``contract``).
    """
    return numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})(function)
