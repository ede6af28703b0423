"""One door to every dataset."""

from __future__ import annotations

from functools import cache

from emt.data import prepared
from emt.data.dataset import Dataset, DatasetError
from emt.data.embedded import EMBEDDED
from emt.data.nasty import NASTY

__all__ = ["load", "name_of"]

BUILT_IN = {**EMBEDDED, **NASTY}


@cache
def _built_in(name: str) -> Dataset:
    return BUILT_IN[name](name)


def name_of(dataset: str | int) -> str:
    """Return what a dataset of a suite is called in the store and in logs.

    Examples
    --------
    >>> name_of(3), name_of("digits")
    ('task-3', 'digits')
    """
    return dataset if isinstance(dataset, str) else f"task-{dataset}"


def load(dataset: str | int) -> Dataset:
    """Load an embedded set by its name, or a prepared OpenML task by its id. Never uses the network.

    Parameters
    ----------
    dataset : str or int
        The name of an embedded set ("digits"), or the id of an OpenML task (3) that ``python -m experiments.prepare``
        has prepared.

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
    if isinstance(dataset, str):
        if dataset not in BUILT_IN:
            raise DatasetError(f"there is no embedded dataset {dataset!r}; there are {', '.join(EMBEDDED)}")
        return _built_in(dataset)
    name = name_of(dataset)
    try:
        return prepared.read(name)
    except FileNotFoundError:
        reason = prepared.failures().get(name)
        why = f" (the last try: {reason})" if reason else ""
        raise DatasetError(
            f"OpenML task {dataset} is not prepared in {prepared.folder()}{why}: "
            "run python -m experiments.prepare with a suite that has it"
        ) from None
    except prepared.BrokenFile as error:
        raise DatasetError(f"{error}; run python -m experiments.prepare with a suite that has it") from error
