"""A Spark session for one call.

Responsible for reading its confs, for starting a quiet Spark with this Python for its workers, and for saying in a line
why it does not start or has failed. Refuses to know what it is used for. Invariant: a session that is there already
stays, and no trace of Spark's is shown.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from coordinator.cli.checks import machine
from coordinator.cli.exits import Exit, Failure, failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
Confs = Annotated[list[str] | None, typer.Option("--conf", help="A Spark conf, KEY=VALUE; may be repeated.")]


def conf_of(given: Sequence[str] | None) -> dict[str, str]:
    """Confs as people write them."""
    return dict(map(_pair, given or ()))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise failure(Exit.USAGE, f"--conf is {text!r}", "KEY=VALUE", "Put a = between them.")
    return key, value


@contextmanager
def spark_session(verb: str, master: str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Our own, or the one that is there. ``master``: where it runs; empty: as the environment says."""
    present = _present()
    if present is None:
        check_java()
    with told_in_a_line():
        if present is not None:
            yield present
            return
        spark = _started(verb, master, {**_QUIET, **(conf or {})})
        try:
            yield spark
        finally:
            spark.stop()


def _present() -> SparkSession | None:
    """The session that is active in this thread; where none is, one of the context that this process has."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:  # noqa: SLF001 - PySpark has no public way
        active = SparkSession.builder.getOrCreate()
    return active


def _started(verb: str, master: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"shufflectl {verb}")
    if master:
        builder = builder.master(master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings(), _java_aside():
        warnings.simplefilter("ignore")
        spark: SparkSession = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    return spark


@contextmanager
def _java_aside() -> Iterator[None]:
    """What a JVM that is started meanwhile says is not shown as long as it lives; why it does not start, is."""
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except Exception as error:
            if "JAVA_GATEWAY_EXITED" not in str(error):
                raise
            said.seek(0)
            raise _not_started(said.read().decode(errors="replace")) from error
        finally:
            os.dup2(shown, 2)
            os.close(shown)


def _not_started(said: str) -> Failure:
    """Python is told no reason where the JVM has exited."""
    advice = "`shufflectl doctor` looks at Java and Spark; correct the master or the conf."
    return failure(Exit.FAILED, f"Spark did not start ({last_line(said)})", "a session", advice)


def check_java() -> None:
    """Without one Spark would end with a trace."""
    if machine.java_path() is None:
        found = machine.java()
        raise failure(Exit.FAILED, f"Spark has no Java to run on ({found.found})", "one", found.advice)


@contextmanager
def told_in_a_line() -> Iterator[None]:
    """What Spark or its tasks have met, without traces."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        told = f"Spark has failed ({last_line(str(error))})"
        advice = "`shufflectl doctor` looks at Java and Spark; read a part of the logs where memory is short."
        raise failure(Exit.FAILED, told, "a run to its end", advice) from error


def last_line(trace: str) -> str:
    """What a trace says at its end, as its last cause."""
    lines = [line.strip(": \t").removeprefix("Caused by: ") for line in trace.splitlines()]
    return next((line for line in reversed(lines) if line and not line.startswith(_NO_REASON)), "no reason")


_NO_REASON = ("at ", "...", "Driver stacktrace")
