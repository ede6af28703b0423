"""Every code block of the README is executed; studies are cut down to a few steps on two small sets."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.checks import plain
from experiments.cli import compose
from experiments.config import study
from experiments.reproduce import override, steps

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
PYTHON_BLOCKS = [text for language, text in BLOCKS if language == "python"]
SHELL_BLOCKS = [
    [line for line in text.splitlines() if shlex.split(line, comments=True)]
    for language, text in BLOCKS
    if language == "sh"
]
COMMANDS = [line for block in SHELL_BLOCKS for line in block]

# A `python` that runs the verbs on a tiny scale and everything else as it is, and a `sbatch` that runs a job at once.
PYTHON = f"""#!{sys.executable}
import os, sys
arguments = sys.argv[1:]
if arguments[0] == "-m" and arguments[1].startswith(("experiments.", "analysis.")):
    cuts = ["results=" + os.environ["TINY_RESULTS"], "min_rows=0"]
    cuts += [] if arguments[1].endswith("prepare") else ["seeds=1", "horizon=20"]
    cuts += ["engine=serial"] if arguments[1].endswith("run") and "engine" not in str(arguments) else []
    cuts += ["report.meta=false"] if arguments[1].endswith("report") else []
    cuts += [] if any("suite.datasets" in argument for argument in arguments) else ["suite.datasets=[iris,wine]"]
    arguments = [os.environ.get("TINY_DASK", a) if a.startswith("engine.address") else a for a in arguments] + cuts
os.execv({sys.executable!r}, [{sys.executable!r}, *arguments])
"""
SBATCH = """#!/bin/sh
[ "$1" = --array=1-100 ] && [ "$2" = --wrap ] && SLURM_ARRAY_TASK_ID=1 exec sh -c "$3"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with what the README takes for granted: a table of one's own, and the blocks that are files."""
    folder = tmp_path_factory.mktemp("readme")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 60), "plan": rng.choice(["free", "paid"], 60)})
    table.assign(churned=np.where(table["age"] > 50, "yes", "no")).to_csv(folder / "churn.csv", index=False)
    for text in PYTHON_BLOCKS:
        if text.startswith("# mine.py"):
            (folder / "mine.py").write_text(text)
    for name, text in {"python": PYTHON, "sbatch": SBATCH}.items():
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    return folder


@pytest.fixture
def environment(place, monkeypatch):
    """Let commands find all this, and nothing of a `make` that these tests may be run by."""
    for name in [name for name in os.environ if name.startswith(("MAKE", "MFLAGS", "HYDRA"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EMT_DATA", str(place / "store"))
    monkeypatch.setenv("TINY_RESULTS", str(place / "results"))
    monkeypatch.setenv("PATH", str(place / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", f"{place}{os.pathsep}{ROOT}")


@pytest.fixture
def blocks(place, environment, monkeypatch):
    """Execute the Python blocks in order, as a reader would."""
    monkeypatch.chdir(place)
    for text in PYTHON_BLOCKS:
        exec(compile(text, "README.md", "exec"), {"__name__": "readme"})
    monkeypatch.chdir(ROOT)


def shell(command):
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_readme_has_blocks_of_known_kinds():
    assert {language for language, _ in BLOCKS} == {"python", "sh", "bibtex"}
    assert len(PYTHON_BLOCKS) >= 3
    assert len(COMMANDS) >= 12


def test_python_blocks(capsys, blocks):
    from emt.data import load

    assert load("churn").n_classes == 2
    assert capsys.readouterr().out.count("EMT(") == 2


@pytest.mark.parametrize("block", [block for block in SHELL_BLOCKS if not block[0].startswith("make")])
def test_commands(block, blocks):
    for command in block:
        if "dask" not in command:
            shell(command)


def test_the_command_on_dask(blocks, monkeypatch):
    distributed = pytest.importorskip("distributed")
    [command] = [line for line in COMMANDS if "dask" in line]
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        monkeypatch.setenv("TINY_DASK", f"engine.address={cluster.scheduler_address}")
        shell(f"{command} 'learners=[emt,parametric]'")


def test_make_reproduce_leaves_a_summary_of_every_experiment(environment, place):
    assert "make reproduce" in {" ".join(shlex.split(line, comments=True)) for line in COMMANDS}
    *_, line = shell("make -n reproduce").splitlines()  # an installation may come first
    words = shlex.split(line)
    tiny = [
        (one if isinstance(one, dict) else {"experiment": one}) | {"horizon": 20, "suite.datasets": ["iris", "wine"]}
        for one in plain(compose((), "reproduce").experiments)
    ]
    words = [sys.executable, *words[1:], f"experiments={override(tiny)}", "seeds=1", f"results={place}/all"]
    told = shell(shlex.join(words)).split("beside them:\n")[1].split()
    assert told == [f"{place}/all/{name}/embedded/report.html" for name in ("unbounded", "ablation", "bounded")]
    for page in told:
        assert Path(page).with_name("summary.md").read_text().startswith("# ")


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("make")])
def test_make(command, environment):
    words = shlex.split(command, comments=True)
    assert words[1] in shell("make help").split()
    lines = shell(shlex.join([words[0], "-n", *words[1:]]))
    if words[1] == "test":
        assert '-m pytest -n 2 -m "not slow"' in lines
        return
    [overrides] = re.findall(r"\S*python -m experiments\.reproduce (.*)", lines)
    groups = steps(compose(shlex.split(overrides), "reproduce"))
    verbs = [step.verb for group in groups for step in group]
    assert verbs == (["status"] * 3 if words[1] == "status" else ["prepare", *["run", "report"] * 3])
    for step in [step for group in groups for step in group if step.verb != "prepare"]:
        asked = study(compose(step.words))
        if "SUITE=paper" in command:
            assert (asked.suite.name, asked.seeds) == ("paper", 5 if "SEEDS=5" in command else 50)
        else:
            assert (asked.suite.name, asked.seeds) == ("embedded", 5)
        assert asked.engine.n_jobs == (4 if "JOBS=4" in command else -1)
        assert asked.results == Path("out" if "RESULTS=out" in command else "results")


def test_other_suites_take_the_studies_of_the_paper(environment):
    assert "study=paper suite=nasty " in shell("make -n reproduce SUITE=nasty")


def test_jobs_are_the_workers_of_the_tests_too(environment):
    assert "-m pytest -n 7" in shell("make -n test JOBS=7")
    assert "-m pytest -n 7" in shell("make -n test-all JOBS=7")


def test_links_and_figures_are_there():
    links = re.findall(r"\]\(([^)]+)\)", README)
    missing = [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()]
    assert not missing
