from pathlib import Path

import numpy as np
import pytest
import yaml

from emt import Environment
from emt.data import DatasetError, load
from emt.data.nasty import NASTY

CONF = Path(__file__).parents[3] / "conf" / "suite"

REFUSED = {
    "nasty-one-class": "target 'y' has one class only, 'yes'",
    "nasty-all-missing-column": "every row has a missing or infinite value .column 'x' in 60 of 60 rows",
    "nasty-single-row": "target 'y' has one class only, 'no', in 1 usable row",
    "nasty-duplicate-target": "2 columns are called 'y'",
    "nasty-every-row-drops": "column 'x' in 30, 'z' in 30 of 60 rows",
}
SHAPES = {  # rows, numeric columns, levels of the categorical columns, classes
    "nasty-constant-column": (60, 2, [3], 2),
    "nasty-1000-classes": (3000, 1, [], 1000),
    "nasty-infinities": (58, 2, [3], 2),
    "nasty-duplicate-names": (60, 2, [3], 2),
    "nasty-unicode-levels": (60, 2, [7], 2),
    "nasty-missing-target": (45, 2, [3], 2),
    "nasty-integer-nominals": (60, 2, [3, 4], 2),
    "nasty-sparse": (60, 20, [], 2),
    "nasty-rare-level": (60, 2, [2], 2),
}


def test_the_suite_lists_them_all_and_so_do_the_tests():
    assert yaml.safe_load((CONF / "nasty.yaml").read_text())["datasets"] == list(NASTY)
    assert set(NASTY) == {*REFUSED, *SHAPES}


@pytest.mark.parametrize("name", REFUSED)
def test_a_set_that_cannot_be_used_is_refused_with_what_is_wrong(name):
    with pytest.raises(DatasetError, match=f"{name}: .*{REFUSED[name]}"):
        load(name)


@pytest.mark.parametrize("name", SHAPES)
def test_a_set_that_can_be_used_is_right(name):
    dataset = load(name)
    n_rows, n_numeric, n_levels, n_classes = SHAPES[name]
    assert dataset.numeric.shape == (n_rows, n_numeric)
    assert dataset.n_levels.tolist() == n_levels
    assert dataset.n_classes == n_classes
    assert np.isfinite(dataset.numeric).all()
    for codes, levels in zip(dataset.categorical.T, dataset.n_levels, strict=True):
        assert set(codes) == set(range(levels)), "every level occurs"
    assert set(dataset.labels) == set(range(n_classes))
    environment = Environment(dataset, seed=0)
    assert np.isfinite(environment.numeric).all()


def test_values_survive():
    assert (load("nasty-constant-column").numeric[:, 0] == 3.25).all()
    assert load("nasty-infinities").facts["dropped_rows"] == {"infinite": 2}
    assert load("nasty-missing-target").facts["dropped_rows"] == {"missing": 15}
    assert load("nasty-duplicate-names").numeric_names == ("x", "x")
    assert np.bincount(load("nasty-rare-level").categorical[:, 0]).tolist() == [1, 59]
    assert np.count_nonzero(load("nasty-sparse").numeric) == 60
    assert load("nasty-integer-nominals").categorical[:8, 1].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
