"""What Spark's file systems are asked for."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from replay.history.gathering import _escaped


@pytest.mark.parametrize("path", ["hdfs://nn/a,b{c", "s3a://b/eventlog_v2_{x}[1]*?", "hdfs://nn/back\\slash"])
def test_a_path_is_a_pattern_that_finds_it_and_that_nothing_takes_apart(path: str) -> None:
    pattern = _escaped(path)
    assert fnmatchcase(path, pattern)
    assert not set(pattern) & set("{}[]*,\\")


def test_an_ordinary_path_is_itself() -> None:
    assert _escaped("hdfs://nn:9000/logs/app-1.zstd") == "hdfs://nn:9000/logs/app-1.zstd"
