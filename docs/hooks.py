"""What the site has beside the pages in ``docs``: notebooks, other texts of the project, and the help of the command.

MkDocs calls these functions. Pages link to files of the repository, as they are read there: a link to a text that is a
page leads to the page, a picture is copied, and any other link becomes plain text, for a site has no repository.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
TEXTS = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?:\.\./)+([^)]*)\)")
COMMAND = re.compile(r"<!-- prints: (emt [\w -]+) -->")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the texts, the notebooks as pages, and the pictures that pages show."""
    for source, page in TEXTS.items():
        files.append(File.generated(config, page, content=_from_the_top(ROOT / source)))
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(notebook)
        files.append(File.generated(config, notebook.src_uri[:-6] + ".md", content=_markdown(notebook)))
    shown = {
        path for file in files.documentation_pages() for mark, _, path in LINK.findall(file.content_string) if mark
    }
    for path in sorted(shown):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links out of ``docs`` into links of the site or into text, and put in what commands print."""
    markdown = LINK.sub(lambda link: _link(*link.groups()), markdown).replace(".ipynb)", ".md)")
    return COMMAND.sub(lambda found: f"```text\n{_printed(found[1])}\n```", markdown)


def _link(mark: str, text: str, path: str) -> str:
    if mark:
        return f"![{text}]({path})"
    return f"[{text}]({TEXTS[path]})" if path in TEXTS else text


def _from_the_top(path: Path) -> str:
    """Return a text of the top folder with its links as they would be in ``docs``."""
    text = re.sub(r"\]\(docs/([^)]*)\)", r"](\1)", path.read_text())
    return re.sub(r"\]\((?!https?:|#|[\w-]+\.(?:md|svg)\b)", "](../", text)


def _printed(command: str) -> str:
    words = [sys.executable, "-m", *command.split()]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.rstrip()


def _markdown(notebook: File) -> str:
    """Return a notebook as a page: its texts, its code, and what the code printed or drew."""
    parts = []
    for cell in nbformat.reads(notebook.content_string, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [f"```python\n{cell.source}\n```", *map(_output, cell.outputs)]
    return "\n\n".join(filter(None, parts))


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    if "image/png" in output.get("data", {}):
        return f"![](data:image/png;base64,{output.data['image/png'].strip()})"
    return f"```text\n{output.data['text/plain']}\n```"
