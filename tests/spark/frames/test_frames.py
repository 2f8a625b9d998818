"""The events frame on a real Spark: both ways of reading, what Spark shows of them, and the analyses on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordinator.cli import spark as cli_spark
from coordinator.core import commands as c
from coordinator.core.events import Recorded
from coordinator.core.ids import AppShuffle, ExecutionId, LookId, ShuffleId
from coordinator.core.values import Outputs, RootKind
from coordinator.wire.codec import Segment
from coordinator.wire.logfile import write_log
from replay import frames
from replay.simulate import facts_of, simulate
from tests.spark.frames.generated import logs
from tests.spark.frames.weighing import weigh
from tests.support.spark import spark_session
from tests.unit.cli.calling import Shufflectl, log_file, store
from tests.unit.replay.frames.reading import rows
from tests.unit.replay.logs import (
    APP,
    BEGIN_MS,
    asked_in_vain,
    attempt,
    deleted_and_missed,
    fence_finds,
    wanted_while_fencing,
)
from tests.unit.replay.simulate.test_otherwise import written_in_parts
from tests.unit.replay.test_holders import looked_at, root

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Read = Callable[[str], DataFrame]

ORDER = ("application", "sequence")
CALL_SITES = ("map at chain.py:12", "groupBy at chain.py:14")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    conf = {"spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC"}
    with spark_session(tmp_path_factory.mktemp("frames"), **conf) as session:
        if has_data_sources(session):
            frames.register(session)
        yield session


def has_data_sources(spark: SparkSession) -> bool:
    return not spark.version.startswith("3.")


def plainly(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows as the readers without Spark give them."""
    found = [row.asDict(recursive=True) for row in frame.orderBy(*ORDER, "problem").collect()]
    return [{name: value for name, value in row.items() if name != "time"} for row in found]


def expected(url: object, **options: object) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "time"} for row in rows(url, **options)]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return log_file(tmp_path_factory.mktemp("logs") / "chain.log", deleted_and_missed())


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_the_function_reads_in_parallel_what_a_reader_without_spark_reads(spark: SparkSession, chain: Path) -> None:
    found = frames.events(spark, str(chain), partition_events=8)
    assert found.rdd.getNumPartitions() == 4
    assert plainly(found) == expected(chain)
    first = found.where("sequence = 1").selectExpr("unix_millis(time) AS ms").first()
    assert first is not None
    assert first["ms"] == BEGIN_MS


def test_the_data_source_gives_the_same_from_a_store(spark: SparkSession, chain: Path, tmp_path: Path) -> None:
    if not has_data_sources(spark):
        pytest.skip("Python data sources came with Spark 4.0")
    address = store(tmp_path / "store.db", deleted_and_missed())
    source = spark.read.format("shuffle_lifecycle").option("partitionEvents", 10).load(address)
    assert source.schema == frames.events(spark, str(chain)).schema
    assert source.rdd.getNumPartitions() == 4
    assert plainly(source) == expected(address)


def test_a_frame_that_is_filtered_stays_as_it_was(spark: SparkSession, chain: Path) -> None:
    """Where Spark pushes filters down it keeps them, up to 4.3.0, for all that is made of one `load`."""
    if not has_data_sources(spark):
        pytest.skip("Python data sources came with Spark 4.0")
    source = spark.read.format("shuffle_lifecycle").load(str(chain))
    few, others = source.where("sequence <= 5"), source.where("sequence > 5")
    assert few.count() == 5
    assert source.count() == len(expected(chain))
    assert few.union(others).count() == len(expected(chain))


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[None]:
    """A session that pushes filters down, also where it does not keep them apart: each `load` is for one query then."""
    if not has_data_sources(spark) or tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        pytest.skip("filters are pushed to Python data sources from Spark 4.1 on")
    from replay.frames.datasource import ShuffleLifecyclePushed

    name = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(name, "true")
    spark.dataSource.register(ShuffleLifecyclePushed)
    yield
    spark.conf.unset(name)
    frames.register(spark)


@pytest.mark.usefixtures("pushing")
def test_filters_that_are_pushed_down_change_nothing(spark: SparkSession, chain: Path) -> None:
    def source() -> DataFrame:
        return spark.read.format("shuffle_lifecycle").option("partitionEvents", 8).load(str(chain))

    wanted = source().where(f"application = '{APP}' AND sequence > 20 AND kind IN ('StageSubmitted', 'RecoveryOpened')")
    assert wanted.rdd.getNumPartitions() == 2
    names = ("StageSubmitted", "RecoveryOpened")
    assert plainly(wanted) == [r for r in expected(chain) if r["sequence"] > 20 and r["kind"] in names]
    assert source().where("application = 'nobody'").count() == 0
    assert source().where(f"application IN ('{APP}', NULL) AND sequence <= 20").count() == 20
    submitted = [r for r in expected(chain) if r["kind"] == "StageSubmitted"]
    assert plainly(source().where("kind IN ('StageSubmitted', NULL)")) == submitted
    assert source().where("application <=> NULL").count() == 0


def test_what_spark_shows_of_a_plan_holds_no_secret(spark: SparkSession, chain: Path) -> None:
    from replay.frames.options import WrongOption

    with pytest.raises(WrongOption, match="options user and password") as refused:
        frames.events(spark, "etcd://ann:sesame@host:1/x")
    assert "sesame" not in str(refused.value)
    shown = frames.events(spark, str(chain), user="ann", password="sesame")
    plans = [shown._jdf.queryExecution().toString()]
    if has_data_sources(spark):
        reader = spark.read.format("shuffle_lifecycle").option("user", "ann").option("password", "sesame")
        plans.append(reader.load(str(chain))._jdf.queryExecution().toString())
    assert not [plan for plan in plans if "sesame" in plan]


def test_damage_is_a_row_or_ends_the_query_as_asked(spark: SparkSession, chain: Path, tmp_path: Path) -> None:
    content = bytearray(chain.read_bytes())
    content[500] ^= 1
    hurt = tmp_path / "hurt.log"
    hurt.write_bytes(content)
    found = frames.events(spark, str(hurt))
    told = found.where("problem IS NOT NULL").collect()
    assert [(row["application"], row["sequence"], row["kind"]) for row in told] == [(APP, 9, None)]
    assert "checksum" in told[0]["problem"]
    with pytest.raises(Exception, match="checksum") as failed:
        frames.events(spark, str(hurt), mode="FAILFAST").count()
    assert "PERMISSIVE" in str(failed.value)


def test_who_asks_for_a_stream_is_told_what_to_ask_for(spark: SparkSession, chain: Path) -> None:
    if not has_data_sources(spark):
        pytest.skip("Spark 3.5 has no Python data sources")
    stream = spark.readStream.format("shuffle_lifecycle").load(str(chain))
    query = stream.writeStream.format("memory").queryName("events").start()
    with pytest.raises(Exception, match=r"read as it is when a query begins; expected spark\.read\. Use ") as refused:
        query.awaitTermination(60)
    assert "UnboundLocalError" not in str(refused.value)


# ---- analyses --------------------------------------------------------------------------------------------------------


def test_terabytes_that_are_held_for_days_are_weighed(spark: SparkSession) -> None:
    """More byte-milliseconds than a `bigint` holds."""
    from pyspark.sql import functions as F  # noqa: N812

    from replay.frames.analyses.weights import weight

    frame = spark.sql("SELECT 10000000000000 AS bytes, 86400000 AS held_ms")
    [row] = frame.select(weight("bytes", F.col("held_ms")).alias("weight")).collect()
    assert row["weight"] == 8.64e17


def write(folder: Path, log: list[Recorded], name: str) -> None:
    segment = Segment(1, b"c", "replica-1", tuple(log))
    (folder / f"{name}.log").write_bytes(b"".join(write_log((segment,))))


def by_application(frame: DataFrame) -> dict[str, dict[str, Any]]:
    return {row["application"]: row.asDict() for row in frame.collect()}


def of_each(frame: DataFrame, key: str, value: str) -> dict[str, dict[int, Any]]:
    """By application, one figure of each."""
    found: dict[str, dict[int, Any]] = {}
    for row in frame.collect():
        found.setdefault(row["application"], {})[row[key]] = row[value]
    return found


@pytest.mark.newest
@pytest.mark.timeout(400)
def test_analyses_say_what_the_core_s_fold_says(spark: SparkSession, tmp_path: Path) -> None:
    from replay.frames import analyses

    made = {f"app-{number}": log for number, log in enumerate(logs(6))}
    for name, log in made.items():
        write(tmp_path, log, name)
    expected = {name: weigh(log) for name, log in made.items()}
    assert sum(len(figures.let_go) for figures in expected.values()) > 3, "the logs tell of deletions"
    events = frames.events(spark, str(tmp_path)).cache()
    weights = by_application(analyses.byte_seconds(events))
    rates = by_application(analyses.premature_rate(events))
    delays = of_each(analyses.deletion_delays(events), "shuffle_id", "expiry_to_deletion_s")
    again = of_each(analyses.recomputations(events), "recovery", "generations_again")
    readers = of_each(analyses.readers(events), "shuffle_id", "readers")
    for name, figures in expected.items():
        found = weights[name]
        assert found["generations"] == figures.generations
        assert found["held_byte_seconds"] == pytest.approx(figures.held)
        assert found["needed_byte_seconds"] == pytest.approx(figures.needed)
        assert found["saved_byte_seconds"] == pytest.approx(figures.saved)
        missed = figures.missed & figures.let_go
        assert (rates[name]["let_go"], rates[name]["missed"]) == (len(figures.let_go), len(missed))
        assert delays.get(name, {}) == pytest.approx(figures.delays_s)
        assert {recovery: count for recovery, count in again.get(name, {}).items() if count} == figures.again
        for shuffle_id, count in readers.get(name, {}).items():
            assert count == len(figures.readers.get(ShuffleId(shuffle_id), ()))


@pytest.mark.newest
def test_a_small_log_s_figures_are_those_computed_by_hand(spark: SparkSession, chain: Path) -> None:
    from replay.frames import analyses

    # Commands are 10 ms apart. App shuffle 0 (#1): 120 MB complete at 30 ms, read until 50 ms, expired there, deleted
    # at 70 ms; missed at 120 ms by a job that writes it again (#3) until 130 ms, and reads that at 140 ms, the last
    # event. App shuffle 1 (#2): 60 MB complete at 50 ms, read until 90 ms, held until the end.
    events = frames.events(spark, str(chain)).cache()
    found = {row["call_site"]: row for row in analyses.byte_seconds(events, by=("call_site",)).collect()}
    first, second = (found[name] for name in CALL_SITES)
    assert first["held_byte_seconds"] == pytest.approx(120e6 * 0.040 + 120e6 * 0.010)
    assert first["needed_byte_seconds"] == pytest.approx(120e6 * 0.020 + 120e6 * 0.010)
    assert first["saved_byte_seconds"] == pytest.approx(120e6 * 0.060)
    assert second["held_byte_seconds"] == pytest.approx(60e6 * 0.090)
    assert second["needed_byte_seconds"] == pytest.approx(60e6 * 0.040)
    assert second["saved_byte_seconds"] == 0
    [delay] = analyses.deletion_delays(events).collect()
    assert delay["last_read_to_deletion_s"] == pytest.approx(0.02)
    assert delay["expiry_to_deletion_s"] == pytest.approx(0.02)
    [rate] = analyses.premature_rate(events).collect()
    assert (rate["let_go"], rate["missed"], rate["premature_rate"], rate["missed_bytes"]) == (1, 1, 1.0, 120_000_000)
    [recovery] = analyses.recomputations(events).collect()
    assert (recovery["shuffle_id"], recovery["premature"], recovery["bytes_again"]) == (1, True, 120_000_000)
    assert (recovery["tasks"], recovery["stage_seconds"]) == (4, pytest.approx(0.01))


@pytest.mark.newest
def test_what_is_repaired_after_a_recovery_is_no_part_of_it(spark: SparkSession, tmp_path: Path) -> None:
    from replay.frames import analyses

    told = deleted_and_missed()
    told.done(4)
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 2, 4),)))
    told.say(c.ReportStageSubmitted(attempt(3, 1), (), AppShuffle(0), 2, "map at chain.py:12"))
    told.say(c.ReportStageCompleted(attempt(3, 1), shuffle_bytes_written=60_000_000))
    write(tmp_path, told.log, "repaired")
    [recovery] = analyses.recomputations(frames.events(spark, str(tmp_path))).collect()
    assert (recovery["bytes_again"], recovery["tasks"]) == (120_000_000, 4)
    assert recovery["stage_seconds"] == pytest.approx(0.01)


@pytest.mark.newest
def test_bytes_go_through_retries_and_losses(spark: SparkSession, tmp_path: Path) -> None:
    from replay.frames.analyses.sizes import last_sizes, sizes

    write(tmp_path, written_in_parts().log, "parts")
    events = frames.events(spark, str(tmp_path)).where("coalesce(shuffle_id, 1) = 1")
    held = [row["bytes"] for row in sizes(events).orderBy("sequence").collect()]
    assert held == [60_000_000, 100_000_000, 50_000_000, 95_000_000]
    assert [row["bytes"] for row in last_sizes(events).collect()] == [95_000_000]


@pytest.mark.newest
def test_what_was_held_is_told_alike_by_report_simulate_and_the_core_s_fold(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Pictures are held against the fold in tests/unit/replay/test_held.py."""
    from replay.frames import analyses

    log = fence_finds(150_000_000).log
    write(tmp_path, log, "fence")
    [told] = analyses.byte_seconds(frames.events(spark, str(tmp_path))).collect()
    assert told["held_byte_seconds"] == pytest.approx(weigh(log).held)
    assert told["held_byte_seconds"] == pytest.approx(simulate(facts_of(log)).held_byte_seconds)


@pytest.mark.newest
def test_what_was_kept_when_it_was_to_be_fenced_has_not_expired(spark: SparkSession, tmp_path: Path) -> None:
    from replay.frames.analyses.generations import generations

    write(tmp_path, wanted_while_fencing().log, "kept")
    found = generations(frames.events(spark, str(tmp_path))).where("app_shuffle = 0").first()
    assert found is not None
    assert (found["expired_ms"], found["expired_because"], found["gone_ms"]) == (None, None, None)


@pytest.mark.newest
def test_who_asked_for_it_and_read_something_else_has_not_read_it(spark: SparkSession, tmp_path: Path) -> None:
    from replay.frames.analyses import readers

    told = asked_in_vain()
    write(tmp_path, told.log, "asked")
    found = readers(frames.events(spark, str(tmp_path))).orderBy("app_shuffle").collect()
    assert [(row["readers"], row["last_read_ms"] - BEGIN_MS) for row in found] == [(1, 50), (1, 80)]


@pytest.mark.newest
def test_holders_are_charged_for_what_they_kept_while_they_kept_it(spark: SparkSession, tmp_path: Path) -> None:
    from replay.frames import analyses

    # The look's report is at 100 ms, the last event at 110 ms; both shuffles, of 120 and 60 MB, are there all the time.
    told = looked_at(root("o1", "`a` in chain.py:3", 0, 1), root("o2", "`b` in chain.py:4", 1))
    told.say(c.BeginLook(LookId(2)))
    events = frames.events(spark, str(log_file(tmp_path / "held.log", told)))
    first, second = analyses.top_holders(events).collect()
    assert (first["root_kind"], first["who"], first["app_shuffles"]) == ("handle", "`a` in chain.py:3", 2)
    assert first["byte_seconds"] == pytest.approx(180e6 * 0.010)
    assert (second["who"], second["byte_seconds"]) == ("`b` in chain.py:4", pytest.approx(60e6 * 0.010))


@pytest.mark.newest
def test_a_plan_that_held_is_called_by_what_runs_it(spark: SparkSession, tmp_path: Path) -> None:
    from replay.frames import analyses

    plan = root("execution 7", "SQL execution 7", 0, kind=RootKind.PLAN)
    told = looked_at(plan, root("o1", "`b` in chain.py:4", 1))
    told.say(c.ReportExecutionStarted(ExecutionId(7), "show at /home/ann/etl.py:41"))
    told.say(c.BeginLook(LookId(2)))
    found = analyses.top_holders(frames.events(spark, str(log_file(tmp_path / "held.log", told)))).collect()
    assert [row["who"] for row in found] == ["SQL execution 7 (show at /home/ann/etl.py:41)", "`b` in chain.py:4"]


@pytest.mark.newest
def test_a_report_shows_them_as_tables(
    spark: SparkSession, chain: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    shufflectl = Shufflectl(tmp_path, monkeypatch, capsys)
    nothing = shufflectl("report", "--log", chain, f"{APP[:-1]}9")
    assert (nothing.code, "there is no event of application" in nothing.err) == (3, True)
    shown = shufflectl("report", "--log", chain, "chain").out
    assert shufflectl("report", "--log", chain).out == shown
    assert all(words in shown for words in ("Byte-seconds by call site", "7.2 MB·s", "deleted too early", "100.0%"))
    assert [place for place in CALL_SITES if place in shown] == list(CALL_SITES)


@pytest.mark.newest
@pytest.mark.filterwarnings("error:Cannot infer the eval type")
def test_a_report_weighs_a_store(spark: SparkSession, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())
    shown = Shufflectl(tmp_path, monkeypatch, capsys)("report", "--store", address, "chain", "-o", "json")
    assert (shown.code, shown.err) == (0, "")
    assert [one["missed"] for one in shown.data["premature"]] == [1]


def test_a_session_that_is_there_stays_also_where_it_is_not_active(spark: SparkSession) -> None:
    """A thread has a JVM thread of its own, in which no session is active."""

    def report() -> tuple[bool, int]:
        is_active = type(spark).getActiveSession() is not None
        with cli_spark.spark_session("report", "") as found:
            return is_active, found.range(3).count()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(report).result() == (False, 3)
    assert spark.range(4).count() == 4


def test_a_notebook_reads_a_store(spark: SparkSession, tmp_path: Path) -> None:
    address = store(tmp_path / "store.db", deleted_and_missed())

    async def notebook() -> list[dict[str, Any]]:
        return plainly(frames.events(spark, address))

    assert asyncio.run(notebook()) == expected(address)
