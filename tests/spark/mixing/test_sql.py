"""The same in SQL, with and without adaptive execution, and with Spark's own checksums on and off."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import functions as f
from pyspark.sql.types import LongType

from tests.spark.mixing.conftest import MAPS, RIGHT, ROWS, App
from tests.support.spark import Gate, wait_for

pytestmark = pytest.mark.spark
CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum"


@contextmanager
def conf(spark: Any, **values: str) -> Iterator[None]:
    names = {name.replace("_", "."): value for name, value in values.items()}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)


def draw(_: int) -> int:
    return random.SystemRandom().randrange(1_000_000)


def query(app: App, held: Gate) -> Any:
    """Rows with a random key that nobody declared -> A -> groups -> B -> held -> C -> result: each row once."""
    folder = held.folder

    def wait(index: int, value: int) -> int:
        if index >= 1:
            Gate(folder).pass_through(index)
        return value

    rows = app.spark.range(0, ROWS, 1, MAPS).select("id", f.udf(draw, LongType())("id").alias("key"))
    first = rows.repartition(MAPS, "key")
    second = first.groupBy((f.col("id") % 97).alias("g")).agg(f.collect_list("id").alias("ids"))
    waited = second.select(f.udf(wait, LongType())(f.spark_partition_id(), "g").alias("g"), "ids")
    third = waited.repartition(MAPS, (f.col("g") % 7).alias("h"))
    return third.select(f.explode("ids").alias("id"))


def partly_lost(app: App) -> list[int]:
    held = app.gate()
    frame = query(app, held)
    with app.job(lambda: sorted(row.id for row in frame.collect()), held) as running:
        wait_for(lambda: held.arrived() >= 1, "tasks of C")
        a, b, *_ = app.shuffles()
        app.delete(a)
        app.lose_output(b)
        held.open()
        found: list[int] = running.result(120)
        return found


@pytest.mark.parametrize("checksums", ["true", "false"])
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_each_row_once(app: App, adaptive: str, checksums: str) -> None:
    with conf(
        app.spark,
        spark_sql_adaptive_enabled=adaptive,
        **{f"{CHECKSUMS}.enabled": checksums, f"{CHECKSUMS}.enableFullRetryOnMismatch": checksums},
    ):
        assert partly_lost(app) == RIGHT


def test_without_marks_and_checksums_it_is_wrong(app: App) -> None:
    off = {f"{CHECKSUMS}.enabled": "false", f"{CHECKSUMS}.enableFullRetryOnMismatch": "false"}
    with conf(app.spark, spark_sql_adaptive_enabled="false", **off), app.choosing(deterministic=True):
        found = [partly_lost(app) for _ in range(3)]
    assert any(result != RIGHT for result in found)
