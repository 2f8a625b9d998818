"""Fixtures of the tests of the events frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.calling import Shufflectl


@pytest.fixture
def shufflectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shufflectl:
    return Shufflectl(tmp_path, monkeypatch, capsys)
