"""The run log of a study: its files, and its manifest.

A study's folder is ``<results>/<experiment>/<suite>/``: a ``manifest.json`` that says what is meant to be run, and
``runs/*.parquet`` with one row a run. A file is written beside and renamed into place, so a file that
has its name is whole; many small files are merged into one now and then, and a run that is in two files counts once.
"""

from __future__ import annotations

import fcntl
import fnmatch
import json
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emt.files import clear_leftovers, replacing
from experiments.logfile import (
    ADDED,
    FORMAT,
    SCHEMA,
    Damaged,
    LogError,
    check_identity,
    content,
    parse,
    read_provenance,
    read_table,
    refusal,
    unreadable,
    write_table,
    writing,
)
from experiments.provenance import origins_of

__all__ = [
    "FORMAT",
    "SCHEMA",
    "LogError",
    "append",
    "compact",
    "find",
    "origins",
    "read",
    "read_manifest",
    "unpack",
    "write_manifest",
]

RUNS = "; its runs count as not run"  # what follows from a log file that is not used


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

    A file that is damaged or not of this schema is named on standard error and not used; the rest is. One that cannot
    be read for a reason that may pass (no permission, a network drive that is gone, no memory) ends in a `LogError`.
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
    (0, 17)
    """
    return _frame(_tables(Path(folder) / "runs", "*.parquet", refusal(set_aside, RUNS)).values())


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
                with suppress(LogError):  # what cannot be read is played again
                    tables = _tables(runs, "*.parquet", lambda path, problem: None).values()
                    found += [table.filter(pc.is_in(table["key"], wanted)) for table in tables]
    rows = _frame(found)
    return rows[rows["status"] == "done"].drop_duplicates("key", ignore_index=True)


def identities(folder: str | Path) -> list[dict[str, Any]]:
    """Return what the manifest and every log file of this format say of the study that wrote them."""
    manifest = read_manifest(folder, set_aside=False)
    found = [manifest["identity"]] if manifest else []
    return found + [made_by["identity"] for made_by in _made_by(folder)]


def origins(folder: str | Path) -> list[dict[str, Any]]:
    """Return the code, packages and machines that wrote a study's log, each once, in the order of its files."""
    return origins_of(_made_by(folder))


def _made_by(folder: str | Path) -> list[dict[str, Any]]:
    found = []
    for path in _files(Path(folder) / "runs", "*.parquet"):
        with suppress(Damaged, FileNotFoundError):  # damaged, or merged since it was listed: `read` says so
            found.append(parse(path, lambda buffer: read_provenance(pq.read_schema(buffer))))
    return found


def append(folder: str | Path, rows: Iterable[dict[str, Any]], provenance: dict[str, Any], shard: str = "all") -> Path:
    """Add runs to a study's log, all of them or none.

    Parameters
    ----------
    folder : str or Path
        The study's folder.
    rows : iterable of dict
        One for each run, with the columns of `SCHEMA`; those in `ADDED` need not be there.
    provenance : dict
        What made them; ``provenance["identity"]`` is what decides their meaning. Kept in the file's metadata.
    shard : str
        Which writer; each has files of its own.

    Returns
    -------
    Path
        The new file.
    """
    table = pa.Table.from_pylist([ADDED | row for row in rows], schema=SCHEMA)
    path = _new(Path(folder) / "runs", shard)
    write_table(path, table, provenance)
    return path


def compact(folder: str | Path, provenance: dict[str, Any], shard: str = "all") -> None:
    """Merge the files of one writer into one. Stopped at any moment it loses nothing: a run in two files is one."""
    runs = Path(folder) / "runs"
    clear_leftovers(runs)
    clear_leftovers(folder)
    parts = _tables(runs, f"{shard}-*.parquet", refusal(True, RUNS))
    if len(parts) < 2:
        return
    merged: dict[str, Any] = {"learners": {}, "datasets": {}}
    made_by = [read_provenance(part.schema) for part in parts.values()]
    for identity in [*(one["identity"] for one in made_by), provenance["identity"]]:
        merged |= identity | {group: merged[group] | identity[group] for group in ("learners", "datasets")}
    table = pa.Table.from_pandas(_frame(parts.values()), schema=SCHEMA, preserve_index=False)
    write_table(_new(runs, shard), table, provenance | {"identity": merged, "origins": origins_of(made_by)})
    with writing(runs):
        for path in parts:
            path.unlink(missing_ok=True)


def read_manifest(folder: str | Path, *, set_aside: bool = True) -> dict[str, Any] | None:
    """Return what a study's folder is meant to hold, or None where there is no study yet, or none that can be read."""
    path = Path(folder) / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(content(path))
        check_identity(manifest["identity"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Damaged as problem:
        refusal(set_aside)(path, str(problem))
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        refusal(set_aside)(path, "not a manifest")
        return None
    return manifest


def write_manifest(folder: str | Path, manifest: dict[str, Any]) -> None:
    """Write what a study's folder is meant to hold; done first, so that an unwritable folder shows at once."""
    folder = Path(folder)
    with writing(folder):
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        with replacing(folder / "manifest.json") as file:
            file.write((json.dumps(manifest, indent=2) + "\n").encode())


@contextmanager
def writer(folder: str | Path, shard: str = "all") -> Iterator[None]:
    """Be the only process that writes this part of a study; the lock goes with the process, however it ends."""
    with writing(Path(folder)):
        Path(folder).mkdir(parents=True, exist_ok=True)
        lock = open(Path(folder) / f".lock-{shard}", "a")  # noqa: SIM115 (closed below, after the yield)
    with lock:
        with writing(Path(folder)):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LogError(
                    f"{folder}: another process is running this study (shard {shard}); wait for it or stop it"
                ) from None
        yield


def _new(runs: Path, shard: str) -> Path:
    # The time makes later files sort after earlier ones; the random part keeps machines apart.
    return runs / f"{shard}-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet"


def _files(runs: Path, pattern: str) -> list[Path]:
    """Return the files of a log in the order they were written."""
    try:
        names = os.listdir(runs)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unreadable(runs, error) from error
    return [runs / name for name in sorted(fnmatch.filter(names, pattern)) if not name.startswith(".")]


def _tables(runs: Path, pattern: str, refuse: Callable[[Path, str], None]) -> dict[Path, pa.Table]:
    """Read the files in the order they were written, and refuse those that are no logs."""
    tables = {}
    for path in _files(runs, pattern):
        try:
            tables[path] = parse(path, read_table)
        except FileNotFoundError:
            return _tables(runs, pattern, refuse)  # its writer has merged it since it was listed
        except Damaged as problem:
            refuse(path, str(problem))
    return tables


def _frame(tables: Iterable[pa.Table]) -> pd.DataFrame:
    table = pa.concat_tables([SCHEMA.empty_table(), *(table.replace_schema_metadata() for table in tables)])
    rows: pd.DataFrame = table.to_pandas()
    rows = rows.iloc[np.argsort(rows["status"] == "done", kind="stable")]  # files come in the order of time
    rows = rows.drop_duplicates(["id", "key"], keep="last")
    return rows.sort_values(["learner", "dataset", "seed"], ignore_index=True)
