"""What Spark's file systems are asked for."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from replay.history.finding import Log, Part
from replay.history.gathering import LARGEST_BYTES, _escaped, _why_not


@pytest.mark.parametrize("path", ["hdfs://nn/a,b{c", "s3a://b/eventlog_v2_{x}[1]*?", "hdfs://nn/back\\slash"])
def test_a_path_is_a_pattern_that_finds_it_and_that_nothing_takes_apart(path: str) -> None:
    pattern = _escaped(path)
    assert fnmatchcase(path, pattern)
    assert not set(pattern) & set("{}[]*,\\")


def test_an_ordinary_path_is_itself() -> None:
    assert _escaped("hdfs://nn:9000/logs/app-1.zstd") == "hdfs://nn:9000/logs/app-1.zstd"


@pytest.mark.parametrize(
    ("path", "size", "why"),
    [
        ("s3a://b:443/logs/app-1", LARGEST_BYTES, ""),
        ("s3a://b/logs/app-1", LARGEST_BYTES + 1, "a file of it has more than"),
        ("s3a://b/logs/app:1", 1, "a name in its path has a colon"),
        ("s3a://b/2026-11-30T10:00/app-1", 1, "a name in its path has a colon"),
    ],
)
def test_what_spark_cannot_carry_costs_nobody_else_anything(path: str, size: int, why: str) -> None:
    """Hadoop lists a name with a colon, takes what is before it for a scheme when it opens it, and ends the job."""
    found = _why_not(Log("app-1", (Part(path, size),)))
    assert found.startswith(why)
    assert bool(found) == bool(why)
