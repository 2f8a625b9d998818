"""One session a module, with a walker on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.walking import Walking, walking


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all sessions of the process: Spark keeps the first local directory for the life of the JVM."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Walking]:
    with walking(folder) as run:
        yield run
