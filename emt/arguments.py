"""Refusals of impossible arguments, before any work is done."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

__all__ = ["brief", "check_choice", "check_counts", "check_positive", "check_shares", "check_yes_or_no", "nearest"]

LONGEST = 80  # characters of a value that a message shows


def brief(value: object) -> str:
    """Show a value in a message: in one short line, whatever it is.

    Examples
    --------
    >>> brief(3), brief("x" * 100)[-5:]
    ('3', 'x...')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of someone else's class
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def check_shares(**shares: float) -> None:
    """Refuse arguments that are not numbers between 0 and 1.

    Examples
    --------
    >>> check_shares(epsilon=2)
    Traceback (most recent call last):
    ...
    ValueError: epsilon must be a number between 0 and 1, not 2
    """
    for name, share in shares.items():
        if not (isinstance(share, Real) and 0 <= share <= 1):
            raise ValueError(f"{name} must be a number between 0 and 1, not {brief(share)}")


def check_counts(least: int | None, most: int | None = None, /, **counts: int) -> None:
    """Refuse arguments that are not whole numbers, too small or too large.

    Examples
    --------
    >>> check_counts(1, 1000, epochs=0)
    Traceback (most recent call last):
    ...
    ValueError: epochs must be a whole number, at least 1, not 0
    """
    for name, count in counts.items():
        whole = isinstance(count, Integral) and not isinstance(count, bool)
        if not whole or (least is not None and count < least):
            at_least = "" if least is None else f", at least {least}"
            raise ValueError(f"{name} must be a whole number{at_least}, not {brief(count)}")
        if most is not None and count > most:
            raise ValueError(f"{name} must be a whole number, at most {most}, not {brief(count)}")


def check_positive(**numbers: float) -> None:
    """Refuse arguments that are not positive, finite numbers."""
    for name, number in numbers.items():
        if not (isinstance(number, Real) and 0 < number < float("inf")):
            raise ValueError(f"{name} must be a positive number, not {brief(number)}")


def check_yes_or_no(**answers: bool) -> None:
    """Refuse arguments that are neither True nor False."""
    for name, answer in answers.items():
        if not isinstance(answer, bool):
            raise ValueError(f"{name} must be True or False, not {brief(answer)}")


def check_choice(choices: Sequence[str], **choice: str) -> None:
    """Refuse an argument that is none of the choices."""
    for name, value in choice.items():
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, not {brief(value)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known names are like this one, or all of them.

    Examples
    --------
    >>> nearest("diigts", ["digits", "wine"])
    'did you mean digits?'
    >>> nearest("cars", ["digits", "wine"])
    'there are digits, wine'
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
