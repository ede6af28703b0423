"""Kill a study again and again, at random moments, and go on: the log must come out as if nothing had happened."""

import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from experiments import store
from experiments.cli import compose
from experiments.config import study
from experiments.run import run

STUDY = ["horizon=60", "suite.datasets=[wine,iris]", "engine.n_jobs=2"]
LEARNERS = "learners=[{name:toy,_target_:toys.Toy},{name:step,_target_:toys.Stepper}]"

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


def kill_and_resume(cli, tmp_path, seeds, n_workers_killed, n_parents_killed):
    """Kill workers of running studies, and then the studies, until enough have died; then let it finish."""
    overrides = [LEARNERS, *STUDY, f"seeds={seeds}"]
    folder = tmp_path / "results" / "unbounded" / "embedded"
    killed = {"worker": 0, "parent": 0}
    chance = random.Random(1)
    while killed["parent"] < n_parents_killed:
        running = cli("run", *overrides, start=True, delay=0.1, stderr=subprocess.DEVNULL)
        parent = psutil.Process(running.pid)
        n_before, deadline = len(store.read(folder)), time.monotonic() + chance.uniform(2, 20)
        while killed["worker"] < n_workers_killed * (killed["parent"] + 1) / n_parents_killed:
            if len(store.read(folder)) > n_before:
                with suppress(psutil.NoSuchProcess, IndexError):  # a pool that died a moment ago
                    workers = [child for child in parent.children() if "tracker" not in " ".join(child.cmdline())]
                    chance.choice(workers).kill()
                    killed["worker"] += 1
                    n_before = len(store.read(folder))
            time.sleep(chance.uniform(0, 1))
            assert running.poll() is None, "the study ended before it was killed: give it more seeds"
        while time.monotonic() < deadline and len(store.read(folder)) <= n_before:
            time.sleep(chance.uniform(0, 0.5))
        family = parent.children(recursive=True)
        parent.kill()
        running.wait()
        killed["parent"] += 1
        assert not psutil.wait_procs(family, timeout=100)[1], "workers outlive their parent"
    cli("run", *overrides, "retry=errors")
    assert killed["worker"] >= n_workers_killed
    cfg = compose([*overrides, "engine=serial", f"results={tmp_path}/undisturbed"])
    run(study(cfg), cfg)
    expected = store.read(study(cfg).folder).drop(columns="seconds")
    assert (expected["status"] == "done").all()
    assert store.read(folder).drop(columns="seconds").equals(expected)
    assert len(pq.read_table(folder / "runs")) == len(expected) == 4 * seeds
    assert not list(folder.glob("runs/*.set-aside"))


def test_a_killed_study_goes_on(cli, tmp_path):
    kill_and_resume(cli, tmp_path, seeds=150, n_workers_killed=1, n_parents_killed=1)


@pytest.mark.slow
def test_a_study_killed_twenty_times_goes_on(cli, tmp_path):
    kill_and_resume(cli, tmp_path, seeds=1000, n_workers_killed=12, n_parents_killed=10)
