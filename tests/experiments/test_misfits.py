"""Learners that misbehave cost their own runs only, and the study says what became of them."""

import os
import subprocess
import sys

import misfits
import psutil
import pytest
from misfits import SMALL, config, outcomes

from experiments import store
from experiments.cli import compose
from experiments.config import study
from experiments.engine import end_workers
from experiments.learners import Entry
from experiments.plan import plan
from experiments.player import play
from experiments.rehearsal import measure
from experiments.run import run
from experiments.texts import last_line, safe_text

# What raises, or has a wrong note or wrong rewards, can be played in this process; the rest ends or stops it.
HARMLESS = [
    name
    for name in misfits.OUTCOMES
    if name.startswith(("raise", "exit", "note", "rewards", "generator", "memory", "recursion", "spoil", "seed"))
]
HARMFUL = {
    "engine.n_jobs=1": ["kill", "fork"],
    "engine.n_jobs=2": ["os-exit-0", "crash", "keyboard-interrupt", "fork-and-raise"],
    "engine=dask engine.n_jobs=1": ["os-exit-0"],  # Dask itself replaces only workers that were killed
}


@pytest.fixture
def go(tmp_path):
    def call(*overrides):
        cfg = compose([f"results={tmp_path}/results", *SMALL, *overrides])
        run(study(cfg), cfg)
        return store.read(study(cfg).folder)

    return call


def test_whatever_a_learner_raises_notes_or_returns_is_a_row(go):
    found = outcomes(go("engine=serial", config(*HARMLESS)))
    assert found == {name: misfits.OUTCOMES[name] for name in HARMLESS}


@pytest.mark.parametrize("engine", HARMFUL)
def test_a_learner_that_ends_or_copies_its_process_costs_its_own_run(go, engine):
    found = outcomes(go(*engine.split(), config(*HARMFUL[engine])))
    assert found == {name: misfits.OUTCOMES[name] for name in HARMFUL[engine]}


@pytest.mark.parametrize(
    "engine",
    ["engine.n_jobs=2", "engine.n_jobs=1", pytest.param("engine=dask engine.n_jobs=1", marks=pytest.mark.slow)],
)
def test_a_run_that_takes_too_long_is_a_row_and_frees_its_worker(go, engine):
    log = go(*engine.split(), "timeout=2", config("hang-in-c", "fork"))
    assert outcomes(log) == {"hang-in-c": "error", "fork": "done"}
    message = log.set_index("id")["message"]["hang-in-c/wine/seed-01"]
    assert last_line(message).startswith("TimeoutError: the run took longer than timeout=2 seconds")
    assert "misfits.py" in message  # where it was


def test_a_learner_that_hangs_at_once_hangs_no_rehearsal(go):
    hangs = "learners=[{name:hang,_target_:misfits.Misfit,how:hang,where:iris,seed:0}]"
    log = go("engine.n_jobs=2", "timeout=2", hangs, "seeds=1", "suite.datasets=[iris]")
    assert log["status"].tolist() == ["error"]


def test_the_parent_plays_nothing(go):
    """A learner that would end this process in its first step."""
    deeds = "learners=[{name:bad,_target_:misfits.Misfit,how:os-exit-3,where:iris,seed:0}]"
    log = go("engine.n_jobs=1", deeds, "seeds=1", "suite.datasets=[iris]")
    assert log["status"].tolist() == ["error"]
    assert "died twice" in log["message"][0]


def test_what_learners_leave_in_workers_does_not_outlive_the_study(cli, tmp_path):
    running = cli("run", "engine.n_jobs=2", config("leave-thread"), *SMALL, start=True, stderr=subprocess.DEVNULL)
    family = []
    while running.poll() is None:
        family += psutil.Process(running.pid).children(recursive=True)
        try:
            running.wait(0.3)
        except subprocess.TimeoutExpired:
            continue
    assert running.returncode == 0
    assert not psutil.wait_procs(family, timeout=100)[1]


def test_loading_and_compiling_count_for_no_run():
    """A learner is compiled for its parts, which may depend on the dataset: each is played for a few steps first."""
    todo = plan(study(compose(["learners=[{name:first,_target_:misfits.First}]", *SMALL, "engine=serial"])))
    misfits.First.streams.clear()
    for dataset in ("iris", "wine"):
        assert [row["status"] for row in play(todo.block(dataset, "first", "none", (0, 1)))] == ["done", "done"]
    assert misfits.First.streams == [(name, steps) for name in ("iris", "wine") for steps in (8, 120, 120)]


def test_each_choice_of_a_learner_is_loaded_and_compiled_before_its_runs_and_no_number_is():
    config = "{name:first,_target_:misfits.First,ridge:[true,false],size:[1,2]}"
    todo = plan(study(compose([f"learners=[{config}]", *SMALL, "suite.datasets=[digits]", "engine=serial"])))
    misfits.First.streams.clear()
    for name in todo.params:
        play(todo.block("digits", name, "none", (0,)))
    assert [steps for _, steps in misfits.First.streams] == [8, 120, 120, 8, 120, 120]


def test_a_rehearsal_measures_and_takes_what_is_wrong_for_unknown():
    good = Entry({"_target_": "toys.Toy"}, "toy")
    assert [(name, steps) for name, steps, _ in measure(good, ["wine", "iris"], 50)] == [("wine", 50), ("iris", 50)]
    bad = Entry({"_target_": "misfits.Misfit", "how": "exit-0", "where": "iris", "seed": 0}, "bad")
    assert [name for name, *_ in measure(bad, ["wine", "iris"], 50)] == ["wine"]


TEXTS = misfits.NOTES | {"unprintable": misfits.Unprintable(), "bytes": b"\xff", "nan": float("nan")}


@pytest.mark.parametrize("name", TEXTS)
def test_every_text_is_made_safe(name):
    text = safe_text(TEXTS[name])
    assert type(text) is str
    assert text.encode().decode() == text
    assert len(text) < 11_000


def test_end_workers_without_workers():
    end_workers()
    end_workers()


@pytest.mark.parametrize("learner", ["Swallower", "Changer"])
def test_ctrl_c_that_was_swallowed_stops_the_study_all_the_same(tmp_path, learner):
    """The learner's own code catches the interrupt, as callbacks in compiled code do, or makes an error of it."""
    script = """
import sys
from experiments.cli import main
from experiments.run import run
from experiments.signals import stop_on_signals
stop_on_signals()
main(run, "run")
"""
    words = [f"learners=[{{name:mute,_target_:misfits.{learner}}}]", *SMALL, "engine=serial", f"results={tmp_path}"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(misfits.HERE), str(misfits.HERE.parents[1])])}
    done = subprocess.run([sys.executable, "-c", script, *words], env=environment, capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
    assert "To go on:" in done.stderr
    log = store.read(tmp_path / "unbounded" / "embedded")
    assert 1 <= len(log) < 6
    assert set(log["status"]) == {"done"}
