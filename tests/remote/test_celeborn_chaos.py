"""Hundreds of premature deletions on Celeborn under running jobs, and every result right (`chaos`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remote.chaos import CONF, delete_at_random
from tests.remote.conftest import on_celeborn
from tests.support.celeborn import Celeborn
from tests.support.spark import LOCAL, LOCAL_CLUSTER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2_000)]


@pytest.mark.parametrize("master", [LOCAL, LOCAL_CLUSTER], ids=["local", "cluster"])
def test_whatever_is_deleted_every_result_is_right(master: str, celeborn: Celeborn, tmp_path: Path) -> None:
    delete_at_random(on_celeborn(celeborn, tmp_path / "spark", master, **CONF), tmp_path)
