import pytest

from analysis.datasets import UNKNOWN, dataset_table, read_groups
from emt.data import load
from experiments.config import ConfigError
from experiments.plan import Source


def source(name, reference=None, **changes):
    known = {"n_rows": 100, "fingerprint": "another"} | changes
    return Source(reference or name, name, known["n_rows"], known["fingerprint"])


def real(name):
    return Source(name, name, len(load(name)), load(name).fingerprint)


def test_what_the_store_has_is_described_and_the_rest_is_not_known():
    names = ("digits", "tic-tac-toe", "iris")
    sources = {name: real(name) for name in names} | {"task-9": source("task-9", 9), "wine": source("wine")}
    table = dataset_table(sources, 200, read_groups(None)).set_index("dataset")
    assert table["columns"].tolist() == ["numeric", "nominal", "numeric", UNKNOWN, UNKNOWN]
    assert table["actions"].tolist()[:3] == ["10 classes or more", "2 classes", "3 to 9 classes"]
    assert table["steps"].tolist() == [200, 200, 150, 100, 100]
    assert table["rows"].tolist()[0] == 1797
    assert table["numeric"].isna().tolist() == [False, False, False, True, True]  # wine is not what it was


def test_names_that_begin_alike_are_a_family():
    sources = {name: source(name) for name in ("BNG(a)", "BNG(b)", "BNG(c)", "kr-vs-kp", "kr-vs-k")}
    table = dataset_table(sources, 200, read_groups(None))
    assert table["family"].tolist() == ["BNG", "BNG", "BNG", "other", "other"]


def test_a_file_gives_groups_and_names(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("dataset,group,name\ntask-1,original,kr-vs-kp\n")
    table = dataset_table({name: source(name) for name in ("task-1", "task-2")}, 200, read_groups(path))
    assert table[["name", "group"]].to_numpy().tolist() == [["kr-vs-kp", "original"], ["task-2", UNKNOWN]]


def test_a_file_that_gives_no_groups_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"no\.csv cannot be read"):
        read_groups(tmp_path / "no.csv")
    (tmp_path / "other.csv").write_text("task,kind\n")
    with pytest.raises(ConfigError, match="must have the columns dataset and group, not task, kind"):
        read_groups(tmp_path / "other.csv")


def test_a_group_that_cannot_name_a_file_is_refused(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("dataset,group\ntask-1,../../elsewhere\n")
    with pytest.raises(ConfigError, match=r"report\.groups: '\.\./\.\./elsewhere' must be a name"):
        read_groups(path)
