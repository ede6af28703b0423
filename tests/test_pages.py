"""Pages in docs: Python blocks are executed in order, as a reader would, and tables are those of results."""

import csv
import re
from pathlib import Path

import pytest

from benchmarks.bench_memory import FIELDS, PAGE, TABLE, markdown

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["adapters.md"])
def test_the_blocks_of_a_page_run(page, capsys):
    blocks, names = BLOCK.findall((DOCS / page).read_text(encoding="utf8")), {"__name__": "page"}
    assert blocks
    for text in blocks:
        exec(compile(text, page, "exec"), names)
    assert "Accuracy" in capsys.readouterr().out


def test_the_table_of_indices_is_that_of_the_results():
    with TABLE.open(encoding="utf8") as file:
        rows = list(csv.DictReader(file))
    kinds = dict(zip(FIELDS, (int, int, str, int, int, float), strict=True))
    table = [{name: kinds[name](text) for name, text in row.items()} for row in rows]
    assert {(row["dimensions"], row["memories"]) for row in table} == {
        (d, n) for d in (10, 64) for n in (1_000, 10_000, 100_000)
    }
    _, begin, rest = PAGE.read_text(encoding="utf8").partition("<!-- memory table: begin -->\n")
    assert begin
    assert rest.partition("<!-- memory table: end -->")[0] == markdown(table)
