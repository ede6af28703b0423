"""The site builds without a warning and needs nothing from elsewhere; the notebook gives what it shows."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import emt.learners

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (line,) = re.findall(r"^\t(.*-m mkdocs build.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)  # make docs
    words = line.replace("$(python)", shlex.quote(sys.executable)) + f" --site-dir {shlex.quote(str(folder))}"
    done = subprocess.run(words, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
    return folder


def test_every_page_is_in_the_site_and_in_its_menu(site):
    menu = (site / "index.html").read_text()
    pages = {path.stem for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".ipynb")}
    for page in pages | {"contributing", "changelog"}:
        assert (site / f"{page}.html").exists()
        assert f'href="{page}.html"' in menu, f"mkdocs.yml: {page} is not in nav"


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.glob("*.html"):
        text = page.read_text()
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\bsrc="([^"]+)"|<link[^>]*\bhref="([^"]+)"', text)
        assert not [one for pair in loaded for one in pair if re.match(r"(https?:)?//", one)], page.name
        assert "fonts.g" not in text


def test_pages_have_what_the_commands_print_and_what_the_docstrings_say(site):
    studies = (site / "studies.html").read_text()
    assert "report.level=0.05" in studies
    assert "emt.learners.PEMT" in studies
    assert "<!-- prints" not in studies
    assert "an online memory: a binary tree that routes" in (site / "api.html").read_text().lower()


def test_every_learner_is_in_the_api(site):
    api = (site / "api.html").read_text()
    for name in emt.learners.__all__:
        assert f'id="emt.learners.{name}"' in api, f"docs/api.md: {name}"


def test_the_notebook_runs_and_gives_what_it_shows():
    shown, played = (nbformat.read(ROOT / "docs" / "tour.ipynb", as_version=4) for _ in range(2))
    NotebookClient(played, timeout=None, kernel_name="python3", resources={"metadata": {"path": ROOT}}).execute()
    for before, after in zip(shown.cells, played.cells, strict=True):
        assert texts(before) == texts(after), before.source


def test_the_same_bits_are_promised_on_one_kind_of_cpu_only():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    paragraphs = [" ".join(part.split()) for page in pages for part in page.read_text("utf8").split("\n\n")]
    promises = [text for text in paragraphs if re.search(r"(are|gives) the same bits|\*\*The same bits", text)]
    assert len(promises) >= 4
    assert [text for text in promises if "one kind of CPU" not in text] == []


def test_the_readme_says_that_a_config_from_elsewhere_is_code():
    assert "A config from elsewhere is code" in (ROOT / "README.md").read_text("utf8")


def texts(cell):
    """What a cell has printed or returned, but for notices on standard error and pictures."""
    outputs = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
    found = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
    return [text for text in found if not text.startswith("<Figure")]
