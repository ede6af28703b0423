"""How much memory a run takes: the most that its whole process has while the run is played."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["forget_peak", "peak_memory"]

PROCESS = Path("/proc/self")


def forget_peak() -> None:
    """Let `peak_memory` count from here on; where the system cannot forget, it goes on counting from the start."""
    with suppress(OSError):
        (PROCESS / "clear_refs").write_text("5")


def peak_memory() -> int:
    """Return the most bytes that this process had in memory since `forget_peak`: interpreter, packages, data and all.

    Examples
    --------
    >>> peak_memory() > 1_000_000
    True
    """
    with suppress(OSError):
        for line in (PROCESS / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
