"""A Dask cluster of others that is not there, has no workers, or goes away: one line, not a traceback."""

import os
import subprocess
import sys

import pytest
from toys import HERE

from experiments import cluster, store
from experiments.checks import ConfigError
from experiments.cli import compose
from experiments.config import study
from experiments.run import run

distributed = pytest.importorskip("distributed")

TOY = ["learners=[{name:toy,_target_:toys.Toy}]", "horizon=60", "suite.datasets=[wine,iris]", "engine=dask"]


@pytest.fixture
def dask():
    """Start processes of Dask as a user does; they end with the test."""
    running = []

    def start(*words, delay=0.0):
        paths = os.pathsep.join([str(HERE), str(HERE.parents[1])])
        environment = os.environ | {"PYTHONPATH": paths, "TOY_DELAY": str(delay)}
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        for line in running[-1].stderr:
            if "Scheduler at:" in line:
                return running[-1], line.split()[-1]
            if "Registered to:" in line:
                return running[-1]
        raise AssertionError("it ended at once")

    yield start
    for process in running:
        process.terminate()
    for process in running:
        process.communicate()


def scheduler(dask):
    return dask("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")


@pytest.fixture
def go(tmp_path):
    def call(address, *overrides):
        cfg = compose([*TOY, f"results={tmp_path}", f"engine.address={address}", *overrides])
        run(study(cfg), cfg)
        return store.read(study(cfg).folder)

    return call


def test_no_scheduler(go, monkeypatch):
    with pytest.raises(ConfigError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers"):
        go("tcp://127.0.0.1:1")


def test_a_scheduler_without_workers_is_waited_for_so_long_and_no_longer(go, dask, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 1.0)
    _, address = scheduler(dask)
    with pytest.raises(ConfigError, match="no worker has come in 1 seconds"):
        go(address)
    assert "has no workers; waiting" in capsys.readouterr().err


def test_one_worker_plays_all_of_it_and_not_this_process(go, dask):
    _, address = scheduler(dask)
    dask("worker", address, "--nthreads", "1", "--no-dashboard")
    log = go(address, "seeds=2", "learners=[{name:own,_target_:toys.OwnProcess}]")
    assert (log["status"] == "done").all()
    assert str(os.getpid()) not in set(log["message"])


@pytest.mark.parametrize("gone", ["scheduler", "worker"])
def test_a_cluster_that_goes_away_is_one_line_and_what_came_in_is_kept(go, dask, gone, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 2.0)
    process, address = scheduler(dask)
    worker = dask("worker", address, "--nthreads", "1", "--no-dashboard", delay=0.2)
    killer = f"""
import os, signal, sys, time
from experiments import store
while len(store.read({str(tmp_path / "unbounded" / "embedded")!r})) < 3:
    time.sleep(0.1)
for process in sys.argv[1:]:
    os.kill(int(process), signal.SIGKILL)
"""
    victims = [process.pid] if gone == "scheduler" else _family(worker.pid)
    killing = subprocess.Popen([sys.executable, "-c", killer, *map(str, victims)], cwd=HERE.parents[1])
    with pytest.raises(ConfigError, match="is gone" if gone == "scheduler" else "no workers for 2 seconds") as told:
        go(address, "seeds=200")
    killing.wait()
    assert "\n" not in str(told.value)
    assert len(store.read(tmp_path / "unbounded" / "embedded")) >= 3


def _family(pid):
    import psutil

    parent = psutil.Process(pid)
    return [pid, *(child.pid for child in parent.children(recursive=True))]
