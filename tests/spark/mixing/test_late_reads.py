"""Operators of which a task opens one input only when it has read another one: that it has begun says nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.sql import functions as f
from pyspark.sql.types import LongType

from tests.spark.mixing.conftest import MAPS, App, application
from tests.spark.mixing.test_branches import KEYS
from tests.spark.mixing.test_result_overtaken import TRIES, heard, telling
from tests.spark.mixing.test_sql import CHECKSUMS, conf
from tests.support.spark import Gate, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest]

PLAIN = {  # with checksums Spark aborts such a job by itself
    "spark_sql_adaptive_enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    f"{CHECKSUMS}.enabled": "false",
    f"{CHECKSUMS}.enableFullRetryOnMismatch": "false",
}
#: Partition 0 takes two seconds for a row until the property is set: a UDF would end a partitioning.
SLOW = "reflect('java.lang.Thread', 'sleep', if(spark_partition_id() = 0 and {unset}, 2000L, 0L))"
UNSET = "reflect('java.lang.System', 'getProperty', '{name}', 'unset') = 'unset'"


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    with application(folder, f"local[4,{TRIES}]") as found:
        yield found


def draw(_: int) -> int:
    return random.SystemRandom().randrange(10**12)


def same(value: int) -> int:
    return value


def drawn_rows(app: App) -> Any:
    """X -> A, of two partitions, by key."""
    drawn = f.udf(draw, LongType())("id").alias("token")
    rows = app.spark.range(0, KEYS, 1, MAPS).select(f.col("id").alias("key"), drawn)
    x = rows.repartition(MAPS, "token").select("key", f.udf(same, LongType())("token").alias("token"))
    return x.repartition(2, "key").select("key", "token")


def waiting(partition: int, held: Gate) -> Any:
    folder = held.folder

    def wait(value: int) -> int:
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == partition:
            Gate(folder).pass_through(partition)
        return value

    return f.udf(wait, LongType())


def crossed(app: App, slow: Any, before: Any) -> Any:
    """A task reads all of the right side before it opens the left one."""
    one = app.spark.range(0, 1, 1, 1).select(before("id").alias("one"))
    return drawn_rows(app).crossJoin(one).select("key", (f.col("token") + f.col("one")).alias("token"))


def joined(app: App, slow: Any, before: Any) -> Any:
    """The left side gives its first row when all of it is read; then the right one is opened."""
    left = app.spark.range(0, KEYS, 1, 2).repartition(2, "id").select("id", slow.alias("g"))
    left = left.groupBy("id").agg(f.collect_list("g").alias("gs"))
    both = left.join(drawn_rows(app).hint("merge"), f.col("id") == f.col("key"))
    return both.select("key", (f.col("token") + f.size("gs")).alias("token"))


def united(app: App, slow: Any, before: Any) -> Any:
    """Sides that are partitioned alike are read one after the other."""
    left = app.spark.range(0, KEYS, 1, 2).select(f.col("id").alias("key")).repartition(2, "key")
    both = left.select("key", (-f.length(slow)).cast("long").alias("token")).union(drawn_rows(app))
    return both.groupBy("key").agg(f.max("token").alias("token"))


def rows_of(frame: Any) -> dict[int, int]:
    return {row.key: row.token for row in frame.collect()}


@pytest.mark.parametrize("shape", [crossed, joined, united])
def test_a_task_that_has_not_opened_its_other_input_begins_again(app: App, shape: Any) -> None:
    if shape is united and app.spark.version < "4.3":
        pytest.skip("there is no such union yet")
    before, after = app.gate(), app.gate()
    name = Path(before.folder).name
    slow = f.expr(SLOW.format(unset=UNSET.format(name=name)))
    with conf(app.spark, **PLAIN):
        frame = shape(app, slow, waiting(0, before))
        frame = frame.select("key", waiting(1, after)("token").alias("token"))
        told = telling(app)
        with app.job(lambda: rows_of(frame), before, after) as running:
            wait_for(lambda: shape is not crossed or before.arrived(), "a task that has not opened A")
            wait_for(after.arrived, "another one that has read it")
            (x,) = [one for one in app.shuffles() if app.readers(one)]
            (a,) = app.readers(x)
            app.delete(x)
            for index in range(MAPS):
                app.lose_output(a, index)
            with app.job(lambda: rows_of(frame), before, after) as another:
                wait_for(lambda: app.is_complete(a), "A written again")
                heard(app)
                before.open()
                after.open()
                app.tap.driver.gateway.jvm.java.lang.System.setProperty(name, "set")
                assert running.result(120) == another.result(120)
    assert told() == []
