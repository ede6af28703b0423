"""What is declared is what is imported; the wheel holds the library and the command; the core needs numpy and numba."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import emt

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = {"numpy", "numba", "llvmlite"}

# Which extras a file may import from, beside the core: the first pattern that fits.
ROOMS = {
    "emt/checks.py": ["study"],  # joblib, where there is
    "emt/data/dataset.py": [],
    "emt/data/": ["data"],
    "emt/learners/vw/": ["vw"],
    "emt/sklearn.py": ["sklearn"],
    "emt/river.py": ["river"],
    "emt/coba.py": ["coba"],
    "emt/": [],
    "experiments/command.py": [],
    "experiments/verbs.py": [],
    "experiments/cluster.py": ["dask"],
    "experiments/": ["study"],
    "analysis/": ["study"],
    "benchmarks/bench_memory.py": ["bench-memory"],
    "benchmarks/": ["bench"],
    "docs/": ["docs"],
    "tests/": ["dev"],
}
TYPING_ONLY = {"pandas-stubs", "types-tqdm"}
NOT_IMPORTED = {  # and why they are declared
    "hatchling": "run as a command",
    "hnswlib": "imported by a benchmark, and not a part of dev",
    "mypy": "run as a command",
    "ruff": "run as a command",
    "mkdocs-material": "the theme of mkdocs.yml",
    "mkdocstrings": "a plugin of mkdocs.yml",
    "ipykernel": "what runs the notebook",
    "pytest-xdist": "pytest -n",
    **dict.fromkeys(TYPING_ONLY, "read by mypy"),
}


def distributions(extras):
    """The distributions that the core and some extras declare."""
    found = set()
    for requirement in [*PROJECT["dependencies"], *(r for e in extras for r in PROJECT["optional-dependencies"][e])]:
        name, more = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()
        if name == "emt":
            found |= distributions(more.split(","))
        else:
            found.add(name.lower().replace("_", "-"))
    return found


def imports(path):
    """The packages of others that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "importorskip":
            found.add(node.args[0].value)
    ours = {path.stem for path in (ROOT / "tests").rglob("*.py")} | {"emt", "experiments", "analysis", "benchmarks"}
    return {name.split(".")[0] for name in found} - set(sys.stdlib_module_names) - ours


def room_of(path):
    return next(room for room in ROOMS if path.relative_to(ROOT).as_posix().startswith(room))


def files():
    folders = ("emt", "experiments", "analysis", "benchmarks", "docs", "tests")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def test_one_version_everywhere():
    assert PROJECT["version"] == emt.__version__
    assert f"version: {emt.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {emt.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_core_needs_numpy_and_numba_alone():
    assert distributions([]) == CORE


def test_everything_that_is_imported_is_declared():
    owners = importlib.metadata.packages_distributions()
    undeclared = set()
    for path in files():
        allowed = distributions(ROOMS[room_of(path)])
        for package in imports(path):
            names = {name.lower().replace("_", "-") for name in owners.get(package, [package])}
            if not names & allowed:
                undeclared.add((path.relative_to(ROOT).as_posix(), package))
    assert not undeclared


def test_everything_that_is_declared_is_imported():
    owners = importlib.metadata.packages_distributions()
    used = {
        name.lower().replace("_", "-") for p in files() for package in imports(p) for name in owners.get(package, [])
    }
    assert distributions(PROJECT["optional-dependencies"]) - used - set(NOT_IMPORTED) == set()


def bounds(path):
    return dict(line.split("==") for line in path.read_text().splitlines() if not line.startswith("#"))


def test_the_lowest_versions_that_ci_installs_are_the_lower_bounds():
    declared = [*PROJECT["dependencies"]]
    declared += [one for extra in ("data", "vw", "study", "dask") for one in PROJECT["optional-dependencies"][extra]]
    lower = dict(found.groups() for one in declared if (found := re.match(r"([\w.-]+)>=([\d.]+)", one)))
    assert bounds(ROOT / "constraints" / "lowest.txt") == lower
    assert "constraints/lowest.txt" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_the_versions_of_the_results_are_recorded_for_every_dependency_of_a_study():
    assert distributions(["study"]) <= set(bounds(ROOT / "constraints" / "results.txt"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def core(wheel, tmp_path_factory):
    """The Python of an environment with the wheel, numpy and numba, and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    venv.create(folder, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    zipfile.ZipFile(wheel).extractall(site)
    for name in CORE:
        for file in importlib.metadata.distribution(name).files:
            top = file.parts[0]
            if top != ".." and not (site / top).exists():  # its folder, or a module of its own
                (site / top).symlink_to(
                    Path(file.locate()).parents[len(file.parts) - 2] if len(file.parts) > 1 else file.locate()
                )
    return folder / "bin" / "python"


def run(*words, cwd, **environment):
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, env={**kept, **environment})
    return done.returncode, done.stdout, done.stderr


def test_the_wheel_holds_the_library_and_the_studies_and_no_tests(wheel):
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    info = wheel.name.split("-py3")[0] + ".dist-info"
    assert {name.split("/")[0] for name in names} == {"emt", info}
    assert {"emt/py.typed", "emt/_study/experiments/run.py", "emt/_study/conf/config.yaml"} <= set(names)
    assert "emt/_study/analysis/template/report.html" in names
    assert {name.rpartition(".")[2] for name in names if not name.startswith(info)} <= {
        "py", "typed", "yaml", "html", "css", "js"
    }  # fmt: skip
    assert not [name for name in names if "test" in name or "__pycache__" in name]
    assert sum(entry.file_size for entry in archive.infolist()) < 2_000_000
    about = archive.read(f"{info}/METADATA").decode()
    assert "Project-URL: Paper, https://arxiv.org/abs/2210.14077\n" in about
    assert "Classifier: Typing :: Typed\n" in about
    assert "License-Expression: BSD-3-Clause\n" in about
    needed = [line for line in about.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert {re.match(r"Requires-Dist: ([\w-]+)", line)[1] for line in needed} == CORE
    assert "emt = emt.command:main" in archive.read(f"{info}/entry_points.txt").decode()


CORE_WORKS = """
import sys, tempfile, warnings
from pathlib import Path
import numpy as np
import emt
from emt import EigenMemoryTree, Environment, Space, Context, evaluate
from emt.data import Dataset
from emt.learners import Parametric, VWCMT

assert "_study" not in str(sys.path)
tree = EigenMemoryTree(n_features=2)
tree.learn([0.1, 0.7], 1.0)
assert tree.query([0.1, 0.7]) == 1.0
rng = np.random.default_rng(0)
X = rng.random((60, 2), dtype=np.float32)
y = (X[:, 0] > 0.5).astype(np.int32)
none = np.zeros((60, 0), np.int32)
dataset = Dataset("mine", X, none, np.zeros(0, np.int32), y, ("no", "yes"), ("a", "b"), ())
rewards = evaluate(Parametric(), Environment(dataset, seed=0))
assert rewards.mean() > 0.5
learner = Parametric()
learner.start(Space(2, (), 2), seed=0)
with tempfile.TemporaryDirectory() as folder:
    learner.save(Path(folder, "learner"))
    Parametric.load(Path(folder, "learner"))

def refused(call):
    try:
        call()
    except ImportError as error:
        return str(error)
    sys.exit("this needs an extra")

def from_data():
    from emt.data import load

assert refused(from_data) == "emt.data.load: pandas is not installed: pip install 'emt[data]'", refused(from_data)
for name in ("sklearn", "river", "coba"):
    line = f"{name} is not installed: pip install 'emt[{name}]'"
    assert refused(lambda: __import__(f"emt.{name}")) == line, refused(lambda: __import__(f"emt.{name}"))
assert refused(VWCMT) == "vowpalwabbit is not installed: pip install 'emt[vw]'", refused(VWCMT)
present = {name.partition(".")[0] for name in sys.modules}
assert not present & {"pandas", "scipy", "sklearn", "joblib", "hydra", "vowpalwabbit", "matplotlib"}
"""


def test_the_core_works_with_numpy_and_numba_alone(core, tmp_path):
    status, out, error = run(core, "-c", CORE_WORKS, cwd=tmp_path)
    assert (status, out) == (0, ""), error


def test_the_command_says_in_one_line_which_extra_a_study_needs(core, tmp_path):
    status, out, _ = run(core, "-m", "emt", "--help", cwd=tmp_path)
    assert (status, "emt run experiment=unbounded" in out) == (0, True)
    for words in (["run", "seeds=1"], ["learners"], ["reproduce"], ["report", "--help"]):
        status, out, error = run(core, "-m", "emt", *words, cwd=tmp_path)
        assert (status, out) == (2, "")
        assert re.fullmatch(r"error: \w+ is not installed: pip install 'emt\[(study|data)\]'\n", error), error


LEARNER = """
import numpy as np
from emt.learners import Learner

class First(Learner):
    def start(self, space, seed): pass
    def predict(self, context, n_actions): return np.eye(n_actions)[0]
    def learn(self, context, action, reward, probability): pass
"""


def test_a_study_runs_and_is_reported_from_the_wheel_anywhere(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    here = tmp_path / "here"
    here.mkdir()
    (here / "experiments").mkdir()  # the user's own folder of that name is not in the way
    (here / "experiments" / "__init__.py").write_text("raise ImportError('another package')")
    (here / "mine.py").write_text(LEARNER)
    asked = ["learners=[{name:mine,_target_:mine.First}]", "suite.datasets=[iris]", "seeds=3", "horizon=20"]
    site = str(tmp_path / "site")
    for verb in ("run", "report"):
        status, _, error = run(sys.executable, "-m", "emt", verb, *asked, cwd=here, PYTHONPATH=site)
        assert status == 0, error
    assert "3 of 3 runs are done" in run(sys.executable, "-m", "emt", "run", *asked, cwd=here, PYTHONPATH=site)[2]
    manifest = (here / "results/unbounded/embedded/manifest.json").read_text()
    assert '"git": null' in manifest
    assert (here / "results/unbounded/embedded/report.html").exists()


@pytest.mark.slow
def test_pip_installs_the_wheel_with_numpy_and_numba_alone(wheel, tmp_path):
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    )
    installed = {line.split("==")[0] for line in listed.stdout.splitlines()}
    assert installed - {"pip", "setuptools"} == {"emt", *CORE}
    status, _, error = run(python, "-c", CORE_WORKS, cwd=tmp_path)
    assert status == 0, error
    assert run(tmp_path / "clean" / "bin" / "emt", "--version", cwd=tmp_path) == (0, f"emt {emt.__version__}\n", "")
