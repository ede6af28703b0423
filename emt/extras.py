"""What is not part of the core: a package that is missing is one line that names the extra it comes with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MissingExtra", "needs"]

OURS = ("emt", "experiments", "analysis")


class MissingExtra(ImportError):
    """A package of an extra is not installed; the message says which, and the command that installs it."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Let imports in this block fail in one line that names the extra.

    Examples
    --------
    >>> with needs("data"):
    ...     import no_such_pandas
    Traceback (most recent call last):
    ...
    emt.extras.MissingExtra: no_such_pandas is not installed: pip install 'emt[data]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package in OURS:
            raise
        raise MissingExtra(f"{package} is not installed: pip install 'emt[{extra}]'", name=package) from None
