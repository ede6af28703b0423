"""Pages in docs: Python blocks are executed in order, as a reader would."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["adapters.md"])
def test_the_blocks_of_a_page_run(page, capsys):
    blocks, names = BLOCK.findall((DOCS / page).read_text(encoding="utf8")), {"__name__": "page"}
    assert blocks
    for text in blocks:
        exec(compile(text, page, "exec"), names)
    assert "Accuracy" in capsys.readouterr().out
