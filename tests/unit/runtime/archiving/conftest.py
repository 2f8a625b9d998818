"""The archive's files are small here, so that a short log makes several."""

from __future__ import annotations

import pytest

from coordinator.runtime import archiving

SMALL = 600


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "FILE_BYTES", SMALL)
