"""What Spark's file systems are asked for."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from replay.history.finding import Log, Part
from replay.history.gathering import LARGEST_BYTES, _escaped, _why_not, _why_not_looked_for


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


def test_a_name_that_only_a_pattern_finds_costs_itself_alone_beside_one_with_a_colon() -> None:
    """Hadoop looks for the pattern among all names of the folder, and fails at the other one."""

    def looks_for(pattern: str) -> None:
        assert pattern == "s3a://b/logs/a?b"
        raise ValueError("Relative path in absolute URI: app:1\nat org.apache.hadoop.fs.Path")

    why = _why_not_looked_for(Log("app-1", (Part("s3a://b/logs/a,b", 1),)), looks_for)
    assert why.startswith("its path holds one of {}[]*? or a comma")
    assert "(Relative path in absolute URI: app:1)" in why
    assert _why_not_looked_for(Log("app-2", (Part("s3a://b/logs/ab", 1),)), looks_for) == ""
    assert _why_not_looked_for(Log("app-1", (Part("s3a://b/logs/a,b", 1),)), lambda _: None) == ""
