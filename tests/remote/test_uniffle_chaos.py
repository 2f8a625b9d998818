"""Hundreds of premature deletions on Uniffle under running jobs, and every result right (`chaos`).

Shuffles are small and stay in the servers' memory; with `UNIFFLE_FLUSH_AT=1k` they are flushed to disk.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.core import events as e
from tests.remote.chaos import CONF, delete_at_random
from tests.remote.conftest import on_uniffle
from tests.support import logs
from tests.support.spark import LOCAL, LOCAL_CLUSTER
from tests.support.uniffle import Uniffle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2_000)]


@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER], ids=["local", "cluster"])
def test_whatever_is_deleted_every_result_is_right(master: str, uniffle: Uniffle, tmp_path: Path) -> None:
    log = delete_at_random(on_uniffle(uniffle, tmp_path / "spark", master, **CONF), tmp_path)
    kept = logs.of(log, e.PinSet)
    print(f"{len(kept)} shuffles kept, as no servers were left for them; {len(uniffle.files())} files on disk")
    assert all("no servers left" in pin.why for pin in kept)
