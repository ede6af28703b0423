import pytest

from experiments.cli import compose
from experiments.config import study
from experiments.run import run
from experiments.status import status

TOYS = "learners=[{name:toy,_target_:toys.Toy,fail:wine/1},{name:new,_target_:toys.Stepper}]"


@pytest.fixture
def shown(tmp_path, capsys):
    """Return what the status of a study says, line by line."""

    def call(*overrides, verb=status):
        cfg = compose([f"results={tmp_path}", "engine=serial", "horizon=60", "suite.datasets=[wine,iris]", *overrides])
        verb(study(cfg), cfg)
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
    assert all(words[3].endswith(" s") for words in table.values())  # a rehearsal knows of learners never run


def test_failed_runs_and_preparations_are_listed(shown, monkeypatch, tmp_path):
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "empty"))
    shown(TOYS, "seeds=2", verb=run)
    lines = shown(TOYS, "seeds=2", "suite.datasets=[wine,iris,3]", "+suite.min_rows=160")
    assert "failed: toy/wine/seed-01: RuntimeError: no luck here" in lines
    assert "prepared: 2 of 3 datasets" in lines
    assert any(line.startswith("not prepared: task-3: ") for line in lines)
    assert "too short for the study: 1 (fewer than 160 rows)" in lines
    assert "python -m experiments.prepare suite=embedded prepares what it can" in lines


def test_nothing_run_and_nothing_written(shown, tmp_path):
    assert shown(TOYS, "seeds=2")[0].endswith("2 datasets, 2 seeds, 60 steps at most")
    assert list(tmp_path.iterdir()) == []
