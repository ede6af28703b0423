import sys

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException

from experiments.cli import main
from experiments.store import LogError

TOY = "learners=[{name:toy,_target_:toys.Toy}]"


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Run a task from a command line; return its exit status and the studies it was given."""

    def run(*arguments, task=lambda study, cfg: None):
        given = []
        monkeypatch.setattr(sys, "argv", ["verb", *arguments, f"results={tmp_path}/results"])
        monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
        GlobalHydra.instance().clear()
        with pytest.raises(SystemExit) as exit_:
            main(lambda study, cfg: given.append(study) or task(study, cfg), "run")
        GlobalHydra.instance().clear()
        return exit_.value.code, given

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sedes=5"], "there is no key 'sedes'; did you mean seeds?"),
        (["engine.njobs=2"], "did you mean engine.n_jobs"),
        (["experiment=unbouded"], "there is no conf/experiment/unbouded.yaml; did you mean unbounded"),
        (["suite=embeded"], "did you mean embedded"),
        (["engine=lokal"], "did you mean local"),
        (["learner=emt"], "learners=[emt,pemt]"),
        (["seeds=["], "cannot read 'seeds=['"),
        (["seeds"], "cannot read 'seeds'"),
        (["--seeds", "5"], "there is no option --seeds; write seeds=..."),
        (["--seeds=5"], "write seeds=5"),
        (["--sedes=5"], "there is no option --sedes; did you mean seeds"),
        (["expriment=bounded"], "there is no key 'expriment'; did you mean experiment"),
        ([TOY, "seeds=0"], "seeds=0"),
        (["-m", TOY, "learner.epsilon=0.1,2"], "epsilon must be between 0 and 1"),
        (["-m", TOY, "seeds=1,0"], "seeds=0"),
        (["-m", TOY, "sedes=1,2"], "did you mean seeds"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_before_anything_runs(call, capsys, tmp_path, arguments, message):
    status, given = call(*arguments)
    error = capsys.readouterr().err
    assert (status, given) == (2, [])
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "results").exists()


def test_a_sweep_is_one_study_per_value_each_with_its_folder(call, tmp_path):
    status, given = call("-m", TOY, "learner.epsilon=0.05,0.1", "suite.datasets=[wine]")
    assert status == 0
    folder = tmp_path / "results" / "unbounded" / "embedded"
    assert [study.folder for study in given] == [folder / "epsilon=0.05", folder / "epsilon=0.1"]
    assert [study.learners["toy"].config["epsilon"] for study in given] == [0.05, 0.1]


def test_the_exit_status_is_that_of_the_task(call):
    assert call(TOY, task=lambda study, cfg: 3)[0] == 3


def test_what_goes_wrong_in_a_task_is_said_in_one_line_too(call, capsys):
    def task(study, cfg):
        raise LogError("the disk is full")

    assert call(TOY, task=task)[0] == 2
    assert capsys.readouterr().err == "error: the disk is full\n"


@pytest.mark.parametrize(
    "error", [LogError(""), HydraException(""), RuntimeError("from a package"), KeyboardInterrupt()]
)
def test_an_error_that_ctrl_c_has_become_is_ctrl_c(call, capsys, monkeypatch, error):
    def task(study, cfg):
        monkeypatch.setattr("experiments.signals._received", [2])
        raise error

    assert call(TOY, task=task)[0] == 130
    assert capsys.readouterr().err == "stopped\n"


def test_hydra_leaves_no_folders(call, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    call(TOY)
    assert list(tmp_path.iterdir()) == []
