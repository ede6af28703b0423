"""What ``make bench`` measured, in Markdown: speed beside Vowpal Wabbit and coba, what growing and starting costs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy import stats

from analysis.tables import markdown

__all__ = ["runner_block", "scaling_block", "speed_block"]

NOT_MEASURED = "Not measured yet: `make bench`."


def speed_block(path: Path) -> str:
    """Return the table of how many times faster each learner is than Vowpal Wabbit, through Python and in its C++.

    What was measured beside an older VW (``make bench-products``) comes last.
    """
    if not path.exists():
        return NOT_MEASURED
    older = path.with_name("speed_products.csv")
    table = pd.concat(pd.read_csv(one) for one in (path, older) if one.exists())
    learners, rows = list(dict.fromkeys(table["learner"])), []
    for name, part in [*table.groupby("set", sort=False), ("geometric mean", table)]:
        means = part.groupby("learner")[["ratio_python", "ratio_cpp"]].agg(stats.gmean)
        cells = {one: f"{python:.0f}x / {cpp:.0f}x" for one, python, cpp in means.itertuples()}
        rows.append({"set": name, **{one: cells.get(one, "") for one in learners}})
    return markdown(rows)


def scaling_block(path: Path) -> str:
    """Return the table of what a tree and learners cost as they grow and as they start, beside what was wanted."""
    if not path.exists():
        return NOT_MEASURED
    rows = []
    for figure, value, wanted in pd.read_csv(path).itertuples(index=False):
        bound = "at least" if "times faster" in figure else "at most"
        rows.append({"what": figure, "measured": f"{value:.3g}", "wanted": f"{bound} {wanted:g}"})
    return markdown(rows)


def runner_block(path: Path) -> str:
    """Return the sentences on a study from end to end, beside the same study with coba."""
    if not path.exists():
        return NOT_MEASURED
    (row,) = pd.read_csv(path, dtype={"coba": str}).to_dict("records")
    return (
        f"A study of {row['seconds'] / 60:.0f} minutes end to end ({row['datasets']}; {row['learners']}; "
        f"{row['processes']} processes; start-up and logging included): {row['rate']:,.0f} interactions a second, "
        f"with {row['overhead']:.0%} of the time outside of the learners' own loops. coba {row['coba']} with the same "
        f"learners on Vowpal Wabbit: {row['coba_rate']:,.0f} interactions a second; "
        f"{row['rate'] / row['coba_rate']:.0f} times fewer."
    )
