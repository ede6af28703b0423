"""A table of one's own: an id, a date, free text, a constant, missing values."""

import datetime
import io
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emt.data import DatasetError, describe, from_frame, load, save
from emt.data.encode import encode

N_ROWS = 100
ROWS = np.arange(N_ROWS)
DAYS = np.datetime64("2024-02-20") + ROWS


def shop(**columns) -> pd.DataFrame:
    """Return a table with one sane column of each kind, a target and what is given, as a CSV file would give it."""
    sane = {"price": ROWS / 3 % 7, "plan": np.array(["free", "paid", "gift"])[ROWS % 3]}
    target = {"churned": np.array(["no", "yes"])[ROWS // 2 % 2]}
    file = io.StringIO(pd.DataFrame({**sane, **columns, **target}).to_csv(index=False))
    return pd.read_csv(file)


def told(dataset) -> dict[str, tuple[str, str]]:
    return {row.column: (row.kept, row.why) for row in describe(dataset).itertuples()}


def test_a_csv_with_everything_in_it_becomes_what_can_be_learned_from():
    frame = shop(
        row=ROWS + 1,
        customer_id=ROWS * 7919 % 10007,
        uuid=[f"{row * 7919:08x}" for row in ROWS],
        comment=[f"I bought {row // 4 * 3 + row % 4} of them" for row in ROWS],
        signup=DAYS.astype(str),
        country="LV",
        fax=np.nan,
        age=np.where(ROWS % 50 == 7, np.nan, 18 + ROWS % 60),
        member=ROWS % 2 == 0,
    )
    dataset = from_frame(frame, "churned")
    assert told(dataset) == {
        "price": ("number", ""),
        "plan": ("categories", ""),
        "row": ("dropped", "it numbers the rows"),
        "customer_id": ("dropped", "an id by its name, and no value twice"),
        "uuid": ("dropped", "100 levels in 100 rows: text or an id"),
        "comment": ("dropped", "76 levels in 100 rows: text or an id"),
        "signup": ("number", "days since 2024-02-20"),
        "country": ("dropped", "one value only"),
        "fax": ("dropped", "empty"),
        "age": ("number", ""),
        "member": ("categories", ""),
        "churned": ("target", ""),
    }
    assert dataset.numeric_names == ("price", "signup", "age")
    assert dataset.categorical_names == ("plan", "member")
    assert len(dataset) == 98, "only the rows without an age are lost, not those without a fax"
    table = describe(dataset).set_index("column")
    assert table["levels"][["plan", "uuid", "fax", "churned"]].tolist() == [3, 100, 0, 2]
    assert table["missing"][["plan", "fax", "age"]].tolist() == [0, 100, 2]
    assert set(dataset.facts["dropped_columns"]) == {"row", "customer_id", "uuid", "comment", "country", "fax"}


def test_the_table_is_kept_with_a_saved_set(store):
    dataset = from_frame(shop(country="LV"), "churned", name="mine")
    save(dataset)
    pd.testing.assert_frame_equal(describe(load("mine")), describe(dataset))


def test_sets_from_elsewhere_are_described_by_what_they_hold():
    rows = describe(load("nasty-integer-nominals"))
    assert rows["column"].tolist() == ["x", "z", "colour", "code", "y"]
    assert rows["kept"].tolist() == ["number", "number", "categories", "categories", "target"]
    assert rows["levels"].tolist() == [7, 5, 3, 4, 2]
    assert rows["missing"].isna().all()


def test_what_the_user_says_of_a_column_counts():
    frame = shop(row=ROWS + 1, uuid=[f"{row:08x}" for row in ROWS], country="LV", code=ROWS % 4)
    dataset = from_frame(frame, "churned", numeric=["row"], categorical=["uuid", "country", "code"], ignore="plan")
    kept = {column: kept for column, (kept, _) in told(dataset).items()}
    assert kept == {
        "price": "number",
        "plan": "dropped",
        "row": "number",
        "uuid": "categories",
        "country": "categories",
        "code": "categories",
        "churned": "target",
    }


def test_numbers_in_text_are_numbers_where_the_user_says_so():
    frame = shop(weight=[f"{row / 8}" if row % 25 else "n/k" for row in ROWS])
    dataset = from_frame(frame, "churned", numeric=["weight"])
    weights = dataset.numeric[:, dataset.numeric_names.index("weight")]
    np.testing.assert_array_equal(weights, np.float32(ROWS[ROWS % 25 > 0] / 8))
    assert dataset.facts["dropped_rows"] == {"missing": 4}


@pytest.mark.parametrize(
    "column",
    [
        DAYS.astype(str),
        [f"{day}T00:00:00+02:00" for day in DAYS],
        pd.Series(DAYS).dt.strftime("%d.%m.%Y"),
        pd.Series(DAYS).dt.strftime("%d/%m/%Y"),
        pd.Series(DAYS).dt.strftime("%m/%d/%Y"),
        pd.Series(DAYS).dt.strftime("%Y/%m/%d"),
        pd.Series(DAYS),
        pd.Series(DAYS).dt.tz_localize("Europe/Riga").dt.tz_convert("UTC").dt.tz_localize(None),
        pd.Series(pd.Series(DAYS).dt.date, dtype=object),
        pd.Series(DAYS).astype("timestamp[us][pyarrow]"),
    ],
    ids=["text", "with a zone", "d.m.y", "d/m/y", "m/d/y", "y/m/d", "pandas", "with hours", "Python", "arrow"],
)
def test_dates_become_days_since_the_first(column):
    frame = shop().assign(day=column)
    frame.loc[3, "day"] = None
    dataset = from_frame(frame, "churned")
    days = dataset.numeric[:, dataset.numeric_names.index("day")]
    np.testing.assert_allclose(days, np.delete(ROWS, 3), atol=0.05)  # an hour when the clocks go forward
    assert told(dataset)["day"][1].startswith("days since 2024-02-")


def test_dates_that_can_be_read_two_ways_are_dropped_with_advice():
    dataset = from_frame(shop(day=[f"{1 + row % 12}/{1 + row % 5}/2024" for row in ROWS]), "churned")
    assert told(dataset)["day"] == ("dropped", "dates, day or month first? pandas.to_datetime")


def test_what_only_looks_like_a_date_is_text():
    dataset = from_frame(shop(day=np.where(ROWS % 2, "2024-13-45", "2024-05-31")), "churned")
    assert told(dataset)["day"] == ("categories", "")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rows", ROWS * 3 % N_ROWS + 7),  # in another order
        ("rows", np.where(ROWS == 99, np.nan, ROWS)),  # floats, for one is missing
        ("id", ROWS**2),
        ("customerId", 10**12 + ROWS**2),
        ("customer.ID", ROWS**2),
    ],
)
def test_numbers_that_tell_rows_apart_are_dropped(name, values):
    assert told(from_frame(shop(**{name: values}), "churned"))[name][0] == "dropped"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("area", ROWS**2),  # no value twice, but a quantity for all that is known
        ("paid", ROWS**2),
        ("user_id", ROWS // 2),  # customers that come twice
        ("id", ROWS**2 + 0.5),
    ],
)
def test_other_numbers_are_kept(name, values):
    assert told(from_frame(shop(**{name: values}), "churned"))[name] == ("number", "")


def test_text_with_half_as_many_levels_as_rows_is_kept():
    assert told(from_frame(shop(town=[f"town {row // 2}" for row in ROWS]), "churned"))["town"][0] == "categories"


def test_a_small_table_is_taken_as_it_is():
    frame = pd.DataFrame({"id": range(20), "word": [f"word {row}" for row in range(20)], "y": [0, 1] * 10})
    assert set(told(from_frame(frame, "y")).values()) == {("number", ""), ("categories", ""), ("target", "")}


def test_rows_with_missing_values_are_dropped_and_many_are_a_warning():
    few, many = (np.where(n > ROWS, np.nan, ROWS % 9) for n in (5, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(from_frame(shop(age=few), "churned")) == 95
    frame = shop(age=many, town=np.where(ROWS < 3, None, ["Riga", "Cēsis"] * 50))
    with pytest.warns(UserWarning, match=r"mine: 6 of 100 rows are dropped .*'age' in 6, 'town' in 3.*missing='level'"):
        assert len(from_frame(frame, "churned", name="mine")) == 94


def test_missing_values_may_be_a_level_or_an_indicator():
    frame = shop(
        age=np.where(ROWS % 10 == 0, np.nan, ROWS % 9),
        town=np.where(ROWS % 10 == 1, None, np.array(["Riga", "missing"])[ROWS % 2]),
        signup=np.where(ROWS % 10 == 2, None, DAYS.astype(str)),
        only=np.where(ROWS % 10 == 3, None, "x"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = from_frame(frame, "churned", missing="level")
    assert len(dataset) == N_ROWS
    assert dataset.numeric_names == ("price", "age", "age is missing", "signup", "signup is missing")
    _, age, age_missing, signup, signup_missing = dataset.numeric.T
    np.testing.assert_array_equal(age_missing, ROWS % 10 == 0)
    np.testing.assert_array_equal(age, np.where(ROWS % 10 == 0, frame["age"].median(), ROWS % 9))
    np.testing.assert_array_equal(signup_missing, ROWS % 10 == 2)
    assert signup[ROWS % 10 != 2].tolist() == ROWS[ROWS % 10 != 2].tolist()
    _, town, only = dataset.categorical.T
    assert dataset.n_levels.tolist() == [3, 3, 2]
    assert set(town[ROWS % 10 == 1]) == {2}
    assert set(town[ROWS % 10 != 1]) == {0, 1}
    np.testing.assert_array_equal(only, ROWS % 10 == 3)
    why = {column: why for column, (_, why) in told(dataset).items()}
    assert why["age"] == "median where missing"
    assert why["town"] == "missing is a level"
    assert why["signup"] == "days since 2024-02-20; median where missing"


def test_a_missing_target_is_no_class():
    frame = shop()
    frame.loc[:9, "churned"] = None
    with pytest.warns(UserWarning, match=r"10 of 100 rows are dropped for a missing or infinite value$"):
        dataset = from_frame(frame, "churned", missing="level")
    assert dataset.classes == ("no", "yes")
    assert len(dataset) == 90


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "churn"}, "there is no target column 'churn'; did you mean churned"),
        ({"target": "price"}, "target 'price' has .* different values in 100 rows, .*pandas.qcut"),
        ({"target": "churned", "ignore": ["churned"]}, "'churned' is the target and cannot be ignored"),
        ({"target": "churned", "numeric": ["plan"], "ignore": ["plan"]}, "'plan' is to be number and dropped: choose"),
        ({"target": "churned", "missing": "zero"}, "missing must be one of drop, level, not 'zero'"),
        ({"target": "churned", "ignore": ["price", "plan"]}, r"no column is left .*'price' \(ignored\)"),
        ({"target": "churned", "numeric": [3]}, "no such column: '3'"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        from_frame(shop(price=ROWS / 3), **arguments)


def test_what_is_no_frame_is_refused():
    with pytest.raises(DatasetError, match=r"a DataFrame is needed, such as pandas.read_csv\(path\), not a dict"):
        from_frame({"x": [1, 2], "y": [0, 1]}, "y")


def test_a_column_of_lists_is_dropped():
    frame = shop().assign(tags=[[row] for row in ROWS], span=datetime.timedelta(days=1))
    assert told(from_frame(frame, "churned"))["tags"] == ("dropped", "cells that hold more than one value")


CELLS = {
    "float": st.one_of(st.floats(-1e6, 1e6, width=32), st.sampled_from([0.0, 1.0]), st.just(np.nan), st.just(np.inf)),
    "Int64": st.one_of(st.integers(-5, 5), st.none()),
    "object": st.one_of(st.sampled_from(["a", "b", "", "1", 1, 1.0, True]), st.none()),
    "category": st.one_of(st.sampled_from(["a", "b", ""]), st.none()),
    "boolean": st.one_of(st.booleans(), st.none()),
    "datetime64[us]": st.one_of(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)), st.none()),
}


@st.composite
def frames(draw) -> pd.DataFrame:
    n_rows = draw(st.integers(2, 40))
    columns = {}
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(list(CELLS)))
        columns[f"x{number}"] = pd.Series(draw(st.lists(CELLS[kind], min_size=n_rows, max_size=n_rows)), dtype=kind)
    columns["y"] = pd.Series(draw(st.lists(st.sampled_from(["a", "b", None]), min_size=n_rows, max_size=n_rows)))
    return pd.DataFrame(columns)


@pytest.mark.filterwarnings("ignore:.*rows are dropped")
@settings(max_examples=200, deadline=None)
@given(frames(), st.sampled_from(["drop", "level"]))
def test_any_table_is_encoded_as_the_paper_does_but_for_what_the_table_tells(frame, missing):
    try:
        dataset = from_frame(frame, "y", missing=missing)
    except DatasetError:
        return
    told_of = describe(dataset)
    assert told_of["column"].tolist() == list(frame.columns)
    assert np.isfinite(dataset.numeric).all()
    assert len(dataset) + sum(dataset.facts["dropped_rows"].values()) == len(frame)
    if missing == "level":
        kept = frame["y"].notna() & ~frame.select_dtypes("float").isin([np.inf]).any(axis=1)
        assert len(dataset) >= kept.sum()
    else:
        days = told_of["why"].str.startswith("days")
        plain = frame.drop(columns=told_of["column"][days | (told_of["kept"] == "dropped")])
        if days.any() or plain.shape[1] < 2:
            return
        same = encode(plain, "y")
        assert dataset.fingerprint == same.fingerprint


def test_whole_numbers_beyond_floating_point_are_infinite_by_wish_too():
    cells = pd.Series([1, 2, 10**400, "4", "no number", -(10**400), 7], dtype=object)
    frame = pd.DataFrame({"a": cells, "y": list("abababa")})
    with pytest.warns(UserWarning, match="3 of 7 rows are dropped"):
        dataset = from_frame(frame, "y", numeric=["a"])
    assert dataset.numeric.ravel().tolist() == [1, 2, 4, 7]
    assert dataset.facts["dropped_rows"] == {"missing": 1, "infinite": 2}


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("${}.50", "numbers as text, e.g. '$0.50': clean them first"),
        ("{}%", "numbers as text, e.g. '0%': clean them first"),
        ("1,{:03}.5", "numbers as text, e.g. '1,000.5': clean them first"),
        ("{}", "numbers as text: numeric= takes them as numbers"),
        ("row {}", "60 levels in 60 rows: text or an id"),
    ],
)
def test_numbers_that_came_as_text_are_pointed_out(cell, why):
    frame = pd.DataFrame({"x": [cell.format(i) for i in range(60)], "z": np.arange(60) % 7, "y": list("ab") * 30})
    assert describe(from_frame(frame, "y")).set_index("column").loc["x", ["kept", "why"]].tolist() == ["dropped", why]


def test_a_placeholder_among_numbers_is_pointed_out_and_numeric_takes_it_as_missing():
    cells = ["?" if i % 10 == 0 else str(i % 25) for i in range(200)]
    frame = pd.DataFrame({"x": cells, "y": list("ab") * 100})
    kept, why = describe(from_frame(frame, "y")).set_index("column").loc["x", ["kept", "why"]]
    assert (kept, why) == ("categories", "numbers, but for '?': numeric= takes such as missing")
    with pytest.warns(UserWarning, match="20 of 200 rows are dropped"):
        assert len(from_frame(frame, "y", numeric=["x"])) == 180


def test_a_column_without_a_number_cannot_be_numeric():
    frame = pd.DataFrame({"x": ["$1", "$2"] * 30, "y": list("ab") * 30})
    with pytest.raises(DatasetError, match=r"numeric='x': no value is a number, e.g. '\$1': clean the column first"):
        from_frame(frame, "y", numeric=["x"])


def test_a_column_that_there_is_not_is_answered_with_the_nearest():
    frame = pd.DataFrame({"age": [1, 2] * 30, "churned": list("ab") * 30})
    with pytest.raises(DatasetError, match=r"there is no target column 'churn'; did you mean churned\?"):
        from_frame(frame, "churn")
    with pytest.raises(DatasetError, match=r"no such column: 'agee'; did you mean age\?"):
        from_frame(frame, "churned", ignore=["agee"])


class Unreadable:
    """A cell that is no text, and cannot be shown."""

    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


#: Columns whose cells cannot be read, and what stands in the way.
UNREADABLE = {
    "signalling NaN": ([Decimal("sNaN"), Decimal(1)], "InvalidOperation"),
    "no text": ([Unreadable(), "a"], "RuntimeError"),
    "4300 digits": ([10**5000, "a"], "ValueError"),
}


@pytest.mark.parametrize("make", [from_frame, encode])
@pytest.mark.parametrize("cells", UNREADABLE)
def test_a_column_that_cannot_be_read_is_named_and_can_be_left_out(make, cells):
    values, reason = UNREADABLE[cells]
    frame = shop().assign(odd=pd.Series(list(values) * (N_ROWS // len(values)), dtype=object))
    said = rf"frame: column 'odd' cannot be read, for {reason}\(.*: make its cells numbers or text, or leave it out$"
    for target in ("churned", "odd"):
        with pytest.raises(DatasetError, match=said):
            make(frame, target)
    assert "odd" not in make(frame, "churned", ignore=["odd"]).categorical_names


@pytest.mark.parametrize("make", [from_frame, encode])
@pytest.mark.parametrize("argument", ["categorical", "ignore"])
@pytest.mark.parametrize("value", [3, None, [Unreadable()], np.array(3)], ids=["3", "None", "unreadable", "no list"])
def test_columns_that_are_no_list_of_names_are_refused(make, argument, value):
    with pytest.raises(DatasetError, match=f"frame: {argument} must be a list of column names, not "):
        make(shop(), "churned", **{argument: value})


@pytest.mark.parametrize("make", [from_frame, encode])
def test_one_name_is_a_list_of_one(make):
    assert "price" not in make(shop(), "churned", ignore="price").numeric_names
    assert "price" in make(shop(), "churned", categorical="price").categorical_names


@pytest.mark.parametrize("target", [3, None, ["churned"], np.array(["churned"]), Unreadable()], ids=type)
def test_a_target_that_is_no_name_is_refused(target):
    with pytest.raises(DatasetError, match="frame: target must be the name of a column, not "):
        from_frame(shop(), target)


@pytest.mark.parametrize("column", ["\ud800", Unreadable(), Decimal("sNaN")], ids=["surrogate", "no text", "no hash"])
def test_a_name_that_cannot_be_written_is_refused(column):
    frame = shop()
    frame.columns = pd.Index([column, *frame.columns[1:]], dtype=object)
    with pytest.raises(DatasetError, match="frame: rename column 0, "):
        from_frame(frame, "churned")


@pytest.mark.parametrize(
    "column",
    [
        (ROWS % 3).astype("f2"),
        (ROWS % 3).astype("longdouble"),
        (ROWS % 3).astype(">f8"),
        pd.array(["a", "b", "c", None] * 25, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    ],
    ids=["half", "long double", "big-endian", "Arrow's dictionary"],
)
def test_a_column_of_any_plain_type_can_be_categories(column):
    dataset = from_frame(shop().assign(kind=column), "churned", categorical=["kind"], missing="level")
    assert dataset.n_levels[dataset.categorical_names.index("kind")] == 3 + pd.isna(column).any()


@pytest.mark.parametrize("function", [save, load, describe])
@pytest.mark.parametrize("what", [None, ["wine"], Unreadable(), 0.5], ids=type)
def test_what_is_no_dataset_is_refused(function, what):
    with pytest.raises(DatasetError, match=r"^[aA] [dD]ataset is .*, not "):
        function(what)


def test_a_long_or_many_lined_value_is_said_in_one_short_line():
    frame = shop().assign(odd=pd.Series([pd.Series([1, 2]), "x" * 10**6] * (N_ROWS // 2), dtype=object))
    with pytest.raises(DatasetError, match="no value is a number") as error:
        from_frame(frame, "churned", numeric=["odd"])
    assert len(str(error.value)) < 200
    assert "\n" not in str(error.value)
