"""Stages that adaptive execution has begun and then planned away: Spark runs them all the same (scenario 12).

Since Spark 4.0 a thread of a pool submits a stage, and may be later than the next plan is. With one thread it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import CONF, attached
from tests.support.own_spark import own_spark
from tests.support.spark import LOCAL, Gate, gate, in_background, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(180)]
ONE_SUBMITS = {"spark.sql.shuffleExchange.maxThreadThreshold": "1"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder: Path = tmp_path_factory.mktemp("spark")
    with own_spark(folder, LOCAL, **CONF, **ONE_SUBMITS) as spark:
        yield Run(spark, folder, tmp_path_factory.mktemp("logs"))


def passing(held: Gate, name: str) -> Any:
    def passed(number: int) -> int:
        held.pass_through(name)
        return number

    return functions.udf(passed, "long")


def stages_of(frame: Any) -> int:
    return str(frame._jdf.queryExecution().executedPlan().toString()).count("ShuffleQueryStage")


def test_12_what_a_stage_reads_that_was_begun_and_planned_away_stays(run: Run, tmp_path: Path) -> None:
    submits, is_empty = gate(tmp_path / "submits"), gate(tmp_path / "empty")
    if run.spark.version < "4":
        pytest.skip("adaptive execution submits its stages itself")
    numbers, some = run.spark.range(0, 400, 1, 1), run.spark.range(0, 400, 1, 2)
    often = some.groupBy((some.id % 20).alias("k")).count().groupBy("count").agg(functions.max("k").alias("k"))
    none = numbers.filter(passing(is_empty, "the other side")("id") < 0).groupBy((numbers.id % 5).alias("count"))
    sampled = numbers.select(passing(submits, "the sample")("id").alias("k")).repartitionByRange(2, "k")
    frame = often.join(none.agg(functions.sum("id")), "count").select("k").union(sampled)
    with attached(run) as program, in_background(frame.collect) as collecting:
        try:
            wait_for(submits.arrived, "the thread that submits stages to wait for its sample")
            first = program.written()[0]
            wait_for(lambda: stages_of(frame) == 4, "the stage that reads the first one")
            is_empty.open()
            wait_for(lambda: stages_of(frame) == 1, "a plan without that stage")
            program.look()
            assert first not in program.gone()
        finally:
            is_empty.open()
            submits.open()
        assert len(collecting.result(120)) == 400
        program.wait_gone(first)
