"""The verbs, and how commands are written for the user: as ``emt run``, or as ``python -m experiments.run``."""

from __future__ import annotations

import sys

__all__ = ["MODULES", "start_words", "started_as_emt", "subprocess_words"]

MODULES = {
    "prepare": "experiments.prepare",
    "run": "experiments.run",
    "status": "experiments.status",
    "report": "analysis.report",
    "reproduce": "experiments.reproduce",
}

_started_as_emt = [False]


def started_as_emt() -> None:
    """Write commands as ``emt run`` from now on: the user has typed such a one."""
    _started_as_emt[0] = True


def start_words(verb: str) -> list[str]:
    """Return the words that start a verb, as the user would type them.

    Examples
    --------
    >>> start_words("report")
    ['python', '-m', 'analysis.report']
    """
    return ["emt", verb] if _started_as_emt[0] else ["python", "-m", MODULES[verb]]


def subprocess_words(verb: str) -> list[str]:
    """Return the words that start a verb with the Python that runs this, in the way that this was started."""
    return [sys.executable, "-m", *(["emt", verb] if _started_as_emt[0] else [MODULES[verb]])]
