"""One door to every dataset."""

from __future__ import annotations

from functools import cache

from emt.data.dataset import Dataset, DatasetError
from emt.data.embedded import EMBEDDED

__all__ = ["load"]


@cache
def _embedded(name: str) -> Dataset:
    return EMBEDDED[name](name)


def load(name: str | int) -> Dataset:
    """Load an embedded set by its name, or a prepared OpenML task by its id. Never uses the network.

    Parameters
    ----------
    name : str or int
        The name of an embedded set ("digits"), or the id of an OpenML task (3) that `python -m experiments.prepare` has
        prepared.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If there is no such set, if the task is not prepared yet, or if its file is broken.

    Examples
    --------
    >>> load("tic-tac-toe")
    Dataset('tic-tac-toe': 958 rows, 0 numeric, 9 categorical, 2 classes)
    """
    if isinstance(name, str) and name in EMBEDDED:
        return _embedded(name)
    raise DatasetError(f"there is no embedded dataset {name!r}; there are {', '.join(EMBEDDED)}")
