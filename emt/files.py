"""The one rule for writing files: beside first, then renamed into place, so that no one ever sees half of one."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: nothing is cleared away there
    fcntl = None  # type: ignore[assignment]

__all__ = ["clear_leftovers", "replacing", "unused", "write_text"]

ENDING = ".part"


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Write a file that takes its place whole, once the block has ended well; otherwise all is as it was.

    What is written goes to a file of its own beside the place, so any number of processes may write the same file at
    once: the last one stays. It is on the disk before it has its name, and so survives a power cut.

    Parameters
    ----------
    path : str or Path
        The file to write; its folder is there. A device or a folder is refused.

    Yields
    ------
    binary file
        Where to write. Most writers take an open file (``np.savez``, ``pq.write_table``, ``savefig``); one that wants a
        path takes the file's ``name``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.txt")
    ...     with replacing(path) as file:
    ...         _ = file.write("all or nothing".encode())
    ...     path.read_text(), [file.name for file in Path(folder).iterdir()]
    ('all or nothing', ['notes.txt'])
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a regular file", str(path))
    file = _create_beside(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows renames no open file; elsewhere its lock guards it up to its new name
            os.replace(file.name, path)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a file of text as `replacing` does."""
    with replacing(path) as file:
        file.write(text.encode())


def clear_leftovers(folder: str | Path) -> None:
    """Remove what killed processes left half written in a folder; what is being written now stays."""
    for leftover in Path(folder).glob(f"*{ENDING}"):
        with contextlib.suppress(OSError), leftover.open("rb+") as file:
            if _lock(file, wait=False):
                leftover.unlink()


def unused(path: Path) -> Path:
    """Return the path if nothing has this name yet, else the first of ``<path>-2``, ``<path>-3``, ... that is free."""
    names = (path if number == 1 else path.with_name(f"{path.name}-{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def _create_beside(path: Path) -> IO[bytes]:
    """Create a file with a name of its own, locked for as long as it is open."""
    while True:
        file = open(path.with_name(f".{path.name[:40]}-{uuid.uuid4().hex}{ENDING}"), "xb+")  # noqa: SIM115
        _lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:  # else it was taken for a leftover before it was locked
            return file
        file.close()


def _lock(file: IO[bytes], wait: bool) -> bool:
    """Lock a file and tell if that was possible; the lock goes with the process, however it ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another has it, or the file system knows no locks
        return False
    return True


def _flush_folder(folder: Path) -> None:
    """Have the new name on the disk too, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
