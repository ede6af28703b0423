import json
import resource
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments import store

MADE_BY = {
    "identity": {"format": store.FORMAT, "horizon": 50, "learners": {"emt": {"a": 1}}, "datasets": {"wine": "x"}}
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
    }


@pytest.fixture
def folder(tmp_path):
    store.write_manifest(tmp_path, MADE_BY)
    return tmp_path


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
    (folder / "runs" / ".all-leftover.parquet").write_bytes(b"half a file")
    before = store.read(folder)
    store.compact(folder, other)
    files = [path.name for path in (folder / "runs").iterdir()]
    assert len(files) == 2
    assert theirs.name in files
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


@pytest.mark.parametrize(
    "damage", [_truncated, _flipped, _foreign, _other_columns, _other_format, _no_provenance, _short_rewards]
)
def test_a_damaged_file_is_named_and_set_aside_and_the_rest_is_used(folder, damage, capsys):
    store.append(folder, [row(0)], MADE_BY)
    bad = store.append(folder, [row(3)], MADE_BY)
    damage(bad)
    assert store.read(folder)["seed"].tolist() == [0]
    assert bad.name in capsys.readouterr().err
    assert not bad.exists()
    assert bad.with_name(bad.name + ".set-aside").exists()
    assert store.read(folder)["seed"].tolist() == [0]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("content", ["", "{", "[]", '{"seeds": 3}'])
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
