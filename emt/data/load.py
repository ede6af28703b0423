"""One door to every dataset."""

from __future__ import annotations

import re
from functools import cache
from numbers import Integral
from pathlib import Path

from emt.arguments import brief, nearest
from emt.data import prepared
from emt.data.dataset import Dataset, DatasetError
from emt.data.embedded import EMBEDDED
from emt.data.nasty import NASTY

__all__ = ["load", "name_of", "names", "save"]

BUILT_IN = {**EMBEDDED, **NASTY}
NAME = re.compile(r"\w[\w.+-]*")  # it becomes that of a file


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


def names() -> list[str]:
    """Return the names of the sets that a suite may have beside OpenML tasks: built in, and your own."""
    stored = [path.stem for path in sorted(prepared.folder().glob("*.parquet"))]
    return [*BUILT_IN, *(name for name in stored if not _is_taken(name))]


def _is_taken(name: str) -> bool:
    return name in BUILT_IN or re.fullmatch(r"task-\d+", name) is not None


def save(dataset: Dataset) -> Path:
    """Put a set of your own into the store; from then on `load` and suites know it by its name.

    Parameters
    ----------
    dataset : Dataset
        From `from_frame` or `from_arrays`; one of the same name that is there already is replaced.

    Returns
    -------
    Path
        Its file.

    Raises
    ------
    DatasetError
        If its name is that of a built-in set or an OpenML task, or cannot name a file.
    """
    if not isinstance(dataset, Dataset):
        raise DatasetError(f"a Dataset is needed, such as that of from_frame, not {brief(dataset)}")
    if _is_taken(dataset.name) or not NAME.fullmatch(dataset.name):
        raise DatasetError(
            f"a dataset cannot be saved as {dataset.name!r}: give it a name of letters, digits and _ . + - "
            "that is no built-in set's (wine) or OpenML task's (task-3), e.g. from_frame(..., name='my-set')"
        )
    return prepared.write(dataset)


def load(dataset: str | int) -> Dataset:
    """Load a set by its name, or a prepared OpenML task by its id. Never uses the network.

    Parameters
    ----------
    dataset : str or int
        The name of an embedded set ("digits") or of one that `save` has stored, or the id of an OpenML task (3) that
        ``emt prepare`` has prepared.

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
    if not isinstance(dataset, str | Integral):
        raise DatasetError(f"a dataset is known by its name or by the id of its OpenML task, not by {brief(dataset)}")
    if dataset in BUILT_IN:
        return _built_in(str(dataset))
    name = name_of(dataset)
    try:
        if not NAME.fullmatch(name):
            raise FileNotFoundError
        return prepared.read(name)
    except FileNotFoundError:
        if isinstance(dataset, str):
            known = [name for name in names() if name not in NASTY]
            raise DatasetError(f"there is no dataset {dataset!r}; {nearest(dataset, known)}") from None
        reason = prepared.failures().get(name)
        why = f" (the last try: {reason})" if reason else ""
        raise DatasetError(
            f"OpenML task {dataset} is not prepared in {prepared.folder()}{why}: "
            "run emt prepare with a suite that has it"
        ) from None
    except prepared.BrokenFile as error:
        if isinstance(dataset, str):
            raise DatasetError(f"{error}; save it again") from error
        raise DatasetError(f"{error}; run emt prepare with a suite that has it") from error
