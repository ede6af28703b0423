"""Files of named arrays that are safe to read, whoever wrote them: trees and learners are saved in such files.

A file is a zip archive of ``about.json``, which says what it is, and one ``.npy`` member for each array. Nothing in it
is compressed and nothing is code: reading takes as much memory as the file is long, and runs nothing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zipfile
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from emt.files import replacing

__all__ = ["load_arrays", "naming", "save_arrays"]

ABOUT, ENDING = "about.json", ".npy"


def save_arrays(path: str | Path, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write named arrays of numbers, and what JSON can hold about them, to a file that takes its place whole.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "squares")
    ...     save_arrays(path, {"format": "squares-1"}, {"square": np.array([0, 1, 4])})
    ...     load_arrays(path)
    ({'format': 'squares-1'}, {'square': array([0, 1, 4])})
    """
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(ABOUT), json.dumps(about))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name + ENDING), "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)


def load_arrays(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `save_arrays` wrote. All sizes are compared with the file's own before any array is made."""
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        _require(len(set(names)) == len(names), "a name comes twice")
        _require(all(name == ABOUT or name.endswith(ENDING) for name in names), "it has members of another kind")
        _require(all(member.compress_size == member.file_size for member in members), "it has compressed members")
        in_all = sum(member.file_size for member in members)
        _require(in_all <= os.fstat(file.fileno()).st_size, "its members are larger than itself")
        arrays = [name for name in names if name != ABOUT]
        for name in arrays:
            with archive.open(name) as member:
                _check_header(member, archive.getinfo(name).file_size)
        about = json.loads(archive.read(ABOUT))
        _require(isinstance(about, dict), f"{ABOUT} has no names")
        return about, {name.removesuffix(ENDING): _read(archive, name) for name in arrays}


@contextlib.contextmanager
def naming(path: str | Path, what: str) -> Iterator[None]:
    """Say which file it was, and what it should be, when reading it fails; a file that cannot be had is named already.

    Examples
    --------
    >>> with naming("notes.txt", "a tree"):
    ...     raise KeyError("weight")
    Traceback (most recent call last):
    ...
    ValueError: notes.txt is not a tree, or is damaged: KeyError('weight')
    """
    try:
        yield
    except Exception as error:  # whatever zip, numpy and JSON make of a damaged file
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # which is a place before the file's beginning
            raise
        reason = error if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"{path} is not {what}, or is damaged: {reason}") from error


def _check_header(member: IO[bytes], size: int) -> None:
    """Refuse an array that is not of plain numbers, or not as long as its place in the file."""
    _require(npy.read_magic(member) == (1, 0), "an array is of another version")
    shape, _, dtype = npy.read_array_header_1_0(member)
    _require(dtype.kind in "biuf", f"an array is of {dtype}, not of numbers")
    _require(all(n >= 0 for n in shape), f"an array has shape {shape}")
    _require(prod(shape) * dtype.itemsize == size - member.tell(), "an array is not as long as it says")


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as member:
        return npy.read_array(member, allow_pickle=False)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
