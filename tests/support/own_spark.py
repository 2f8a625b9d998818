"""A Spark session in a JVM of its own.

Responsible for: a driver JVM that no other test has used, and that no later one will.
Refuses to know: what runs in it.
Invariant: `spark.local.dir` is the folder that was asked for. (A JVM keeps the first one that it had, for its life,
and PySpark keeps its JVM from one session to the next.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.spark import LOCAL, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JVM_ENDS_WITHIN_S = 30.0


@contextmanager
def own_spark(local_dir: Path, master: str = LOCAL, **conf: str) -> Iterator[SparkSession]:
    """A running session; it and its JVM end with the block."""
    _end_jvm()
    session = start_session(local_dir, master, **conf)
    try:
        yield session
    finally:
        session.stop()
        _end_jvm()


def _end_jvm() -> None:
    """PySpark's JVM ends when its standard input does."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._active_spark_context = SparkSession._instantiatedSession = None  # of a test that was cut short
    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(JVM_ENDS_WITHIN_S)
    SparkContext._gateway = SparkContext._jvm = None
