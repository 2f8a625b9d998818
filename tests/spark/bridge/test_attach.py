"""One application has one attachment, whoever holds it."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from listener_bridge import attach, plugin
from tests.support.spark import LOCAL, spark_session

pytestmark = pytest.mark.spark


def test_a_second_attach_finds_the_first_one_although_nobody_kept_it(tmp_path: Path) -> None:
    with spark_session(tmp_path, LOCAL) as spark:
        first = attach(spark, store="memory:").application
        gc.collect()
        again = attach(spark, store="memory:")
        assert again.application == first
        assert len(plugin._RUNNING) == 1
        again.detach()
        assert set() == plugin._RUNNING
