"""A table of your own: a few plain rules say what each of its columns is, and `describe` tells what they made of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from emt.arguments import brief, check_choice
from emt.data.dataset import Dataset, DatasetError
from emt.data.encode import (
    check_columns,
    codes_of,
    column_names,
    doubles_of,
    encode,
    kind_of,
    listed,
    reading,
    within_range,
)

__all__ = ["describe", "from_frame"]

FEW = 20  # so many values are never too many
MUCH = 0.05  # the share of rows that may be lost without a word
NUMBER, CATEGORIES, DROPPED, TARGET = "number", "categories", "dropped", "target"
FILLED = {NUMBER: "median where missing", CATEGORIES: "missing is a level"}
LIKE_A_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?|\d{1,4}([/.])\d{1,2}\2\d{1,4}", re.ASCII)
DATE_FORMATS = ("ISO8601", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
LIKE_A_NUMBER = re.compile(r"\s*[-+]?[$€£]?\s*\d[\d.,' ]*\s*([%$€£]|[kKmM])?\s*", re.ASCII)
LIKE_AN_ID = re.compile(r"(^|[\W_])(id|Id|ID)$|[a-z](Id|ID)$", re.ASCII)


class _Column(NamedTuple):
    """What became of a column: how it is kept and why, and its values as floats or as pandas' categories."""

    kept: str
    why: str
    values: pd.Series


def from_frame(
    frame: pd.DataFrame,
    target: str,
    *,
    name: str = "frame",
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    missing: str = "drop",
    max_rows: int | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Dataset:
    """Make a dataset of a table of your own.

    Numbers stay numbers; text, truth values and categories become categories; dates, also in text (2024-05-31,
    31.5.2024, 31/5/2024), become days since the first of them. Columns that nothing can be learned from are dropped:
    with one value only, numbering the rows, identifiers (whole numbers under a name like ``customer_id``, none twice),
    and text with more than half as many levels as there are rows. `describe` tells what became of each column;
    `categorical` and `numeric` keep a column that would be dropped.

    Parameters
    ----------
    frame : DataFrame
        One row per example.
    target : str
        The column to predict. Rows where it is missing are dropped.
    name : str
        What to call the set; the order of its rows in an environment comes from it.
    categorical, numeric : sequence of str
        Columns to keep as categories or as numbers, whatever they look like. Text that is no number is missing then.
    ignore : sequence of str
        Columns to leave out.
    missing : {"drop", "level"}
        What becomes of rows with a missing value: "drop" drops them, as in the paper, and warns when that costs more
        than 5% of the rows; "level" keeps them: missing is a level of its own, and in a column of numbers the median,
        with one more column, ``<name> is missing``, that is 1 there. Rows with an infinite value are always dropped.
    max_rows : int, optional
        Keep at most so many of the clean rows, chosen at random by the name.
    facts : mapping, optional
        More facts to keep with the set: plain values, ready for JSON.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If there is nothing left to learn from, naming the column at fault.

    Examples
    --------
    >>> frame = pd.DataFrame({"shop": "Riga", "day": ["2024-05-30", "2024-05-31"] * 2, "size": [1.0, 2.5, 4, None]})
    >>> dataset = from_frame(frame.assign(kind=list("abab")), target="kind", missing="level")
    >>> print(describe(dataset).to_string(index=False))  # doctest: +NORMALIZE_WHITESPACE
    column    kept  levels  missing                   why
      shop dropped       1        0        one value only
       day  number       2        0 days since 2024-05-30
      size  number       3        1  median where missing
      kind  target       2        0
    >>> dataset.numeric_names
    ('day', 'size', 'size is missing')
    """
    names = column_names(name, frame)
    check_choice(("drop", "level"), missing=missing)
    wishes: dict[str, str] = {}
    for wish, columns in (
        (CATEGORIES, listed(name, categorical=categorical)),
        (NUMBER, listed(name, numeric=numeric)),
        (DROPPED, listed(name, ignore=ignore)),
    ):
        for column_name in columns:
            if wishes.setdefault(column_name, wish) != wish:
                raise DatasetError(f"{name}: {column_name!r} is to be {wishes[column_name]} and {wish}: choose one")
    check_columns(name, names, target, wishes)
    if wishes.get(target) == DROPPED:
        raise DatasetError(f"{name}: {target!r} is the target and cannot be ignored")

    table: list[dict[str, Any]] = []
    kept: list[pd.Series] = []
    for position, column_name in enumerate(names):
        column = frame.iloc[:, position].reset_index(drop=True)
        with reading(name, column_name):
            if column_name == target:
                made = _Column(TARGET, "", _categories(column))
                _refuse_a_quantity(name, target, made.values)
            else:
                made = _judge(column_name, column, wishes.get(column_name), missing)
        gaps = int(made.values.isna().sum())
        filled = missing == "level" and gaps > 0 and made.kept in (NUMBER, CATEGORIES)
        why = "; ".join(filter(None, [made.why, FILLED[made.kept] if filled else ""]))
        table.append(
            {
                "column": column_name,
                "kept": made.kept,
                "levels": int(made.values.nunique()),
                "missing": gaps,
                "why": why,
            }
        )
        if made.kept != DROPPED:
            kept += _fill(column_name, made) if filled else [made.values.rename(column_name)]
    dropped = {row["column"]: row["why"] for row in table if row["kept"] == DROPPED}
    if len(kept) == 1 and dropped:
        reasons = ", ".join(f"{column!r} ({why})" for column, why in list(dropped.items())[:8])
        raise DatasetError(f"{name}: no column is left to learn from: {reasons}; categorical= or numeric= keeps one")
    dataset = encode(pd.concat(kept, axis=1), target, name=name, max_rows=max_rows, facts=facts)
    dataset.facts["dropped_columns"] |= dropped
    dataset.facts["columns"] = table
    n_levels = iter(dataset.n_levels.tolist())
    for row in table:
        if row["kept"] == CATEGORIES:
            row["levels"] = next(n_levels)
    _warn_of_lost_rows(dataset, missing)
    return dataset


def describe(dataset: Dataset) -> pd.DataFrame:
    """Tell what became of each column of the table that a dataset was made of.

    Parameters
    ----------
    dataset : Dataset
        Any set; only `from_frame` knows how many values were missing, and the order of the columns.

    Returns
    -------
    DataFrame
        One row per column: its name; ``kept`` as number, as categories, as target, or dropped; the number of its
        ``levels`` (different values); how many values were ``missing``; and ``why``.

    Examples
    --------
    >>> from emt.data import load
    >>> describe(load("balance-scale"))["kept"].tolist()
    ['number', 'number', 'number', 'number', 'target']
    """
    if not isinstance(dataset, Dataset):
        raise DatasetError(f"a Dataset is needed, not {brief(dataset)}")
    table = dataset.facts.get("columns")
    if table is None:
        numbers = zip(dataset.numeric_names, dataset.numeric.T, strict=True)
        categories = zip(dataset.categorical_names, dataset.n_levels, strict=True)
        rows: list[tuple[Any, ...]]
        rows = [(name, NUMBER, len(np.unique(values)), None, "") for name, values in numbers]
        rows += [(name, CATEGORIES, int(n_levels), None, "") for name, n_levels in categories]
        rows += [(name, DROPPED, None, None, why) for name, why in dataset.facts.get("dropped_columns", {}).items()]
        rows += [(dataset.facts.get("target", TARGET), TARGET, dataset.n_classes, None, "")]
        table = [dict(zip(("column", "kept", "levels", "missing", "why"), row, strict=True)) for row in rows]
    return pd.DataFrame(table).astype({"levels": "Int64", "missing": "Int64"})


def _judge(name: str, column: pd.Series, wish: str | None, missing: str) -> _Column:
    """Say what a column is: by the user's wish, else by what it holds."""
    if wish == DROPPED:
        try:
            return _dropped(column, "ignored")
        except Exception:  # its cells may be of any class
            return _dropped(pd.Series(np.nan, column.index), "ignored, and cannot be read")
    if column.isna().all():
        return _dropped(column, "empty")
    if wish == CATEGORIES:
        return _Column(CATEGORIES, "", _categories(column))
    kind, dates = kind_of(column), _dates(column)
    if len(dates) > 1:
        return _dropped(column, "dates, day or month first? pandas.to_datetime")
    if dates:
        days = ((dates[0] - dates[0].min()) / pd.Timedelta(days=1)).astype(float)
        made = _Column(NUMBER, f"days since {dates[0].min():%Y-%m-%d}", days)
    elif kind == "numeric":
        made = _Column(NUMBER, "", pd.Series(doubles_of(column)))
    elif wish == NUMBER:
        numbers = pd.to_numeric(column.map(within_range).astype(object), errors="coerce").astype(float)
        if numbers.isna().all():
            sample = column.dropna().iloc[0]
            raise DatasetError(f"numeric={name!r}: no value is a number, e.g. {brief(sample)}: clean the column first")
        return _Column(NUMBER, "", numbers)
    elif kind == "nominal":
        made = _Column(CATEGORIES, "", _categories(column))
    else:
        return _dropped(column, kind)
    if wish:
        return made
    present = made.values.dropna()
    levels = present.nunique()
    if levels + (missing == "level" and len(present) < len(column)) < 2:
        return _dropped(column, "one value only")
    if made.kept == CATEGORIES and levels > FEW:
        advice = _numbers_in_text(present)
        if levels > len(present) / 2:
            return _dropped(column, advice or f"{levels} levels in {len(present)} rows: text or an id")
        return made._replace(why=advice)
    if kind == "numeric" and (reason := _identifies(name, present)):
        return _dropped(column, reason)
    return made


def _dropped(column: pd.Series, why: str) -> _Column:
    return _Column(DROPPED, why, column.map(str, na_action="ignore"))


def _categories(column: pd.Series) -> pd.Series:
    codes, levels = codes_of(column)
    used = np.unique(codes[codes >= 0])
    return pd.Series(
        pd.Categorical(np.array([*levels, None], dtype=object)[codes], pd.Index(levels, dtype=object)[used])
    )


def _dates(column: pd.Series) -> list[pd.Series]:
    """Return a column of dates as moments, one for each way to read them; none where they are no dates."""
    kind, present = pd.api.types.infer_dtype(column, skipna=True), column.notna()
    if kind == "datetime64":
        return [column]
    if kind in ("datetime", "date"):
        ways = [pd.to_datetime(column, utc=True, errors="coerce")]
    elif kind == "string" and all(map(LIKE_A_DATE.fullmatch, column[present])):
        ways = [pd.to_datetime(column, utc=True, errors="coerce", format=way) for way in DATE_FORMATS]
    else:
        return []
    return [dates for dates in ways if dates.notna().equals(present)]


def _numbers_in_text(present: pd.Series) -> str:
    """Say what keeps text from being numbers, where most of it looks like them; or nothing."""
    texts = present.astype(str)
    plain = pd.to_numeric(texts, errors="coerce").notna()
    if plain.all():
        return "numbers as text: numeric= takes them as numbers"
    if plain.mean() > 0.5:
        return f"numbers, but for {texts[~plain].iloc[0]!r}: numeric= takes such as missing"
    like = texts.map(lambda text: LIKE_A_NUMBER.fullmatch(text) is not None)
    return f"numbers as text, e.g. {texts[like & ~plain].iloc[0]!r}: clean them first" if like.mean() > 0.5 else ""


def _identifies(name: str, present: pd.Series) -> str:
    """Say why a column of numbers tells one row from another and no more, or nothing."""
    if len(present) <= FEW or not present.is_unique or not (present % 1 == 0).all():
        return ""
    if present.max() - present.min() == len(present) - 1:
        return "it numbers the rows"
    return "an id by its name, and no value twice" if LIKE_AN_ID.search(name) else ""


def _fill(name: str, made: _Column) -> list[pd.Series]:
    """Return a column without gaps: missing is a level of its own, or the median and a column that says where."""
    gaps, values = made.values.isna(), made.values.rename(name)
    if made.kept == CATEGORIES:
        codes = np.where(gaps, len(values.cat.categories), values.cat.codes)
        return [pd.Series(pd.Categorical(codes), name=name)]
    finite = values[np.isfinite(values)]
    return [values.fillna(finite.median()), gaps.astype(float).rename(f"{name} is missing")]


def _refuse_a_quantity(name: str, target: str, values: pd.Series) -> None:
    levels, n_rows = values.nunique(), values.notna().sum()
    if levels > FEW and levels > n_rows / 2:
        raise DatasetError(
            f"{name}: target {target!r} has {levels} different values in {n_rows} rows, but actions are classes: "
            "cut a quantity into a few, e.g. with pandas.qcut"
        )


def _warn_of_lost_rows(dataset: Dataset, missing: str) -> None:
    facts = dataset.facts
    lost = sum(facts["dropped_rows"].values())
    if lost <= MUCH * facts["rows_total"]:
        return
    gaps = {row["column"]: row["missing"] for row in facts["columns"] if row["kept"] != DROPPED and row["missing"]}
    most = ", ".join(f"{column!r} in {gaps[column]}" for column in sorted(gaps, key=lambda column: -gaps[column])[:3])
    words = f"{dataset.name}: {lost} of {facts['rows_total']} rows are dropped for a missing or infinite value"
    if gaps and missing == "drop":
        words += f" (missing: {most}); missing='level' keeps such rows, ignore= leaves a column out"
    warnings.warn(words, stacklevel=3)
