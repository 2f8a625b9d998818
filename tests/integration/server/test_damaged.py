"""A store that is damaged is told of before anybody is served from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.app import start_replica
from state_backend.errors import Corrupt

PAGE = 4096


def test_a_damaged_store_serves_nobody(tmp_path: Path) -> None:
    file = tmp_path / "coordinator.db"
    start_replica(f"sqlite://{file}").stop()
    whole = file.read_bytes()
    file.write_bytes(whole[:PAGE] + b"\xff" * (len(whole) - PAGE))
    with pytest.raises(Corrupt, match="is damaged"):
        start_replica(f"sqlite://{file}")
