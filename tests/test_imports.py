"""Which package may know which: emt knows neither of the others, and experiments does not know analysis."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_NOT_KNOW = {"emt": {"experiments", "analysis"}, "experiments": {"analysis"}, "analysis": set()}


def imported(path: Path) -> set[str]:
    """The top-level packages that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", MAY_NOT_KNOW)
def test_packages_import_only_what_is_below_them(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for file in files:
        assert not imported(file) & MAY_NOT_KNOW[package], file
        assert not imported(file) & {"tests", "benchmarks"}, file


def test_vowpal_wabbit_is_loaded_when_a_learner_on_it_is_made():
    code = """
import sys, emt.learners
emt.learners.VWEMT
assert "vowpalwabbit" not in sys.modules
emt.learners.VWEMT()
assert "vowpalwabbit" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_importing_emt_is_quick_for_what_it_does_not_load():
    code = "import sys, emt; print(sorted({'vowpalwabbit', 'pandas', 'sklearn', 'openml'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_emt_loads_neither_the_runner_nor_its_tools():
    code = """
import pkgutil, importlib, sys, emt
for module in pkgutil.walk_packages(emt.__path__, "emt."):
    importlib.import_module(module.name)
print(sorted({name.split(".")[0] for name in sys.modules} & {"experiments", "analysis", "hydra", "matplotlib", "dask"}))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
