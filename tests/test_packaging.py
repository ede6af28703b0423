"""The wheel holds the library alone, and works without the repository."""

import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import emt

ROOT = Path(__file__).parent.parent
TRY = """
import emt, sys
from emt import EigenMemoryTree
assert "site-packages" in emt.__file__, emt.__file__
tree = EigenMemoryTree(n_features=2)
tree.learn([0.1, 0.7], 1.0)
assert tree.query([0.1, 0.7]) == 1.0
import emt.data, emt.learners, emt.checks
for name in ("experiments", "analysis"):
    try:
        __import__(name)
    except ImportError:
        continue
    sys.exit(f"{name} is in the wheel")
"""


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == emt.__version__
    assert f"version: {emt.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {emt.__version__} " in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(tmp_path):
    source = tmp_path / "source"  # a copy, for a build leaves files behind
    shutil.copytree(ROOT / "emt", source / "emt", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, source], check=True)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "emt/py.typed" in names
    inside = {name.split("/")[0] for name in names}
    assert inside == {"emt", wheel.name.split("-py3")[0] + ".dist-info"}
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    subprocess.run([python, "-c", TRY], check=True, cwd=tmp_path)
