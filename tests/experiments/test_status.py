import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import store
from experiments.checks import ConfigError
from experiments.cli import compose
from experiments.config import study
from experiments.run import run
from experiments.status import status

TOYS = "learners=[{name:toy,_target_:toys.Toy,fail:wine/1},{name:new,_target_:toys.Stepper}]"


@pytest.fixture
def shown(tmp_path, capsys):
    """Return what the status of a study says, line by line."""

    def call(*overrides, verb=status):
        small = ["engine=serial", "horizon=60", "suite.datasets=[wine,iris]"]
        cfg = compose([f"results={tmp_path}/results", *small, *overrides])
        verb(replace(study(cfg), typed=overrides), cfg)
        return capsys.readouterr().out.splitlines()

    return call


def test_each_learner_has_its_done_failed_and_left_with_a_time(shown):
    shown("learners=[{name:toy,_target_:toys.Toy,fail:wine/1}]", "seeds=2", verb=run)
    lines = [line.split(maxsplit=4) for line in shown(TOYS, "seeds=5")]
    table = {words[0]: words[1:] for words in lines if words[0] in ("toy", "new", "all")}
    assert {name: words[:3] for name, words in table.items()} == {
        "toy": ["3", "1", "6"],
        "new": ["0", "0", "10"],
        "all": ["3", "1", "16"],
    }
    assert table["toy"][3].endswith(" s")
    assert table["new"][3] == table["all"][3] == "not known yet"  # the log has no run of it


def test_failed_runs_and_preparations_are_listed(shown, monkeypatch, tmp_path):
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "empty"))
    shown(TOYS, "seeds=2", verb=run)
    lines = shown(TOYS, "seeds=2", "suite.datasets=[wine,iris,3]", "min_rows=160")
    assert "failed: toy/wine/seed-01: RuntimeError: no luck here" in lines
    assert "prepared: 2 of 3 datasets" in lines
    assert any(line.startswith("not prepared: task-3: ") for line in lines)
    assert "too short for the study: 1 (fewer than 160 rows)" in lines
    typed = f"'{TOYS}' seeds=2 'suite.datasets=[wine,iris,3]' min_rows=160"
    assert f"python -m experiments.prepare {typed} prepares what it can" in lines


def test_nothing_run_and_nothing_written(shown, tmp_path):
    assert shown(TOYS, "seeds=2")[0].endswith("2 datasets, 2 seeds, 60 steps at most")
    assert not (tmp_path / "results").exists()


def test_damaged_files_are_named_and_stay_where_they_are(shown, tmp_path, capsys):
    shown(TOYS, "seeds=2", verb=run)
    (log,) = tmp_path.glob("results/*/*/runs/*")
    log.write_bytes(log.read_bytes()[:100])
    (tmp_path / "results/unbounded/embedded/manifest.json").write_text("{")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    status(study(cfg := compose([TOYS, f"results={tmp_path}/results"])), cfg)
    errors = capsys.readouterr().err
    assert log.name in errors
    assert "manifest.json" in errors
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_it_compiles_and_plays_nothing(tmp_path):
    cache = tmp_path / "cache"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    words = ["suite.datasets=[wine]", "experiment=ablation", f"results={tmp_path}/results"]
    command = [sys.executable, "-X", "importtime", "-m", "experiments.status", *words]
    done = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert "not known yet" in done.stdout
    assert "experiments.rehearsal" not in done.stderr
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_what_the_log_has_counts_without_its_dataset(shown, monkeypatch, tmp_path, dataset_store):
    mine = ("learners=[{name:toy,_target_:toys.Toy}]", "seeds=2", "suite.datasets=[wine,5]")
    shown(*mine, verb=run)
    shutil.rmtree(dataset_store)
    lines = shown(*mine)
    assert [line.split()[:4] for line in lines if line.split()[0] == "all"] == [["all", "4", "0", "0"]]
    assert "prepared: 1 of 2 datasets" in lines


def test_it_refuses_what_run_refuses(shown):
    shown(TOYS, "seeds=2", verb=run)
    with pytest.raises(ConfigError, match="horizon is 60 there and 50 here"):
        shown(TOYS, "seeds=2", "horizon=50")


def test_only_the_runs_that_were_asked_for_count(shown, tmp_path):
    toy = "learners=[{name:toy,_target_:toys.Toy}]"
    shown(toy, "seeds=5", verb=run)
    assert len(store.read(tmp_path / "results/unbounded/embedded")) == 10
    lines = shown(toy, "seeds=3", "suite.datasets=[wine]")
    assert [line.split()[:4] for line in lines if line.split()[0] == "all"] == [["all", "3", "0", "0"]]
