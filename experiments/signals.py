"""Ctrl-C and SIGTERM: both ask a study to stop, are heeded once, and are never lost."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["end_at_once", "held_back", "is_stopped", "raise_if_stopped", "stop_on_signals"]

_received: list[int] = []  # signals that ask to stop
_holding: list[bool] = []  # for each block that they wait for


def end_at_once() -> None:
    """Let Ctrl-C end this process as SIGTERM does, for as long as there is nothing to lose.

    Python would raise KeyboardInterrupt, which code that is being loaded may swallow.
    """
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # not where a shell made it be ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def stop_on_signals() -> None:
    """Take SIGTERM as Ctrl-C, as batch queues mean it, and heed the first of both only: logs are written meanwhile."""

    def stop(number: int, frame: FrameType | None) -> None:
        _received.append(number)
        for again in (signal.SIGINT, signal.SIGTERM):
            signal.signal(again, signal.SIG_IGN)
        if not _holding:
            raise KeyboardInterrupt

    def say_nothing_of_it(unraisable: Any) -> None:
        if not (_received and issubclass(unraisable.exc_type, KeyboardInterrupt)):
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = say_nothing_of_it  # where a finaliser swallows it; it is heeded a little later
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_DFL):
        signal.signal(signal.SIGINT, stop)


def is_stopped() -> bool:
    """Return whether a signal has come: whatever is raised from then on, it is the end of a study that was stopped."""
    return bool(_received)


def raise_if_stopped(error: BaseException | None = None) -> None:
    """Raise KeyboardInterrupt if this error is one, or if a signal has come: other code may have swallowed it."""
    if isinstance(error, KeyboardInterrupt) or is_stopped():
        raise KeyboardInterrupt from error


@contextmanager
def held_back() -> Iterator[None]:
    """Let processes that are started here never hear of Ctrl-C; this one hears of it, and of SIGTERM, afterwards.

    The mask is what they inherit. Here it is not enough: another thread may take the signal for this one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    _holding.append(True)
    try:
        yield
    finally:
        _holding.pop()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    raise_if_stopped()
