import json

import numpy as np
import pytest
from coba_golden import DATASETS, GOLDEN, NAMES, coba_features

from analysis.metafeatures import FEATURES, feature_table, meta_features, of_environment
from emt import Environment
from emt.data import from_arrays, load


@pytest.mark.parametrize("name", DATASETS)
def test_agrees_with_coba(name):
    """Golden values: see coba_golden.py for the command that made them."""
    golden = json.loads(GOLDEN.read_text())[name]
    ours = of_environment(Environment(load(name), seed=0, horizon=4000))
    assert set(golden) == set(ours) == set(FEATURES) == set(NAMES)
    assert ours == pytest.approx(golden, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_the_golden_values_are_cobas(name):
    pytest.importorskip("coba")
    assert coba_features(name) == pytest.approx(json.loads(GOLDEN.read_text())[name], abs=1e-6)


@pytest.mark.parametrize("name", ["digits", "wine", "iris", "breast-cancer-diagnostic", "balance-scale"])
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_pymfe_where_it_defines_alike(name):
    complexity = pytest.importorskip("pymfe.complexity").MFEComplexity
    general = pytest.importorskip("pymfe.general").MFEGeneral
    information = pytest.importorskip("pymfe.info_theory").MFEInfoTheory
    statistical = pytest.importorskip("pymfe.statistical").MFEStatistical
    environment = Environment(load(name), seed=0, horizon=4000)
    values, labels = environment.numeric.astype(float), environment.labels
    ours, eigenvalues = meta_features(values, labels), statistical.ft_eigenvalues(values)
    assert ours["top_eigenvector_share"] == pytest.approx(eigenvalues.max() / eigenvalues.sum(), abs=1e-6)
    assert ours["eigenvectors_95"] == pytest.approx(complexity.ft_t4(values, random_state=0) * values.shape[1])
    assert ours["label_entropy"] == pytest.approx(
        information.ft_class_ent(labels) / np.log2(len(set(labels))), abs=1e-6
    )
    assert ours["binary_features"] == general.ft_nr_bin(values)


def test_levels_that_no_taken_row_has_count_as_columns():
    codes = np.arange(60) % 3
    rare = from_arrays(np.r_[codes, 3, 4][:, None], np.r_[codes, 0, 1] % 2, name="rare", categorical=[0])
    taken = Environment(rare, seed=0, horizon=10)
    features = of_environment(taken)
    assert features["nonzero_share"] == pytest.approx(1 / 5)
    full = np.eye(5)[taken.categorical[:, 0]]
    assert features == pytest.approx(meta_features(full, taken.labels), nan_ok=True)


@pytest.mark.filterwarnings("error")
def test_what_is_not_defined_is_nan_or_has_its_limit():
    constant = meta_features(np.ones((20, 2)), np.arange(20) % 2)
    assert np.isnan(constant["top_eigenvector_share"])
    assert np.isnan(constant["noise_to_signal"])
    assert (constant["fisher"], constant["mutual_information"]) == (1, 0)
    one_class = meta_features(np.random.default_rng(0).random((20, 2)), np.zeros(20, int))
    assert np.isnan(one_class["best_feature_overlap"])
    assert one_class["label_entropy"] == 0
    few = meta_features(np.random.default_rng(0).random((6, 2)), np.arange(6) % 3)
    assert np.isnan(few["naive_bayes_accuracy"])


def test_a_row_is_not_its_own_neighbour():
    values = np.repeat(np.arange(5.0), 2)[:, None]  # pairs of equal rows with different labels
    assert meta_features(values, np.tile([0, 1], 5))["one_nn_accuracy"] == 0


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("EMT_DATA", str(tmp_path))
    return tmp_path


def test_features_are_kept_and_belong_to_one_content(store):
    known = {"iris": load("iris").fingerprint}
    table, missing = feature_table(known, horizon=4000, n_jobs=1)
    assert missing == {}
    (path,) = store.glob("*.json")
    assert path.name == "iris.meta-4000.json"
    stored = json.loads(path.read_text())
    stored["features"]["fisher"] = 7.0
    path.write_text(json.dumps(stored))
    assert feature_table(known, horizon=4000, n_jobs=1)[0]["fisher"].item() == 7  # read, not computed
    stored["identity"][1] = "of other content"
    path.write_text(json.dumps(stored))
    assert feature_table(known, horizon=4000, n_jobs=1)[0].equals(table)
    path.write_text("{ half a fi")
    assert feature_table(known, horizon=4000, n_jobs=1)[0].equals(table)
    assert sorted(file.name for file in store.iterdir()) == [path.name]


def test_processes_give_the_same_table(store):
    names = {"iris": None, "wine": None, "monks-1-rule": None}
    alone = feature_table(names, horizon=100, n_jobs=1)[0]
    together = feature_table(names, horizon=100, n_jobs=2)[0]
    assert together.equals(alone)
    assert alone["dataset"].tolist() == list(names)


def test_missing_datasets_are_named_with_the_reason(store):
    table, missing = feature_table({"task-3": None, "iris": "another content", "wine": None}, horizon=100, n_jobs=1)
    assert table["dataset"].tolist() == ["wine"]
    assert "emt prepare" in missing["task-3"]
    assert "prepared anew" in missing["iris"]
