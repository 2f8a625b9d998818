"""The stories of policy `reachable`, as real programs: what goes, what stays, and nothing is computed twice.

Each test is a program: its own local names are what the looks read. Leaving `program` checks that nothing was
recomputed and no deletion was premature.
"""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import Program, attached
from tests.support.spark import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.timeout(180)]


def source(program: Program) -> Any:
    return program.spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3)


def step(rdd: Any) -> Any:
    return rdd.mapPartitions(lambda rows: ((key, value + 1) for key, value in rows)).partitionBy(3)


def test_1_a_script_with_a_name_for_every_step(program: Program) -> None:
    rdd1 = source(program)
    rdd2 = step(rdd1)
    rdd3 = step(rdd2)
    assert rdd3.count() == 400
    first, second, third = program.written()
    program.wait_gone(first, second)
    assert third not in program.gone()
    assert rdd3.count() == 400  # the name is read here for the last time
    program.wait_gone(third)


def test_3_sampling_reads_first_and_the_second_job_reads_again(program: Program) -> None:
    pairs = source(program)
    ranked = pairs.sortByKey(numPartitions=3)
    assert [key for key, _ in ranked.collect()] == sorted(n % 20 for n in range(400))
    written = program.written()
    program.wait_gone(*written)


def test_4_a_diamond_keeps_what_its_second_side_reads(program: Program) -> None:
    left = source(program)
    joined = step(left).join(left, 4)
    assert joined.count() == 20 * 20 * 20
    program.wait_gone(*program.written())


def test_6_a_loop_that_counts_keeps_one_shuffle(program: Program) -> None:
    ranks = source(program)
    for _ in range(6):
        assert ranks.count() == 400
        ranks = step(ranks)
    assert ranks.count() == 400
    *old, newest = program.written()
    program.wait_gone(*old)
    assert newest not in program.gone()
    assert ranks.count() == 400


def test_7_what_a_cancelled_job_read_stays_as_long_as_it_is_held(program: Program, tmp_path: Path) -> None:
    held = source(program)
    assert held.count() == 400
    [first] = program.written()

    def fail(rows: Any) -> Any:
        raise ValueError("planted")

    with pytest.raises(Exception, match="planted"):
        held.mapPartitions(fail).partitionBy(3).count()
    program.look()
    assert first not in program.gone()
    assert held.count() == 400
    del held
    gc.collect()  # the error's traceback and its frames hold what failed, in a cycle that Python frees when it pleases
    program.wait_gone(first)


def test_7_half_of_what_a_failed_job_was_to_write_goes(program: Program) -> None:
    def fail_at_last(index: int, rows: Any) -> Any:
        if index == 11:
            raise ValueError("planted")
        return ((n % 20, n) for n in rows)

    with pytest.raises(Exception, match="planted"):
        program.spark.sparkContext.parallelize(range(400), 12).mapPartitionsWithIndex(fail_at_last).partitionBy(
            3
        ).count()
    [half] = program.written()
    program.wait_gone(half)


def test_7_what_a_failed_job_has_written_nothing_of_is_not_open_for_ever(program: Program) -> None:
    def fail(rows: Any) -> Any:
        raise ValueError("planted")

    with pytest.raises(Exception, match="planted"):
        program.spark.sparkContext.parallelize(range(400), 2).mapPartitions(fail).partitionBy(3).count()
    [nothing] = program.written()
    gc.collect()  # the error's traceback holds the RDD until then
    wait_for(lambda: nothing in program.log.app_shuffles("generation_lost"), f"the end of app shuffle {nothing}")


def test_11_a_partly_filled_cache_keeps_what_it_still_needs(program: Program) -> None:
    frame = program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k", "id").groupBy("k").count().cache()
    frame.limit(1).collect()
    program.look()
    assert frame.count() == 20
    assert sorted(row["count"] for row in frame.collect()) == [20] * 20
    frame.unpersist()


def test_11_what_a_persisted_rdd_of_a_python_function_was_made_of_goes(program: Program) -> None:
    kept = source(program).mapValues(lambda n: n + 1).persist(StorageLevel.DISK_ONLY)
    assert kept.count() == 400
    program.wait_gone(*program.written())
    assert kept.map(lambda pair: pair[0]).distinct().count() == 20
    kept.unpersist()


def test_13_what_a_frame_was_filtered_from_is_not_what_it_reads(program: Program) -> None:
    """It plans anew, from the source; in Spark 4 it keeps the query of what it was filtered from, for its schema."""
    counts = program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k").groupBy("k").count()
    assert len(counts.collect()) == 20
    large = counts.where("k > 9")
    del counts
    program.wait_gone(*program.written())
    assert large.count() == 10


def test_11_what_filled_a_cache_goes_when_all_of_it_is_cached(program: Program) -> None:
    spark = program.spark
    rows = spark.range(0, 400, 1, 4).selectExpr("id % 20 as k", "id as v")
    counts = rows.join(spark.range(0, 20, 1, 2).withColumnRenamed("id", "k"), "k").groupBy("k").count().cache()
    assert counts.count() == 20
    program.wait_gone(*program.written())
    assert sorted(row["count"] for row in counts.collect()) == [20] * 20
    counts.unpersist()


def test_11_what_filled_a_cache_from_files_stays_as_they_may_be_written_over(program: Program, tmp_path: Path) -> None:
    """Writing over what was read drops the cache, and who has planned over it computes it again from its shuffle."""
    spark, path = program.spark, str(tmp_path / "table")
    spark.range(0, 400, 1, 4).selectExpr("id % 20 as k", "id as v").write.parquet(path)
    sums = spark.read.parquet(path).groupBy("k").sum("v").withColumnRenamed("sum(v)", "v").cache()
    assert sums.count() == 20
    program.look()
    large = sums.where("v > 4000")
    before = sorted(large.collect())
    program.look()
    sums.selectExpr("k", "v + 1 as v").write.mode("overwrite").parquet(path)
    assert sorted(large.collect()) == before
    sums.unpersist()
    del sums, large
    program.wait_gone(*program.written())


def test_11_a_frame_that_is_planned_so_far_as_to_know_its_cache_holds_what_filled_it(
    program: Program, tmp_path: Path
) -> None:
    """Who asks a frame for its files has settled which cache it reads, before there is a physical plan."""
    spark, path = program.spark, str(tmp_path / "table")
    spark.range(0, 400, 1, 4).selectExpr("id % 20 as k", "id as v").write.parquet(path)
    sums = spark.read.parquet(path).groupBy("k").sum("v").withColumnRenamed("sum(v)", "v").cache()
    assert sums.count() == 20
    large = sums.where("v > 4000")
    large.inputFiles()
    program.look()
    sums.selectExpr("k", "v + 1 as v").write.mode("overwrite").parquet(path)
    program.look()
    assert sorted(large.collect()) == [(k, 20 * k + 3800) for k in range(11, 20)]
    sums.unpersist()
    del sums, large
    program.wait_gone(*program.written())


def test_11_what_filled_a_cache_stays_where_a_function_may_read_other_things_by_now(
    program: Program, tmp_path: Path
) -> None:
    spark, file = program.spark, tmp_path / "number"
    file.write_text("7")
    name = str(file)
    rows = spark.sparkContext.parallelize(range(40), 4).map(lambda n: (n % 5, int(Path(name).read_text())))
    sums = rows.toDF(["k", "v"]).groupBy("k").sum("v").withColumnRenamed("sum(v)", "v").cache()
    large = sums.where("v > 3")
    before = sorted(large.collect())
    assert [row["v"] for row in before] == [56] * 5
    program.look()
    file.write_text("9")
    sums.unpersist()
    program.look()
    assert sorted(large.collect()) == before
    del sums, large, rows
    program.wait_gone(*program.written())


def test_11_a_stage_that_filled_a_cache_is_not_reused_outside_of_it(program: Program) -> None:
    """Its plan is a query of its own: what looks the same in a plan over the cache is written again."""
    spark = program.spark
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        a = spark.range(0, 400, 1, 4).selectExpr("id % 20 as k", "id as v")
        b = spark.range(0, 20, 1, 2).selectExpr("id as k", "id % 4 as g")
        x = a.join(b, "k").groupBy("g").sum("v").withColumnRenamed("sum(v)", "s")
        top = x.where("s > 10").cache()
        assert top.count() == 4
        program.look()
        both = x.unionByName(top)
        assert len(both.collect()) == 8
        program.look()
        assert len(both.collect()) == 8
        top.unpersist()
        del a, b, x, top, both
        program.wait_gone(*program.written())
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_12_an_exchange_that_is_reused_stays_for_its_last_reader(program: Program) -> None:
    spark = program.spark
    spark.range(0, 4_000, 1, 4).selectExpr("id % 50 as k", "id as v").createOrReplaceTempView("numbers")
    rows = spark.sql(
        "with sums as (select k, sum(v) as s from numbers group by k) "
        "select a.k, a.s from sums a join sums b on a.k = b.k where a.s > (select avg(s) from sums) order by a.k"
    ).collect()
    assert len(rows) == 25
    program.wait_gone(*program.written())
    spark.catalog.dropTempView("numbers")


def test_12a_adaptive_plans_outside_an_execution(program: Program) -> None:
    left = program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k", "id as v")
    right = program.spark.range(0, 20, 1, 2).selectExpr("id as k", "id * 2 as w")
    joined = left.join(right, "k").groupBy("w").count()
    assert joined.rdd.count() == 20
    assert len(list(joined.toLocalIterator())) == 20
    joined.foreach(lambda row: None)
    program.look()
    joined.foreach(lambda row: None)


def test_12a_a_half_consumed_iterator_goes_on(program: Program) -> None:
    rows = step(source(program)).toLocalIterator()
    first = next(rows)
    program.look()
    assert len([first, *rows]) == 400


def test_13_a_second_collect_reads_what_the_first_one_wrote(program: Program) -> None:
    counts = program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k").groupBy("k").count()
    assert len(counts.collect()) == 20
    program.look()
    [written] = program.written()
    assert written not in program.gone()
    assert len(counts.collect()) == 20  # the name is read here for the last time
    assert program.written() == [written]
    program.wait_gone(written)


def test_13_a_temporary_goes_at_once(program: Program) -> None:
    assert len(program.spark.range(0, 400, 1, 4).selectExpr("id % 20 as k").groupBy("k").count().collect()) == 20
    program.wait_gone(*program.written())


def test_18a_what_fit_wrote_stays_until_it_returns_and_then_what_its_model_reaches(program: Program) -> None:
    from pyspark.ml.recommendation import ALS

    ratings = program.spark.range(0, 600, 1, 4).selectExpr(
        "cast(id % 30 as int) as user", "cast(id % 17 as int) as item", "cast(id % 5 as float) as rating"
    )
    model = ALS(rank=2, maxIter=3, seed=7, numUserBlocks=2, numItemBlocks=2).fit(ratings)
    program.look()
    left = set(program.written()) - program.gone()
    assert len(left) < len(program.written()), "what only its steps have read"
    assert model.userFactors.count() == 30
    assert model.itemFactors.count() == 17
    del model
    program.wait_gone(*program.written())


class Holder:
    def __init__(self, rdd: Any) -> None:
        self.rdd = rdd


def test_18b_lists_attributes_and_closures_hold(program: Program) -> None:
    listed, kept = [source(program)], Holder(source(program))
    closed = source(program)

    def count() -> int:
        return int(closed.count())

    assert listed[0].count() + kept.rdd.count() + count() == 1_200
    program.look()
    written = program.written()
    assert not program.gone() & set(written)
    assert listed[0].count() + kept.rdd.count() + count() == 1_200
    listed.clear()
    program.wait_gone(written[0])


def test_18b_what_lists_and_attributes_hold_goes_when_nothing_reads_these_again(program: Program) -> None:
    parts = [source(program) for _ in range(2)]
    table, kept = {"k": (source(program),)}, Holder(source(program))
    whole = parts[0].union(parts[1]).union(table["k"][0]).union(kept.rdd).reduceByKey(lambda a, b: a + b, 4)
    assert whole.count() == 20
    *read, last = program.written()
    program.wait_gone(*read)
    assert last not in program.gone()
    assert whole.count() == 20


def test_18c_a_frame_made_of_an_rdd_holds_it(program: Program) -> None:
    pairs = source(program).reduceByKey(lambda a, b: a + b, 3)
    frame = program.spark.createDataFrame(pairs, "k int, v int")
    del pairs
    assert frame.count() == 20
    frame.createOrReplaceTempView("pairs")
    del frame
    program.look()
    assert program.spark.sql("select sum(v) from pairs").collect()[0][0] == sum(range(400))
    program.spark.catalog.dropTempView("pairs")


def test_18d_files_that_come_later_are_read(program: Program, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n")
    lines = program.spark.sparkContext.textFile(str(tmp_path), 1).map(lambda line: (line, 1)).partitionBy(2)
    absent = program.spark.sparkContext.textFile(str(tmp_path / "absent"), 1).map(lambda line: (line, 1)).partitionBy(2)
    assert source(program).count() == 400
    program.look()
    (tmp_path / "b.txt").write_text("3\n4\n5\n")
    assert lines.count() == 5
    with pytest.raises(Exception, match="absent"):
        absent.count()


def test_18e_a_loop_that_rebinds_its_name(program: Program) -> None:
    rdd = source(program)
    for _ in range(15):
        rdd.count()
        rdd = rdd.mapPartitions(lambda rows: rows).partitionBy(2)
    assert rdd.count() == 400


def test_18e_comprehensions_lambdas_and_generators_name_a_handle(program: Program) -> None:
    rdd = source(program)
    assert [rdd.filter(lambda row, n=n: row[0] == n).count() for n in range(3)] == [20, 20, 20]
    assert (lambda: rdd.count())() == 400
    program.look()
    assert sum(rdd.map(lambda row, n=n: n).first() for n in range(3)) == 3


def test_5_threads_keep_what_either_reads(program: Program) -> None:
    shared = source(program)
    assert shared.count() == 400
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(step(shared).count())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [400, 400]
    assert shared.count() == 400


def test_without_liveness_a_name_holds_until_it_goes(run: Run) -> None:
    with attached(run, liveness=False) as program:
        rdd1 = source(program)
        rdd2 = step(rdd1)
        assert rdd2.count() == 400
        first, second = program.written()
        program.look()
        assert not program.gone() & {first, second}
        del rdd1, rdd2
        program.wait_gone(first, second)


def test_holders_tell_the_name(program: Program) -> None:
    ranks = source(program)
    assert ranks.count() == 400
    program.look()
    told = [event.why for event in program.log.events("cut_reported")]
    assert any("ranks" in why and "test_scenarios.py" in why for why in told), told
    assert ranks.count() == 400


def test_after_detach_the_program_is_as_it_was(run: Run) -> None:
    from pyspark.sql import DataFrame

    client = run.spark.sparkContext._gateway._gateway_client
    before = dict(vars(client)), DataFrame.toLocalIterator
    with attached(run) as program:
        wait_for(lambda: program.spark.range(1).count() == 1, "a job")
    assert (dict(vars(client)), DataFrame.toLocalIterator) == before
