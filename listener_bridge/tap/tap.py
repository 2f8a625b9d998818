"""The tap: a running driver's facts, in order, and the means to put a mark among them.

Responsible for: compiling and attaching the Java listener, handing over its rows as facts, ending cleanly however the
driver ends.
Refuses to know: what a fact means, and who reads it.
Invariant: facts come in the order in which Spark's bus delivered them, without a gap; nothing here raises into Spark's
threads or makes them wait. When the application has ended, `take` answers None: also after `spark.stop()` without
`close()`, and when the JVM is gone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from listener_bridge.allowance import MUCH_BYTES
from listener_bridge.tap import jvm, rows
from listener_bridge.tap.facts import Fact, Snapshot
from listener_bridge.tap.jvm import DriverJvm, JavaObject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_CAPACITY_CHARS = 16_000_000
_snapshots = itertools.count(1)


class Tap:
    """One application's tap. `take` belongs to one thread; everything else may be called from any."""

    def __init__(self, driver: DriverJvm, loader: JavaObject, java: JavaObject) -> None:
        self.driver = driver
        self.loader = loader
        self.java = java
        self._next_seq = 0
        self._closed = False

    @classmethod
    def open(
        cls, spark: SparkSession, capacity_chars: int = DEFAULT_CAPACITY_CHARS, prompt_bytes: int = MUCH_BYTES
    ) -> Tap:
        """Compile the listener into the driver and attach it on a queue of its own. Raises `CannotTapError`.

        `prompt_bytes`: facts about stages that moved less are told a moment later, many at once; 0: none are.
        """
        driver = jvm.connect(spark)
        try:
            loader = driver.load(jvm.sources_beside(__file__))
            tracker = driver.map_output_tracker
            java = driver.construct(loader, "Tap", driver.context, tracker, capacity_chars, prompt_bytes)
        except Exception as error:  # Janino missing, or a Spark whose classes are not those that we know
            raise jvm.CannotTapError(
                f"the listener does not compile in Spark {spark.version}: {error}; expected Spark 3.5 to 4.3 with the "
                "Janino compiler among its jars"
            ) from error
        return cls(driver, loader, java)

    def take(self, max_rows: int = 1000, timeout_s: float = 2.0) -> tuple[Fact, ...] | None:
        """Wait up to `timeout_s` seconds for facts. Empty: none came. None: nothing will ever come again."""
        text = self._call(lambda: self.java.take(max_rows, int(timeout_s * 1000)))
        if text is None:
            return None
        found = rows.parse(str(text), self._next_seq)
        self._next_seq += len(found)
        return found

    def post_marker(self, name: str, payload: str = "") -> None:
        """Put a mark on the listener bus; it comes back as `MarkerPassed` at its place among the facts."""
        self._call(lambda: self.java.mark(name, payload))

    def snapshot(self, timeout_s: float = 5.0) -> Snapshot | None:
        """What the scheduler knows now, for a resync. None: it did not answer in time, or the application is over."""
        marker = f"snapshot-{next(_snapshots)}"
        text = self._call(lambda: self.java.snapshot(marker, int(timeout_s * 1000)))
        return None if text is None else rows.parse_snapshot(str(text))

    def close(self) -> None:
        """Leave the bus and end the stream. Harmless when repeated, and after `spark.stop()`."""
        if not self._closed:
            self._closed = True
            self._call(lambda: self.java.close())

    def _call(self, call: Callable[[], JavaObject]) -> JavaObject:
        """Call Java; None where the gateway is gone, as it is in every way in which a driver ends."""
        try:
            return call()
        except Exception as error:
            if _is_gone(error):
                return None
            raise


def _is_gone(error: Exception) -> bool:
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, Py4JJavaError):
        return False
    return isinstance(error, (Py4JError, OSError, EOFError, AttributeError))
