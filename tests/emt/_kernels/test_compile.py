"""The cache on disk: found by later processes, repaired where it is broken, renewed where a callee changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

CODE = """
import numpy as np
from emt._kernels.explore import epsilon_greedy
p = np.zeros(3)
epsilon_greedy(np.array([0.0, 1.0, 0.0]), 0.3, p)
print(p.round(3).tolist(), sum(epsilon_greedy.stats.cache_hits.values()))
"""


def run(code, cache, path=ROOT):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def files(cache):
    return [file for file in cache.rglob("*") if file.is_file()]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    assert run(CODE, cache) == "[0.1, 0.8, 0.1] 0"
    assert {file.suffix for file in files(cache)} == {".nbi", ".nbc"}
    return cache


@pytest.fixture
def cache(filled, tmp_path):
    return shutil.copytree(filled, tmp_path / "cache")


def test_a_later_process_loads_what_an_earlier_one_compiled(cache):
    assert run(CODE, cache) == "[0.1, 0.8, 0.1] 1"


@pytest.mark.parametrize(("suffix", "damage"), [(".nbi", "truncated"), (".nbc", "truncated"), (".nbc", "garbage")])
def test_a_broken_cache_repairs_itself(cache, suffix, damage):
    for file in files(cache):
        if file.suffix == suffix:
            whole = file.read_bytes()
            broken = {"truncated": whole[: len(whole) // 2], "garbage": b"\x80garbage" * 100}
            file.write_bytes(broken[damage])
    assert run(CODE, cache) == "[0.1, 0.8, 0.1] 0"
    assert run(CODE, cache) == "[0.1, 0.8, 0.1] 1"


def test_a_change_of_a_callee_in_another_file_is_noticed(tmp_path):
    shutil.copytree(ROOT / "emt", tmp_path / "emt", ignore=shutil.ignore_patterns("__pycache__"))
    kernels = tmp_path / "emt" / "_kernels"
    (kernels / "caller.py").write_text(
        "from emt._kernels.callee import callee\nfrom emt._kernels.compile import kernel\n\n\n"
        "@kernel\ndef caller(x):\n    return callee(x)\n"
    )
    code = "from emt._kernels.caller import caller; print(caller(1.0), sum(caller.stats.cache_hits.values()))"
    said = []
    for number in (10, 10, 20):
        (kernels / "callee.py").write_text(
            f"from emt._kernels.compile import inner\n\n\n@inner\ndef callee(x):\n    return x + {number}\n"
        )
        said.append(run(code, tmp_path / "cache", tmp_path))
    assert said == ["11.0 0", "11.0 1", "21.0 0"]


TWO_KERNELS = """
import numpy as np
from emt._kernels.explore import epsilon_greedy, sample
p = np.zeros(3)
epsilon_greedy(np.array([0.0, 1.0, 0.0]), 0.3, p)
print(sample(p, 0.5))
"""


def test_who_waits_for_the_compiler_is_told_so_once_and_nobody_else(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", TWO_KERNELS]
    first, second = (
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True) for _ in range(2)
    )
    assert first.stdout == second.stdout == "1\n"
    (line,) = first.stderr.splitlines()
    assert line.startswith("emt: compiling, once")
    assert second.stderr == ""


def test_inner_functions_refuse_to_be_called_from_python():
    code = """
import numpy as np
from emt._kernels.explore import epsilon_greedy, share_epsilon
arguments = np.array([0.0, 1.0]), 0.1, np.zeros(2)
for call in (0, 1):  # before it is compiled, and after
    try:
        share_epsilon(*arguments)
        print("called")
    except TypeError as error:
        print(error)
    epsilon_greedy(*arguments)
"""
    message = "emt._kernels.explore.share_epsilon is called by kernels only; call it from one"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [message] * 2


PRIVATE_PARTS = {
    "libraries": "import numba.core.codegen as c; del c.CPUCodeLibrary",
    "reference counts": "import numba.core.cpu as c; del c.CPUTargetOptions; c.CPUTargetOptions = object",
    "cache": "import numba.core.dispatcher as d; d.Dispatcher.enable_caching = lambda self: None",
}


@pytest.mark.parametrize("part", PRIVATE_PARTS)
def test_without_a_private_part_of_numba_the_kernels_work_all_the_same(part, cache):
    """Slower to compile or to run, or with a warning."""
    code = f"import numba; {PRIVATE_PARTS[part]}\n{CODE.replace('print(', 'print(epsilon_greedy is not None, ')}"
    done = subprocess.run(
        [sys.executable, "-c", code.replace(", sum(epsilon_greedy.stats.cache_hits.values())", "")],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True [0.1, 0.8, 0.1]"
    assert ("empty NUMBA_CACHE_DIR" in done.stderr) == (part == "cache")
