import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.checks import choices, plain
from experiments.cli import compose, config_of
from experiments.help import help_text
from experiments.verbs import MODULES

ROOT = Path(__file__).parents[2]


def call(*words, cwd=ROOT):
    done = subprocess.run([sys.executable, "-m", *words], cwd=cwd, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("verb", MODULES)
def test_the_help_of_a_verb_shows_every_key_with_its_value(verb):
    config = plain(compose(config_name=config_of(verb)))
    lines = help_text(verb, config).splitlines()
    for key in ("seeds", "results"):
        assert [line for line in lines if line.startswith(f"  {key}={config[key]}  ")], key
    known = [line.split("=")[0].strip() for line in lines if line.startswith("  ") and "=" in line]
    assert set(config) <= {key.split(".")[0] for key in known}


def test_the_help_shows_choices_and_what_the_files_say_of_a_key():
    text = help_text("report", plain(compose(config_name="report")))
    [suites] = [line for line in text.splitlines() if line.startswith("  suite=")]
    assert suites.endswith(", ".join(choices("suite")))
    assert "report.level=0.05                   of ttest and wilcoxon" in text
    assert "horizon=4000                        interactions at most" in text


def test_help_is_the_same_from_the_command_and_from_the_module(tmp_path):
    status, by_command, _ = call("emt", "status", "--help")
    assert status == 0
    assert call("experiments.status", "--help")[1] == by_command.replace(
        "emt status", "python -m experiments.status"
    ).replace(" The same as python -m experiments.status in a clone.", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu"], "there is no emt rnu; did you mean run?"),
        (["experiments.run"], "there is no emt experiments.run; "),
        (["learners", "emt"], "emt learners takes nothing more, not emt"),
        (["run", "suite=papre"], "there is no conf/suite/papre.yaml; did you mean paper"),
    ],
)
def test_a_mistake_is_one_line(words, message):
    status, out, error = call("emt", *words)
    assert (status, out) == (2, "")
    assert error.startswith(f"error: {message}" if words[0] != "run" else "error: ")
    assert message in error
    assert error.count("\n") == 1


def test_learners_and_datasets_are_listed(monkeypatch, tmp_path):
    monkeypatch.setenv("EMT_DATA", str(tmp_path))
    status, out, _ = call("emt", "learners")
    assert status == 0
    for name in choices("learner"):
        assert f"\n{name}: " in f"\n{out}"
    status, out, _ = call("emt", "datasets")
    assert status == 0
    assert [word for line in out.splitlines() if line.startswith("digits") for word in line.split()] == [
        "digits", "1797", "64", "0", "10"
    ]  # fmt: skip
    assert f"prepared OpenML tasks in {tmp_path}: 0" in out


def test_commands_that_are_printed_are_written_as_the_user_writes_them(tmp_path):
    asked = ["learners=[{name:toy,_target_:toys.Toy}]", "suite.datasets=[iris]", f"results={tmp_path}"]
    status, out, _ = call("emt", "status", *asked, cwd=Path(__file__).parent)
    assert status == 0
    assert f"what is left is run by {shlex.join(['emt', 'run', *asked])}" in out


def test_reproduce_gives_commands_of_its_own_kind(tmp_path):
    tiny = (
        "experiments=[{experiment:unbounded,learners:[{name:toy,_target_:toys.Toy}],suite.datasets:[iris],horizon:9}]"
    )
    words = ["reproduce", tiny, "verbs=[run]", "seeds=1", f"results={tmp_path}", "n_jobs=1"]
    status, out, error = call("emt", *words, cwd=Path(__file__).parent)
    assert status == 0, error
    assert "\nemt run experiment=unbounded" in out
    assert "1 of 1 runs are done" in error
