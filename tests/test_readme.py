"""The README and every page of the documentation are executed, block by block from the top, as a reader would do it.

Studies are cut down to a few steps on two small sets.
"""

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
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
BLOCKS = {page.name: BLOCK.findall(page.read_text(encoding="utf8")) for page in PAGES}
KINDS = {"python", "sh", "bibtex", "text"}


def lines(text):
    return [line for line in text.splitlines() if shlex.split(line, comments=True)]


COMMANDS = [line for blocks in BLOCKS.values() for kind, text in blocks if kind == "sh" for line in lines(text)]
EXECUTED = [name for name, blocks in BLOCKS.items() if {"python", "sh"} & {kind for kind, _ in blocks}]

# A `python` and an `emt` that run the verbs on a tiny scale and all else as it is; a `sbatch` that runs a job at once.
TINY = f"""#!{sys.executable}
import os, sys
words = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "emt":
    words = ["-m", "emt", *words]
verb = words[2] if words[:2] == ["-m", "emt"] else words[1] if words[0] == "-m" else ""
verb = verb.split(".")[-1]
if verb in ("prepare", "run", "status", "report"):
    cuts = ["results=" + os.environ["TINY_RESULTS"], "min_rows=0"]
    cuts += [] if verb == "prepare" else ["seeds=1", "horizon=20"]
    cuts += ["engine=serial"] if verb == "run" and "engine" not in str(words) else []
    cuts += ["report.meta=false"] if verb == "report" else []
    cuts += [] if any("suite.datasets" in word for word in words) else ["suite.datasets=[iris,wine]"]
    words = [os.environ.get("TINY_DASK", word) if word.startswith("engine.address") else word for word in words] + cuts
os.execv({sys.executable!r}, [{sys.executable!r}, *words])
"""
SBATCH = """#!/bin/sh
[ "$1" = --array=1-100 ] && [ "$2" = --wrap ] && SLURM_ARRAY_TASK_ID=1 exec sh -c "$3"
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A folder with what the pages take for granted, and nothing of a `make` that these tests may be run by."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 60), "plan": rng.choice(["free", "paid"], 60)})
    table.assign(churned=np.where(table["age"] > 50, "yes", "no")).to_csv(tmp_path / "churn.csv", index=False)
    (tmp_path / "bin").mkdir()
    for name, text in {"python": TINY, "emt": TINY, "sbatch": SBATCH}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    for name in [name for name in os.environ if name.startswith(("MAKE", "MFLAGS", "HYDRA"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "store"))
    monkeypatch.setenv("TINY_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def shell(command, cwd=ROOT):
    done = subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", EXECUTED)
def test_every_block_of_a_page_runs(name, environment, monkeypatch):
    monkeypatch.chdir(environment)
    names = {"__name__": "page"}
    for number, (kind, text) in enumerate(BLOCKS[name]):
        if kind == "python" and (file := re.match(r"# (\w+\.py)\n", text)):
            (environment / file[1]).write_text(text)
        if kind == "python":
            exec(compile(text, f"{name}, block {number}", "exec"), names)
        for command in lines(text) if kind == "sh" else ():
            if not command.startswith("make") and "engine=dask" not in command:
                shell(command, cwd=environment)


def test_pages_have_blocks_of_known_kinds():
    for name, blocks in BLOCKS.items():
        assert {kind for kind, _ in blocks} <= KINDS, name
    assert len(COMMANDS) >= 20
    assert {"README.md", "library.md", "data.md", "learner.md", "studies.md", "log.md"} <= set(EXECUTED)


def test_the_command_on_dask(environment, monkeypatch):
    distributed = pytest.importorskip("distributed")
    [command] = [line for line in COMMANDS if "dask" in line]
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        monkeypatch.setenv("TINY_DASK", f"engine.address={cluster.scheduler_address}")
        shell(f"{command} 'learners=[emt,parametric]'", cwd=environment)


def test_make_reproduce_leaves_a_summary_of_every_experiment(environment):
    assert "make reproduce" in {" ".join(shlex.split(line, comments=True)) for line in COMMANDS}
    *_, line = shell("make -n reproduce").splitlines()  # an installation may come first
    words = shlex.split(line)
    tiny = [
        (one if isinstance(one, dict) else {"experiment": one})
        | {"horizon": 20, "min_rows": 0, "suite.datasets": ["iris", "wine"]}
        for one in plain(compose((), "reproduce").experiments)
    ]
    words = [sys.executable, *words[1:], f"experiments={override(tiny)}", "seeds=1", f"results={environment}/all"]
    told = shell(shlex.join(words)).split("beside them:\n")[1].split()
    assert told == [f"{environment}/all/{one['experiment']}/embedded/report.html" for one in tiny]
    for page in told:
        assert Path(page).with_name("summary.md").read_text().startswith("# ")


@pytest.mark.parametrize("command", sorted({line for line in COMMANDS if line.startswith("make")}))
def test_make(command, environment):
    words = shlex.split(command, comments=True)
    assert words[1] in shell("make help").split()
    printed = shell(shlex.join([words[0], "-n", *words[1:]]))
    if words[1] == "test":
        assert '-m pytest -n 2 -m "not slow"' in printed
        return
    if "CONSTRAINTS" in command:
        assert re.search(r"pip install .* -c constraints/results.txt -e '.\[study\]'", printed)
    [overrides] = re.findall(r"\S*python -m experiments\.reproduce (.*)", printed)
    asked_for = compose(shlex.split(overrides), "reproduce")
    groups, n = steps(asked_for), len(asked_for.experiments)
    verbs = [step.verb for group in groups for step in group]
    assert verbs == (["status"] * n if words[1] == "status" else ["prepare", *["run", "report"] * n])
    paper = "SUITE=paper" in command
    assert (asked_for.suite.name, asked_for.seeds) == (
        ("paper", 5 if "SEEDS=5" in command else 50) if paper else ("embedded", 5)
    )
    for step in [step for group in groups for step in group if step.verb != "prepare"]:
        asked = study(compose(step.words))
        assert asked.engine.n_jobs == (4 if "JOBS=4" in command else -1)
        assert asked.results == Path("out" if "RESULTS=out" in command else "results")


def test_other_suites_take_the_studies_of_the_paper(environment):
    assert "study=paper suite=nasty " in shell("make -n reproduce SUITE=nasty")


def test_jobs_are_the_workers_of_the_tests_too(environment):
    assert "-m pytest -n 7" in shell("make -n test JOBS=7")
    assert "-m pytest -n 7" in shell("make -n test-all JOBS=7")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_figures_are_there(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf8"))
    missing = [link for link in links if not re.match(r"https?://", link) and not (page.parent / link).exists()]
    assert not missing
