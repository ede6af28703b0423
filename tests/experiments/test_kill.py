"""Kill a study again and again, at random moments, and go on: the log must come out as if nothing had happened."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import kills
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments import store

WRITER = """
import sys
from pathlib import Path
from experiments import store
identity = {"format": store.FORMAT, "horizon": 50, "learners": {}, "datasets": {}}
folder, made_by = Path(sys.argv[1]), {"identity": identity}
store.write_manifest(folder, made_by)
done = len(store.read(folder))
for seed in range(done, 10**6):
    row = {"id": f"a/b/{seed}", "key": str(seed), "task": -1, "dataset": "b", "learner": "a", "seed": seed}
    row |= {"params": "{}", "cpu": "", "peak_memory": 0, "ended": 0.0}
    row |= {"status": "done", "message": "", "n_steps": 50, "rewards": store.pack([seed % 2] * 50), "seconds": 0.0}
    store.append(folder, [row], made_by)
    print(seed, flush=True)
    if seed % 5 == 0:
        store.compact(folder, made_by)
"""


def test_the_log_survives_a_writer_that_is_killed_at_any_moment(tmp_path):
    written, chance = 0, random.Random(0)
    for _ in range(20):
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        written = int(writer.stdout.readline()) + 1
        time.sleep(chance.uniform(0, 0.15))
        writer.kill()
        written = max([written, *(int(line) + 1 for line in writer.stdout.read().splitlines())])
        writer.wait()
        seeds = store.read(tmp_path)["seed"].tolist()
        assert seeds == list(range(len(seeds)))
        assert len(seeds) - written in (0, 1)  # one may be in place that the writer had no time to tell of
    assert not list(tmp_path.glob("runs/*.set-aside"))


@pytest.mark.parametrize("kind", kills.KINDS)
def test_a_study_that_is_killed_goes_on_as_if_nothing_had_happened(tmp_path, kind):
    assert kills.attack(tmp_path, kind, n_kills=2) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", kills.KINDS)
def test_a_study_killed_again_and_again_goes_on(tmp_path, kind):
    assert kills.attack(tmp_path, kind, n_kills=10, seed=1) == []


def swallow(output):
    """Hear no signal, and go on to the end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    output.write_text("playing")
    time.sleep(0.5)


def stop_wrongly(output):
    """End on a signal with a status that says nothing of it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(7))
    os.setsid()
    output.write_text("playing")
    time.sleep(60)


def come_late(output):
    """Be over but for the end of the process."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    output.with_name("whole").write_text("600 of 600 runs are done, 0 failed")
    output.with_name("whole").rename(output)
    time.sleep(0.5)


@pytest.mark.parametrize(
    ("does", "kills_counted", "said"),
    [(swallow, 1, "has swallowed SIG"), (stop_wrongly, 1, "ended with status 7 on SIG"), (come_late, 0, "")],
)
def test_a_signal_that_is_not_heeded_is_noticed(tmp_path, does, kills_counted, said):
    victim = kills.Victim(tmp_path / "study", "Ctrl-C or SIGTERM", random.Random(0), {})
    process = get_context("fork").Process(target=does, args=(victim.output,))
    process.start()
    while not victim.output.exists():
        process.join(0.01)
    assert victim._kill(process) == kills_counted
    assert len(victim.problems) == kills_counted
    assert all(said in problem for problem in victim.problems)


@pytest.mark.parametrize("damage", ["lost", "changed", "doubled"])
def test_the_attack_notices(tmp_path, damage, monkeypatch):
    """A log that loses, changes or doubles a run would not pass."""
    victim = kills.Victim(tmp_path / "study", "parent", random.Random(0), kills.undisturbed(tmp_path))
    folder = shutil.copytree(tmp_path / "undisturbed", tmp_path / "study") / "unbounded" / "embedded"
    victim._check_end()
    assert victim.problems == []
    (path,) = folder.glob("runs/*.parquet")
    table = pq.read_table(path)
    rows = table.to_pylist()
    if damage == "changed":
        rows[0]["rewards"] = bytes(8)
    rows = {"lost": rows[1:], "changed": rows, "doubled": [*rows, rows[0]]}[damage]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    victim._check_end()
    assert any(word in problem for problem in victim.problems for word in (damage, "rows for"))
