"""The run log: its schema, its writing and its reading.

A study's folder is ``<results>/<experiment>/<suite>/``: a ``manifest.json`` that says what is meant to be run, and
``runs/*.parquet`` with one row a run. A file is written beside and renamed into place, so a file that
has its name is whole; many small files are merged into one now and then, and a run that is in two files counts once.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

__all__ = [
    "FORMAT",
    "SCHEMA",
    "LogError",
    "append",
    "compact",
    "find",
    "read",
    "read_manifest",
    "unpack",
    "write_manifest",
]

FORMAT = 2  # a part of every run's key: a change of what a run means is a new number

SCHEMA = pa.schema(
    {
        "id": pa.string(),  # "emt/task-3022/seed-07"
        "key": pa.string(),  # hash of everything that decides the rewards
        "task": pa.int64(),  # OpenML's task id, -1 for a set that has none
        "dataset": pa.string(),
        "learner": pa.string(),  # its name in the study: "pemt[budget=1000]"
        "params": pa.string(),  # JSON: its class and every parameter
        "seed": pa.int64(),
        "status": pa.string(),  # done | error
        "message": pa.string(),  # why it failed; for a run that is done, the learner's note
        "n_steps": pa.int64(),
        "rewards": pa.binary(),  # numpy's packbits of the 0/1 rewards
        "seconds": pa.float64(),  # the learner's own loop
    }
)


class LogError(Exception):
    """A log that cannot be used or written; the message says what to do."""


def pack(rewards: np.ndarray) -> bytes:
    """Return 0/1 rewards as bits."""
    return np.packbits(np.asarray(rewards, dtype=np.uint8)).tobytes()


def unpack(rewards: bytes, n_steps: int) -> np.ndarray:
    """Return the 0/1 rewards of a run.

    Parameters
    ----------
    rewards : bytes
        The ``rewards`` of a row of the log.
    n_steps : int
        The ``n_steps`` of the same row.

    Returns
    -------
    ndarray of uint8, shape (n_steps,)

    Examples
    --------
    >>> unpack(pack(np.array([1, 0, 1, 1])), 4)
    array([1, 0, 1, 1], dtype=uint8)
    """
    return np.unpackbits(np.frombuffer(rewards, dtype=np.uint8), count=n_steps)


def read(folder: str | Path, *, set_aside: bool = True) -> pd.DataFrame:
    """Return a study's log, one row a run, sorted by learner, dataset and seed.

    A file that is damaged or not of this schema is named on standard error and not used; the rest is.
    Of a run that was logged more than once, a success counts before a failure, and the latest before earlier ones.

    Parameters
    ----------
    folder : str or Path
        The study's folder, the one with ``manifest.json`` and ``runs``. There may be no log yet.
    set_aside : bool
        Rename a damaged file, so that it is named once; False leaves everything as it is.

    Returns
    -------
    DataFrame
        With the columns of `SCHEMA`.

    Examples
    --------
    >>> read("no/such/study").shape
    (0, 12)
    """
    return _frame(_tables(Path(folder) / "runs", "*.parquet", _set_aside if set_aside else _name).values())


def find(results: str | Path, keys: Collection[str], but: str | Path) -> pd.DataFrame:
    """Return the finished runs with one of these keys from the logs of all studies but one; nothing is changed.

    Parameters
    ----------
    results : str or Path
        The folder of all studies.
    keys : collection of str
        Of the runs that are looked for.
    but : str or Path
        The folder of the study whose own log does not count.

    Returns
    -------
    DataFrame
        With the columns of `SCHEMA`, one row a key.
    """
    wanted, found = pa.array(keys, pa.string()), []
    for pattern in ("*/*/runs", "*/*/*=*/runs"):  # <experiment>/<suite>, and their sweeps
        for runs in sorted(Path(results).glob(pattern)):
            if runs.parent != Path(but):
                tables = _tables(runs, "*.parquet", lambda path, problem: None).values()
                found += [table.filter(pc.is_in(table["key"], wanted)) for table in tables]
    rows = _frame(found)
    return rows[rows["status"] == "done"].drop_duplicates("key", ignore_index=True)


def identities(folder: str | Path) -> list[dict[str, Any]]:
    """Return what the manifest and every log file of this format say of the study that wrote them."""
    manifest = read_manifest(folder, set_aside=False)
    found = [manifest["identity"]] if manifest else []
    for path in _files(Path(folder) / "runs", "*.parquet"):
        try:
            metadata = pq.read_schema(path).metadata or {}
        except (OSError, pa.ArrowException):
            continue  # damaged, or merged since it was listed: `read` says so
        if metadata.get(b"format") == str(FORMAT).encode():
            found.append(json.loads(metadata[b"provenance"])["identity"])
    return found


def append(folder: str | Path, rows: Iterable[dict[str, Any]], provenance: dict[str, Any], shard: str = "all") -> Path:
    """Add runs to a study's log, all of them or none.

    Parameters
    ----------
    folder : str or Path
        The study's folder.
    rows : iterable of dict
        One for each run, with the columns of `SCHEMA`.
    provenance : dict
        What made them; ``provenance["identity"]`` is what decides their meaning. Kept in the file's metadata.
    shard : str
        Which writer; each has files of its own.

    Returns
    -------
    Path
        The new file.
    """
    table = pa.Table.from_pylist(list(rows), schema=SCHEMA)
    return _write(Path(folder) / "runs", table, provenance, shard)


def compact(folder: str | Path, provenance: dict[str, Any], shard: str = "all") -> None:
    """Merge the files of one writer into one. Stopped at any moment it loses nothing: a run in two files is one."""
    runs = Path(folder) / "runs"
    for leftover in runs.glob(f".{shard}-*"):
        leftover.unlink()
    parts = _tables(runs, f"{shard}-*.parquet", _set_aside)
    if len(parts) < 2:
        return
    merged: dict[str, Any] = {"learners": {}, "datasets": {}}
    for identity in [*(_provenance(table)["identity"] for table in parts.values()), provenance["identity"]]:
        merged |= identity | {group: merged[group] | identity[group] for group in ("learners", "datasets")}
    table = pa.Table.from_pandas(_frame(parts.values()), schema=SCHEMA, preserve_index=False)
    _write(runs, table, provenance | {"identity": merged}, shard)
    for path in parts:
        path.unlink()


def read_manifest(folder: str | Path, *, set_aside: bool = True) -> dict[str, Any] | None:
    """Return what a study's folder is meant to hold, or None where there is no study yet."""
    path = Path(folder) / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
        manifest["identity"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError):
        (_set_aside if set_aside else _name)(path, "not a manifest")
        return None
    return manifest


def write_manifest(folder: str | Path, manifest: dict[str, Any]) -> None:
    """Write what a study's folder is meant to hold; done first, so that an unwritable folder shows at once."""
    folder = Path(folder)
    with _clear_errors(folder):
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        beside = folder / f".manifest-{uuid.uuid4().hex}"
        beside.write_text(json.dumps(manifest, indent=2) + "\n")
        beside.replace(folder / "manifest.json")


@contextmanager
def writer(folder: str | Path, shard: str = "all") -> Iterator[None]:
    """Be the only process that writes this part of a study; the lock goes with the process, however it ends."""
    with _clear_errors(Path(folder)):
        Path(folder).mkdir(parents=True, exist_ok=True)
        lock = open(Path(folder) / f".lock-{shard}", "a")  # noqa: SIM115 (closed below, after the yield)
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LogError(
                f"{folder}: another process is running this study (shard {shard}); wait for it or stop it"
            ) from None
        yield


def _write(runs: Path, table: pa.Table, provenance: dict[str, Any], shard: str) -> Path:
    # The time makes later files sort after earlier ones; the random part keeps machines apart.
    name = f"{shard}-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet"
    beside = runs / f".{name}"
    table = table.replace_schema_metadata({"format": str(FORMAT), "provenance": json.dumps(provenance)})
    with _clear_errors(runs):
        try:
            pq.write_table(table, beside, compression="zstd", write_page_checksum=True)
            with open(beside, "rb") as written:
                os.fsync(written.fileno())
            beside.replace(runs / name)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
    return runs / name


@contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LogError(
            f"cannot write to {folder}: {error.strerror or error}. What was logged before is kept; free some space or "
            f"make the folder writable (or choose another one with results=<folder>), then give the same command again"
        ) from error


def _files(runs: Path, pattern: str) -> list[Path]:
    """Return the files of a log in the order they were written."""
    return sorted(path for path in runs.glob(pattern) if not path.name.startswith("."))


def _tables(runs: Path, pattern: str, refuse: Callable[[Path, str], None]) -> dict[Path, pa.Table]:
    """Read the files in the order they were written, and refuse those that are no logs."""
    tables = {}
    for path in _files(runs, pattern):
        try:
            table = pq.read_table(path, page_checksum_verification=True)
            problem = _problem(table)
        except FileNotFoundError:
            return _tables(runs, pattern, refuse)  # its writer has merged it since it was listed
        except (OSError, pa.ArrowException) as error:
            problem = str(error).splitlines()[0]
        if problem:
            refuse(path, problem)
        else:
            tables[path] = table
    return tables


def _provenance(table: pa.Table) -> dict[str, Any]:
    made_by: dict[str, Any] = json.loads(table.schema.metadata[b"provenance"])
    return made_by


def _problem(table: pa.Table) -> str:
    """Say what keeps a table from being a log, or nothing."""
    metadata = table.schema.metadata or {}
    if not table.schema.equals(SCHEMA):
        return "its columns are not those of a run log"
    if b"provenance" not in metadata or b"format" not in metadata:
        return "it does not say what wrote it"
    if metadata[b"format"] != str(FORMAT).encode():
        return f"its format is {metadata[b'format'].decode()}, not {FORMAT}"
    n_steps = table["n_steps"].to_numpy()
    n_bytes = np.array([len(bits) for bits in table["rewards"].to_pylist()], dtype=np.int64)
    if not np.array_equal(n_bytes, (n_steps + 7) // 8):
        return "its rewards and numbers of steps do not fit"
    return ""


def _set_aside(path: Path, problem: str) -> None:
    aside = path.with_name(path.name + ".set-aside")
    try:
        path.replace(aside)
        print(f"warning: {path}: {problem}. Set aside as {aside.name}; its runs count as not run", file=sys.stderr)
    except OSError:
        _name(path, problem)


def _name(path: Path, problem: str) -> None:
    print(f"warning: {path}: {problem}. Not used; its runs count as not run", file=sys.stderr)


def _frame(tables: Iterable[pa.Table]) -> pd.DataFrame:
    table = pa.concat_tables([SCHEMA.empty_table(), *(table.replace_schema_metadata() for table in tables)])
    rows: pd.DataFrame = table.to_pandas()
    rows = rows.iloc[np.argsort(rows["status"] == "done", kind="stable")]  # files come in the order of time
    rows = rows.drop_duplicates(["id", "key"], keep="last")
    return rows.sort_values(["learner", "dataset", "seed"], ignore_index=True)
