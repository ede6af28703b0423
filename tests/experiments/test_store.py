import errno
import json
import os
import random
import resource
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emt.seeds import digest
from experiments import store

MADE_BY = {
    "identity": {
        "format": store.FORMAT,
        "horizon": 50,
        "learners": {"emt": {"a": 1}},
        "datasets": {"wine": {"rows": 178, "fingerprint": "x"}},
    }
}


def row(seed, status="done", n_steps=50, learner="emt", message=""):
    rewards = np.random.default_rng(seed).integers(0, 2, n_steps)
    return {
        "id": f"{learner}/wine/seed-{seed:02d}",
        "key": f"{learner}-{seed}",
        "task": -1,
        "dataset": "wine",
        "learner": learner,
        "params": '{"class": "EMT"}',
        "seed": seed,
        "status": status,
        "message": message,
        "n_steps": n_steps if status == "done" else 0,
        "rewards": store.pack(rewards) if status == "done" else b"",
        "seconds": 0.5,
        "peak_memory": 2**28,
        "ended": 1.8e9,
        "cpu": "a kind",
    }


@pytest.fixture
def folder(tmp_path):
    store.write_manifest(tmp_path, MADE_BY)
    return tmp_path


def test_a_file_from_before_a_column_was_added_is_read_with_its_default(folder):
    store.append(folder, [row(0)], MADE_BY)
    (path,) = (folder / "runs").glob("*.parquet")
    table = pq.read_table(path)
    old = table.drop_columns(["story", "measures"])
    path.unlink()
    pq.write_table(old, path)
    store.append(folder, [row(1) | {"story": "abrupt", "measures": '{"misses": 3.0}'}], MADE_BY)
    store.compact(folder, MADE_BY)
    log = store.read(folder)
    assert log["story"].tolist() == ["none", "abrupt"]
    assert log["measures"].tolist() == ["{}", '{"misses": 3.0}']


def test_round_trip(folder):
    store.append(folder, [row(1), row(0)], MADE_BY)
    log = store.read(folder)
    assert list(log.columns) == store.SCHEMA.names
    assert log["seed"].tolist() == [0, 1]
    expected = np.random.default_rng(1).integers(0, 2, 50)
    np.testing.assert_array_equal(store.unpack(log["rewards"][1], log["n_steps"][1]), expected)
    assert store.read_manifest(folder) == MADE_BY


def test_no_log_yet(tmp_path):
    assert list(store.read(tmp_path / "nothing").columns) == store.SCHEMA.names
    assert store.read_manifest(tmp_path / "nothing") is None


def test_merged_files_still_name_all_who_made_them(folder):
    for commit in "aba":
        store.append(folder, [row(0)], MADE_BY | {"git": commit})
    for _ in range(2):
        store.compact(folder, MADE_BY | {"git": "c"})
        store.append(folder, [row(1)], MADE_BY | {"git": "b"})
    assert store.origins(folder) == [{"git": "a"}, {"git": "b"}]


@pytest.mark.parametrize("compacted", [False, True])
def test_a_run_counts_once_a_success_before_failures_and_the_latest_of_these(folder, compacted):
    store.append(folder, [row(0, "error", message="first"), row(1), row(2, "error", message="first")], MADE_BY)
    store.append(folder, [row(0, "error", message="second"), row(1, "error"), row(2)], MADE_BY)
    if compacted:
        store.compact(folder, MADE_BY)
    log = store.read(folder)
    assert log["status"].tolist() == ["error", "done", "done"]
    assert log["message"][0] == "second"


def test_compact_leaves_one_file_per_writer_and_the_union_of_what_they_say(folder):
    other = {"identity": MADE_BY["identity"] | {"learners": {"pemt": {"b": 2}}}}
    for seed in range(5):
        store.append(folder, [row(seed)], MADE_BY)
    store.append(folder, [row(9, learner="pemt")], other)
    theirs = store.append(folder, [row(7)], MADE_BY, shard="2of3")
    for place in (folder, folder / "runs"):
        (place / ".all-leftover.part").write_bytes(b"half a file")
    before = store.read(folder)
    store.compact(folder, other)
    files = [path.name for path in (folder / "runs").iterdir()]
    assert len(files) == 2
    assert theirs.name in files
    assert not list(folder.glob("*.part"))
    assert store.read(folder).equals(before)
    ours = next(identity for identity in store.identities(folder)[1:] if "pemt" in identity["learners"])
    assert ours["learners"] == {"emt": {"a": 1}, "pemt": {"b": 2}}


def _truncated(path):
    path.write_bytes(path.read_bytes()[:-20])


def _flipped(path):
    content = bytearray(path.read_bytes())
    middle = content.index(store.pack(np.random.default_rng(3).integers(0, 2, 50)))
    content[middle] ^= 0xFF
    path.write_bytes(content)


def _foreign(path):
    path.write_text("id,key\n")


def _other_columns(path):
    pq.write_table(pa.table({"id": ["a"]}), path)


def _other_format(path):
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"format": b"99"}), path)


def _no_provenance(path):
    pq.write_table(pq.read_table(path).replace_schema_metadata(), path)


def _short_rewards(path):
    table = pq.read_table(path)
    steps = pa.array([5000] * len(table))
    pq.write_table(table.set_column(table.schema.get_field_index("n_steps"), "n_steps", steps), path)


def _null_rewards(path):
    table = pq.read_table(path)
    nothing = pa.array([None] * len(table), pa.binary())
    pq.write_table(table.set_column(table.schema.get_field_index("rewards"), "rewards", nothing), path)


def _other_status(path):
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index("status"), "status", pa.array(["dune"])), path)


def _other_identity(path):
    table = pq.read_table(path)
    changed = table.schema.metadata[b"provenance"].replace(b'"horizon": 50', b'"horizon": 51')
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"provenance": changed}), path)


def _no_identity(path):
    table = pq.read_table(path)
    facts = {b"provenance": b"[]", b"digest": digest("[]").encode()}
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | facts), path)


def _folder(path):
    path.unlink()
    path.mkdir()


def _link_to_nothing(path):
    path.unlink()
    path.symlink_to("nothing")


def _link_to_itself(path):
    path.unlink()
    path.symlink_to(path.name)


def _pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        _truncated,
        _flipped,
        _foreign,
        _other_columns,
        _other_format,
        _no_provenance,
        _short_rewards,
        _null_rewards,
        _other_status,
        _other_identity,
        _no_identity,
        _folder,
        _link_to_nothing,
        _link_to_itself,
        _pipe,
    ],
)
def test_a_damaged_file_is_named_and_set_aside_and_the_rest_is_used(folder, damage, capsys):
    store.append(folder, [row(0)], MADE_BY)
    bad = store.append(folder, [row(3)], MADE_BY)
    damage(bad)
    assert store.read(folder)["seed"].tolist() == [0]
    assert bad.name in capsys.readouterr().err
    assert not os.path.lexists(bad)
    assert os.path.lexists(bad.with_name(bad.name + ".set-aside"))
    assert store.read(folder)["seed"].tolist() == [0]
    assert capsys.readouterr().err == ""
    assert len(store.identities(folder)) == 2  # the manifest and the good file


def test_no_flip_in_a_file_is_a_crash_or_another_row(folder, capsys):
    path = store.append(folder, [row(seed) for seed in range(3)], MADE_BY)
    good, expected = path.read_bytes(), store.read(folder)
    chance, outcomes = random.Random(0), set()
    for _ in range(300):
        bad = bytearray(good)
        bad[chance.randrange(len(good))] ^= 1 << chance.randrange(8)
        path.write_bytes(bad)
        found = store.read(folder, set_aside=False)
        store.identities(folder)
        assert found.equals(expected) if len(found) else path.name in capsys.readouterr().err
        outcomes.add(len(found))
    assert outcomes == {0, 3}  # a few bytes of a file say nothing


@pytest.mark.parametrize("trouble", ["EIO", "EMFILE", "ESTALE", "EACCES", "MemoryError"])
def test_a_file_that_cannot_be_read_now_is_said_in_one_line_and_stays(folder, trouble, monkeypatch):
    path = store.append(folder, [row(0)], MADE_BY)
    number = getattr(errno, trouble, None)
    error = OSError(number, os.strerror(number)) if number else MemoryError()

    def fail(self):
        raise error

    for verb in (store.read, store.identities, store.read_manifest):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_bytes", fail)
            with pytest.raises(store.LogError, match=rf"cannot read {folder}/.*again when it can be read") as told:
                verb(folder)
        assert "\n" not in str(told.value)
    assert path.exists()
    assert store.read(folder)["seed"].tolist() == [0]


def test_a_log_that_may_not_be_listed_is_no_empty_log(folder, monkeypatch):
    def fail(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "listdir", fail)
    with pytest.raises(store.LogError, match=r"cannot read .*runs: Permission denied"):
        store.read(folder)


def test_want_of_memory_while_parsing_is_no_damage(folder, monkeypatch):
    path = store.append(folder, [row(0)], MADE_BY)

    def fail(*arguments, **options):
        raise pa.ArrowMemoryError("malloc of size 10 failed")

    monkeypatch.setattr(pq, "read_table", fail)
    with pytest.raises(store.LogError, match="not enough memory"):
        store.read(folder)
    assert path.exists()


def test_other_studies_that_cannot_be_read_are_passed_over(tmp_path, monkeypatch):
    for name in ("one", "two"):
        store.write_manifest(tmp_path / name / "suite", MADE_BY)
        store.append(tmp_path / name / "suite", [row(0)], MADE_BY)
    read = Path.read_bytes

    def fail(self):
        if "one" in self.parts:
            raise OSError(errno.EIO, "Input/output error")
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", fail)
    assert len(store.find(tmp_path, ["emt-0"], but=tmp_path / "three")) == 1


def test_a_file_set_aside_overwrites_no_other(folder, capsys):
    for content in ("one", "two", "three"):
        (folder / "runs" / "all-0.parquet").write_text(content)
        (folder / "manifest.json").write_text(content)
        store.read(folder)
        store.read_manifest(folder)
    kept = {path.name: path.read_text() for path in folder.rglob("*set-aside*")}
    names = [f"{name}.set-aside{number}" for name in ("all-0.parquet", "manifest.json") for number in ("", "-2", "-3")]
    assert kept == dict(zip(names, ["one", "two", "three"] * 2, strict=True))
    assert all(name in capsys.readouterr().err for name in ["manifest.json.set-aside-3"])


@pytest.mark.parametrize("damage", [_folder, _link_to_nothing, _link_to_itself, _pipe])
def test_what_is_no_file_where_the_manifest_belongs_is_set_aside(folder, damage, capsys):
    damage(folder / "manifest.json")
    assert store.read_manifest(folder) is None
    assert "Set aside as manifest.json.set-aside" in capsys.readouterr().err
    store.write_manifest(folder, MADE_BY)
    assert store.read_manifest(folder) == MADE_BY


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"seeds": 3}', '{"identity": {"format": 3, "learners": [], "datasets": {}}}', "\0"]
)
def test_a_damaged_manifest_is_set_aside(folder, content, capsys):
    (folder / "manifest.json").write_text(content)
    assert store.read_manifest(folder) is None
    assert "manifest.json" in capsys.readouterr().err
    store.write_manifest(folder, MADE_BY)
    assert store.read_manifest(folder) == MADE_BY


def test_a_folder_that_cannot_be_written_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(store.LogError, match=r"cannot write to .*file/study.*results=<folder>"):
        store.write_manifest(tmp_path / "file" / "study", MADE_BY)


def test_a_write_that_fails_halfway_loses_nothing(folder):
    """The limit on a file's size stands for a full disk: the write fails in the middle."""
    store.append(folder, [row(0)], MADE_BY)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(store.LogError, match="logged before is kept"):
            store.append(folder, [row(seed, n_steps=32000) for seed in range(1, 10)], MADE_BY)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert store.read(folder)["seed"].tolist() == [0]
    assert len(list((folder / "runs").iterdir())) == 1
    store.append(folder, [row(1)], MADE_BY)
    assert len(store.read(folder)) == 2


def test_one_writer_at_a_time(folder):
    with (
        store.writer(folder),
        store.writer(folder, "1of2"),
        pytest.raises(store.LogError, match="another process"),
        store.writer(folder),
    ):
        pass
    with store.writer(folder):
        pass


def test_readers_miss_nothing_while_files_are_merged(folder):
    store.append(folder, [row(0)], MADE_BY)
    stop = threading.Event()

    def write():
        for seed in range(1, 60):
            store.append(folder, [row(seed)], MADE_BY)
            if seed % 3 == 0:
                store.compact(folder, MADE_BY)
        stop.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not stop.is_set():
        seeds = store.read(folder)["seed"].tolist()
        assert seeds == list(range(len(seeds)))
        assert len(seeds) >= seen
        seen = len(seeds)
    writer.join()
    assert len(store.read(folder)) == 60
    assert not list(folder.glob("runs/*.set-aside"))


def test_provenance_is_in_the_file(folder):
    path = store.append(folder, [row(0)], MADE_BY | {"git": "abc"})
    assert json.loads(pq.read_metadata(path).metadata[b"provenance"])["git"] == "abc"
