"""Programs under one look after the other: nothing that a look left out was ever read again."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.spark import wait_for
from tests.support.walking import Walking

pytestmark = pytest.mark.spark
SPREAD = "spark.sql.autoBroadcastJoinThreshold"
ADAPTIVE = "spark.sql.adaptive.enabled"


def sales(spark: Any, rows: int = 2000) -> Any:
    return spark.range(0, rows, 1, 2).selectExpr("id", "id % 40 AS shop", "id % 7 AS day", "id * 3 AS price")


def shops(spark: Any) -> Any:
    return spark.range(0, 40, 1, 2).selectExpr("id AS shop", "id % 4 AS region")


def join_and_window(spark: Any) -> int:
    spark.conf.set(SPREAD, "-1")
    sales(spark).createOrReplaceTempView("sales")
    shops(spark).createOrReplaceTempView("shops")
    rows = spark.sql(
        "SELECT region, total, rank() OVER (PARTITION BY region ORDER BY total) AS r FROM (SELECT region, shop, "
        "sum(price) AS total FROM sales JOIN shops USING (shop) GROUP BY region, shop) ORDER BY region, r"
    ).collect()
    return len(rows)


def a_subquery_reads_the_same(spark: Any) -> int:
    sales(spark).createOrReplaceTempView("sales")
    query = (
        "WITH t AS (SELECT shop, sum(price) AS total FROM sales GROUP BY shop) "
        "SELECT * FROM t WHERE total > (SELECT avg(total) FROM t) ORDER BY total"
    )
    return len(spark.sql(query).collect())


def pruned_by_a_join(spark: Any) -> int:
    spark.conf.set(SPREAD, "-1")
    sales(spark).write.mode("overwrite").partitionBy("shop").saveAsTable("partitioned")
    shops(spark).createOrReplaceTempView("shops")
    query = "SELECT day, count(*) FROM partitioned JOIN shops USING (shop) WHERE region = 2 GROUP BY day ORDER BY day"
    return len(spark.sql(query).collect())


def a_union_of_twins(spark: Any) -> int:
    totals = sales(spark).groupBy("shop").sum("price")
    return int(totals.union(totals).union(totals.filter("shop > 3")).groupBy("shop").count().count())


def broadcast(spark: Any) -> int:
    spark.conf.set(SPREAD, "10485760")
    small = shops(spark).groupBy("region").count()
    large = sales(spark).groupBy("shop").sum("price").selectExpr("shop % 4 AS region", "`sum(price)` AS total")
    return len(large.join(small, "region").groupBy("region").count().orderBy("region").collect())


def collected_twice(spark: Any) -> int:
    frame = sales(spark).groupBy("shop", "day").count().groupBy("shop").count()
    return len(frame.collect()) + len(frame.collect())


def cached(spark: Any) -> int:
    frame = sales(spark).groupBy("shop").sum("price").cache()
    found = frame.count() + len(frame.groupBy("shop").count().join(frame, "shop").collect())
    frame.unpersist(blocking=True)
    return int(found)


def written_as_tables(spark: Any) -> int:
    totals = sales(spark).groupBy("shop").count().groupBy("count").sum("shop").toDF("count", "shops")
    totals.write.mode("overwrite").saveAsTable("counted")
    spark.sql("CREATE OR REPLACE TEMP VIEW again AS SELECT * FROM counted")
    return len(spark.sql("SELECT count(*) FROM again JOIN counted USING (count)").collect())


def growing_rdd(spark: Any) -> int:
    ranks = spark.sparkContext.parallelize(range(40), 2).map(lambda n: (n % 5, n)).partitionBy(2)
    for _ in range(4):
        ranks.count()
        ranks = ranks.map(lambda pair: ((pair[0] + 1) % 5, pair[1])).partitionBy(2)
        gc.collect()
    return int(ranks.count())


def a_frame_of_an_rdd(spark: Any) -> int:
    pairs = spark.sparkContext.parallelize(range(40), 2).map(lambda n: (n % 5, n)).partitionBy(2)
    frame = spark.createDataFrame(pairs, "k int, n int")
    del pairs
    return len(frame.groupBy("k").count().collect()) + len(frame.distinct().collect())


def a_stream(spark: Any) -> int:
    sales(spark).write.mode("overwrite").parquet(f"{spark.conf.get('spark.sql.warehouse.dir')}/arriving")
    source = spark.readStream.schema("id long, shop long, day long, price long").option("maxFilesPerTrigger", 1)
    stream = source.parquet(f"{spark.conf.get('spark.sql.warehouse.dir')}/arriving").groupBy("shop").count()
    found: list[int] = []

    def take(batch: Any, _: int) -> None:
        found.append(batch.count() + batch.groupBy("count").count().count())

    query = stream.writeStream.outputMode("complete").foreachBatch(take).trigger(availableNow=True).start()
    query.awaitTermination(60)
    return len(found)


def not_adaptive(program: Callable[[Any], int]) -> Callable[[Any], int]:
    def run(spark: Any) -> int:
        spark.conf.set(ADAPTIVE, "false")
        try:
            return program(spark)
        finally:
            spark.conf.set(ADAPTIVE, "true")

    run.__name__ = f"{program.__name__}_not_adaptive"
    return run


PROGRAMS = [
    join_and_window,
    a_subquery_reads_the_same,
    pytest.param(pruned_by_a_join, marks=pytest.mark.newest),
    a_union_of_twins,
    broadcast,
    collected_twice,
    cached,
    written_as_tables,
    pytest.param(growing_rdd, marks=pytest.mark.newest),
    a_frame_of_an_rdd,
    pytest.param(a_stream, marks=pytest.mark.newest),
    pytest.param(not_adaptive(join_and_window), marks=pytest.mark.newest),
    *(
        pytest.param(not_adaptive(program), marks=pytest.mark.slow)
        for program in (a_subquery_reads_the_same, a_union_of_twins, cached)
    ),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
def test_nothing_that_was_left_out_is_read_again(run: Walking, program: Callable[[Any], int]) -> None:
    with run.looking() as looks:
        first = program(run.spark)
        gc.collect()
        second = program(run.spark)
    assert first == second > 0
    assert [look.walked.everything for look in looks if look.walked.everything is not None] == []
    assert run.missed(looks) == []
    assert not [root.why for look in looks for root in look.walked.roots if "cannot be told" in root.why]


def test_when_the_programs_are_over_all_they_wrote_is_garbage(run: Walking) -> None:
    run.written_by(lambda: join_and_window(run.spark))
    for view in run.spark.catalog.listTables():
        if view.isTemporary:
            run.spark.catalog.dropTempView(view.name)
    wait_for(functools.partial(all_is_garbage, run), "everything to be garbage")


def all_is_garbage(run: Walking) -> bool:
    gc.collect()
    look = run.look()
    return look.left_out() == look.complete != frozenset()


def test_the_first_half_of_a_query_is_garbage_while_the_second_runs(run: Walking) -> None:
    def caught() -> bool:
        with run.looking() as looks:
            written = run.written_by(lambda: collected_twice(run.spark))
        during = [look for look in looks if any(root.root.startswith("execution") for root in look.walked.roots)]
        return bool(written & {shuffle for look in during for shuffle in look.left_out()})

    wait_for(caught, "a look that falls between the two halves")
