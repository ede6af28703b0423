import dataclasses
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emt.data import DatasetError, from_arrays, load, prepared
from emt.files import replacing

SAVE_AND_LOAD_OFTEN = """
import sys
import numpy as np
from emt.data import from_arrays, load, save
shift = int(sys.argv[1])
for turn in range(25):
    rows = np.arange(400 * (1 + turn % 3))
    save(from_arrays(np.full((len(rows), 3), shift), rows % 2, name="mine"))
    values = load("mine").numeric
    assert (values == values[0, 0]).all()
"""


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 4)), rng.integers(0, 9, (300, 2))])
    names = ["a", "a", "ü", "", "k", "l"]
    return from_arrays(X, rng.integers(0, 3, 300), categorical=[4, 5], name="task-5", names=names, facts={"task": 5})


def test_what_is_written_is_read_back_to_the_bit(store, dataset):
    prepared.write(dataset)
    back = load(5)
    for field in dataclasses.fields(dataset):
        one, two = getattr(dataset, field.name), getattr(back, field.name)
        if isinstance(one, np.ndarray):
            assert (one.dtype, one.tolist()) == (two.dtype, two.tolist())
            assert two.flags.writeable == one.flags.writeable, "compiled code would be compiled again for it"
        else:
            assert one == two
    assert back.fingerprint == dataset.fingerprint


def test_the_same_dataset_is_the_same_bytes(store, dataset):
    first = prepared.write(dataset).read_bytes()
    os.utime(prepared.file_of("task-5"), (0, 0))
    assert prepared.write(dataset).read_bytes() == first


def test_no_byte_can_change_unseen(store, dataset):
    path = prepared.write(dataset)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for place in rng.choice(len(whole), 300, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            back = prepared.read("task-5")
        except prepared.BrokenFile:
            continue
        assert back.fingerprint == dataset.fingerprint, "a bit that carries nothing may flip, no other"
        assert back.facts == dataset.facts


@pytest.mark.parametrize("content", [b"", b"PAR1", b"nonsense" * 100])
def test_a_file_that_is_no_dataset_is_broken(store, dataset, content):
    path = prepared.write(dataset)
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"task-5.parquet is broken: .*emt prepare"):
        load(5)


def test_a_cut_file_is_broken(store, dataset):
    path = prepared.write(dataset)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 20).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(prepared.BrokenFile):
            prepared.read("task-5")


def test_a_file_under_another_name_or_of_another_format_is_not_taken(store, dataset, monkeypatch):
    path = prepared.write(dataset)
    path.rename(prepared.file_of("task-6"))
    with pytest.raises(prepared.BrokenFile, match="for task-5"):
        prepared.read("task-6")
    prepared.write(dataset)
    monkeypatch.setattr(prepared, "FORMAT", prepared.FORMAT + 1)
    with pytest.raises(prepared.BrokenFile, match="is of format 1"):
        prepared.read("task-5")


def test_what_is_not_prepared_is_said_with_the_command_and_the_last_failure(store):
    with pytest.raises(DatasetError, match=r"OpenML task 5 is not prepared in .*: run emt prepare"):
        load(5)
    prepared.record_failure("task-5", "the server was away")
    with pytest.raises(DatasetError, match="the last try: the server was away"):
        load(5)


def test_failures_are_kept_until_they_are_put_right(store):
    prepared.record_failure("task-5", "no")
    prepared.record_failure("task-6", "no, too")
    prepared.record_failure("task-5", None)
    assert prepared.failures() == {"task-6": "no, too"}
    prepared.record_failure("task-6", None)
    assert prepared.failures() == {}


def test_the_manifest_has_the_facts_of_every_intact_file(store, dataset):
    path = prepared.write(dataset)
    prepared.file_of("task-9").write_bytes(b"broken")
    prepared.write_manifest()
    manifest = json.loads((store / "manifest.json").read_text())
    assert list(manifest["datasets"]) == ["task-5"]
    entry = manifest["datasets"]["task-5"]
    assert entry["file"] == "task-5.parquet"
    assert entry["bytes"] == path.stat().st_size
    assert entry["fingerprint"] == dataset.fingerprint
    assert (entry["task"], entry["rows"], entry["numeric"], entry["categorical"], entry["classes"]) == (5, 300, 4, 2, 3)


def test_the_place_is_one_setting(monkeypatch, tmp_path):
    monkeypatch.delenv("EMT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert prepared.folder() == tmp_path / "emt"
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "elsewhere"))
    assert prepared.folder() == tmp_path / "elsewhere"


def test_a_store_that_is_a_file_is_refused_in_one_line(monkeypatch, tmp_path, dataset):
    place = tmp_path / "file"
    place.touch()
    monkeypatch.setenv("EMT_DATA", str(place))
    for use in (lambda: load(5), lambda: load("mine"), lambda: prepared.write(dataset), prepared.exclusive().__enter__):
        with pytest.raises(DatasetError, match=r"EMT_DATA is .*file, which is not a folder"):
            use()
    assert len(load("wine")) == 178, "which needs no store"
    monkeypatch.setenv("EMT_DATA", str(place / "below"))
    with pytest.raises(DatasetError, match=r"task-5\.parquet cannot be read: Not a directory"):
        load(5)
    with pytest.raises(DatasetError, match=r"cannot write to .*below: Not a directory; .*set EMT_DATA to another"):
        prepared.write(dataset)


@pytest.mark.parametrize("function", ["mkdir", "open", "fsync", "replace"])
def test_a_store_that_cannot_be_written_is_refused_in_one_line_and_keeps_what_it_has(
    store, dataset, monkeypatch, function
):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    before = prepared.write(dataset).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(*{"mkdir": (Path, "mkdir"), "open": ("builtins.open",)}.get(function, (os, function)), refuse)
        with pytest.raises(DatasetError, match=r"cannot write to .*store: Read-only file system; .*EMT_DATA"):
            prepared.write(dataset)
        if function == "mkdir":
            with pytest.raises(DatasetError, match=r"cannot write to .*store: Read-only"), prepared.exclusive():
                pass
    assert [path.name for path in store.iterdir() if path.name != ".lock"] == ["task-5.parquet"]
    assert prepared.file_of("task-5").read_bytes() == before


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EMFILE, errno.EIO, errno.ESTALE])
def test_a_file_that_cannot_be_read_now_is_not_broken(store, dataset, monkeypatch, reason):
    def refuse(*_, **__):
        raise OSError(reason, "Failed to open")

    prepared.write(dataset)
    monkeypatch.setattr(prepared.pq, "ParquetFile", refuse)
    with pytest.raises(DatasetError, match=f"task-5.parquet cannot be read: {os.strerror(reason)}") as caught:
        prepared.read("task-5")
    assert not isinstance(caught.value, prepared.BrokenFile), "or a preparation would set a good file aside"


def test_many_processes_saving_one_set_at_once_leave_it_whole(store):
    commands = [[sys.executable, "-c", SAVE_AND_LOAD_OFTEN, str(shift)] for shift in range(6)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    errors = [process.communicate()[1] for process in processes]
    assert not any(process.returncode for process in processes), "\n".join(errors)
    assert len(load("mine")) == 400
    assert [path.name for path in store.iterdir()] == ["mine.parquet"]


def test_a_preparation_leaves_alone_what_is_being_saved(store, dataset):
    store.mkdir()
    with replacing(store / "mine.parquet") as file, prepared.exclusive():
        file.write(b"whole")
    assert (store / "mine.parquet").read_bytes() == b"whole"


def test_a_file_set_aside_never_overwrites_another(store, dataset):
    for content in (b"one", b"two"):
        prepared.write(dataset).write_bytes(content)
        assert prepared.set_aside("task-5").read_bytes() == content
    assert sorted(path.name for path in store.iterdir()) == ["task-5.broken", "task-5.broken-2"]


def test_two_preparations_at_once_are_refused(store):
    with (
        prepared.exclusive(),
        pytest.raises(DatasetError, match="another preparation is at work"),
        prepared.exclusive(),
    ):
        pass


def test_a_new_preparation_clears_away_half_written_files(store):
    store.mkdir()
    (store / "task-5.part").write_bytes(b"half")
    with prepared.exclusive():
        assert not (store / "task-5.part").exists()
