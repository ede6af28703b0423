"""Tables in print: pandas' own Markdown and LaTeX writers, with one way to say numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

__all__ = ["markdown", "standing", "wins_latex", "wins_markdown"]


def markdown(rows: Iterable[Mapping[str, Any]] | pd.DataFrame) -> str:
    """Return rows as a Markdown table, numbers to the right.

    Examples
    --------
    >>> print(markdown([{"learner": "EMT", "runs": 1200}]))
    | learner   |   runs |
    |:----------|-------:|
    | EMT       |  1,200 |
    """
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    sides = ["right" if pd.api.types.is_numeric_dtype(frame[column]) else "left" for column in frame]
    # The writer would take words such as "1e5" for numbers, and break cells at bars and ends of lines.
    words = frame.astype(object).map(_cell)
    return str(words.to_markdown(index=False, colalign=sides, disable_numparse=True))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    if value is None:
        return ""
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return " ".join(text.replace("|", r"\|").split())


def standing(table: pd.DataFrame) -> str:
    """Say on how many datasets and seeds the pairs of a table of `analysis.wins.win_table` stand.

    Examples
    --------
    >>> standing(pd.DataFrame({"datasets": [5, 6], "fewest_seeds": 3, "most_seeds": 50}))
    '5 to 6 datasets, 3 to 50 seeds'
    """
    columns = ("datasets", "datasets"), ("fewest_seeds", "most_seeds")
    ranges = [sorted({int(table[low].min()), int(table[high].max())}) if len(table) else [0] for low, high in columns]
    datasets, seeds = (" to ".join(map(str, ends)) for ends in ranges)
    return f"{datasets} datasets, {seeds} seeds"


def _wins(table: pd.DataFrame) -> pd.DataFrame:
    """Return the matrix of wins, rows beat columns; missing where no dataset is decided."""
    learners = list(dict.fromkeys(table["row"]))
    decided = table["wins"].where(table["undecided"] < table["datasets"])
    wins = table.assign(wins=decided).pivot(index="row", columns="column", values="wins")
    return wins.reindex(index=learners, columns=learners).rename_axis(index=None, columns=None)


def wins_markdown(table: pd.DataFrame, label: Callable[[str], str] = str) -> str:
    """Return the counts as a Markdown table: rows beat columns, the most wins of a column in bold.

    Examples
    --------
    >>> counts = pd.DataFrame({"row": ["emt", "cmt"], "column": ["cmt", "emt"], "wins": [3, 1], "undecided": 0})
    >>> print(wins_markdown(counts.assign(datasets=5), str.upper))
    |     | EMT   | CMT   |
    |:----|:------|:------|
    | EMT | —     | **3** |
    | CMT | **1** | —     |
    """
    wins = _wins(table)
    counts, best, learners = wins.to_numpy(float), wins.max(), [str(name) for name in wins]

    def cell(row: str, column: str) -> str:
        count = counts[learners.index(row), learners.index(column)]
        if row == column or pd.isna(count):
            return "—" if row == column else "undecided"
        return f"**{count:.0f}**" if count == best[column] > 0 else f"{count:.0f}"

    words = [[label(row), *(cell(row, column) for column in learners)] for row in learners]
    frame = pd.DataFrame(words)
    return str(frame.to_markdown(index=False, headers=["", *map(label, learners)], disable_numparse=True))


def wins_latex(table: pd.DataFrame, label: Callable[[str], str] = str) -> str:
    r"""Return the counts as a LaTeX table in the style of booktabs, the most wins of a column in bold.

    Examples
    --------
    >>> counts = pd.DataFrame({"row": ["emt", "cmt"], "column": ["cmt", "emt"], "wins": [3, 1], "undecided": 0})
    >>> print(wins_latex(counts.assign(datasets=5, fewest_seeds=50, most_seeds=50), str.upper).splitlines()[6])
    EMT & --- & \textbf{3} \\
    """
    wins = _wins(table)
    caption = f"On how many datasets the row beats the column ({standing(table)})."
    if wins.isna().sum().sum() > len(wins):
        caption += " ---: no pair, or fewer than three seeds, which decide nothing."
    styler = wins.style.format(precision=0, na_rep="---")
    styler = styler.apply(lambda column: ["textbf:--rwrap;" if count == column.max() > 0 else "" for count in column])
    for axis in (0, 1):
        styler = styler.format_index(lambda name: label(str(name)), escape="latex", axis=axis)
    return str(styler.to_latex(hrules=True, caption=caption, column_format="l" + "r" * len(wins)))
