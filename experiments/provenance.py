"""What made a result: the code, the packages and the machine."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba

__all__ = ["cpu", "origins_of", "provenance"]

CLONE = Path(__file__).parent.parent
PACKAGES = ("emt", "numpy", "numba", "llvmlite", "scipy", "pandas", "pyarrow", "joblib", "vowpalwabbit", "hydra-core")
ORIGIN = ("git", "git_dirty", "python", "packages", "cpu", "platform")
CODE = ("emt", "experiments", "conf", "pyproject.toml")  # what decides a reward


def origins_of(made_by: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the code, packages and machines that made something, each once, in their order.

    Parameters
    ----------
    made_by : iterable of dict
        As `provenance` returns it, or with the origins of what was put together.

    Examples
    --------
    >>> origins_of([{"git": "a", "time": "noon"}, {"git": "b", "origins": [{"git": "a"}, {"git": "c"}]}])
    [{'git': 'a'}, {'git': 'c'}]
    """
    found: dict[str, dict[str, Any]] = {}
    for one in made_by:
        for origin in one.get("origins", [one]):
            known = {key: origin[key] for key in ORIGIN if key in origin}
            if known:
                found.setdefault(json.dumps(known, sort_keys=True), known)
    return list(found.values())


def provenance() -> dict[str, Any]:
    """Return the commit of the code and whether it was changed, packages, the CPU, the command and the time.

    The commit is the last one that changed what decides a reward (`CODE`): a commit of a page or of a study's results
    in the middle of a long study is not another origin.

    Examples
    --------
    >>> sorted(provenance())
    ['command', 'cpu', 'git', 'git_dirty', 'packages', 'platform', 'python', 'time']
    """
    return {
        "git": _git("log", "-1", "--format=%H", "--", *CODE),
        "git_dirty": None
        if (changes := _git("status", "--porcelain", "--untracked-files=no", "--", *CODE)) is None
        else bool(changes),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "cpu": cpu(),
        "platform": platform.platform(),
        "command": sys.argv[1:],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _git(*arguments: str) -> str | None:
    if not (CLONE / ".git").exists():  # installed: a repository around it is another one
        return None
    try:
        done = subprocess.run(["git", *arguments], cwd=CLONE, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def cpu() -> str:
    """Return which kind of CPU this process runs on: its name, and the kind that kernels are compiled for."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    kind = getattr(numba.config, "CPU_NAME", None) or llvmlite.binding.get_host_cpu_name()
    return f"{next(names, platform.processor() or platform.machine())}, {kind}"
