"""The real `openml` client against a local server that speaks OpenML's API."""

import errno
import hashlib
import io
import re
from pathlib import Path

import numpy as np
import openml
import pandas as pd
import pytest
from openml_server import Data, dense_arff, simple

from emt.data import DatasetError, openml_tasks
from emt.data.openml_tasks import MAX_ROWS, fetch


def parquet(frame: pd.DataFrame, **options) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, **options)
    return buffer.getvalue()


def table(shift: float = 0.0) -> pd.DataFrame:
    return pd.DataFrame({"x": np.arange(40.0) + shift, "letter": ["a", "b"] * 20, "class": ["no", "yes"] * 20})


def data_folder(number: int) -> Path:
    return Path(openml.config.get_cache_directory()) / "datasets" / str(number)


def task_file(number: int) -> Path:
    return data_folder(number).parents[1] / "tasks" / str(number) / "task.xml"


def test_a_task_becomes_a_dataset_with_its_facts(server):
    server.data[7] = simple()
    dataset = fetch(7)
    assert dataset.name == "task-7"
    assert dataset.numeric_names == ("x",)
    assert dataset.categorical_names == ("letter",)
    assert dataset.classes == ("no", "yes")
    np.testing.assert_array_equal(dataset.numeric[:, 0], np.arange(40) * 0.25)
    np.testing.assert_array_equal(dataset.categorical[:, 0], np.arange(40) % 3)
    np.testing.assert_array_equal(dataset.labels, np.arange(40) % 5 >= 3)
    facts = dataset.facts
    assert (facts["name"], facts["task"], facts["data_id"], facts["version"]) == ("made-7", 7, 7, 3)
    assert (facts["rows"], facts["numeric"], facts["categorical"], facts["classes"]) == (40, 1, 1, 2)
    assert facts["target"] == "class", "the task's target, not the data's default"


def test_what_the_cache_has_needs_no_network(server):
    server.data[7] = simple()
    first = fetch(7)
    asked = len(server.requests)
    assert fetch(7).fingerprint == first.fingerprint
    assert len(server.requests) == asked


def test_ignored_identifier_and_text_columns_are_dropped_and_missing_rows_too(server):
    names = ["id", "mark", "note", "day", "x", "kind", "class", "old"]
    types = ["numeric", "nominal", "string", "string", "numeric", "nominal is_ignore", "nominal", "numeric"]
    arff = ["numeric", "{m,n}", "string", "string", "numeric", "{u,v}", "{no,yes}", "numeric is_row_identifier"]
    rows = ["1,m,'free text',x,0.5,u,no,1", "2,n,'more, of it',x,?,v,yes,1", "3,?,'and more',x,2.5,u,yes,1"]
    rows += ["4,m,'and more',x,2.5,u,?,1", "5,m,?,x,3.5,?,yes,?"]
    columns = list(zip(names, [kind.split(" ")[0] for kind in arff], strict=True))
    types[-1] = "numeric is_row_identifier"
    server.data[8] = Data(
        features=list(zip(names, types, strict=True)),
        arff=dense_arff(columns, rows),
        extra="<oml:row_id_attribute>id</oml:row_id_attribute><oml:ignore_attribute>mark</oml:ignore_attribute>",
    )
    dataset = fetch(8)
    assert dataset.numeric_names == ("x",)
    assert dataset.categorical_names == ()
    assert dataset.numeric.ravel().tolist() == [0.5, 2.5, 3.5], "a missing value in a dropped column costs no row"
    assert dataset.facts["dropped_rows"] == {"missing": 2}
    assert dataset.facts["dropped_columns"] == {
        "id": "row identifier",
        "mark": "ignored by OpenML",
        "note": "neither numeric nor nominal but string",
        "day": "neither numeric nor nominal but string",
        "kind": "ignored by OpenML",
        "old": "row identifier",
    }


def test_sparse_arff(server):
    columns = [("x0", "numeric"), ("x1", "numeric"), ("n", "{zero,one,two}"), ("class", "{no,yes}")]
    rows = ["{0 1.5, 3 yes}", "{1 2.5, 2 two}", "{}", "{0 ?, 3 yes}", "{2 one, 3 yes}"]
    features = [("x0", "numeric"), ("x1", "numeric"), ("n", "nominal"), ("class", "nominal")]
    server.data[9] = Data(features=features, arff=dense_arff(columns, rows))
    dataset = fetch(9)
    assert dataset.numeric.tolist() == [[1.5, 0], [0, 2.5], [0, 0], [0, 0]]
    assert dataset.categorical.ravel().tolist() == [0, 2, 0, 1]
    assert dataset.labels.tolist() == [1, 0, 0, 1]
    assert dataset.facts["dropped_rows"] == {"missing": 1}


def test_parquet_in_all_the_types_that_columns_come_in(server):
    rows = np.arange(30)
    frame = pd.DataFrame(
        {
            "real": rows / 4,
            "byte": rows.astype(np.uint8),
            "text number": rows.astype(str),
            "category": pd.Categorical(np.array(["b", "a"])[rows % 2], categories=["b", "a", "never"]),
            "codes": rows % 4,
            "truth": rows % 3 == 0,
            "words": np.array(["", "é", "words"])[rows % 3],
            "class": pd.Categorical(np.array(["yes", None, "no"], dtype=object)[rows % 3]),
        }
    )
    kinds = ["numeric"] * 3 + ["nominal"] * 5
    server.data[10] = Data(features=list(zip(frame.columns, kinds, strict=True)), parquet=parquet(frame))
    dataset = fetch(10)
    kept = rows % 3 != 1
    assert len(dataset) == kept.sum() == 20
    np.testing.assert_array_equal(dataset.numeric, np.column_stack([rows / 4, rows, rows])[kept].astype(np.float32))
    assert dataset.n_levels.tolist() == [2, 4, 2, 2]
    np.testing.assert_array_equal(dataset.categorical[:, 0], (rows % 2)[kept])
    np.testing.assert_array_equal(dataset.categorical[:, 1], (rows % 4)[kept])
    assert not any("download" in path for path in server.requests), "no ARFF where there is parquet"


def test_parquet_and_arff_of_the_same_set_agree(server):
    server.data[11] = simple()
    frame = pd.DataFrame({"x": np.arange(40) * 0.25, "letter": np.array(list("abc"))[np.arange(40) % 3]})
    frame["class"] = np.where(np.arange(40) % 5 < 3, "no", "yes")
    server.data[12] = Data(features=simple().features, parquet=parquet(frame.astype({"letter": "category"})))
    one, two = fetch(11), fetch(12)
    for part in ("numeric", "categorical", "labels", "n_levels"):
        np.testing.assert_array_equal(getattr(one, part), getattr(two, part))


def test_more_rows_than_the_longest_study_are_thinned_by_the_tasks_name(server):
    n_rows = MAX_ROWS + 500
    frame = pd.DataFrame({"x": np.arange(n_rows), "class": np.arange(n_rows) % 2})
    kinds = [("x", "numeric"), ("class", "nominal")]
    server.data[13] = Data(features=kinds, parquet=parquet(frame))
    server.data[14] = Data(features=kinds, parquet=parquet(frame))
    one, two = fetch(13), fetch(14)
    assert len(one) == MAX_ROWS
    assert one.facts["rows_usable"] == n_rows
    assert not np.array_equal(one.numeric, two.numeric)
    assert set(one.numeric.ravel()) != set(range(MAX_ROWS)), "not just the first rows"
    assert fetch(13).fingerprint == one.fingerprint


def test_a_busy_server_is_asked_again(server):
    server.data[7] = simple()
    server.faults = {"/api/v1/xml/task/7": ["503"], "/data/v1/download/7": ["503"]}
    assert len(fetch(7)) == 40


def test_a_cut_download_is_tried_again(server):
    server.data[7] = simple()
    server.faults = {"/data/v1/download/7": ["truncated"]}
    assert len(fetch(7)) == 40


def test_a_body_that_does_not_match_its_md5_is_refused_and_leaves_nothing_behind(server):
    server.data[7] = simple()
    server.faults = {"/data/v1/download/7": [simple(shift=1).arff] * 2}
    with pytest.raises(DatasetError, match=r"task 7: the download failed: .*[Cc]hecksum"):
        fetch(7)
    assert fetch(7).numeric[0, 0] == 0.0, "the next try has the right body"


def test_a_broken_parquet_file_on_the_server_is_a_reason(server):
    server.data[7] = simple()
    server.data[7].parquet = b"PAR1 this is no parquet file PAR1"
    with pytest.raises(DatasetError, match=r"task 7: the server's copy cannot be used: .*not a readable parquet"):
        fetch(7)


@pytest.mark.parametrize("file", ["task.xml", "description.xml", "features.xml", "dataset.arff", "dataset_7.pq"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_file_in_the_clients_cache_is_fetched_again(server, file, damage):
    server.data[7] = simple()
    if file.endswith("pq"):
        server.data[7].parquet = parquet(table())
    first = fetch(7)
    path = data_folder(7) / file if file != "task.xml" else task_file(7)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        path.unlink()
    assert fetch(7).fingerprint == first.fingerprint


@pytest.mark.parametrize("number", ["../../precious", "{precious}", "", ".", "7/../../../precious", "-1", "٧", "1e3"])
def test_a_crafted_task_has_nothing_removed_outside_its_own_folder(server, tmp_path, number):
    server.data[7], server.data[8] = simple(), simple()
    first = fetch(7)
    fetch(8)
    precious = [tmp_path / "precious", data_folder(7).parents[1] / "precious"]
    for folder in precious:
        folder.mkdir()
        (folder / "thesis.tex").touch()
    crafted = (
        task_file(7)
        .read_text()
        .replace("<oml:data_set_id>7<", f"<oml:data_set_id>{number.format(precious=precious[0])}<")
    )
    task_file(7).write_text(crafted)
    if number:
        assert fetch(7).fingerprint == first.fingerprint, "fetched again"
    else:
        with pytest.raises(DatasetError, match="task 7: it names no data"):
            fetch(7)
    assert all((folder / "thesis.tex").exists() for folder in precious)
    assert (data_folder(8) / "dataset.arff").exists()


@pytest.mark.parametrize("link", ["datasets/7", "datasets"])
def test_what_a_link_leads_to_is_never_removed(server, tmp_path, link):
    server.data[7] = simple()
    fetch(7)
    inside, elsewhere = data_folder(7).parents[1] / link, tmp_path / "elsewhere"
    inside.rename(elsewhere)
    inside.symlink_to(elsewhere)
    arff = data_folder(7) / "dataset.arff"
    arff.write_bytes(arff.read_bytes()[:-3])
    with pytest.raises(
        DatasetError, match=re.escape(f"{data_folder(7)} has a broken file, but is a link to {elsewhere}")
    ):
        fetch(7)
    assert list(elsewhere.rglob("dataset.arff"))


@pytest.mark.parametrize("task", ["7", "../7", 0, -1, 7.0, True, None])
def test_a_task_that_is_no_number_is_refused(server, task):
    with pytest.raises(ValueError, match=re.escape(f"task_id must be a whole number, at least 1, not {task!r}")):
        fetch(task)


def test_a_file_of_the_cache_that_cannot_be_read_now_is_kept(server, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    server.data[7] = Data(features=simple().features, parquet=parquet(table()))
    fetch(7)
    monkeypatch.setattr(openml_tasks.pyarrow.parquet, "ParquetFile", refuse)
    with pytest.raises(DatasetError, match=r"task 7: the client's cache cannot be read: .*Permission denied"):
        fetch(7)
    assert (data_folder(7) / "dataset_7.pq").exists()


def test_a_parquet_file_that_fails_the_md5_it_comes_with_is_refused(server):
    right, wrong = parquet(table()), parquet(table(shift=1))
    server.data[7] = Data(
        features=simple().features, parquet=wrong, format="parquet", md5=hashlib.md5(right).hexdigest()
    )
    with pytest.raises(
        DatasetError, match=r"task 7: the server's copy cannot be used: .*dataset_7.pq does not match its"
    ):
        fetch(7)
    server.data[7].parquet = right
    assert fetch(7).numeric[0, 0] == 0, "the next try has the right file"


def test_the_md5_of_an_arff_file_is_not_asked_of_the_parquet_file_beside_it(server):
    server.data[7] = simple()
    server.data[7].parquet = parquet(table(shift=1))
    assert fetch(7).numeric[0, 0] == 1


def test_a_parquet_file_that_fails_its_own_checksums_is_refused(server):
    whole = parquet(table(), compression=None, use_dictionary=False, write_page_checksum=True)
    place = whole.index(np.arange(10.0).tobytes())
    flipped = whole[: place + 6] + b"\x42" + whole[place + 7 :]
    server.data[7] = Data(features=simple().features, parquet=flipped)
    with pytest.raises(DatasetError, match=r"task 7: the server's copy cannot be used: .*not a readable parquet .*CRC"):
        fetch(7)
    server.data[8] = Data(features=simple().features, parquet=whole)
    assert fetch(8).numeric[0, 0] == 0


def test_a_damaged_cache_without_a_server_is_refused_and_kept(server):
    server.data[7] = simple()
    fetch(7)
    arff = data_folder(7) / "dataset.arff"
    arff.write_bytes(arff.read_bytes()[:-3])
    server.stop()
    openml_tasks._reachable.cache_clear()  # as in a new process
    with pytest.raises(DatasetError, match=r"dataset.arff does not match its checksum .* no answer from http://127"):
        fetch(7)
    assert arff.exists()


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The addresses that were asked whether there is a server."""
    addresses, urlopen = [], openml_tasks.urllib.request.urlopen

    def note(address, **options):
        addresses.append(address)
        return urlopen(address, **options)

    monkeypatch.setattr(openml_tasks.urllib.request, "urlopen", note)
    return addresses


def test_no_server_at_all_is_asked_for_once(server, asked, monkeypatch):
    monkeypatch.setattr(openml.config, "server", "http://127.0.0.1:9/api/v1/xml")
    openml_tasks._reachable.cache_clear()  # as in a new process
    for task in range(100, 150):
        with pytest.raises(DatasetError, match=f"task {task}: task.xml is not in the client's cache, and there is no"):
            fetch(task)
    assert len(asked) == 1


def test_a_server_that_goes_away_costs_its_tries_once(server, asked):
    server.data[7] = simple()
    fetch(7)
    server.stop()
    with pytest.raises(DatasetError, match="task 8: the download failed: ConnectionError"):
        fetch(8)
    for task in range(100, 110):
        with pytest.raises(DatasetError, match="no answer from"):
            fetch(task)
    assert len(asked) == 2, "before the first task, and after the download that failed"


def test_a_deactivated_dataset_is_used_and_its_status_kept(server):
    server.data[7] = simple()
    server.data[7].status = "deactivated"
    assert fetch(7).facts["status"] == "deactivated"


def test_an_unknown_task_is_a_reason(server):
    with pytest.raises(DatasetError, match=r"task 77: the download failed: .*Unknown"):
        fetch(77)


def test_a_task_that_is_not_classification_is_refused_without_its_data(server):
    server.data[7] = simple()
    server.data[7].task_type = 2
    for _ in range(2):
        with pytest.raises(DatasetError, match="task 7: it is not classification but Supervised Regression"):
            fetch(7)
    assert not any("download" in path for path in server.requests)


def test_a_target_that_is_no_column_is_refused(server):
    server.data[7] = simple()
    server.data[7].target = "nowhere"
    with pytest.raises(DatasetError, match="task 7: its target 'nowhere' is not a column of data 7"):
        fetch(7)


def test_a_column_that_the_file_lacks_is_named(server):
    server.data[7] = simple()
    server.data[7].features.insert(0, ("ghost", "numeric"))
    with pytest.raises(DatasetError, match="column 'ghost' of its description is not in the file"):
        fetch(7)
