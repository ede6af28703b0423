import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import LabelEncoder, OneHotEncoder

from emt import Environment
from emt.data import Dataset, DatasetError, from_arrays, from_frame
from emt.data.encode import encode

NUMBERS = st.one_of(st.floats(-1e6, 1e6, width=32), st.integers(-5, 5).map(float), st.just(math.nan), st.just(math.inf))
LEVELS = st.sampled_from(["", " ", "a", "B", "é", "树", "a,b", "nan", "None"])
CODES = st.integers(-3, 3)


@st.composite
def frames(draw) -> pd.DataFrame:
    """Return a frame with a row number, numbers, text, codes, truth values and a target; values may be missing."""
    n_rows = draw(st.integers(2, 25))

    def column(values, missing=True):
        cells = st.one_of(values, values, values, st.none()) if missing else values
        return draw(st.lists(cells, min_size=n_rows, max_size=n_rows))

    columns = {"row": np.arange(n_rows, dtype=float)}
    for j in range(draw(st.integers(0, 3))):
        columns[f"number{j}"] = np.array(column(NUMBERS), dtype=float)
    for j in range(draw(st.integers(0, 2))):
        columns[f"text{j}"] = pd.Series(column(LEVELS), dtype=draw(st.sampled_from([object, "str", "category"])))
    for j in range(draw(st.integers(0, 2))):
        columns[f"code{j}"] = pd.Series(column(CODES), dtype="Int64")
    if draw(st.booleans()):
        columns["truth"] = pd.Series(column(st.booleans()), dtype=draw(st.sampled_from([object, "boolean"])))
    columns["target"] = pd.Series(column(LEVELS), dtype=object)
    order = draw(st.permutations(list(columns)))
    return pd.DataFrame({name: columns[name] for name in order})


def one_hot(dataset) -> np.ndarray:
    blocks = [np.eye(n)[codes] for n, codes in zip(dataset.n_levels, dataset.categorical.T, strict=True)]
    return np.hstack(blocks) if blocks else np.zeros((len(dataset), 0))


@settings(max_examples=200, deadline=None)
@given(frames(), st.integers(0, 5))
def test_encoding_and_scaling_agree_with_pandas_and_scikit_learn(frame, seed):
    codes = [name for name in frame.columns if name.startswith("code")]
    nominal = [name for name in frame.columns if name.startswith(("text", "code", "truth"))]
    numeric = [name for name in frame.columns if name.startswith(("row", "number"))]
    clean = frame.replace([math.inf, -math.inf], math.nan).dropna().reset_index(drop=True)
    if clean["target"].nunique() < 2:
        with pytest.raises(DatasetError, match=r"'target' has one class only|every row has a missing or infinite"):
            encode(frame, "target", categorical=codes)
        return
    dataset = encode(frame, "target", categorical=codes)

    assert list(dataset.numeric_names) == numeric
    assert list(dataset.categorical_names) == nominal
    np.testing.assert_array_equal(dataset.numeric, clean[numeric].to_numpy(np.float32))
    encoder = LabelEncoder().fit(clean["target"].astype(str))
    np.testing.assert_array_equal(dataset.labels, encoder.transform(clean["target"].astype(str)))
    assert dataset.classes == tuple(encoder.classes_)
    if nominal:
        plain = pd.DataFrame({name: clean[name].astype(int if name in codes else str) for name in nominal})
        expected = OneHotEncoder(sparse_output=False).fit_transform(plain.astype(object))
        np.testing.assert_array_equal(one_hot(dataset), expected)

    facts = dataset.facts
    assert facts["rows_total"] - sum(facts["dropped_rows"].values()) == len(clean) == facts["rows"]
    assert facts["dropped_rows"].get("missing", 0) == frame.isna().any(axis=1).sum()

    environment = Environment(dataset, seed)
    back = np.argsort(environment.numeric[:, numeric.index("row")])
    values = clean[numeric].to_numpy(np.float32).astype(float)
    extents = values.max(axis=0) - values.min(axis=0)
    expected = values / np.where(extents == 0, 1, extents)
    np.testing.assert_allclose(
        environment.numeric[back], expected, rtol=1e-6, atol=1e-38
    )  # subnormal numbers are coarse
    np.testing.assert_array_equal(environment.labels[back], dataset.labels)
    np.testing.assert_array_equal(environment.categorical[back], dataset.categorical)


def test_a_category_keeps_its_order_and_loses_levels_that_do_not_occur():
    size = pd.Categorical(["small", "large", "small", "medium"], categories=["small", "medium", "large", "huge"])
    dataset = encode(pd.DataFrame({"size": size, "y": [1, 1, 2, 2]}), "y")
    assert dataset.categorical.ravel().tolist() == [0, 2, 0, 1]
    assert dataset.n_levels.tolist() == [3]


def test_levels_of_dropped_rows_do_not_count():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan], "colour": ["red", "blue", "gold"], "y": ["a", "b", "c"]})
    dataset = encode(frame, "y")
    assert dataset.n_levels.tolist() == [2]
    assert dataset.classes == ("a", "b")


def test_numbers_as_labels_are_in_numeric_order():
    assert from_arrays([[0], [1], [2]], [10.0, 9.0, 10.0]).classes == ("9", "10")


def test_dates_and_ignored_columns_are_dropped_with_a_reason():
    frame = pd.DataFrame({"x": [1, 2], "day": pd.to_datetime(["2020-01-01", None]), "id": ["p", None], "y": [0, 1]})
    dataset = encode(frame, "y", ignore=["id"])
    assert len(dataset) == 2, "a missing value in a dropped column costs no row"
    assert dataset.facts["dropped_columns"]["id"] == "ignored"
    assert dataset.facts["dropped_columns"]["day"].startswith("datetime")


def test_numbers_that_came_as_objects_are_numbers():
    frame = pd.DataFrame({"x": pd.Series([1, 2.5, None], dtype=object), "y": ["a", "b", "b"]})
    assert encode(frame, "y").numeric.ravel().tolist() == [1.0, 2.5]


def test_a_number_beyond_float32_is_infinite():
    dataset = from_arrays([[1e300], [1.0], [2.0]], ["a", "a", "b"])
    assert dataset.facts["dropped_rows"] == {"infinite": 1}


def test_sparse_and_dense_are_the_same():
    cells = sparse.random(50, 8, density=0.2, random_state=0, format="csr")
    labels = np.arange(50) % 3
    frame = pd.DataFrame.sparse.from_spmatrix(cells, columns=[f"x{j}" for j in range(8)]).assign(label=labels)
    dense = from_arrays(cells.toarray(), labels)
    assert from_arrays(cells, labels).fingerprint == dense.fingerprint
    assert encode(frame, "label", name="arrays").fingerprint == dense.fingerprint


def test_mixed_lists_keep_their_types():
    dataset = from_arrays([[0.5, "a"], [1.5, "b"]], [True, False])
    assert dataset.numeric.ravel().tolist() == [0.5, 1.5]
    assert dataset.n_levels.tolist() == [2]
    assert dataset.classes == ("False", "True")


def test_max_rows_keeps_a_random_choice_that_comes_from_the_name():
    X, y = np.arange(100.0)[:, None], np.arange(100) % 2
    one, same, other = (from_arrays(X, y, max_rows=30, name=name) for name in ("one", "one", "other"))
    assert len(one) == 30
    assert one.facts["rows_usable"] == 100
    np.testing.assert_array_equal(one.numeric, same.numeric)
    assert not np.array_equal(one.numeric, other.numeric)


def test_the_fingerprint_is_of_the_content():
    def make(**changes):
        values = {"X": [[0.0, 1], [1.0, 2]], "y": ["a", "b"], "name": "one", "names": ["p", "q"], "categorical": [1]}
        return from_arrays(**{**values, **changes}).fingerprint

    changes = [{"X": [[0.5, 1], [1, 2]]}, {"X": [[0.0, 2], [1, 1]]}, {"y": ["b", "a"]}, {"y": ["a", "c"]}]
    changes += [{"name": "two"}, {"names": ["p", "r"]}, {"categorical": []}]
    assert len({make(), make(), *(make(**change) for change in changes)}) == 1 + len(changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "why"}, "there is no target column 'why'; did you mean y"),
        ({"target": "y", "ignore": ["z"]}, "no such column: 'z'; the columns are 'x', 'y'"),
        ({"target": "y", "categorical": ["z"]}, "no such column: 'z'"),
        ({"target": "y", "ignore": ["x"]}, "no column is left to learn from"),
    ],
)
@pytest.mark.parametrize("make", [encode, from_frame])
def test_wrong_columns_are_named(arguments, message, make):
    with pytest.raises(DatasetError, match=message):
        make(pd.DataFrame({"x": [1, 2], "y": [0, 1]}), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0]}, r"X has 2 rows, but y has the shape \(1,\)"),
        ({"y": [[0], [1]]}, r"y has the shape \(2, 1\)"),
        ({"y": [0, 1], "names": ["a", "b"]}, "2 names for 1 columns"),
        ({"y": [0, 1], "X": np.zeros((2, 3, 4))}, r"X must have two dimensions, .*\(2, 3, 4\)"),
        ({"y": [0, 1], "X": [[[1.0], [2.0]], [[3.0], [4.0]]]}, "no column is left to learn from"),
        ({"y": [0, 1], "X": 5}, "X must have two dimensions"),
        ({"y": np.zeros((2, 1, 1))}, r"y has the shape \(2, 1, 1\)"),
        ({"y": [0, 1], "name": 5}, "the name of a dataset must be a string, not 5"),
        ({"y": [0, 1], "categorical": [1]}, r"categorical columns \[1\] are not among the 1 columns"),
    ],
)
def test_wrong_arrays_are_refused(arguments, message):
    with pytest.raises(DatasetError, match=message):
        from_arrays(**{"X": [[1.0], [2.0]], **arguments})


def test_no_rows_at_all():
    with pytest.raises(DatasetError, match="there are no rows"):
        encode(pd.DataFrame({"x": [], "y": []}), "y")


@pytest.mark.parametrize("max_rows", [0, -3, 2.5, "3", True])
@pytest.mark.parametrize("make", [encode, from_frame])
def test_a_number_of_rows_that_is_none_is_refused(make, max_rows):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]})
    with pytest.raises(ValueError, match=f"max_rows must be a whole number, at least 1, not {max_rows!r}"):
        make(frame, "y", max_rows=max_rows)


@pytest.mark.parametrize("dtype", [object, "category"])
def test_a_level_is_its_name(dtype):
    mixed = pd.Series([1, "1", 1.0, 2, "2", None, "1", 3.5], dtype=dtype)
    frame = pd.DataFrame({"x": mixed, "z": range(8), "y": list("abababab")})
    dataset = encode(frame, "y")
    assert dataset.categorical.ravel().tolist() == [0, 0, 0, 1, 1, 0, 2]
    assert dataset.n_levels.tolist() == [3]
    assert encode(frame.drop(columns="y"), "x").classes == ("1", "2", "3.5")


def test_whole_numbers_beyond_floating_point_are_infinite():
    values = pd.Series([10**400, -(10**400), None, 2, 3], dtype=object)
    frame = pd.DataFrame({"x": values, "y": [0, 1, 0, 1, 0]})
    dataset = encode(frame, "y")
    assert dataset.numeric.ravel().tolist() == [2.0, 3.0]
    assert dataset.facts["dropped_rows"] == {"missing": 1, "infinite": 2}


@pytest.mark.parametrize(
    "facts",
    [
        *[{"when": pd.Timestamp("2024-05-31")}, {"x": math.nan}, {(1, 2): 3}, {"n": np.int64(3)}, ["x"], {"x": {1}}],
        *[{"dropped_columns": 3}, {"dropped_columns": None}],
    ],
)
def test_facts_that_are_no_json_are_refused(facts):
    with pytest.raises(DatasetError, match=r"arrays: facts.* must be"):
        from_arrays([[1.0], [2.0]], [0, 1], facts=facts)


def test_facts_are_what_will_be_read_back():
    dataset = from_arrays([[1.0], [2.0]], [0, 1], facts={3: (4, 5), "x": None})
    assert (dataset.facts["3"], dataset.facts["x"]) == ([4, 5], None)


@pytest.mark.parametrize("part", ["numeric", "categorical", "n_levels", "labels"])
def test_a_dataset_of_arrays_with_too_many_dimensions_is_refused(part):
    whole = {
        "numeric": np.zeros((2, 1)),
        "categorical": np.zeros((2, 0)),
        "n_levels": np.zeros(0),
        "labels": np.zeros(2),
    }
    names = {"classes": ("a", "b"), "numeric_names": ("x",), "categorical_names": ()}
    Dataset(name="right", **whole, **names)
    with pytest.raises(DatasetError, match=rf"wrong: {part} must have \d dimension\(s\), not the shape \(2, 1, 1\)"):
        Dataset(name="wrong", **{**whole, part: np.zeros((2, 1, 1))}, **names)


def test_read_only_arrays_are_taken_and_come_out_as_others_do():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    dataset = from_arrays(X, y)
    for array in (X, y, *(getattr(dataset, part) for part in ("numeric", "categorical", "n_levels", "labels"))):
        array.flags.writeable = False
    assert from_arrays(X, y).fingerprint == dataset.fingerprint
    environment = Environment(dataset, seed=0)
    arrays = (environment.numeric, environment.categorical, environment.labels)
    assert all(array.flags.writeable for array in arrays), "compiled code would be compiled again for read-only ones"


@pytest.mark.parametrize("position", ["x0", 0.5, 0.0, 2, -1])
def test_categorical_columns_that_are_no_positions_are_refused(position):
    with pytest.raises(DatasetError, match="are not among the 1 columns of X"):
        from_arrays([[1], [2]], [0, 1], categorical=[position])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"categorical": 3}, "arrays: categorical must be a list of positions of columns, not 3"),
        ({"names": 5}, "arrays: names must be a list of column names, not 5"),
        ({"y": [[1], [1, 2]]}, "arrays: y must have one dimension, a label for each row: "),
        ({"X": memoryview(np.zeros((2, 1)))}, "arrays: X must have two dimensions, rows and columns: "),
        ({"facts": {"columns": 3}}, "arrays: facts: columns is what from_frame tells of them: choose another key"),
        ({"name": 3}, "the name of a dataset must be a string, not 3"),
    ],
    ids=lambda case: case if isinstance(case, str) else str(*case),
)
def test_arguments_of_another_kind_are_refused_by_name(arguments, message):
    with pytest.raises(DatasetError, match=message):
        from_arrays(**{"X": [[1.0], [2.0]], "y": [0, 1], **arguments})
