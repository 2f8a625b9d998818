"""Deterministic jobs of many shapes, RDD and SQL, whose results can be compared.

Responsible for: building each of them over a session. Refuses to know: whether anything is deleted while they run.
Invariant: a workload gives the same result every time; what it gives is small, sorted, and says all that was computed.

A workload is built once and may be run again and again: what it holds between two runs are the shuffles of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

Result = list[Any]
Job = Callable[[], Result]
ROWS = 240


def _keyed(spark: SparkSession, keys: int = 20, maps: int = 2, reduces: int = 2) -> Any:
    numbers = spark.sparkContext.parallelize(range(ROWS), maps)
    return numbers.map(lambda n: (n % keys, n)).partitionBy(reduces)


def _step(rdd: Any, reduces: int = 2) -> Any:
    return rdd.map(lambda row: (row[1] % 19, row[0] + row[1])).partitionBy(reduces)


def chain(spark: SparkSession) -> Job:
    last = _keyed(spark)
    for _ in range(5):
        last = _step(last)
    return lambda: sorted(last.collect())


def diamond(spark: SparkSession) -> Job:
    first = _keyed(spark)
    left, right = _step(first), _step(first, 3)
    both = left.union(right).union(first).reduceByKey(lambda a, b: a + b, 2)
    return lambda: sorted(both.collect())


def loop(spark: SparkSession) -> Job:
    def run() -> Result:
        current = _keyed(spark)
        found = []
        for _ in range(4):
            found.append(current.map(lambda row: row[1]).sum())
            current = _step(current)
        return [*found, *sorted(current.collect())]

    return run


def cogrouped(spark: SparkSession) -> Job:
    left, right = _keyed(spark), _keyed(spark, 15, 3)
    together = left.cogroup(right, 2).mapValues(lambda pair: tuple(sorted(part) for part in pair))
    joined = left.reduceByKey(lambda a, b: a + b).join(right.groupByKey().mapValues(sum))
    return lambda: [*sorted(together.collect()), *sorted(joined.collect())]


def ranked(spark: SparkSession) -> Job:
    in_order = _keyed(spark).map(lambda row: (-row[1], row[0])).sortByKey(numPartitions=2)
    return lambda: list(in_order.zipWithIndex().collect())


def cached(spark: SparkSession) -> Job:
    def run() -> Result:
        middle = _step(_keyed(spark)).persist(StorageLevel.MEMORY_AND_DISK)
        found = [middle.count(), *sorted(_step(middle).collect())]
        again = sorted(middle.reduceByKey(lambda a, b: a + b).collect())
        middle.unpersist()
        return [*found, *again]

    return run


def _tables(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    numbers = spark.range(0, 3_000, 1, 2)
    facts = numbers.select((f.col("id") % 97).alias("k"), (f.col("id") % 13).alias("g"), f.col("id").alias("v"))
    names = spark.range(0, 97, 1, 2).select(f.col("id").alias("k"), (f.col("id") * 7 % 11).alias("name"))
    return facts, names


def _rows(frame: DataFrame) -> Result:
    return sorted(tuple(row) for row in frame.collect())


def joins(spark: SparkSession) -> Job:
    facts, names = _tables(spark)
    sums = facts.groupBy("k").agg(f.sum("v").alias("s"), f.count("*").alias("n"))
    frame = sums.join(names, "k").join(facts.groupBy("g").agg(f.max("v").alias("m")), f.col("name") == f.col("g"))
    return lambda: _rows(frame)


def joins_at_once(spark: SparkSession) -> Job:
    """The same without adaptive execution: one job, all its stages."""
    other = spark.newSession()
    other.conf.set("spark.sql.adaptive.enabled", "false")
    return joins(other)


def scalar_subquery(spark: SparkSession) -> Job:
    own = spark.newSession()  # views of its own: workloads run in several threads
    facts, names = _tables(own)
    facts.createOrReplaceTempView("facts")
    names.createOrReplaceTempView("names")
    text = """
        SELECT k, sum(v) AS s FROM facts WHERE v > (SELECT avg(s) FROM (SELECT sum(v) / 100 AS s FROM facts GROUP BY k))
        GROUP BY k HAVING sum(v) > (SELECT max(name) FROM (SELECT name, count(*) FROM names GROUP BY name))
    """
    frame = own.sql(text)
    return lambda: _rows(frame)


def windowed(spark: SparkSession) -> Job:
    facts, _ = _tables(spark)
    by_key = facts.groupBy("k", "g").agg(f.sum("v").alias("s"))
    rank = f.row_number().over(Window.partitionBy("g").orderBy(f.col("s"), f.col("k")))
    frame = by_key.withColumn("r", rank).where("r <= 5").orderBy("g", "r")
    return lambda: [tuple(row) for row in frame.collect()]


def reused(spark: SparkSession) -> Job:
    """One exchange that two branches share, and a plan without an SQL execution."""
    facts, _ = _tables(spark)
    sums = facts.groupBy("k").agg(f.sum("v").alias("s"))
    frame = sums.join(sums.withColumnRenamed("s", "t"), "k")
    return lambda: [*_rows(frame), frame.rdd.count(), len(list(frame.toLocalIterator()))]


def cached_table(spark: SparkSession) -> Job:
    def run() -> Result:
        facts, names = _tables(spark)
        frame = facts.groupBy("k").agg(f.sum("v").alias("s")).persist(StorageLevel.DISK_ONLY)
        part = len(frame.limit(5).collect())
        found = [part, *_rows(frame.join(names, "k")), *_rows(frame.groupBy(f.col("s") % 7).count())]
        frame.unpersist()
        return found

    return run


WORKLOADS: tuple[Callable[[SparkSession], Job], ...] = (
    chain,
    diamond,
    loop,
    cogrouped,
    ranked,
    cached,
    joins,
    joins_at_once,
    scalar_subquery,
    windowed,
    reused,
    cached_table,
)
SETTINGS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""So that joins shuffle, and that small jobs stay small."""
