"""Algorithms inside the JVM, seen from outside: real fits, real plans without an execution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions

from listener_bridge.reach.calls import PROPERTY
from listener_bridge.reach.findings import Region
from listener_bridge.tap.facts import JobStarted, StageSubmitted
from tests.spark.reach.conftest import Watched
from tests.support.spark import gate, in_background, wait_for

pytestmark = pytest.mark.spark
HERE = Path(__file__).name


def ratings(watched: Watched) -> Any:
    rows = [(user, item, float(user * item % 5)) for user in range(12) for item in range(8)]
    return watched.spark.createDataFrame(rows, ["user", "item", "rating"])


def wrote(regions: list[Region], name: str) -> set[int]:
    return {shuffle for region in regions if name in region.name for shuffle in region.wrote}


def test_what_als_writes_is_its_until_it_returns(watched: Watched) -> None:
    from pyspark.ml.recommendation import ALS

    frame = ratings(watched)
    before = len(watched.log.of(StageSubmitted))
    with watched.regions_of() as regions:
        model = ALS(rank=2, maxIter=2, userCol="user", itemCol="item", ratingCol="rating").fit(frame)
    written = {s.stage.writes for s in watched.log.of(StageSubmitted)[before:] if s.stage.writes is not None}
    assert len(written) > 4
    assert wrote(regions, f"`ALS.fit` at {HERE}:") == written
    assert len({region.region for region in regions}) == 1
    assert watched.log.regions.read() == ()
    assert model.userFactors.count() == 12


def test_the_rdd_api_of_mllib(watched: Watched) -> None:
    from pyspark.mllib.recommendation import ALS

    rdd = watched.spark.sparkContext.parallelize([(u, i, float(u * i % 5)) for u in range(8) for i in range(6)], 2)
    with watched.regions_of() as regions:
        ALS.train(rdd, rank=2, iterations=2)
    assert len(wrote(regions, f"`ALS.train` at {HERE}:")) > 4


def test_each_fit_of_a_pipeline_is_its_own(watched: Watched) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import StringIndexer

    rows = watched.spark.createDataFrame([(f"a{n % 3}", f"b{n % 4}") for n in range(40)], ["a", "b"])
    stages: list[Any] = [StringIndexer(inputCol=name, outputCol=f"{name}_index") for name in ("a", "b")]
    with watched.regions_of() as regions:
        Pipeline(stages=stages).fit(rows)
    assert len({region.region for region in regions if "StringIndexer.fit" in region.name}) == 2


def test_other_threads_shuffles_are_not_held(watched: Watched) -> None:
    from pyspark.ml.recommendation import ALS

    frame = ratings(watched)
    context = watched.spark.sparkContext

    def counts() -> int:
        return sum(context.parallelize([(n % 3, n) for n in range(30)], 2).groupByKey().count() for _ in range(6))

    before = len(watched.log.of(JobStarted))
    with watched.regions_of() as regions, in_background(counts) as other:
        ALS(rank=2, maxIter=3, userCol="user", itemCol="item", ratingCol="rating").fit(frame)
        assert other.result() == 18
    theirs = [job for job in watched.log.of(JobStarted)[before:] if job.call_site.startswith(f"count at {__file__}:")]
    assert len(theirs) == 6
    held = wrote(regions, "ALS.fit")
    assert held
    assert not held & {stage.writes for job in theirs for stage in job.stages if stage.writes is not None}


@pytest.mark.parametrize("action", ["rdd", "toLocalIterator", "foreach"])
def test_an_adaptive_plan_without_an_execution_runs_until_the_call_returns(
    watched: Watched, action: str, tmp_path: Path
) -> None:
    last = gate(tmp_path / "gate")

    def hold(count: int) -> int:
        last.pass_through("last exchange")
        return count

    held = functions.udf(hold, "long")
    twice = watched.spark.range(200).repartition(3).groupBy("id").count()
    frame = twice.select(held("count").alias("count")).groupBy("count").count()
    before = len(watched.log.of(StageSubmitted))

    def written() -> set[int]:
        return {s.stage.writes for s in watched.log.of(StageSubmitted)[before:] if s.stage.writes is not None}

    def act() -> None:
        if action == "rdd":
            assert frame.rdd.count() == 1
        elif action == "foreach":
            frame.foreach(lambda row: None)
        else:
            assert len(list(frame.toLocalIterator())) == 1

    with watched.regions_of() as regions, in_background(act) as running:
        wait_for(lambda: len(written()) == 3, "the last exchange, heard of before the call returns")
        last.open()
        running.result()
    assert wrote(regions, HERE) == written()


def test_actions_are_no_regions(watched: Watched, tmp_path: Path) -> None:
    spark, context = watched.spark, watched.spark.sparkContext
    frame = spark.range(100).groupBy("id").count()
    rdd = context.parallelize([(n % 3, n) for n in range(30)], 2)
    with watched.regions_of() as regions:
        assert frame.count() == 100
        assert len(frame.collect()) == 100
        frame.write.parquet(str(tmp_path / "table"))
        spark.sql("select count(*) from range(10)").collect()
        assert frame.groupBy("count").count().localCheckpoint().count() == 1
        assert rdd.reduceByKey(lambda a, b: a + b).count() == 3
        assert len(rdd.sortByKey().collect()) == 30
        rdd.groupByKey().saveAsTextFile(str(tmp_path / "text"))
    assert {region.name for region in regions if region.wrote} == set()


def test_a_thread_that_inherits_properties_has_its_own_mark(watched: Watched) -> None:
    from pyspark import InheritableThread

    context = watched.spark.sparkContext
    context.parallelize(range(4), 2).count()
    thread = InheritableThread(target=lambda: context.parallelize(range(4), 2).count())
    thread.start()
    thread.join()
    watched.log.settle()
    ours, theirs = (job.properties[PROPERTY] for job in watched.log.of(JobStarted)[-2:])
    assert ours != theirs


def test_threads_that_share_their_properties_keep_what_each_of_them_writes(watched: Watched, tmp_path: Path) -> None:
    """As the tasks of `CrossValidator`'s pool do: one Java object, and whoever marks it marks the jobs of all."""
    context = watched.spark.sparkContext
    first, last, beside = (gate(tmp_path / name) for name in ("first", "last", "beside"))
    shared = context._jsc.sc().getLocalProperties().clone()

    def hold(number: int) -> int:
        first.pass_through("the first exchange")
        return number

    def hold_on(number: int) -> int:
        last.pass_through("the last exchange")
        return number

    held = functions.udf(hold, "long")("id").alias("id")
    frame = watched.spark.range(0, 40, 1, 1).select(held).repartition(3).groupBy("id").count()
    counts = frame.select(functions.udf(hold_on, "long")("count").alias("count"))

    def listed() -> int:
        context._jsc.sc().setLocalProperties(shared)
        return int(counts.groupBy("count").count().rdd.count())

    def counted() -> int:
        context._jsc.sc().setLocalProperties(shared)
        return int(context.parallelize(range(2), 1).map(lambda _: beside.pass_through("the other thread")).count())

    before = len(watched.log.of(StageSubmitted))

    def written_since() -> set[int]:
        return {s.stage.writes for s in watched.log.of(StageSubmitted)[before:] if s.stage.writes is not None}

    with watched.regions_of() as regions, in_background(listed) as running:
        wait_for(first.arrived, "the first exchange")
        with in_background(counted) as other:
            wait_for(beside.arrived, "the other thread's job")
            first.open()
            wait_for(last.arrived, "the last exchange")
            wait_for(lambda: len(written_since()) == 3, "what the call writes, heard of before it returns")
            last.open()
            assert running.result() == 1
            beside.open()
            assert other.result() == 2
    written = written_since()
    assert len(written) == 3
    assert wrote(regions, HERE) == written
