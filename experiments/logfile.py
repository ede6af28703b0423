"""One file of the run log: its schema, how it is written and read, and what is done with a damaged one."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emt.files import replacing, unused
from emt.seeds import digest

__all__ = [
    "ADDED",
    "FORMAT",
    "SCHEMA",
    "Damaged",
    "LogError",
    "content",
    "parse",
    "read_provenance",
    "read_table",
    "refusal",
    "unreadable",
    "write_table",
    "writing",
]

FORMAT = 3  # a part of every run's key: a change of what a run means is a new number

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
        "peak_memory": pa.int64(),  # the most bytes that its whole process had meanwhile; 0 where that is not known
        "ended": pa.float64(),  # when, in seconds since 1970
        "cpu": pa.string(),  # of the worker that played it: bits are promised on one kind only
        "story": pa.string(),  # of the environment: how its world changes
        "measures": pa.string(),  # JSON: numbers that the learner reports of the stream
    }
)

#: Columns that were added since files of this format have been written, and what the rows of older files have there.
ADDED = {"story": "none", "measures": "{}", "peak_memory": 0, "ended": 0.0}


class LogError(Exception):
    """A log that cannot be used or written; the message says what to do."""


class Damaged(Exception):
    """A file that is no log or no manifest, and will not become one."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Say what to do when a folder cannot be written to."""
    try:
        yield
    except OSError as error:
        raise LogError(
            f"cannot write to {folder}: {error.strerror or error}. What was logged before is kept; free some space or "
            f"make the folder writable (or choose another one with results=<folder>), then give the same command again"
        ) from error


def write_table(path: Path, table: pa.Table, provenance: dict[str, Any]) -> None:
    """Write a file of the log, with what made it in its metadata."""
    made_by = json.dumps(provenance)
    metadata = {"format": str(FORMAT), "provenance": made_by, "digest": digest(made_by)}  # Parquet does not check these
    with writing(path.parent), replacing(path) as file:
        pq.write_table(table.replace_schema_metadata(metadata), file, compression="zstd", write_page_checksum=True)


def content(path: Path) -> bytes:
    """Return what is in a file; what is no file is damage, what may pass is a `LogError`."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Damaged("this is not a file")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if os.path.lexists(path):
            raise Damaged("a link to nothing") from None
        raise
    except (OSError, MemoryError) as error:
        if getattr(error, "errno", None) == errno.ELOOP:
            raise Damaged("a link to itself") from error
        raise unreadable(path, error) from error


def unreadable(path: Path, error: BaseException) -> LogError:
    """Return the error that says that a file cannot be read now."""
    reason = getattr(error, "strerror", None) or "not enough memory"
    return LogError(
        f"cannot read {path}: {reason}. It may be whole, and stays where it is; "
        "give the same command again when it can be read"
    )


def parse(path: Path, parser: Callable[[pa.BufferReader], Any]) -> Any:
    """Read a file of the log; whatever its bytes make the parser raise is damage, but for the want of memory."""
    buffer = pa.BufferReader(content(path))
    try:
        return parser(buffer)
    except MemoryError as error:
        raise unreadable(path, error) from error
    except Exception as error:
        raise Damaged((str(error).splitlines() or [type(error).__name__])[0]) from error


def read_table(buffer: pa.BufferReader) -> pa.Table:
    """Return a table that is a log, or say what keeps it from being one."""
    table = pq.read_table(buffer, page_checksum_verification=True)
    read_provenance(table.schema)
    for name, value in ADDED.items():
        if name not in table.column_names:
            table = table.append_column(SCHEMA.field(name), pa.array([value] * len(table), SCHEMA.field(name).type))
    if set(table.column_names) == set(SCHEMA.names):
        table = table.select(SCHEMA.names)  # in this order
    if not table.schema.equals(SCHEMA):
        raise Damaged("its columns are not those of a run log")
    table.validate(full=True)
    if any(column.null_count for column in table.columns):
        raise Damaged("it has values that are missing")
    if not set(table["status"].unique().to_pylist()) <= {"done", "error"}:
        raise Damaged("a run is neither done nor failed")
    n_steps = table["n_steps"].to_numpy()
    n_bytes = np.array([len(bits) for bits in table["rewards"].to_pylist()], dtype=np.int64)
    if not np.array_equal(n_bytes, (n_steps + 7) // 8):
        raise Damaged("its rewards and numbers of steps do not fit")
    return table


def read_provenance(schema: pa.Schema) -> dict[str, Any]:
    """Return what a log file says of what made it."""
    metadata: dict[bytes, bytes] = schema.metadata or {}
    if not metadata.keys() >= {b"format", b"provenance", b"digest"}:
        raise Damaged("it does not say what wrote it")
    if metadata[b"format"] != str(FORMAT).encode():
        raise Damaged(f"its format is {metadata[b'format'].decode()}, not {FORMAT}")
    if metadata[b"digest"].decode() != digest(metadata[b"provenance"].decode()):
        raise Damaged("what it says of what wrote it was changed")
    made_by: dict[str, Any] = json.loads(metadata[b"provenance"])
    check_identity(made_by["identity"])
    return made_by


def check_identity(identity: Any) -> None:
    """Refuse what is not the identity of a study as `experiments.plan` makes it; other formats have other ones."""
    if identity["format"] == FORMAT and not (
        all(isinstance(params, dict) for params in identity["learners"].values())
        and all(facts.keys() >= {"rows", "fingerprint"} for facts in identity["datasets"].values())
    ):
        raise Damaged("it does not say which study it is of")


def refusal(set_aside: bool, consequence: str = "") -> Callable[[Path, str], None]:
    """Return what is done with a damaged file: it is named on standard error, and renamed if it is to be set aside."""

    def refuse(path: Path, problem: str) -> None:
        done = "Not used"
        if set_aside:
            with suppress(OSError):  # a folder that may only be read
                aside = unused(path.with_name(path.name + ".set-aside"))
                path.rename(aside)
                done = f"Set aside as {aside.name}"
        print(f"warning: {path}: {problem}. {done}{consequence}", file=sys.stderr)

    return refuse
