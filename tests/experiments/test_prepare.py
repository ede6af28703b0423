"""Preparing a suite with the real client against a local OpenML, and killing it."""

import itertools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from openml_server import prepare_from, simple

from emt.data import load, prepared
from experiments.prepare import prepare, prepare_all, verify

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(server, store, tmp_path):
    """Return a function that starts ``python -m experiments.prepare`` with the client set to the local server."""
    config = tmp_path / "config" / "openml" / "config"
    config.parent.mkdir(parents=True)
    config.write_text(f"server = {server.url}\nconnection_n_retries = 2\n")
    places = {"XDG_CONFIG_HOME": config.parents[1], "OPENML_CACHE_DIR": tmp_path / "openml", "EMT_DATA": store}

    def start(*arguments: str) -> subprocess.Popen:
        words = [sys.executable, "-m", "experiments.prepare", "suite=paper", *arguments]
        environment = {**os.environ, **{name: str(place) for name, place in places.items()}}
        return subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def test_the_command_prepares_reports_and_verifies(server, store, command):
    server.data = {1: simple(), 2: simple(shift=2), 3: simple()}
    server.data[3].task_type = 2

    first = command("suite.datasets=[1,3,2,digits]")
    output, errors = first.communicate(timeout=120)
    assert first.returncode == 1, errors
    table = dict(line.rsplit(maxsplit=1) for line in output.splitlines()[1:4])
    assert {state.strip(): int(count) for state, count in table.items()} == {"prepared": 2, "built in": 1, "failed": 1}
    assert "task-3" in output
    assert "it is not classification but Supervised Regression" in output
    assert list(prepared.failures()) == ["task-3"], "which experiments.status lists"

    prepared.file_of("task-2").write_bytes(b"damage")
    check = command("suite.datasets=[1,2]", "verify=true")
    output, errors = check.communicate(timeout=120)
    assert check.returncode == 1, errors
    assert "task-2.parquet is broken" in output
    assert "task-1" not in output
    assert prepared.file_of("task-2").read_bytes() == b"damage", "verify changes nothing"

    server.stop()
    again = command("suite.datasets=[1,2]")
    output, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert "already there" in output
    assert "prepared again" in output
    assert (store / "task-2.broken").read_bytes() == b"damage"
    assert len(load(2)) == 40


def test_a_failed_task_never_stops_the_others(server, store):
    server.data = {2: simple(), 4: simple()}
    outcomes = prepare_all([1, 2, 3, 4, "nasty-one-class", "wine"])
    states = {name: state for name, (state, _) in outcomes.items()}
    assert states == {
        "task-1": "failed",
        "task-2": "prepared",
        "task-3": "failed",
        "task-4": "prepared",
        "nasty-one-class": "failed",
        "wine": "built in",
    }
    server.data[1] = simple()
    assert prepare(1) == ("prepared", "")
    assert set(prepared.failures()) == {"task-3", "nasty-one-class"}


def test_even_a_bug_stops_only_its_task(server, store, monkeypatch):
    def trip(*_):
        raise RuntimeError("a bug")

    server.data = {1: simple()}
    monkeypatch.setattr(prepared, "write", trip)
    assert prepare(1) == ("failed", "unexpected RuntimeError: a bug")


def test_what_is_prepared_needs_neither_server_nor_cache(server, store):
    server.data = {1: simple()}
    prepare_all([1])
    before = files(store)
    server.stop()
    assert prepare_all([1]) == {"task-1": ("already there", "")}
    assert verify(1) == ("intact", "")
    assert files(store) == before


def test_the_manifest_is_of_the_whole_store(server, store):
    server.data = {1: simple(), 2: simple()}
    prepare_all([1])
    prepare_all([2])
    manifest = json.loads((store / "manifest.json").read_text())
    assert list(manifest["datasets"]) == ["task-1", "task-2"]
    assert manifest["datasets"]["task-2"]["version"] == 3


def test_a_killed_preparation_is_completed_to_the_same_bytes(server, tmp_path):
    tasks = list(range(1, 9))
    server.data = {task: simple(n_rows=30 * task, shift=task) for task in tasks[:-1]}  # the last is not there
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["openml", "emt.data.openml_tasks", "experiments.prepare"])

    def run(folder: Path, seconds: float | None = None) -> bool:
        """Prepare, and kill it after some seconds; tell if it was finished by then."""
        places = (str(folder / "cache"), str(folder / "store"))
        process = context.Process(target=prepare_from, args=(server.url, *places, tasks))
        process.start()
        process.join(seconds)
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.exitcode == 0

    assert run(tmp_path / "reference")
    start = time.monotonic()
    assert run(tmp_path / "second")
    took = time.monotonic() - start
    expected = files(tmp_path / "reference" / "store")
    assert files(tmp_path / "second" / "store") == expected
    assert len(expected) == 9, "seven datasets, the manifest and the failures"

    kills, moments = 0, random.Random(0)
    for attempt in itertools.count():
        folder = tmp_path / f"attempt{attempt}"
        while not run(folder, moments.uniform(0, took)):
            kills += 1
        assert files(folder / "store") == expected
        if kills >= 12:
            break


def test_a_killed_command_is_completed(server, store, command):
    server.data = {task: simple(n_rows=50) for task in range(1, 30)}
    numbers = "suite.datasets=[" + ",".join(map(str, server.data)) + "]"
    process = command(numbers)
    while process.poll() is None and not prepared.file_of("task-3").exists():
        time.sleep(0.01)
    process.kill()
    process.communicate()
    left = sum(prepared.file_of(f"task-{task}").exists() for task in server.data)
    assert 3 <= left < 29
    process = command(numbers)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert f"already there{left:>8}" in output
    assert all(verify(task) == ("intact", "") for task in server.data)


def test_the_papers_suite_has_its_tasks():
    paper = yaml.safe_load((ROOT / "conf/suite/paper.yaml").read_text())
    assert len(set(paper["datasets"])) == len(paper["datasets"]) == 208
    assert paper["datasets"][:4] == [3, 6, 11, 14]
    assert paper["datasets"][-1] == 146822
