"""Call sites in the log are lines of the program, also of SQL, whose name for Spark is a line of Java."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark import InheritableThread, inheritable_thread_target

pytestmark = pytest.mark.spark


def here(back: int = 0) -> int:
    """The line that calls this, or one before it."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno - back


def test_sql_is_called_by_the_line_that_runs_it(run: Any) -> None:
    expected: dict[str, str] = {}

    def told(name: str, line: int) -> None:
        expected[name] = f"{name} at {__file__}:{line}"

    spark = run.spark
    with run.attached("reachable") as (attachment, log):
        keyed = spark.range(1_000, numPartitions=2).selectExpr("id % 7 as k", "id")
        keyed.groupBy("k").count().count()
        told("count", here(1))
        keyed.groupBy("k").sum("id").write.format("noop").mode("overwrite").save()
        told("save", here(1))
        other = threading.Thread(target=lambda: keyed.groupBy("k").max("id").foreach(lambda row: None))
        told("foreach", here(1))
        other.start()
        other.join()
        run.settled(attachment)
        lineage = [event.lineage for event in log.events("lineage_learned")]
        jobs = [event.call_site for event in log.events("job_started")]
        executions = [event.name for event in log.events("execution_started")]
    for site in expected.values():
        assert site in [one.call_site for one in lineage]
        assert site in jobs
    assert all(".java:" in one.stage_name for one in lineage if one.call_site in expected.values())
    assert {expected["count"], expected["save"]} <= set(executions)
    assert not [name for name in (*jobs, *executions, *(one.call_site for one in lineage)) if ".java:" in name]


def test_rdds_of_threads_that_pyspark_wraps_have_the_programs_line(run: Any) -> None:
    """PySpark itself names them by the line of Python's `threading` or pool that has called the wrapper."""
    numbers = run.spark.sparkContext.parallelize(range(40), 2)
    lines: dict[str, int] = {}

    def work(name: str) -> None:
        numbers.map(lambda n: (n % 5, n)).groupByKey(2).count()
        lines[name] = here(1)

    with run.attached("reachable") as (attachment, log):
        wrapped = InheritableThread(target=work, args=("thread",))
        wrapped.start()
        wrapped.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(inheritable_thread_target(work), "pool").result()
        run.settled(attachment)
        jobs = [event.call_site for event in log.events("job_started")]
        lineage = [event.lineage.call_site for event in log.events("lineage_learned")]
        stages = [event.name for event in log.events("stage_submitted")]
    assert jobs == lineage == [f"count at {__file__}:{lines[name]}" for name in ("thread", "pool")]
    assert set(stages) == set(jobs)


def test_what_an_algorithm_writes_has_its_line_and_sparks_step(run: Any) -> None:
    pytest.importorskip("numpy")
    from pyspark.ml.recommendation import ALS

    ratings = run.spark.range(60).selectExpr("cast(id % 6 as int) u", "cast(id % 7 as int) i", "cast(id as float) r")
    with run.attached("reachable") as (attachment, log):
        ALS(rank=2, maxIter=1, userCol="u", itemCol="i", ratingCol="r").fit(ratings)
        line = here(1)
        run.settled(attachment)
        sites = [event.lineage.call_site for event in log.events("lineage_learned")]
    assert sites
    assert {site.split(" (")[0] for site in sites} == {f"fit at {__file__}:{line}"}
    assert any("ALS.scala" in site for site in sites)


def test_a_streams_jobs_have_the_line_that_they_call_or_that_has_started_it(run: Any, tmp_path: Any) -> None:
    """A query's thread carries the mark of the thread that started it, which stands somewhere else by now."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "numbers.txt").write_text("".join(f"{n % 7}\n" for n in range(100)))
    lines: list[int] = []

    def each_batch(batch: Any, number: int) -> None:
        batch.groupBy("value").count().foreach(lambda row: None)
        lines.append(here(1))

    with run.attached("reachable") as (attachment, log):
        rows = run.spark.readStream.text(str(tmp_path / "in"))
        counted = rows.groupBy("value").count().writeStream.format("memory").queryName("counts").outputMode("complete")
        for query in (counted, rows.writeStream.foreachBatch(each_batch)):
            running = query.trigger(availableNow=True).start()
            started = here(1)
            running.awaitTermination()
            waited = here(1)
        run.settled(attachment)
        jobs = [event.call_site for event in log.events("job_started")]
        lineage = [event.lineage.call_site for event in log.events("lineage_learned")]
    assert f"foreach at {__file__}:{lines[0]}" in jobs
    assert f"foreach at {__file__}:{lines[0]}" in lineage
    assert not [site for site in (*jobs, *lineage) if site.endswith(f"{__file__}:{waited}")]
    assert f"start at {__file__}:{started}" in jobs
    assert set(lineage) == {f"foreach at {__file__}:{lines[0]}", f"start at {__file__}:{started}"}
