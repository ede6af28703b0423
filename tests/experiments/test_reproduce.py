import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import store
from experiments.checks import ConfigError, choices, plain
from experiments.cli import compose
from experiments.config import study
from experiments.reproduce import Step, override, reproduce, steps

ROOT = Path(__file__).parents[2]
TOY = "{name:toy,_target_:toys.Toy}"


def tiny(experiment="unbounded", learner=TOY):
    return f"{{experiment:{experiment},learners:[{learner}],horizon:40,suite.datasets:[wine,iris]}}"


def start(tmp_path, *words, delay=0.0):
    """Start the verb as a user does, in a process group of its own as a terminal would."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "TOY_DELAY": str(delay)}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a test in the background may ignore Ctrl-C
    command = [sys.executable, "-m", "experiments.reproduce", f"results={tmp_path}/results", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **pipes)
    signal.signal(signal.SIGINT, before)
    return process


@pytest.mark.parametrize("name", choices("study"))
def test_every_study_is_of_commands_that_compose(name):
    groups = steps(compose([f"study={name}"], "reproduce"))
    asked = [study(compose(group[0].words)) for group in groups[1:]]
    assert [[step.verb for step in group] for group in groups] == [["prepare"], *[["run", "report"]] * len(asked)]
    names = [one.name for one in asked]
    beyond = ["capacity"] * (name == "paper") + ["details", "drift", "search", "explore", "plus"]
    assert names == ["unbounded", "ablation", "bounded", *beyond]
    assert (
        {one.suite.name for one in asked} == {"embedded"}
        if name == "embedded"
        else {
            "paper",
            "paper_drift",
            "paper_search",
        }
    )
    assert all(one.skip_missing for one in asked)
    bounded = asked[2]
    shares = [entry.config.get("budget", 0) / bounded.horizon for entry in bounded.learners.values()]
    assert shares == [0, 1 / 32, 1 / 16, 1 / 2, 1, 1 / 32]
    assert bounded.min_rows == (0 if name == "embedded" else 32_000)
    assert {one.seeds for one in asked[:3]} == {5 if name == "embedded" else 50}
    assert [one.seeds for one in asked[-5:]] == ([3, 5, 3, 3, 3] if name == "embedded" else [10, 10, 5, 5, 20])


def test_an_experiment_has_its_own_seeds_at_most_and_a_part_of_its_suite_alone():
    words = ["study=paper", "verbs=[run]", "experiments=[{experiment:drift,seeds:10,suites:{paper:paper_drift}}]"]

    def asked(*more):
        [[step]] = steps(compose([*words, *more], "reproduce"))
        return study(compose(step.words))

    assert (asked().seeds, asked("seeds=3").seeds) == (10, 3)
    assert (asked().suite.name, asked("suite=embedded").suite.name) == ("paper_drift", "embedded")


def test_the_parts_of_the_papers_suite_are_tasks_of_it():
    paper = set(plain(compose(["suite=paper"]).suite)["datasets"])
    for name, n_tasks in (("paper_drift", 64), ("paper_search", 32)):
        part = plain(compose([f"suite={name}"]).suite)["datasets"]
        assert len(part) == n_tasks
        assert set(part) < paper


def test_the_halves_of_the_papers_suite_are_every_second_task_by_id():
    halves = ("paper_tuning", "paper_validation")
    tuning, validation = (plain(compose([f"suite={half}"]).suite)["datasets"] for half in halves)
    both = sorted([*tuning, *validation])
    assert (both[::2], both[1::2]) == (tuning, validation)
    assert (len(tuning), len(validation)) == (83, 82)
    assert set(both) < set(plain(compose(["suite=paper"]).suite)["datasets"])


def test_seeds_workers_suites_and_places_go_into_every_command():
    words = ["study=paper", "suite=embedded", "seeds=3", "n_jobs=3", "results=a/b", "verbs=[status]"]
    for (step,) in steps(compose(words, "reproduce")):
        assert step.command.startswith("python -m experiments.status experiment=")
        asked = study(compose(step.words))
        assert (asked.suite.name, asked.seeds, asked.engine.n_jobs) == ("embedded", 3, 3)
        assert step.page == Path("a/b") / asked.name / "embedded" / "report.html"


@pytest.mark.parametrize("value", [3, 2.5, True, None, "wine", "a b", "it's", ["x", {"a": [1, None], "b": "c d"}]])
def test_values_come_through_the_command_line_as_they_are(value):
    assert compose([f"+value={override(value)}"]).value == value


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verbs=[runn]"], "verbs=runn: must be one of prepare, run, report, status"),
        (["verbs=run"], "verbs=run: must be a list"),
        (["experiments=[]"], "experiments=.*must be a list"),
        (["experiments=[{horizon:5}]"], "has no experiment"),
        (["experiments=[{experiment:unbounded,learners:[ent]}]"], "did you mean emt"),
        (["suite.datasets=[wine]"], "not a change of embedded"),
        (["seeds=0"], "seeds=0"),
        (["n_jobs=0"], "engine.n_jobs=0"),
        (["+report.baselin=emt"], "no key 'baselin'; did you mean baseline"),
    ],
)
def test_what_is_wrong_is_refused_before_the_first_command(words, message):
    with pytest.raises(ConfigError, match=message):
        steps(compose(words, "reproduce"))


def test_reports_of_the_paper_have_its_groups_of_datasets(monkeypatch, tmp_path, capsys):
    def own():
        return {(step.verb, step.own) for group in steps(compose(["study=paper"], "reproduce")) for step in group}

    groups = ("report.groups=results/fidelity.csv",)
    monkeypatch.chdir(ROOT)
    assert own() == {("prepare", ()), ("run", ()), ("report", groups)}
    step = Step("report", ("experiment=unbounded",), own=groups)
    assert step.command.endswith("experiment=unbounded report.groups=results/fidelity.csv")
    monkeypatch.chdir(tmp_path)  # a wheel has no results
    assert own() == {("prepare", ()), ("run", ()), ("report", ())}
    assert capsys.readouterr().err == "there is no results/fidelity.csv here: reports have no groups of datasets\n"


def test_a_misspelt_word_is_one_line(tmp_path):
    process = start(tmp_path, "sedes=3")
    _, errors = process.communicate(timeout=100)
    assert (process.returncode, errors) == (2, "error: there is no key 'sedes'; did you mean seeds?\n")


def test_all_verbs_in_a_row_leave_reports(tmp_path):
    experiments = f"experiments=[{tiny()},{tiny('ablation')}]"
    process = start(tmp_path, experiments, "seeds=2")
    output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    printed = [line for line in output.splitlines() if line.startswith("python -m ")]
    modules = ["experiments.prepare", *["experiments.run", "analysis.report"] * 2]
    assert [shlex.split(line)[2] for line in printed] == modules
    told = output.split("beside them:\n")[1].split()
    assert told == [f"{tmp_path}/results/{name}/embedded/report.html" for name in ("unbounded", "ablation")]
    for path in told:
        assert "4 of 4 runs are done" in Path(path).read_text()
        assert "4 of 4 runs are done" in Path(path).with_name("summary.md").read_text()
    assert "4 runs are done already in other studies" in errors  # the second experiment has the first one's runs


def give(monkeypatch, statuses, *verbs):
    """Reproduce a list of steps whose commands end with these statuses; return which were given, and the result."""
    given = []
    monkeypatch.setattr("experiments.reproduce._give", lambda step: given.append(step.verb) or statuses[step.verb])
    groups = [[Step("prepare", ())], [Step(verb, (), Path("report.html")) for verb in verbs], [Step("status", ())]]
    return reproduce(groups), given


@pytest.mark.parametrize(
    ("changes", "status", "given"),
    [
        ({}, 0, ["prepare", "run", "report", "status"]),
        ({"prepare": 1}, 0, ["prepare", "run", "report", "status"]),  # some datasets cannot be had
        ({"run": 1}, 1, ["prepare", "run", "report", "status"]),  # some runs failed, which the report shows
        ({"run": 2}, 2, ["prepare", "run", "status"]),  # refused: no report of it, but the other experiments
        ({"report": -9}, 2, ["prepare", "run", "report", "status"]),
    ],
)
def test_the_exit_status_is_honest(monkeypatch, capsys, changes, status, given):
    statuses = dict.fromkeys(("prepare", "run", "report", "status"), 0) | changes
    assert give(monkeypatch, statuses, "run", "report") == (status, given)
    assert ("report.html" in capsys.readouterr().out) == (statuses["report"] == 0 and "report" in given)


def test_a_preparation_alone_fails_with_its_datasets(monkeypatch):
    monkeypatch.setattr("experiments.reproduce._give", lambda step: 1)
    assert reproduce([[Step("prepare", ())]]) == 1


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM"])
def test_stopped_it_says_how_to_go_on_and_goes_on(tmp_path, how):
    words = [f"experiments=[{tiny()},{tiny('ablation')}]", "n_jobs=2", "verbs=[run]"]
    folder = tmp_path / "results" / "unbounded" / "embedded"
    process = start(tmp_path, *words, "seeds=400", delay=0.3)
    while not len(store.read(folder, set_aside=False)):
        assert process.poll() is None
        time.sleep(0.2)
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.terminate()
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "To go on: python -m experiments.run" in errors
    assert f"To go on: python -m experiments.reproduce results={tmp_path}/results 'experiments=[" in errors
    assert "experiment=ablation" not in output
    n_done = len(store.read(folder))
    process = start(tmp_path, *words, f"seeds={n_done}")
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert len(store.read(folder)) >= 2 * n_done
    assert len(store.read(tmp_path / "results" / "ablation" / "embedded")) == 2 * n_done
