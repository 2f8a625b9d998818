"""Logs that a real Spark writes are read as that Spark saw it, whatever it packs them in, through PySpark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from replay.advise import frames, report
from replay.history import gathering, read
from replay.history.finding import Part, local_parts, sort
from replay.history.framing import pieces
from replay.history.gathering import find, settled, spread
from replay.history.reading import open_local
from tests.support.spark import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(400)  # two sessions, one after the other

PACKINGS = {"lz4": "LZ4CompressionCodec", "snappy": "SnappyCompressionCodec", "zstd": "ZStdCompressionCodec"}
SHUFFLES = 5


def job(spark: SparkSession) -> None:
    """A chain of two RDDs, and an adaptive join."""
    numbers = spark.sparkContext.parallelize(range(2_000), 2).map(lambda n: (n % 50, n))
    sums = numbers.reduceByKey(lambda a, b: a + b, 2)
    sums.map(lambda pair: (pair[0] % 5, pair[1])).reduceByKey(lambda a, b: a + b, 2).collect()
    frame = spark.range(1_000).selectExpr("id % 10 as k", "id")
    frame.join(frame.groupBy("k").count(), "k").groupBy("count").count().collect()


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rolling directory, packed by Spark's default."""
    folder = tmp_path_factory.mktemp("rolled")
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.compress": "true",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    with spark_session(tmp_path_factory.mktemp("made"), **conf) as spark:
        job(spark)
    return folder


@pytest.fixture(scope="module")
def spark(rolled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    conf = {"spark.eventLog.enabled": "false"}  # the JVM remembers the first one's
    with spark_session(tmp_path_factory.mktemp("advise"), **conf) as session:
        yield session


@pytest.fixture(scope="module")
def logs(spark: SparkSession, rolled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same log as one file, plain and packed by Spark's own classes, beside one that is none."""
    folder = tmp_path_factory.mktemp("logs")
    [log] = sort(_parts(rolled))
    with open_local(log.parts[0]) as stream:
        text = b"".join(pieces(stream))
    (folder / "plain").write_bytes(text)
    for name, codec in PACKINGS.items():
        _pack(spark, text, codec, folder / f"log.{name}")
    (folder / "notes.txt").write_text("no log\n")
    return folder


def _parts(folder: Path) -> list[Part]:
    found, missing = local_parts(str(folder))
    assert not missing
    return found


def _pack(spark: SparkSession, text: bytes, codec: str, path: Path) -> None:
    jvm: Any = spark.sparkContext._jvm
    conf: Any = spark.sparkContext._jsc.sc().conf()
    stream = getattr(jvm.org.apache.spark.io, codec)(conf).compressedOutputStream(
        jvm.java.io.FileOutputStream(str(path))
    )
    stream.write(text)
    stream.close()


def test_every_packing_gives_the_same_shuffles(spark: SparkSession, logs: Path, rolled: Path) -> None:
    runs: list[Any] = [row for place in (*logs.glob("[lp]*"), rolled) for row in read(spark, str(place)).collect()]
    assert len(runs) == len(PACKINGS) + 2
    assert len({str(row.shuffles) for row in runs}) == 1
    for row in runs:
        assert (row.ended, row.is_python, row.warnings, row.spark_version) == (True, True, [], spark.version)
        assert [shuffle.bytes > 0 for shuffle in row.shuffles] == [True] * SHUFFLES


def test_a_run_that_is_there_again_is_told_and_so_is_what_is_no_log(spark: SparkSession, logs: Path) -> None:
    rows: list[Any] = read(spark, str(logs)).collect()
    [run] = [row for row in rows if row.why is None]
    why = {row.place: row.why for row in rows if row.why}
    assert why.pop(str(logs / "notes.txt")) == "its first 7 bytes hold no event of Spark's; it is no history log"
    told = f"it is the same run of {run.application_id} as {run.place}, which holds no less"
    assert list(why.values()) == [told] * len(PACKINGS)


def test_the_report_says_what_was_held_and_needed(spark: SparkSession, logs: Path) -> None:
    told: list[tuple[int, int]] = []
    found = report.make(spark, [str(logs)], progress=lambda done, total: told.append((done, total)))
    [advice] = found.advices
    held = {figures.holder: figures.byte_seconds for figures in advice.figures}
    assert 0 < held["oracle"] <= held["frontier"] <= held["spark"]
    assert advice.of("frontier").missed == 0
    assert all(shuffle.reads for shuffle in advice.shuffles)
    assert len(found.refused) == len(PACKINGS) + 1
    assert told[-1][0] == told[-1][1] > 0


def test_advice_is_a_data_frame(spark: SparkSession, logs: Path) -> None:
    advice = frames.read(spark, str(logs / "plain"))
    assert advice.selectExpr("explode(shuffles)").count() == SHUFFLES
    assert json.loads(advice.schema.json())["fields"][-1]["metadata"]["comment"].startswith("what an oracle")


def test_advice_is_written_and_says_how_far_it_is(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    written = str(tmp_path / "advice")
    frames.write(spark, [str(logs)], written, "errorifexists", progress=lambda done, total: told.append((done, total)))
    read = frames.read(spark, str(logs)).select("application_id").collect()
    assert spark.read.parquet(written).select("application_id").collect() == read
    total = sum(path.stat().st_size for path in logs.iterdir())
    assert told[-1] == (total, total)
    assert {total for _, total in told} == {total}


def test_a_place_without_a_scheme_is_in_the_default_file_system(spark: SparkSession, tmp_path: Path) -> None:
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    assert settled(spark, str(tmp_path)) == (f"file:{tmp_path}", True)
    hadoop.set("fs.viewfs.mounttable.home.link./logs", tmp_path.as_uri())
    hadoop.set("fs.defaultFS", "viewfs://home/")
    try:
        assert settled(spark, "/logs") == ("viewfs://home/logs", True)
        assert settled(spark, "/logs/new") == ("viewfs://home/logs/new", False)
    finally:
        hadoop.set("fs.defaultFS", "file:///")


def _cut(logs: Path, folder: Path) -> int:
    """A head and a tail of a log, in files of their own; answers how many bytes both have."""
    lines = (logs / "plain").read_bytes().splitlines(keepends=True)
    application = next(json.loads(line)["App ID"] for line in lines if b"SparkListenerApplicationStart" in line)
    for name, some in (("head", lines[: len(lines) // 2]), ("tail", lines[len(lines) // 2 :])):
        (folder / name).mkdir()
        (folder / name / application).write_bytes(b"".join(some))
    return sum(map(len, lines))


def test_a_run_in_two_files_is_one_wherever_they_are_read(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    many_bytes = _cut(logs, tmp_path)
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.cut.link./logs", tmp_path.as_uri())
    [whole] = report.make(spark, [str(logs / "plain")]).advices
    for place in (str(tmp_path), "viewfs://cut/logs"):
        found = report.make(spark, [place])
        [advice] = found.advices
        assert (advice.figures, advice.raw_bytes, found.refused) == (whole.figures, many_bytes, ())
        assert "read as one" in advice.warnings[0]
        [row] = frames.read(spark, place).collect()
        assert (row.raw_bytes, row.ended, row.gain_byte_seconds) == (many_bytes, True, whole.gain_byte_seconds)
        [run] = read(spark, place).collect()
        assert (run.raw_bytes, run.why, run.ended, len(run.shuffles)) == (many_bytes, None, True, SHUFFLES)


def test_a_part_counts_once_beside_the_whole_wherever_it_is_read(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    _cut(logs, tmp_path)
    (tmp_path / "plain").write_bytes((logs / "plain").read_bytes())
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.copies.link./logs", tmp_path.as_uri())
    for place in (str(tmp_path), "viewfs://copies/logs"):
        [row] = frames.read(spark, place).collect()
        assert row.place == f"{place}/plain"
        rows: list[Any] = read(spark, place).collect()
        assert sorted((row.place.removeprefix(place)[:5], bool(row.why)) for row in rows) == [
            ("/head", True), ("/plai", False), ("/tail", True),
        ]  # fmt: skip


def test_what_python_cannot_open_the_session_reads(spark: SparkSession, logs: Path) -> None:
    """`viewfs:` is a scheme of Hadoop's, here with our folder behind it."""
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.advise.link./logs", logs.as_uri())
    rows: list[Any] = read(spark, ["viewfs://advise/logs", "nosuchscheme://x/y"]).collect()
    assert [len(row.shuffles) for row in rows if row.why is None] == [SHUFFLES]
    assert sum("it is the same run" in (row.why or "") for row in rows) == len(PACKINGS)
    assert sorted(row.place.partition(":")[0] for row in rows) == ["nosuchscheme", *["viewfs"] * (len(PACKINGS) + 2)]
    assert any("the Spark session cannot list it" in (row.why or "") for row in rows)
    assert find(spark, ["viewfs://advise/logs/*"]) == find(spark, ["viewfs://advise/logs"])
    assert find(spark, ["viewfs://advise/none-*"])[1][0].why.startswith("nothing is called so")


def test_a_name_that_only_a_pattern_finds_is_read(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "a,b{c}").write_bytes((logs / "plain").read_bytes())
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.signs.link./logs", tmp_path.as_uri())
    (found,) = spread(spark, find(spark, ["viewfs://signs/logs"])[0], lambda run: len(run.shuffles)).collect()
    assert (found.place, found.found) == ("viewfs://signs/logs/a,b{c}", SHUFFLES)


def test_small_logs_behind_a_url_are_read_together_as_those_on_a_disk(
    spark: SparkSession, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by itself, 2,000 of them took minutes."""
    content = (logs / "plain").read_bytes()
    for number in range(5):
        (tmp_path / f"log-{number}").write_bytes(content)
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.many.link./logs", tmp_path.as_uri())
    monkeypatch.setattr(gathering, "TASK_LOGS", 2)
    found = spread(spark, find(spark, ["viewfs://many/logs"])[0], lambda run: run.raw_bytes)
    assert found.getNumPartitions() == 1 + 3, "one for all that is on a disk, which is nothing"
    assert [(one.place[-5:], one.found) for one in sorted(found.collect(), key=lambda one: one.place)] == [
        (f"log-{number}", len(content)) for number in range(5)
    ]
