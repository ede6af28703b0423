"""Files that someone made to break the reader: none crashes or hangs the interpreter, whatever is in them."""

import json

import numpy as np
import pytest
from crafted import attack, craft, use, use_all
from fuzz import random_tree

from emt import EigenMemoryTree
from emt.array_files import load_arrays, save_arrays


@pytest.mark.parametrize("n_files", [100, pytest.param(5000, marks=pytest.mark.slow)])
def test_no_crafted_file_crashes_or_hangs_the_interpreter(n_files, tmp_path):
    outcomes = attack(n_files, seed=n_files, folder=tmp_path)
    assert set(outcomes) == {"refused", "used"}, json.dumps(outcomes, indent=1)
    assert outcomes["refused"] > n_files / 2
    assert outcomes["used"] > n_files / 20, "some changes are to values that might be"


def test_every_field_is_crafted(tmp_path):
    rng = np.random.default_rng(0)
    state = EigenMemoryTree(2).__getstate__()
    changed = set().union(*(craft(rng, tmp_path / "crafted") for _ in range(300)))
    assert changed == set(state["arrays"]) | set(state["options"])


def test_a_child_that_fails_is_noticed(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("sound", "later"):
        random_tree(rng).save(tmp_path / name)
    about, arrays = load_arrays(tmp_path / "sound")
    (tmp_path / "folder").mkdir()  # a file that cannot be read is no crafted file: an error, not a refusal
    outcomes = use_all([tmp_path / "sound", tmp_path / "folder", tmp_path / "later"])
    assert outcomes.pop("used") == 2
    (broke,) = outcomes
    assert broke.startswith("broke: folder, status 1")
    save_arrays(tmp_path / "wild", about, arrays | {"size": arrays["size"] + 2**40})
    assert use(tmp_path / "wild") == "refused"
