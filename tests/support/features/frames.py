"""DataFrames."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

from pyspark.sql import functions
from pyspark.sql.window import Window

from tests.support.features.made import Step, orders, rows, since, views


def approximations(spark: Any, step: Step) -> Any:
    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    median = sums.approxQuantile("s", [0.5], 0.0)
    step()
    crossed = rows(sums.selectExpr("k", "s % 3 as m").stat.crosstab("k", "m"))
    step()
    return median, crossed, sums.stat.corr("k", "s"), rows(sums.summary("count", "max"))


def splits_at_random(spark: Any, step: Step) -> Any:
    sums = orders(spark).groupBy("k", "v").count()
    train, test = sums.randomSplit([0.7, 0.3], seed=7)
    first = train.count()
    step()
    second = test.count()
    step()
    return first, second, train.groupBy("k").count().count(), rows(sums.sampleBy("k", {1: 1.0, 2: 1.0}, 3))


def pandas_in_the_middle(spark: Any, step: Step) -> Any:
    def doubled(parts: Iterator[Any]) -> Iterator[Any]:
        for part in parts:
            yield part * 2

    def largest(part: Any) -> Any:
        return part.nlargest(1, "v")

    mapped = orders(spark).repartition(3, "k").mapInPandas(doubled, "k long, v long")
    best = mapped.groupBy("k").applyInPandas(largest, "k long, v long")
    first = rows(best)
    step()
    both = best.groupBy("k").cogroup(mapped.groupBy("k"))
    merged = both.applyInPandas(lambda a, b: a.assign(v=len(b)), "k long, v long")
    second = rows(merged)
    step()
    return first, second, sorted(best.toPandas()["v"].tolist())


def arrow_in_the_middle(spark: Any, step: Step) -> Any:
    def same(parts: Iterator[Any]) -> Iterator[Any]:
        yield from parts

    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s").mapInArrow(same, "k long, s long")
    first = rows(sums)
    step()
    return first, sums.filter("k > 3").count()


def pandas_functions_over_windows(spark: Any, step: Step) -> Any:
    def mean_of(values: Any) -> float:
        return float(values.mean())

    of_pandas: Any = functions
    mean = of_pandas.pandas_udf(mean_of, "double", of_pandas.PandasUDFType.GROUPED_AGG)
    frame = orders(spark)
    over = frame.select("k", "v", mean("v").over(Window.partitionBy("k")).alias("m"))
    first = over.filter("m > 10").count()
    step()
    return first, rows(over.groupBy("k").agg(mean("m").alias("m")).selectExpr("k", "round(m, 6)"))


def observed_metrics(spark: Any, step: Step) -> Any:
    from pyspark.sql import Observation

    seen = Observation("seen")
    sums = orders(spark).groupBy("k").count().observe(seen, functions.max("count").alias("most"))
    first = sums.count()
    step()
    return first, seen.get, rows(sums)


def a_frame_cached_at_every_turn(spark: Any, step: Step) -> Any:
    found = orders(spark)
    for _ in range(3):
        before, found = found, found.groupBy("k", "v").count().selectExpr("k", "v + count as v").cache()
        found.count()
        step()
        before.unpersist()
        step()
    result = rows(found)
    found.unpersist()
    return result


def checkpoints_of_both_kinds(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        spark.sparkContext.setCheckpointDir(folder)
        sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
        kept = sums.checkpoint()
        step()
        local = kept.groupBy("s").count().localCheckpoint()
        del kept
        step()
        return rows(sums), rows(local), local.count()


def a_frame_through_an_rdd_and_back(spark: Any, step: Step) -> Any:
    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    changed = sums.rdd.map(lambda row: (row.k % 5, row.s)).reduceByKey(lambda a, b: a + b)
    back = changed.toDF(["k", "s"])
    step()
    first = rows(back)
    step()
    return first, back.join(sums, "k").count()


def rows_one_by_one(spark: Any, step: Step) -> Any:
    found = []
    for row in orders(spark).groupBy("k").count().orderBy("k").toLocalIterator(prefetchPartitions=True):
        found.append(tuple(row))
        if len(found) in (1, 11):
            step()
    return found


def joins_of_every_kind(spark: Any, step: Step) -> Any:
    left = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    right = orders(spark).filter("k > 9").groupBy("k").count()
    kinds = ("inner", "left", "right", "full", "left_semi", "left_anti")
    found = []
    for kind in kinds:
        found.append(rows(left.join(right, "k", kind)))
        step()
    return found, left.crossJoin(right).count()


def hints_of_joins(spark: Any, step: Step) -> Any:
    left = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    found = []
    for hint in ("broadcast", "merge", "shuffle_hash", "shuffle_replicate_nl"):
        right = left.selectExpr("k", "s as t").hint(hint)
        found.append(rows(left.join(right, "k")))
        step()
    return found, left.hint("rebalance").count(), left.coalesce(1).count()


def skew_that_is_split(spark: Any, step: Step) -> Any:
    settings = {
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "2k",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1k",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    big = spark.range(0, 20_000, 1, 4).selectExpr("if(id % 10 < 8, 1, id % 50) as k", "id as v")
    joined = big.join(big.filter("v < 500").selectExpr("k", "v as w"), "k").groupBy("k").count()
    first = rows(joined)
    step()
    second = joined.count()
    for key in settings:
        spark.conf.unset(key)
    return first, second


def a_wide_frame_written_in_parts(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/out"
        sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
        sums.write.partitionBy("k").parquet(path)
        step()
        back = spark.read.parquet(path)
        changed = back.join(sums.withColumnRenamed("s", "t"), "k")
        first = rows(changed.selectExpr("k", "s", "t"))
        step()
        changed.repartitionByRange(2, "s").sortWithinPartitions("t").write.mode("overwrite").json(f"{folder}/json")
        return first, spark.read.json(f"{folder}/json").count()


def a_frame_that_writes_over_its_source(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/state"
        orders(spark).groupBy("k").sum("v").toDF("k", "s").write.parquet(path)
        for _ in range(2):
            step()
            state = spark.read.parquet(path).selectExpr("k % 10 as k", "s").groupBy("k").sum("s").toDF("k", "s")
            state = state.localCheckpoint()
            step()
            state.write.mode("overwrite").parquet(path)
        return rows(spark.read.parquet(path))


def unions_of_one_frame(spark: Any, step: Step) -> Any:
    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    twice = sums.union(sums).unionByName(sums.withColumn("t", functions.lit(1)), allowMissingColumns=True)
    first = rows(twice.groupBy("k").count())
    step()
    return first, twice.dropDuplicates(["k"]).count(), twice.distinct().count(), sums.exceptAll(sums).count()


def the_last_and_the_first_rows(spark: Any, step: Step) -> Any:
    ordered = orders(spark).groupBy("k").sum("v").toDF("k", "s").orderBy("s", "k")
    found = [ordered.first(), ordered.head(3), ordered.take(2)]
    step()
    found += [ordered.tail(2), ordered.limit(5).offset(2).collect()]
    step()
    return [list(each) for each in found], ordered.isEmpty(), ordered.count()


def each_partition_with_a_side_effect(spark: Any, step: Step) -> Any:
    seen = spark.sparkContext.accumulator(0)
    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    sums.foreach(lambda row: seen.add(row.s))
    step()
    sums.foreachPartition(lambda part: seen.add(sum(1 for _ in part)))
    step()
    return seen.value, sums.rdd.getNumPartitions() > 0


def what_a_session_of_its_own_reads(spark: Any, step: Step) -> Any:
    other = spark.newSession()
    sums = orders(other).groupBy("k").sum("v").toDF("k", "s")
    sums.createOrReplaceGlobalTempView("sums_of_another")
    first = other.table("global_temp.sums_of_another").count()
    step()
    second = rows(spark.table("global_temp.sums_of_another"))
    spark.catalog.dropGlobalTempView("sums_of_another")
    return first, second


@since("4.0")
def subqueries_of_frames(spark: Any, step: Step) -> Any:
    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    top = sums.agg(functions.max("s").alias("top"))
    near = sums.filter(functions.col("s") > top.scalar() - 50)
    first = rows(near)
    step()
    same = functions.col("t.k") == functions.col("o.k").outer()
    some = orders(spark).alias("o").filter(sums.alias("t").filter(same & (functions.col("t.s") > 300)).exists())
    second = some.count()
    step()
    listed = orders(spark).groupBy("k").agg(functions.collect_set("v").alias("vs"))
    beside = listed.lateralJoin(spark.tvf.explode(functions.col("vs").outer()))
    return first, second, rows(beside.select("k", "col")), near.count()


@since("4.0")
def a_function_of_a_whole_table(spark: Any, step: Step) -> Any:
    from pyspark.sql.functions import udtf
    from pyspark.sql.types import Row

    class Counted:
        def __init__(self) -> None:
            self._count = 0

        def eval(self, row: Row) -> None:
            self._count += 1

        def terminate(self) -> Iterator[Any]:
            yield (self._count,)

    counted = udtf(Counted, returnType="n: int")
    spark.udtf.register("counted", counted)
    with views(spark, orders=orders(spark).groupBy("k", "v").count()):
        found = spark.sql("select n from counted(table(orders) partition by k order by v)")
        first = rows(found)
        step()
        return first, found.count()


@since("4.0")
def variants(spark: Any, step: Step) -> Any:
    made = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    parsed = made.select("k", functions.parse_json(functions.to_json(functions.struct("k", "s"))).alias("j"))
    first = rows(parsed.selectExpr("k", "variant_get(j, '$.s', 'long') as s"))
    step()
    return first, parsed.count()


@since("4.0")
def a_source_in_python(spark: Any, step: Step) -> Any:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers"

        def schema(self) -> str:
            return "k int, v int"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reading()

    class Reading(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(start) for start in (0, 100)]

        def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
            for n in range(partition.value, partition.value + 100):
                yield n % 20, n

    spark.dataSource.register(Numbers)
    sums = spark.read.format("numbers").load().groupBy("k").sum("v").toDF("k", "s")
    first = rows(sums)
    step()
    return first, sums.count()


def transposed_and_melted(spark: Any, step: Step) -> Any:
    wide = orders(spark).groupBy("k").pivot("v", [1, 2, 3]).count()
    first = rows(wide.na.fill(0))
    step()
    return first, wide.melt(["k"], ["1", "2"], "name", "n").groupBy("name").sum("n").count(), rows(wide.describe("1"))


def collected_into_lists_and_maps(spark: Any, step: Step) -> Any:
    listed = orders(spark).groupBy("k").agg(functions.sort_array(functions.collect_set("v")).alias("vs"))
    opened = listed.select("k", functions.posexplode("vs"))
    first = opened.groupBy("pos").count().count()
    step()
    return first, rows(listed.select("k", functions.size("vs"))), rows(listed.groupBy(functions.size("vs")).count())


def functions_over_cached_and_uncached(spark: Any, step: Step) -> Any:
    from pyspark import StorageLevel

    base = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    kept = base.persist(StorageLevel.DISK_ONLY)
    first = kept.limit(2).count()
    step()
    second = kept.count()
    step()
    joined = kept.join(base.withColumnRenamed("s", "t"), "k").count()
    kept.unpersist(blocking=True)
    step()
    return first, second, joined
