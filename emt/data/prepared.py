"""The prepared store: one parquet file per dataset, checked whenever it is read; and what could not be prepared."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emt.data.dataset import Dataset, DatasetError
from emt.files import clear_leftovers, replacing, unused
from emt.seeds import digest

__all__ = [
    "BrokenFile",
    "exclusive",
    "failures",
    "file_of",
    "folder",
    "read",
    "record_failure",
    "set_aside",
    "write",
    "write_manifest",
]

FORMAT = 1  # raise it when files of an older version must be prepared again
WORDS = ("name", "classes", "numeric_names", "categorical_names", "facts")


class BrokenFile(DatasetError):
    """A file of the store cannot be trusted."""


def folder() -> Path:
    """Return the store's folder: ``EMT_DATA``, or ``emt`` in the user's cache folder."""
    if place := os.environ.get("EMT_DATA"):
        path = Path(place).expanduser()
        if os.path.exists(path) and not os.path.isdir(path):
            raise DatasetError(f"EMT_DATA is {path}, which is not a folder: set it to one, which need not be there yet")
        return path
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "emt"


def file_of(name: str) -> Path:
    """Return where the store has a dataset.

    Examples
    --------
    >>> file_of("task-3").name
    'task-3.parquet'
    """
    return folder() / f"{name}.parquet"


def write(dataset: Dataset) -> Path:
    """Write a dataset into the store, whole or not at all, whoever else is writing it."""
    arrays = [*dataset.numeric.T, *dataset.categorical.T, dataset.labels]
    table = pa.table([pa.array(np.ascontiguousarray(array)) for array in arrays], names=_column_names(dataset))
    words = {
        "format": FORMAT,
        **{word: getattr(dataset, word) for word in WORDS},
        "n_levels": dataset.n_levels.tolist(),
        "fingerprint": dataset.fingerprint,
    }
    words["checksum"] = digest(words)
    table = table.replace_schema_metadata({"emt": json.dumps(words, sort_keys=True)})
    path = file_of(dataset.name)
    with _writing(path) as file:
        pq.write_table(table, file, compression="zstd", use_dictionary=True, write_statistics=False)
    return path


def read(name: str) -> Dataset:
    """Read a dataset from the store and check that it is, to the bit, what was written.

    Raises
    ------
    FileNotFoundError
        If it is not prepared.
    BrokenFile
        If the file is damaged or of another format.
    DatasetError
        If it cannot be read for a reason that may pass: permissions, too many open files, a failing disk.
    """
    path = file_of(name)
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
        words = json.loads((table.schema.metadata or {})[b"emt"])
        checksum = words.pop("checksum")
        if words["format"] != FORMAT or words["name"] != name:
            raise BrokenFile(f"{path} is of format {words['format']} and for {words['name']}, not {FORMAT} and {name}")
        n_numeric, n_categorical = len(words["numeric_names"]), len(words["categorical_names"])
        dataset = Dataset(
            name=words["name"],
            numeric=_block(table, 0, n_numeric, np.float32),
            categorical=_block(table, n_numeric, n_numeric + n_categorical, np.int32),
            n_levels=np.array(words["n_levels"], np.int32),
            labels=_block(table, n_numeric + n_categorical, n_numeric + n_categorical + 1, np.int32)[:, 0],
            classes=tuple(words["classes"]),
            numeric_names=tuple(words["numeric_names"]),
            categorical_names=tuple(words["categorical_names"]),
            facts=words["facts"],
        )
    except (FileNotFoundError, BrokenFile, MemoryError):
        raise
    except (OSError, pa.ArrowException, ValueError, KeyError, IndexError, TypeError) as error:
        if isinstance(error, OSError) and error.errno:  # the system's trouble; what is wrong with the content has none
            raise DatasetError(f"{path} cannot be read: {os.strerror(error.errno)}") from error
        raise BrokenFile(f"{path} is broken: {' '.join(str(error).split())[:200]}") from error
    if checksum != digest(words) or words["fingerprint"] != dataset.fingerprint:
        raise BrokenFile(f"{path} is broken: its content does not match its checksum")
    return dataset


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Keep other preparations out, and clear away what a killed one left half written."""
    import fcntl  # Windows has none, and needs none to read the store

    with _trouble_in_one_line():
        folder().mkdir(parents=True, exist_ok=True)
        lock = (folder() / ".lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatasetError(f"another preparation is at work in {folder()}: wait for it, or stop it") from None
        clear_leftovers(folder())
        yield


def write_manifest() -> None:
    """Write the store's table of contents, from the files: what each says of itself, and its size."""
    datasets = {}
    for path in sorted(folder().glob("*.parquet")):
        with contextlib.suppress(OSError, pa.ArrowException, ValueError, KeyError):  # a broken file is not in it
            words = json.loads((pq.read_schema(path).metadata or {})[b"emt"])
            entry = {"file": path.name, "bytes": path.stat().st_size, "fingerprint": words["fingerprint"]}
            datasets[words["name"]] = {**words["facts"], **entry}
    _write_json(folder() / "manifest.json", {"format": FORMAT, "datasets": datasets})


def set_aside(name: str) -> Path:
    """Take a file out of the store without deleting it or another, and return where it is now."""
    path = file_of(name)
    return path.rename(unused(path.with_suffix(".broken")))


def failures() -> dict[str, str]:
    """Return what could not be prepared, by name, and why."""
    return _read_json(folder() / "failures.json")


def record_failure(name: str, reason: str | None) -> None:
    """Remember why a dataset could not be prepared; None forgets it."""
    known = failures()
    changed = {key: value for key, value in known.items() if key != name} | ({} if reason is None else {name: reason})
    if changed != known:
        _write_json(folder() / "failures.json", changed)


def _column_names(dataset: Dataset) -> list[str]:
    """Return names that cannot clash; the columns' own names are among the file's words."""
    n_numeric, n_categorical = dataset.numeric.shape[1], dataset.categorical.shape[1]
    return [*(f"numeric_{j}" for j in range(n_numeric)), *(f"categorical_{j}" for j in range(n_categorical)), "label"]


def _block(table: pa.Table, start: int, stop: int, dtype: type) -> np.ndarray:
    block = np.empty((table.num_rows, stop - start), dtype)
    for j in range(start, stop):
        block[:, j - start] = table.column(j).to_numpy()
    return block


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with _writing(path) as file:
        file.write((json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf8")))
    except (FileNotFoundError, TypeError, ValueError):
        return {}


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[IO[bytes]]:
    """Replace a file of the store, whose folder is made if it is not there."""
    with _trouble_in_one_line():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            yield file


@contextlib.contextmanager
def _trouble_in_one_line() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f"cannot write to {folder()}: {error.strerror or error}; make room there or make it writable, "
            "or set EMT_DATA to another folder"
        ) from error
