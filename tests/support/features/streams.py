"""Structured streams."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import functions

from tests.support.features.made import Step, orders, rows

PATIENCE_S = 60


def _files(folder: str, count: int) -> str:
    """That many files of rows `k` and `v`, which a stream reads one by one."""
    source = Path(folder, "source")
    source.mkdir(exist_ok=True)
    for at in range(count):
        time = f"2026-01-01T00:{at * 10:02}:00"
        lines = [f'{{"k": {n % 5}, "v": {n}, "t": "{time}"}}' for n in range(at * 10, at * 10 + 10)]
        source.joinpath(f"{at}.json").write_text("\n".join(lines))
        os.utime(source.joinpath(f"{at}.json"), (at, at))  # a stream reads the oldest first
    return str(source)


def _stream(spark: Any, folder: str, count: int = 3) -> Any:
    read = spark.readStream.schema("k long, v long, t timestamp").option("maxFilesPerTrigger", 1)
    return read.json(_files(folder, count))


def _run(writer: Any, folder: str) -> None:
    query = writer.option("checkpointLocation", f"{folder}/state").trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(PATIENCE_S), query.status
    finally:
        query.stop()


def sums_in_memory(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        sums = _stream(spark, folder).groupBy("k").sum("v")
        _run(sums.writeStream.outputMode("complete").format("memory").queryName("sums"), folder)
        step()
        first = rows(spark.table("sums"))
        step()
        second = spark.table("sums").groupBy().count().collect()[0][0]
        spark.catalog.dropTempView("sums")
        return first, second


def each_batch_by_a_function(spark: Any, step: Step) -> Any:
    found = []

    def batch(frame: Any, number: int) -> None:
        sums = frame.groupBy("k").sum("v").toDF("k", "s")
        sums.persist()
        count = sums.count()
        step()
        found.append((number, count, rows(sums.join(frame.groupBy("k").count(), "k"))))
        sums.unpersist()

    with tempfile.TemporaryDirectory() as folder:
        _run(_stream(spark, folder).writeStream.foreachBatch(batch), folder)
    return found


def a_stream_joined_with_a_frame(spark: Any, step: Step) -> Any:
    sums = orders(spark).groupBy("k").sum("v").toDF("k", "s")
    sums.count()
    step()
    with tempfile.TemporaryDirectory() as folder:
        joined = _stream(spark, folder).join(sums, "k").select("k", "v", "s")
        _run(joined.writeStream.format("parquet").option("path", f"{folder}/out"), folder)
        step()
        return rows(spark.read.parquet(f"{folder}/out")), sums.count()


def windows_with_a_watermark(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        timed = _stream(spark, folder, 4).withWatermark("t", "5 minutes")
        counts = timed.dropDuplicates(["v", "t"]).groupBy(functions.window("t", "10 minutes"), "k").count()
        told = counts.select(functions.col("window.start").cast("string").alias("at"), "k", "count")
        _run(told.writeStream.outputMode("append").format("parquet").option("path", f"{folder}/out"), folder)
        step()
        return rows(spark.read.parquet(f"{folder}/out"))


def two_streams_joined(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        left = _stream(spark, folder).withWatermark("t", "1 hour")
        right = _stream(spark, other).withWatermark("t", "1 hour").selectExpr("k", "v as w", "t as u")
        joined = left.join(right, "k").select("k", "v", "w")
        _run(joined.writeStream.format("parquet").option("path", f"{folder}/out"), folder)
        step()
        return rows(spark.read.parquet(f"{folder}/out").groupBy("k").count())


def state_in_pandas(spark: Any, step: Step) -> Any:
    pd: Any = importlib.import_module("pandas")

    def counted(key: Any, parts: Any, state: Any) -> Any:
        total = int(state.get[0] if state.exists else 0) + sum(len(part) for part in parts)
        state.update((total,))
        yield pd.DataFrame({"k": [key[0]], "n": [total]})

    with tempfile.TemporaryDirectory() as folder:
        grouped = _stream(spark, folder).groupBy("k")
        kept = grouped.applyInPandasWithState(counted, "k long, n long", "n long", "update", "NoTimeout")
        seen: list[Any] = []

        def batch(frame: Any, number: int) -> None:
            step()
            seen.append((number, rows(frame)))

        _run(kept.writeStream.outputMode("update").foreachBatch(batch), folder)
        return seen


def a_query_that_starts_again(spark: Any, step: Step) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for count in (2, 4):
            sums = _stream(spark, folder, count).groupBy("k").sum("v").toDF("k", "s")

            def batch(frame: Any, number: int) -> None:
                found.append((number, rows(frame)))

            _run(sums.writeStream.outputMode("complete").foreachBatch(batch), folder)
            step()
        return found
