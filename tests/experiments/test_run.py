import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from experiments import player, provenance, store
from experiments import run as run_module
from experiments.cli import compose
from experiments.config import ConfigError, study
from experiments.plan import plan
from experiments.run import run

ROOT = Path(__file__).parents[2]
TOY = "learners=[{name:toy,_target_:toys.Toy}]"
SMALL = ["engine=serial", "horizon=120", "seeds=3", "suite.datasets=[wine,iris]"]
MEASURED = ["seconds", "peak_memory", "ended"]  # columns that are another every time


@pytest.fixture
def go(tmp_path):
    """Run a small study in this process; return its folder."""

    def call(*overrides, place="results"):
        cfg = compose([f"results={tmp_path}/{place}", *SMALL, *overrides])
        asked = replace(study(cfg), typed=(*SMALL, *overrides))
        call.status = run(asked, cfg)
        return asked.folder

    return call


def rewards(folder):
    log = store.read(folder)
    assert (log["status"] == "done").all(), log["message"].tolist()
    return log.drop(columns=MEASURED)


def assert_complete(folder, overrides, n_failed=0):
    log = store.read(folder)
    asked = plan(study(compose([*SMALL, *overrides])))
    assert set(log["key"]) == set(asked.runs().values())
    assert (log["status"] == "error").sum() == n_failed
    return log


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_every_engine_gives_the_same_bits(go, engine):
    learners = "learners=[emt,pemt,cmt,{name:toy,_target_:toys.Toy},{name:step,_target_:toys.Stepper}]"
    expected = rewards(go(learners, place="serial"))
    assert len(expected) == 30
    found = rewards(go(learners, f"engine={engine}", "engine.n_jobs=2", place=engine))
    assert found["id"].equals(expected["id"])
    assert found["id"][found["rewards"] != expected["rewards"]].tolist() == []
    assert found.equals(expected)


def test_stories_are_rows_of_their_own_and_share_what_nothing_happens_in(go, capsys):
    step = "learners=[{name:counts,_target_:toys.Counts}]"
    plain = store.read(go(step))
    folder = go(step, "+stories=[none,abrupt]", "name=drift")
    assert "6 runs are done already in other studies" in capsys.readouterr().err
    log = store.read(folder)
    assert log["story"].value_counts().to_dict() == {"none": 6, "abrupt": 6}
    assert log[log["story"] == "none"]["key"].tolist() == plain["key"].tolist()
    assert log["id"].str.contains("/abrupt/").tolist() == (log["story"] == "abrupt").tolist()
    assert json.loads((folder / "manifest.json").read_text())["stories"] == ["none", "abrupt"]
    labels = {(row.dataset, row.seed, row.story): json.loads(row.measures)["labels"] for row in log.itertuples()}
    assert labels["wine", 0, "none"] != labels["wine", 0, "abrupt"]


@pytest.mark.parametrize("measures", [None, {"a": "b"}, {"a": float("nan")}, 7])
def test_measures_that_are_no_numbers_cost_no_run(go, monkeypatch, measures):
    monkeypatch.setattr("toys.Toy.measures", measures, raising=False)
    assert set(store.read(go(TOY))["measures"]) == {"{}"}


def test_shards_give_the_same_bits(go):
    expected = rewards(go(TOY, place="whole"))
    for part in (2, 1, 3):
        folder = go(TOY, f"shard={part}/3", place="shards")
    assert rewards(folder).equals(expected)
    assert {path.name.split("-")[0] for path in folder.glob("runs/*")} == {"1of3", "2of3", "3of3"}


def test_a_study_resumes_and_grows_and_shrinks_in_its_folder(go):
    def seconds(folder):
        return store.read(folder).set_index("id")["seconds"]

    before = seconds(go(TOY))
    assert seconds(go(TOY)).equals(before)
    more = "learners=[{name:toy,_target_:toys.Toy},{name:step,_target_:toys.Stepper}]"
    grown = seconds(go(more, "seeds=4", "suite.datasets=[wine,iris,tic-tac-toe]"))
    assert len(grown) == 24
    assert grown[before.index].equals(before)
    folder = go(TOY, "seeds=1")
    assert len(store.read(folder)) == 24
    assert store.read_manifest(folder)["seeds"] == 1
    assert len(list(folder.glob("runs/*"))) == 1


@pytest.mark.parametrize("manifest", ["kept", "lost"])
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (["horizon=99"], "horizon is 120 there and 99 here"),
        (["learners=[{name:toy,_target_:toys.Toy,epsilon:0.3}]"], "learners.toy.epsilon is 0.1 there and 0.3 here"),
        (["learners=[{name:toy,_target_:toys.Stepper}]"], "learners.toy.class is Toy there and Stepper here"),
    ],
)
def test_a_log_of_another_study_is_refused_with_the_keys_that_differ(go, change, named, manifest):
    folder = go(TOY)
    before = store.read(folder)
    if manifest == "lost":
        (folder / "manifest.json").unlink()
    with pytest.raises(ConfigError) as refusal:
        go(TOY, *change)
    assert named in str(refusal.value)
    assert "name=unbounded_2" in str(refusal.value)
    assert store.read(folder).equals(before)
    assert len(store.read(go(TOY, *change, "name=unbounded_2"))) == 6


def test_a_dataset_that_has_changed_is_refused(go):
    manifest = store.read_manifest(folder := go(TOY))
    manifest["identity"]["datasets"]["wine"]["fingerprint"] = "another"
    store.write_manifest(folder, manifest)
    with pytest.raises(ConfigError, match=r"datasets\.wine\.fingerprint is another there"):
        go(TOY)


def test_a_sweep_in_the_same_results_overwrites_nothing(go):
    plain = go(TOY)
    swept = go(TOY, "learner.epsilon=0.3")
    assert swept == plain / "epsilon=0.3"
    assert set(store.read(plain)["key"]).isdisjoint(store.read(swept)["key"])
    assert len(store.read(plain)) == len(store.read(swept)) == 6


def test_a_failed_run_is_a_row_and_is_run_again_on_request_only(go, tmp_path, capsys):
    mark = tmp_path / "mended"
    toy = f"learners=[{{name:toy,_target_:toys.Toy,fail:wine/1,mark:{mark}}}]"
    log = assert_complete(go(toy), [toy], n_failed=1)
    failed = log[log["status"] == "error"].iloc[0]
    assert failed["id"] == "toy/wine/seed-01"
    assert failed["message"].endswith("RuntimeError: no luck here")
    assert "toys.py" in failed["message"]
    assert "retry=errors" in capsys.readouterr().err
    assert go.status == 1
    mark.touch()
    assert_complete(go(toy), [toy], n_failed=1)
    folder = go(toy, "retry=errors")
    assert go.status == 0
    log = assert_complete(folder, [toy])
    assert log.set_index("id")["message"]["toy/wine/seed-01"] == "noted"
    assert len(pq.read_table(folder / "runs")) == 6


def test_rewards_that_are_none_are_an_error(go):
    log = store.read(go("learners=[{name:liar,_target_:toys.Liar}]"))
    assert (log["status"] == "error").all()
    assert "no 0 or 1 for each of 120 steps" in log["message"][0]


@pytest.mark.parametrize("engine", ["local", "local-1", pytest.param("dask", marks=pytest.mark.slow)])
def test_a_worker_that_dies_costs_its_own_run_only(go, engine):
    name, n_jobs = engine.split("-")[0], 1 if engine == "local-1" else 2
    toys = "learners=[{name:toy,_target_:toys.Toy},{name:bad,_target_:toys.Toy,kill:wine/2}]"
    log = assert_complete(go(toys, f"engine={name}", f"engine.n_jobs={n_jobs}", "seeds=5"), [toys, "seeds=5"], 1)
    assert log.set_index("status")["id"]["error"] == "bad/wine/seed-02"
    assert "died twice" in log.set_index("status")["message"]["error"]


def test_datasets_that_are_not_prepared_are_refused_or_left_out(go, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "empty"))
    with pytest.raises(ConfigError) as refusal:
        go(TOY, "suite.datasets=[wine,3]")
    assert "task-3" in str(refusal.value)
    assert "python -m experiments.prepare engine=serial horizon=120" in str(refusal.value)
    folder = go(TOY, "suite.datasets=[wine,3]", "missing=skip")
    assert set(store.read(folder)["dataset"]) == {"wine"}
    assert "left out: task-3" in capsys.readouterr().err
    assert store.read_manifest(folder)["missing"] == ["task-3"]
    with pytest.raises(ConfigError, match="no dataset to run on"):
        go(TOY, "suite.datasets=[3]", "missing=skip")


def test_a_folder_that_cannot_be_written_is_refused_before_work(go, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_DELAY", "1000")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(store.LogError, match="cannot write"):
        go(TOY, place="file")


def test_too_little_space_is_refused_before_work(go, monkeypatch):
    monkeypatch.setenv("TOY_DELAY", "1000")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1000, 900, 100))
    with pytest.raises(store.LogError, match="MB free"):
        go(TOY)


def test_a_disk_that_fills_up_stops_the_study_and_loses_nothing(go):
    before = store.read(go(TOY))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (7000, limits[1]))
    try:
        with pytest.raises(store.LogError, match="logged before is kept"):
            go(TOY, "seeds=200", "suite.datasets=[wine,iris,digits]")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    folder = go(TOY)
    log = store.read(folder).set_index("key")
    assert log.loc[before["key"], "rewards"].tolist() == before["rewards"].tolist()
    assert not list(folder.glob("runs/*.set-aside"))


def test_damaged_files_are_run_again(go, capsys):
    before = rewards(folder := go(TOY))
    (log,) = folder.glob("runs/*")
    log.write_bytes(log.read_bytes()[:100])
    assert rewards(go(TOY)).equals(before)
    assert log.name in capsys.readouterr().err


def test_what_made_a_result_is_in_its_file(go):
    folder = go(TOY)
    (log,) = folder.glob("runs/*")
    made_by = json.loads(pq.read_metadata(log).metadata[b"provenance"])
    assert made_by["packages"]["numpy"] == np.__version__
    assert len(made_by["git"]) == 40
    assert isinstance(made_by["git_dirty"], bool)
    assert made_by["cpu"]
    assert made_by["config"]["horizon"] == 120
    assert store.read_manifest(folder)["identity"] == made_by["identity"]


def test_the_manifest_says_what_the_runs_cost_and_who_made_them(go):
    folder = go(TOY)
    log, manifest = store.read(folder), store.read_manifest(folder)
    cost = manifest["cost"]
    assert (cost["runs"], cost["failed"]) == (len(log), 0)
    assert cost["core_hours"] == pytest.approx(log["seconds"].sum() / 3600, abs=1e-4)
    assert cost["peak_memory"] == log["peak_memory"].max() > 2**20
    assert cost["cpus"] == [provenance.cpu()]
    assert manifest["origins"] == store.origins(folder)
    assert manifest["origins"][0]["git"] == manifest["git"]


def test_the_log_has_the_cpu_of_each_run_and_another_kind_is_said(go, capsys, monkeypatch):
    folder = go(TOY, "seeds=1")
    assert set(store.read(folder)["cpu"]) == {provenance.cpu()}
    assert "kind of CPU" not in capsys.readouterr().err
    for module in (player, run_module):
        monkeypatch.setattr(module, "cpu", lambda: "another kind")
    go(TOY, "seeds=2")
    told = [line for line in capsys.readouterr().err.splitlines() if "more than one kind of CPU" in line]
    assert len(told) == 2  # before the work and after it
    assert f"{provenance.cpu()}; another kind" in told[0]
    assert set(store.read(folder)["cpu"]) == {provenance.cpu(), "another kind"}


@pytest.mark.parametrize("damage", ["folder", "text"])
def test_a_damaged_manifest_is_set_aside_and_the_study_goes_on(go, capsys, damage):
    folder = go(TOY)
    before = store.read(folder)
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir() if damage == "folder" else (folder / "manifest.json").write_text("{")
    assert store.read(go(TOY)).equals(before)
    assert "manifest.json.set-aside" in capsys.readouterr().err
    assert store.read_manifest(folder)["seeds"] == 3


def test_ctrl_c_stops_before_the_end_and_the_command_that_it_says_goes_on(cli, go, tmp_path):
    toy = [TOY, "horizon=50", "suite.datasets=[wine]"]
    # Tests that a shell started in the background ignore Ctrl-C, and so would what they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    running = cli("run", *toy, "seeds=500", "engine.n_jobs=2", start=True, delay=0.3)
    signal.signal(signal.SIGINT, before)
    folder = tmp_path / "results" / "unbounded" / "embedded"
    while len(store.read(folder)) == 0:
        time.sleep(0.3)
    family = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "To go on: python -m experiments.run 'learners=[{name:toy" in errors
    assert "interactions/s" in errors
    assert "Traceback" not in errors
    assert not psutil.wait_procs(family, timeout=100)[1]
    n_before = len(store.read(folder))
    go(*toy, f"seeds={n_before + 3}")
    assert (store.read(folder)["seed"] < n_before + 3).sum() == n_before + 3


def test_multirun_on_the_command_line(cli, tmp_path):
    cli("run", "-m", TOY, *SMALL, "learner.epsilon=0.1,0.2")
    folders = sorted(path.parent.name for path in tmp_path.glob("results/unbounded/embedded/*/manifest.json"))
    assert folders == ["epsilon=0.1", "epsilon=0.2"]


def test_the_log_has_every_parameter(go):
    log = store.read(go("learners=[{learner:pemt,budget:[8,16]}]", "suite.datasets=[wine]", "seeds=1"))
    assert log["id"].tolist() == ["pemt[budget=16]/wine/seed-00", "pemt[budget=8]/wine/seed-00"]
    params = [json.loads(text) for text in log["params"]]
    assert [(one["class"], one["budget"], one["epsilon"]) for one in params] == [("PEMT", 16, 0.1), ("PEMT", 8, 0.1)]


def test_the_runs_that_two_studies_share_are_played_once(go, capsys):
    small = ["suite.datasets=[wine]", "seeds=2"]
    first = store.read(go("experiment=unbounded", *small)).set_index("id")
    capsys.readouterr()
    second = store.read(go("experiment=ablation", *small)).set_index("id")
    said = capsys.readouterr().err
    shared = first.index.intersection(second.index)
    assert {name.split("/")[0] for name in shared} == {"parametric", "emt", "emt_not_self_consistent", "pemt"}
    assert "8 runs are done already in other studies" in said
    assert "6 runs to do" in said
    assert second.loc[shared].equals(first.loc[shared])  # the seconds too: nothing was played again
    assert second.drop(columns=MEASURED).equals(
        store.read(go("experiment=ablation", *small, place="alone")).set_index("id").drop(columns=MEASURED)
    )


def test_shared_runs_come_under_the_names_of_the_study_and_only_those_of_the_same_key(go):
    go("learners=[{name:toy,_target_:toys.Toy}]")
    folder = go("learners=[{name:other,_target_:toys.Toy},{name:toy,_target_:toys.Stepper}]", "name=second", "seeds=2")
    log = store.read(folder)
    assert set(log["id"]) == {f"{n}/{d}/seed-0{s}" for n in ("other", "toy") for d in ("wine", "iris") for s in (0, 1)}
    assert {json.loads(text)["class"] for text in log[log["learner"] == "toy"]["params"]} == {"Stepper"}
    assert_complete(folder, ["learners=[{name:a,_target_:toys.Toy},{name:b,_target_:toys.Stepper}]", "seeds=2"])


def test_runs_that_failed_elsewhere_are_played_here(go, tmp_path):
    mark = tmp_path / "mended"
    toy = f"learners=[{{name:toy,_target_:toys.Toy,fail:wine/1,mark:{mark}}}]"
    go(toy)
    mark.touch()
    assert (store.read(go(toy, "name=second"))["status"] == "done").all()


def test_damaged_logs_of_other_studies_are_ignored_and_stay(go, capsys):
    (log,) = go(TOY).glob("runs/*")
    log.write_bytes(log.read_bytes()[:100])
    capsys.readouterr()
    assert_complete(go(TOY, "name=second"), [TOY])
    assert log.name not in capsys.readouterr().err
    assert log.exists()


def test_other_results_folders_are_not_looked_into(go, capsys):
    go(TOY, place="results/inner")
    go(TOY, place="results")
    assert "done already" not in capsys.readouterr().err


@pytest.mark.parametrize("fail", ["", "wine/1"])
def test_a_learner_may_have_two_names_and_is_played_once(go, fail):
    both = f"learners=[{{name:toy,_target_:toys.Toy,fail:'{fail}'}},{{name:twin,_target_:toys.Toy,fail:'{fail}'}}]"
    log = store.read(go(both))
    assert log["learner"].value_counts().to_dict() == {"toy": 6, "twin": 6}
    assert log["key"].nunique() == 6
    assert (log["status"] == "error").sum() == (2 if fail else 0)
    done = log[log["status"] == "done"]
    assert (done.groupby("key")["seconds"].nunique() == 1).all()


def test_the_command_that_is_said_works_when_it_is_pasted(go, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "empty"))
    words = [TOY, "suite.datasets=[wine,3]", f"results={tmp_path}/results"]
    with pytest.raises(ConfigError) as refusal:
        go(*words)
    said = re.search(r"\)\. (python -m experiments\.prepare .*) makes them", str(refusal.value))[1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python").chmod(0o755)
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(Path(__file__).parent)}
    pasted = subprocess.run(
        said + " verify=true", shell=True, env=environment, cwd=ROOT, capture_output=True, text=True
    )
    assert "intact              1" in pasted.stdout, pasted.stderr
    assert "task-3" in pasted.stdout
