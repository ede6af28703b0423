import subprocess

import pytest

from experiments import provenance


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A repository with a file of the library and a page, committed one after the other."""
    monkeypatch.setattr(provenance, "CLONE", tmp_path)
    git(tmp_path, "init", "--quiet")
    for file in ("emt/tree.py", "docs/page.md"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text("first\n")
        git(tmp_path, "add", file)
        git(tmp_path, "-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", file)
    return tmp_path


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_the_last_that_changed_the_code(clone):
    made_by = provenance.provenance()
    assert made_by["git"] == git(clone, "rev-parse", "HEAD~1")
    assert made_by["git_dirty"] is False


@pytest.mark.parametrize(("file", "dirty"), [("docs/page.md", False), ("emt/tree.py", True)])
def test_only_changes_of_the_code_are_changes(clone, file, dirty):
    (clone / file).write_text("second\n")
    assert provenance.provenance()["git_dirty"] is dirty


def test_what_is_installed_has_no_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "CLONE", tmp_path)
    made_by = provenance.provenance()
    assert (made_by["git"], made_by["git_dirty"]) == (None, None)


def test_code_is_named_by_folders_that_are_there():
    assert [name for name in provenance.CODE if not (provenance.CLONE / name).exists()] == []
