import numpy as np
import pytest

from emt.data import DatasetError, from_arrays, load, save
from emt.data.load import names


@pytest.fixture
def mine():
    rng = np.random.default_rng(0)
    return from_arrays(rng.random((20, 3)), rng.integers(2, size=20), name="mine")


def test_a_saved_set_is_known_by_its_name(store, mine):
    assert "mine" not in names()
    assert save(mine).parent == store
    assert "mine" in names()
    assert load("mine").fingerprint == mine.fingerprint


def test_a_broken_file_is_named(store, mine):
    path = save(mine)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DatasetError, match=r"mine\.parquet is broken.*save it again"):
        load("mine")


@pytest.mark.parametrize("name", ["wine", "task-3", "", "../mine", "a/b", ".hidden"])
def test_names_that_are_taken_or_name_no_file_are_refused(store, mine, name):
    with pytest.raises(DatasetError, match="cannot be saved as"):
        save(from_arrays(mine.numeric, mine.labels, name=name))
    assert not list(store.glob("*.parquet"))
