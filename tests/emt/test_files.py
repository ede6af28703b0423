"""Writing beside and renaming: all of a file or nothing, whoever else is writing, whenever it is stopped."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emt import files
from emt.files import clear_leftovers, replacing, unused, write_text

KILLED_WHILE_WRITING = """
import os, signal, sys
from emt.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
WRITE_OFTEN = """
import sys
from emt.files import replacing
for length in range(1, 101):
    with replacing(sys.argv[1]) as file:
        file.write(f"{sys.argv[2] * length * 100}.".encode())
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail_half_way(file, error):
    file.write(b"half")
    raise error


def test_nothing_is_seen_before_the_end(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["one.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_all_as_it_was(tmp_path, error):
    path = tmp_path / "one.txt"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as file:
        fail_half_way(file, error)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["one.txt"]


def test_a_rename_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"), replacing(tmp_path / "one.txt"):
        pass
    assert names(tmp_path) == []


def test_the_file_is_on_the_disk_before_its_name_and_the_name_before_the_return(tmp_path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else f"{os.fstat(descriptor).st_size} bytes"
        steps.append(f"flush {kind}")
        fsync(descriptor)

    def note_replace(*paths):
        steps.append("rename")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    with replacing(tmp_path / "one.txt") as file:
        file.write(b"four")
    assert steps == ["flush 4 bytes", "rename", "flush folder"]


def test_writers_of_every_kind(tmp_path):
    table = pa.table({"a": [1, 2]})
    with replacing(tmp_path / "a.parquet") as file:
        pq.write_table(table, file)
    with replacing(tmp_path / "b.parquet") as file:
        pq.write_table(table, file.name)  # one that wants a path
    with replacing(tmp_path / "c.npz") as file:
        np.savez(file, a=[1, 2])
    assert pq.read_table(tmp_path / "a.parquet").equals(table)
    assert pq.read_table(tmp_path / "b.parquet").equals(table)
    assert np.load(tmp_path / "c.npz")["a"].tolist() == [1, 2]
    assert len(names(tmp_path)) == 3


def test_many_processes_writing_one_file_leave_one_of_theirs(tmp_path):
    path = tmp_path / "one.txt"
    processes = [subprocess.Popen([sys.executable, "-c", WRITE_OFTEN, path, letter]) for letter in "abcdef"]
    while any(process.poll() is None for process in processes):
        clear_leftovers(tmp_path)  # which must not take what is being written for a leftover
        if path.exists():
            text = path.read_text()
            assert text in {letter * (len(text) - 1) + "." for letter in "abcdef"}
    assert [process.returncode for process in processes] == [0] * 6
    assert len(path.read_text()) == 10_001
    assert names(tmp_path) == ["one.txt"]


def test_what_a_killed_process_left_is_cleared_away_and_nothing_else(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("old")
    subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, path], check=False)
    assert path.read_text() == "old"
    assert len(names(tmp_path)) == 2
    with replacing(tmp_path / "two.txt") as file:
        file.write(b"new")
        clear_leftovers(tmp_path)
        assert len(names(tmp_path)) == 2, "the old file, and the one that is being written"
    assert names(tmp_path) == ["one.txt", "two.txt"]


def test_a_file_cleared_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, taken = files._lock, []

    def be_late(file, wait):
        if not taken:
            taken.append(file.name)
            os.unlink(file.name)
        return lock(file, wait)

    monkeypatch.setattr(files, "_lock", be_late)
    with replacing(tmp_path / "one.txt") as file:
        file.write(b"new")
    assert taken
    assert (tmp_path / "one.txt").read_text() == "new"


def test_where_there_are_no_locks_files_are_written_and_nothing_is_cleared_away(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    with replacing(tmp_path / "one.txt") as file:
        clear_leftovers(tmp_path)
        file.write(b"new")
    assert (tmp_path / "one.txt").read_text() == "new"


@pytest.mark.parametrize("kind", ["folder", "link to a device"])
def test_what_is_no_regular_file_is_refused_and_kept(tmp_path, kind):
    path = tmp_path / "place"
    path.mkdir() if kind == "folder" else path.symlink_to(os.devnull)
    with pytest.raises(FileExistsError, match=r"not a regular file.*place"), replacing(path):
        pass
    assert names(tmp_path) == ["place"]


def test_the_mode_is_that_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "ours"):
        pass
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_long_names_are_no_longer_beside(tmp_path):
    path = tmp_path / ("é" * 127)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_an_unused_name_is_found(tmp_path):
    path = tmp_path / "a.broken"
    assert unused(path) == path
    path.touch()
    (tmp_path / "a.broken-2").symlink_to("nowhere")
    assert unused(path) == tmp_path / "a.broken-3"


#: What writes a file by itself, unless it is given an open one.
WRITES = re.compile(
    r'\.write_(text|bytes)\(|open\(.*"[wax]b?\+?"|\.(savefig|to_csv|to_json|to_parquet|savez)\((?!file\b|index=)'
)

#: Files that no one else reads, or that are never read at all.
NO_RESULTS = {
    "emt/files.py": 1,  # the one rule itself
    "emt/array_files.py": 1,  # a member of an archive
    "emt/data/prepared.py": 1,  # a lock
    "experiments/store.py": 1,  # a lock
    "experiments/player.py": 1,  # where a run was when its time was over
    "experiments/memory.py": 1,  # the system's
}


def test_every_writer_of_the_project_goes_by_the_one_rule():
    root = Path(__file__).parents[2]
    sources = [path for place in ("emt", "experiments", "analysis") for path in (root / place).rglob("*.py")]
    found = {str(path.relative_to(root)): len(WRITES.findall(path.read_text())) for path in sources}
    assert {name: n for name, n in found.items() if n} == NO_RESULTS


def test_text_is_written_whole_or_not_at_all(tmp_path):
    write_text(tmp_path / "notes.txt", "żółć\n")
    assert (tmp_path / "notes.txt").read_bytes() == "żółć\n".encode()
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "notes.txt", "\ud800")
    assert (tmp_path / "notes.txt").read_text(encoding="utf8") == "żółć\n"
    assert names(tmp_path) == ["notes.txt"]
