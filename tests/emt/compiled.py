"""Inner functions of the kernels, for tests to call."""

from __future__ import annotations

import numba


def from_python(function):
    """A kernel that does nothing but call an inner function."""
    return numba.njit(lambda *arguments: function(*arguments))
