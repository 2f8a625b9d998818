"""What is said where Spark does not start, or fails: a line, whichever verb asks for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coordinator.cli.exits import Exit, Failure
from coordinator.cli.spark import _java_aside, last_line, told_in_a_line
from tests.unit.cli.calling import Shufflectl, log_file
from tests.unit.replay.logs import Told, deleted_and_missed

pytest.importorskip("pyspark")


@pytest.mark.parametrize(
    "arguments",
    [
        ("advise", "LOGS"),
        ("report", "--log", "LOGS/a.log", "--all"),
        ("simulate", "LOGS", "--master", "local[1]"),
        ("learn", "LOGS", "--master", "local[1]", "-o", "LOGS/lessons.json"),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_without_java_one_line(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    log_file(tmp_path / "a.log", deleted_and_missed())
    log_file(tmp_path / "b.log", Told(name="other"))
    said = shufflectl(*(word.replace("LOGS", str(tmp_path)) for word in arguments))
    assert said.code == Exit.FAILED
    assert said.err.startswith(
        "shufflectl: Spark has no Java to run on (none: JAVA_HOME is /nonexistent, where no bin/java is); expected one."
    )


def test_what_spark_s_own_errors_say_is_a_line() -> None:
    from pyspark.errors import PySparkRuntimeError

    with pytest.raises(Failure, match=r"Spark has failed \(it exited\); expected a run to its end"), told_in_a_line():
        raise PySparkRuntimeError("it exited")


def test_the_last_line_of_a_trace_is_its_reason() -> None:
    trace = (
        "An error occurred while calling None.SparkContext.\n"
        ": org.apache.spark.SparkException: Could not parse Master URL: 'nonsense'\n"
        "\tat org.apache.spark.SparkContext$.createTaskScheduler(SparkContext.scala:3012)\n"
        "\t... 12 more\n"
    )
    assert last_line(trace) == "org.apache.spark.SparkException: Could not parse Master URL: 'nonsense'"
    assert last_line("") == "no reason"


def test_what_a_task_has_met_in_java_is_the_reason() -> None:
    trace = (
        ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times\n"
        "\tat org.apache.spark.executor.Executor$TaskRunner.run(Executor.scala:906)\n"
        "Caused by: java.io.IOException: the object store answers 503\n"
        "\t... 20 more\n\n"
        "Driver stacktrace:\n"
        "\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:4560)\n"
    )
    assert last_line(trace) == "java.io.IOException: the object store answers 503"


def test_what_java_says_while_it_starts_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with _java_aside():
        os.write(2, b"WARNING: Using incubator modules\n")
    os.write(2, b"ours\n")
    assert capfd.readouterr().err == "ours\n"


def test_why_java_does_not_start_is_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    def start() -> None:
        with _java_aside():
            os.write(2, b'Exception in thread "main" SparkException: Master must be one\n\tat Main.main(Main.scala)\n')
            raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")

    with pytest.raises(Failure, match=r"Spark did not start \(.*Master must be one\); expected a session"):
        start()
    assert capfd.readouterr().err == ""


def test_another_reason_is_told_as_it_is() -> None:
    with pytest.raises(ValueError, match="a wrong conf"), _java_aside():
        raise ValueError("a wrong conf")
