"""What the datasets of a study are: name, size, classes and columns, and the groups that a reader may choose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from emt.data import DatasetError, load
from experiments.checks import ConfigError, check_file_names
from experiments.plan import Source

__all__ = ["UNKNOWN", "dataset_table", "families", "read_groups"]

UNKNOWN = "not known here"
FAMILY = 3  # so many datasets with the same first word in their names are a family


def read_groups(path: Path | None) -> pd.DataFrame:
    """Return the groups of datasets that a CSV file gives: columns dataset and group, and name where it has them.

    Examples
    --------
    >>> read_groups(None).empty
    True
    """
    if path is None:
        return pd.DataFrame(columns=["dataset", "group"])
    try:
        groups = pd.read_csv(path, dtype=str)
    except (OSError, ValueError) as error:
        raise ConfigError(f"report.groups={path} cannot be read as CSV: {error}") from error
    if not {"dataset", "group"} <= set(groups.columns):
        raise ConfigError(
            f"{path}: report.groups must have the columns dataset and group, not {', '.join(groups.columns)}"
        )
    check_file_names(groups["group"].dropna().unique(), f"{path}: report.groups")
    return groups


def dataset_table(sources: Mapping[str, Source], horizon: int, groups: pd.DataFrame) -> pd.DataFrame:
    """Describe datasets by what the store has of them; what it does not have is not known.

    Parameters
    ----------
    sources : mapping of str to Source
        The datasets of a study.
    horizon : int
        How many interactions it has at most.
    groups : DataFrame
        As `read_groups` returns it.

    Returns
    -------
    DataFrame
        Columns dataset, name, rows, steps, classes, numeric, categorical (counts, missing where not known), and
        family, columns, actions and group: words to choose by.

    Examples
    --------
    >>> source = Source("iris", "iris", 150, load("iris").fingerprint)
    >>> dataset_table({"iris": source}, 4000, read_groups(None))[["classes", "columns", "actions"]].values.tolist()
    [[3, 'numeric', '3 to 9 classes']]
    """
    table = pd.DataFrame([_describe(source, horizon) for source in sources.values()])
    if table.empty:
        return table
    group = dict(zip(groups["dataset"], groups["group"], strict=True))
    if "name" in groups:
        given = dict(zip(groups["dataset"], groups["name"], strict=True))
        table["name"] = [given.get(key, name) for key, name in zip(table["dataset"], table["name"], strict=True)]
    table["family"] = families(table["name"])
    table["group"] = [group.get(key, UNKNOWN) for key in table["dataset"]]
    return table


def families(names: pd.Series) -> pd.Series:
    """Return the first words of names that several have in common, and other for the rest.

    Examples
    --------
    >>> families(pd.Series(["BNG(a)", "BNG(b)", "BNG(c)", "iris"])).tolist()
    ['BNG', 'BNG', 'BNG', 'other']
    """
    words = names.map(lambda name: re.split(r"[^A-Za-z0-9]", name)[0])
    return words.where(words.map(words.value_counts()) >= FAMILY, "other")


def _describe(source: Source, horizon: int) -> dict[str, object]:
    facts: dict[str, object] = {"dataset": source.name, "name": source.name, "rows": source.n_rows}
    facts |= {"steps": min(source.n_rows, horizon)}
    try:
        dataset = load(source.reference)
        if dataset.fingerprint != source.fingerprint:
            raise DatasetError("prepared anew since")
    except DatasetError:
        return facts | {"classes": None, "numeric": None, "categorical": None, "columns": UNKNOWN, "actions": UNKNOWN}
    numeric, categorical = dataset.numeric.shape[1], dataset.categorical.shape[1]
    columns = "mixed" if numeric and categorical else "numeric" if numeric else "nominal"
    n = dataset.n_classes
    actions = "2 classes" if n <= 2 else "3 to 9 classes" if n < 10 else "10 classes or more"
    facts |= {"name": str(dataset.facts.get("name", source.name)), "classes": n}
    return facts | {"numeric": numeric, "categorical": categorical, "columns": columns, "actions": actions}
