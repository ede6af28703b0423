from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
import yaml

from emt.data import DatasetError, from_arrays, load
from emt.data.embedded import EMBEDDED

CONF = Path(__file__).parents[3] / "conf" / "suite"

SHAPES = {  # rows, numeric columns, categorical columns, rows of each class (as OpenML states, where it has the set)
    "digits": (1797, 64, 0, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
    "wine": (178, 13, 0, [59, 71, 48]),
    "iris": (150, 4, 0, [50, 50, 50]),
    "breast-cancer-diagnostic": (569, 30, 0, [357, 212]),
    "tic-tac-toe": (958, 0, 9, [332, 626]),
    "balance-scale": (625, 4, 0, [49, 288, 288]),
    "monks-1-rule": (432, 0, 6, [216, 216]),
    "monks-2-rule": (432, 0, 6, [290, 142]),
    "monks-3-rule": (432, 0, 6, [204, 228]),
    "multiplexer-11": (2048, 0, 11, [1024, 1024]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_counts_and_class_distributions(name):
    dataset = load(name)
    n_rows, n_numeric, n_categorical, classes = SHAPES[name]
    assert dataset.numeric.shape == (n_rows, n_numeric)
    assert dataset.categorical.shape == (n_rows, n_categorical)
    assert np.bincount(dataset.labels).tolist() == classes
    assert dataset.facts["dropped_rows"] == {}


def test_the_suite_has_all_of_them_and_covers_the_kinds():
    suite = yaml.safe_load((CONF / "embedded.yaml").read_text())
    assert suite["datasets"] == list(EMBEDDED)
    datasets = [load(name) for name in suite["datasets"]]
    assert len(SHAPES) >= 10
    assert max(dataset.n_classes for dataset in datasets) >= 10
    assert any(dataset.numeric.shape[1] == 0 for dataset in datasets)
    assert any(dataset.n_classes == 2 for dataset in datasets)
    assert [dataset.name for dataset in datasets if len(dataset) >= 32_000] == ["synthetic-rbf-40000"]


@pytest.mark.parametrize("name", ["tic-tac-toe", "balance-scale", "monks-1-rule", "multiplexer-11"])
def test_enumerations_have_no_row_twice(name):
    dataset = load(name)
    rows = np.hstack([dataset.numeric, dataset.categorical])
    assert len(np.unique(rows, axis=0)) == len(dataset)


def test_tic_tac_toe_boards_can_be_reached():
    dataset = load("tic-tac-toe")  # levels in order: b, o, x
    crosses, noughts = (dataset.categorical == 2).sum(axis=1), (dataset.categorical == 1).sum(axis=1)
    assert set(crosses - noughts) == {0, 1}
    assert set(np.array(dataset.classes)[dataset.labels[crosses == noughts]]) == {"negative"}, "o made the last move"


def test_iris_is_the_set_of_uci_and_openml():
    ours, fisher = load("iris"), sklearn.datasets.load_iris().data.astype(np.float32)
    assert np.flatnonzero((ours.numeric != fisher).any(axis=1)).tolist() == [34, 37]
    np.testing.assert_allclose(ours.numeric.mean(axis=0), [5.8433, 3.054, 3.7587, 1.1987], atol=1e-3)


def test_the_synthetic_stream_is_the_same_every_time_and_can_be_learned():
    first, second = (EMBEDDED["synthetic-rbf-40000"]("synthetic-rbf-40000") for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first.numeric.shape == (40_000, 10)
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(5).fit(first.numeric[:4000], first.labels[:4000])
    accuracy = model.score(first.numeric[4000:5000], first.labels[4000:5000])
    assert accuracy > 1.5 * np.bincount(first.labels).max() / len(first)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("diigts", r"no dataset 'diigts'; did you mean digits"),
        ("zzz", "no dataset 'zzz'; there are balance-scale, "),
        ("../digits", r"no dataset '../digits'; did you mean digits"),
        ("a\0b", "no dataset"),
    ],
)
def test_an_unknown_name_is_told_what_there_is(store, name, message):
    with pytest.raises(DatasetError, match=message):
        load(name)


def test_the_library_takes_a_users_arrays():
    bunch = sklearn.datasets.load_wine()
    assert len(from_arrays(bunch.data, bunch.target, name="mine")) == 178
