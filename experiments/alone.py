"""A process of its own for what may end it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from types import TracebackType
from typing import Any

from experiments.signals import held_back

__all__ = ["Alone", "BrokenProcessPool", "depend_on"]


class Alone:
    """One worker process, started when it is first called, and again when it has died.

    Examples
    --------
    >>> with Alone() as process:
    ...     process.call(abs, -3)
    3
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns there; if its process dies instead, BrokenProcessPool is raised."""
        with held_back():
            self._pool = self._pool or ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            future = self._pool.submit(_call, os.getpid(), function, arguments)
        try:
            return future.result()
        except BrokenProcessPool:
            self._pool = None
            raise

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool:
            _kill(self._pool)


def _call(parent: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    depend_on(parent)
    return function(*arguments)


@cache
def depend_on(parent: int) -> None:
    """Make this a worker that ends with its parent, however that ends, and by nothing else."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends its workers

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _kill(pool: ProcessPoolExecutor) -> None:
    """End a pool at once; where Python has no way to, after the run that it is at."""
    if hasattr(pool, "kill_workers"):  # from Python 3.14 on
        pool.kill_workers()
    for process in (getattr(pool, "_processes", None) or {}).values():
        process.kill()
    pool.shutdown(cancel_futures=True)
