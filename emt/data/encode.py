"""Cleaning and encoding as in the paper: every column of a kind that can be used is used, incomplete rows are dropped.

OpenML's tasks and the built-in sets come this way. A table of one's own comes by `emt.data.from_frame`, which looks at
what its columns are first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from emt.arguments import brief, check_counts, nearest
from emt.data.dataset import Dataset, DatasetError
from emt.seeds import seed_sequence

__all__ = ["encode", "from_arrays"]


def encode(
    frame: pd.DataFrame,
    target: str,
    *,
    name: str = "frame",
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
    max_rows: int | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Dataset:
    """Clean and encode a data frame.

    Numeric columns stay numeric; text, boolean and category columns become codes; dates and other types are dropped.
    Rows with a missing or infinite value, in any column that is kept or in the target, are dropped. What was dropped
    and why is in the ``facts`` of the result.

    Parameters
    ----------
    frame, target, name, ignore, max_rows, facts
        As in `emt.data.from_frame`.
    categorical : sequence of str
        Numeric columns that are codes, not quantities.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If there is nothing left to learn from, naming the column at fault.

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [1.0, 2.5, None], "colour": ["red", "blue", "red"], "kind": ["a", "b", "a"]})
    >>> dataset = encode(frame, target="kind")
    >>> dataset.numeric.ravel().tolist(), dataset.categorical.ravel().tolist(), dataset.classes
    ([1.0, 2.5], [1, 0], ('a', 'b'))
    >>> dataset.facts["dropped_rows"]
    {'missing': 1}
    """
    names = column_names(name, frame)
    if not isinstance(facts, Mapping | None):
        raise DatasetError(f"{name}: facts must be a mapping, not {brief(facts)}")
    if facts and not isinstance(facts.get("dropped_columns", {}), Mapping):
        raise DatasetError(f"{name}: facts: dropped_columns must be a mapping, not {brief(facts['dropped_columns'])}")
    if facts and "columns" in facts:
        raise DatasetError(f"{name}: facts: columns is what from_frame tells of them: choose another key")
    if max_rows is not None:
        check_counts(1, max_rows=max_rows)
    as_codes, ignored = set(listed(name, categorical=categorical)), set(listed(name, ignore=ignore))
    check_columns(name, names, target, as_codes | ignored)
    as_codes.add(target)
    numeric: dict[int, np.ndarray] = {}
    nominal: dict[int, tuple[np.ndarray, list[str]]] = {}
    labels: tuple[np.ndarray, list[str]] = (np.zeros(0, np.int32), [])
    dropped_columns: dict[str, str] = {}
    for position, column_name in enumerate(names):
        column = frame.iloc[:, position]
        if column_name in ignored and column_name != target:
            dropped_columns[column_name] = "ignored"
            continue
        with reading(name, column_name):
            kind = "nominal" if column_name in as_codes else kind_of(column)
            if kind == "numeric":
                with np.errstate(over="ignore"):  # beyond float32's range is infinity too
                    numeric[position] = doubles_of(column).astype(np.float32)
            elif kind != "nominal":
                dropped_columns[column_name] = kind
            elif column_name == target:
                labels = codes_of(column)
            else:
                nominal[position] = codes_of(column)

    missing = {position: np.isnan(values) for position, values in numeric.items()}
    missing |= {position: codes < 0 for position, (codes, _) in nominal.items()}
    missing[names.index(target)] = labels[0] < 0
    infinite = {position: np.isinf(values) for position, values in numeric.items()}
    any_missing, any_infinite = (_any(masks, len(frame)) for masks in (missing, infinite))
    clean = np.flatnonzero(~(any_missing | any_infinite))
    counts = {"missing": int(any_missing.sum()), "infinite": int((any_infinite & ~any_missing).sum())}
    _refuse_unusable(name, names, clean, missing, infinite, numeric or nominal)
    kept = clean
    if max_rows is not None and len(clean) > max_rows:
        kept = np.sort(np.random.default_rng(seed_sequence("keep", name)).permutation(clean)[:max_rows])

    nominal = {position: _used(codes[kept], levels) for position, (codes, levels) in nominal.items()}
    codes, classes = _used(labels[0][kept], labels[1])
    if len(classes) < 2:
        raise DatasetError(
            f"{name}: target {target!r} has one class only, {classes[0]!r}, in {len(kept)} usable row(s): "
            "a bandit needs two actions or more"
        )
    numeric_block = np.empty((len(kept), len(numeric)), np.float32)
    for j, values in enumerate(numeric.values()):
        numeric_block[:, j] = values[kept]
    categorical_block = np.empty((len(kept), len(nominal)), np.int32)
    for j, (column_codes, _) in enumerate(nominal.values()):
        categorical_block[:, j] = column_codes
    facts = dict(facts or {})
    return Dataset(
        name=name,
        numeric=numeric_block,
        categorical=categorical_block,
        n_levels=np.array([len(levels) for _, levels in nominal.values()], np.int32),
        labels=codes,
        classes=tuple(classes),
        numeric_names=tuple(names[position] for position in numeric),
        categorical_names=tuple(names[position] for position in nominal),
        facts={
            **facts,
            "target": target,
            "rows": len(kept),
            "rows_usable": len(clean),
            "rows_total": len(frame),
            "numeric": len(numeric),
            "categorical": len(nominal),
            "classes": len(classes),
            "dropped_rows": {reason: count for reason, count in counts.items() if count},
            "dropped_columns": {**facts.get("dropped_columns", {}), **dropped_columns},
        },
    )


def from_arrays(
    X: Any,
    y: Any,
    *,
    categorical: Sequence[int] = (),
    name: str = "arrays",
    names: Sequence[str] | None = None,
    max_rows: int | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Dataset:
    """Clean and encode an array of features and an array of labels.

    Parameters
    ----------
    X : array or scipy sparse matrix, shape (n_rows, n_columns)
        The features.
    y : array, shape (n_rows,)
        The labels, of any type.
    categorical : sequence of int
        Positions of the columns of X that are codes, not quantities.
    name : str
        What to call the set.
    names : sequence of str, optional
        Names of the columns of X; x0, x1, ... if not given.
    max_rows, facts
        As in `emt.data.from_frame`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from_arrays([[0.5, 3], [1.5, 7], [2.5, 3]], ["no", "yes", "no"], categorical=[1])
    Dataset('arrays': 3 rows, 1 numeric, 1 categorical, 2 classes)
    """
    try:
        frame = pd.DataFrame(X.toarray() if sparse.issparse(X) else X).infer_objects()
    except MemoryError:
        raise
    except Exception as error:  # whatever pandas makes of things that are no table
        raise DatasetError(f"{name}: X must have two dimensions, rows and columns: {brief(error)}") from error
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise DatasetError(f"{name}: y must have one dimension, a label for each row: {brief(error)}") from error
    if labels.shape != (len(frame),):
        raise DatasetError(f"{name}: X has {len(frame)} rows, but y has the shape {labels.shape}")
    n_columns = frame.shape[1]
    names = [f"x{j}" for j in range(n_columns)] if names is None else listed(name, names=names)
    if len(names) != n_columns:
        raise DatasetError(f"{name}: {len(names)} names for {n_columns} columns")
    try:
        positions = list(categorical)
    except TypeError as error:
        raise DatasetError(
            f"{name}: categorical must be a list of positions of columns, not {brief(categorical)}"
        ) from error
    if outside := [j for j in positions if not isinstance(j, Integral) or j not in range(n_columns)]:
        raise DatasetError(f"{name}: categorical columns {brief(outside)} are not among the {n_columns} columns of X")
    target = "label"
    while target in names:
        target += "_"
    frame.columns = pd.Index(names, dtype=object)
    frame.insert(n_columns, target, labels)
    chosen = [names[j] for j in positions]
    return encode(frame, target, name=name, categorical=chosen, max_rows=max_rows, facts=facts)


def column_names(name: str, frame: pd.DataFrame) -> list[str]:
    """Return the names of a table's columns as text; refuse what is no table, or has a name that cannot be written."""
    if not isinstance(name, str):
        raise DatasetError(f"the name of a dataset must be a string, not {brief(name)}")
    if not isinstance(frame, pd.DataFrame):
        raise DatasetError(
            f"{name}: a DataFrame is needed, such as pandas.read_csv(path), not a {type(frame).__name__}"
        )
    for position, column in enumerate(frame.columns):
        try:
            hash(column)
            str(column).encode()
        except Exception as error:
            raise DatasetError(f"{name}: rename column {position}, {brief(column)}: {brief(error)}") from error
    return [str(column) for column in frame.columns]


def listed(name: str, **given: Iterable[str]) -> list[str]:
    """Return the names of columns that an argument has; one name is a list of one."""
    (columns,) = given.values()
    try:
        return [columns] if isinstance(columns, str) else [str(column) for column in columns]
    except Exception as error:  # nothing that can be gone through, or names of any class
        (argument,) = given
        raise DatasetError(f"{name}: {argument} must be a list of column names, not {brief(columns)}") from error


@contextmanager
def reading(name: str, column: str) -> Iterator[None]:
    """Say which column it was where one cannot be read: its cells may be of any class, and its type of any kind."""
    try:
        yield
    except (DatasetError, MemoryError):
        raise
    except Exception as error:
        raise DatasetError(
            f"{name}: column {column!r} cannot be read, for {brief(error)}: "
            "make its cells numbers or text, or leave it out"
        ) from error


def check_columns(name: str, names: Sequence[str], target: str, mentioned: Iterable[str]) -> None:
    """Refuse a target that is not one of the columns, and mentioned columns that are none."""
    if not isinstance(target, str):
        raise DatasetError(f"{name}: target must be the name of a column, not {brief(target)}")
    if names.count(target) != 1:
        raise DatasetError(
            f"{name}: there is no target column {target!r}; {_columns(target, names)}"
            if target not in names
            else f"{name}: {names.count(target)} columns are called {target!r}: rename all but the target"
        )
    if unknown := sorted(set(mentioned) - set(names)):
        raise DatasetError(f"{name}: no such column: {_shorten(unknown)}; {_columns(unknown[0], names)}")


def _columns(wanted: str, names: Sequence[str]) -> str:
    """Say which column may be meant, or which there are."""
    words = nearest(str(wanted), names)
    return words if words.startswith("did you mean") else f"the columns are {_shorten(names)}"


def kind_of(column: pd.Series) -> str:
    """Return "numeric", "nominal", or the reason why the column is neither."""
    dtype = column.dtype.subtype if isinstance(column.dtype, pd.SparseDtype) else column.dtype
    types = pd.api.types
    if isinstance(dtype, pd.CategoricalDtype) or types.is_bool_dtype(dtype):
        return "nominal"
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return "numeric"
    if types.is_object_dtype(dtype):
        inferred = types.infer_dtype(column, skipna=True)
        if inferred in ("floating", "integer", "mixed-integer-float", "decimal", "empty"):
            return "numeric"
        if inferred == "mixed" and column.map(lambda cell: isinstance(cell, list | tuple | dict | np.ndarray)).any():
            return "cells that hold more than one value"
        return "nominal" if inferred in ("string", "boolean", "mixed", "mixed-integer") else inferred
    return "nominal" if types.is_string_dtype(dtype) else str(dtype)


def doubles_of(column: pd.Series) -> np.ndarray:
    """Return a numeric column as float64, missing as NaN, beyond its range as infinity."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:  # Python's whole numbers know no bounds
        return column.map(within_range).to_numpy(dtype=np.float64, na_value=np.nan)


def within_range(value: Any) -> Any:
    """Return a cell as it is, but a whole number beyond the range of floating point as infinity."""
    try:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    except OverflowError:
        return math.inf


def codes_of(column: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return a nominal column as codes, -1 where missing, and the names of its levels in order.

    A level is its name: 1, 1.0 and "1" in one column, as `pandas.read_csv` may leave them, are the same.
    """
    if column.dtype == object:
        column = column.map(_level, na_action="ignore")
    column = pd.Series(np.asarray(column) if isinstance(column.dtype, pd.SparseDtype) else column)
    try:
        coded = column.astype("category").cat
    except (NotImplementedError, ValueError):  # of a type that pandas and Arrow cannot sort: by their names, then
        coded = column.astype(object).map(_level, na_action="ignore").astype("category").cat
    codes, levels = coded.codes.to_numpy(np.int32), [_level(level) for level in coded.categories]
    first = {level: code for code, level in reversed(list(enumerate(levels)))}
    if len(first) < len(levels):
        codes = np.array([*(first[level] for level in levels), -1], np.int32)[codes]  # the last one is -1's
    return codes, levels


def _level(value: Any) -> str:
    """Name a level; a whole number is named without a decimal point, so that 1.0 and 1 are the same name."""
    return str(int(value)) if isinstance(value, float | np.floating) and float(value).is_integer() else str(value)


def _used(codes: np.ndarray, levels: list[str]) -> tuple[np.ndarray, list[str]]:
    """Renumber codes so that only the levels that occur remain, in their order."""
    used, renumbered = np.unique(codes, return_inverse=True)
    return renumbered.astype(np.int32), [levels[code] for code in used]


def _any(masks: Mapping[int, np.ndarray], n_rows: int) -> np.ndarray:
    total = np.zeros(n_rows, bool)
    for mask in masks.values():
        total |= mask
    return total


def _refuse_unusable(
    name: str,
    names: list[str],
    clean: np.ndarray,
    missing: Mapping[int, np.ndarray],
    infinite: Mapping[int, np.ndarray],
    features: Mapping[int, Any],
) -> None:
    """Raise where no column or no row is left, naming the columns that cost most."""
    if not features:
        raise DatasetError(f"{name}: no column is left to learn from (columns: {_shorten(names)})")
    if len(clean):
        return
    if not len(next(iter(missing.values()))):
        raise DatasetError(f"{name}: there are no rows")
    n_rows = len(next(iter(missing.values())))
    lost = {names[p]: int(mask.sum()) + int(infinite[p].sum() if p in infinite else 0) for p, mask in missing.items()}
    worst = sorted(lost, key=lambda column: -lost[column])[:3]
    blame = ", ".join(f"{column!r} in {lost[column]}" for column in worst if lost[column])
    raise DatasetError(
        f"{name}: every row has a missing or infinite value (column {blame} of {n_rows} rows); "
        "ignore such columns or fill them in"
    )


def _shorten(words: Sequence[str]) -> str:
    return ", ".join(map(brief, words[:8])) + (f" and {len(words) - 8} more" if len(words) > 8 else "")
