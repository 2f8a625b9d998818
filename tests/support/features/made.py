"""What features are made of: small frames, and results that compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

Step: TypeAlias = Callable[[], object]
Feature: TypeAlias = Callable[[Any, Step], Any]
F = TypeVar("F", bound=Feature)

SINCE = "_since"


def since(version: str) -> Callable[[F], F]:
    """The Spark that brought it."""

    def marked(feature: F) -> F:
        setattr(feature, SINCE, version_of(version))
        return feature

    return marked


def version_of(text: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", text)[:2]
    return int(major), int(minor)


def orders(spark: Any, count: int = 400) -> Any:
    """Twenty keys `k`, and numbers `v`."""
    return spark.range(0, count, 1, 4).selectExpr("id % 20 as k", "id * 7 % 31 as v")


def pairs(spark: Any, count: int = 400) -> Any:
    """The same as an RDD of pairs."""
    return spark.sparkContext.parallelize(range(count), 4).map(lambda n: (n % 20, n * 7 % 31))


def rows(frame: Any) -> list[tuple[Any, ...]]:
    """In an order that does not depend on partitions."""
    return sorted((tuple(row) for row in frame.collect()), key=repr)


@contextmanager
def views(spark: Any, **frames: Any) -> Iterator[None]:
    """Temporary views of these frames, for a block."""
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    frames_of = list(frames)
    frames.clear()
    try:
        yield
    finally:
        for name in frames_of:
            spark.catalog.dropTempView(name)
