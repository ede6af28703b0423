from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from openml_server import OpenMLServer

# No test looks at a clock, and chance is seeded.
settings.register_profile("emt", deadline=None, derandomize=True)
settings.load_profile("emt")

#: Files with tests that take minutes: first, so that no worker is left alone with one at the end.
LONG = {"test_readme.py", "test_reproduce.py", "test_docs.py", "test_kill.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty prepared store."""
    folder = tmp_path / "store"
    monkeypatch.setenv("EMT_DATA", str(folder))
    return folder


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenMLServer]:
    """A local OpenML, with the real client pointed at it, patient for two tries, and with an empty cache."""
    import openml

    with OpenMLServer() as local:
        monkeypatch.setattr(openml.config, "server", local.url)
        monkeypatch.setattr(openml.config, "connection_n_retries", 2)
        monkeypatch.setattr(openml.config, "_root_cache_directory", tmp_path / "openml")
        yield local
