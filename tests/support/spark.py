"""Small real Spark sessions for tests, and what tests need to steer and see them.

Responsible for: starting a driver that disturbs nobody (loopback, small heaps, a local directory of its own), holding
tasks at gates, listing shuffle files on disk.
Refuses to know: the bridge; a test without it uses the same session.
Invariant: nothing waits for time to pass, only for a condition, and every wait has a deadline that says what it missed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
LOCAL = "local[2]"
LOCAL_CLUSTER = "local-cluster[2,1,1024]"
PATIENCE = 60.0


@contextmanager
def spark_session(local_dir: Path, master: str = LOCAL, **conf: str) -> Iterator[SparkSession]:
    """A running session that is stopped at the end of the block."""
    session = start_session(local_dir, master, **conf)
    try:
        yield session
    finally:
        session.stop()


def start_session(local_dir: Path, master: str = LOCAL, **conf: str) -> SparkSession:
    """A running session that its program ends, or leaves running when it exits."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(master).appName(local_dir.name)
    for key, value in {**_defaults(local_dir), **conf}.items():
        builder = builder.config(key, value)
    _forget_local_directories()
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _forget_local_directories() -> None:
    """Workers of a local cluster take those of the JVM's first one otherwise, whatever they are told."""
    from pyspark import SparkContext

    if SparkContext._jvm is not None:
        utils = getattr(SparkContext._jvm.org.apache.spark.util, "Utils$")
        getattr(utils, "MODULE$").clearLocalRootDirs()


def _defaults(local_dir: Path) -> dict[str, str]:
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "640m",
        "spark.executor.memory": "512m",
        "spark.local.dir": str(local_dir),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(local_dir / "warehouse"),
        "spark.cleaner.periodicGC.interval": "1h",
    }


def shuffle_files(local_dir: Path, app_shuffle: int | None = None) -> dict[Path, int]:
    """The shuffle files on disk and their sizes: data and index, of one app shuffle or of all."""
    pattern = "shuffle_*" if app_shuffle is None else f"shuffle_{app_shuffle}_*"
    found: dict[Path, int] = {}
    for path in local_dir.rglob(pattern):
        try:
            if path.suffix in (".data", ".index"):
                found[path] = path.stat().st_size
        except FileNotFoundError:  # deleted since it was listed
            continue
    return found


def shuffle_of(rdd: Any) -> int:
    """The app shuffle that it was read from."""
    java = rdd._jrdd.rdd()
    while True:
        dependency = java.dependencies().head()
        if str(dependency.getClass().getSimpleName()) == "ShuffleDependency":
            return int(dependency.shuffleId())
        java = dependency.rdd()


def wait_for(condition: Callable[[], T], what: str, timeout: float = PATIENCE) -> T:
    """Look again until the condition holds; answers what it gave."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s in vain for: {what}")
        threading.Event().wait(0.005)
    return value


@dataclass(frozen=True)
class Gate:
    """Tasks that come to a closed gate leave a file saying so and stay until it is opened. Travels to executors."""

    folder: str

    def pass_through(self, who: object) -> None:
        Path(self.folder, f"arrived-{who}").touch()
        opened = Path(self.folder, "open")
        while not opened.exists():
            time.sleep(0.005)

    def arrived(self) -> int:
        return len(list(Path(self.folder).glob("arrived-*")))

    def open(self) -> None:
        Path(self.folder, "open").touch()

    def close(self) -> None:
        """Hold whoever comes from now on."""
        Path(self.folder, "open").unlink()


def gate(folder: Path) -> Gate:
    folder.mkdir(parents=True)
    return Gate(str(folder))


@contextmanager
def in_background(job: Callable[[], T]) -> Iterator[Future[T]]:
    """Run a Spark job in a thread of its own; leaving the block waits for it."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(job)


class FactLog:
    """What a tap told so far, collected by its drain thread."""

    def __init__(self, tap: Any) -> None:
        self.facts: list[Any] = []
        self._changed = threading.Condition()
        self.tap = tap
        self.thread = threading.Thread(target=self._drain, name="shuffle-lifecycle-tap", daemon=True)
        self.thread.start()

    def _drain(self) -> None:
        while (batch := self.tap.take()) is not None:
            if batch:
                self._add(batch)

    def _add(self, batch: tuple[Any, ...]) -> None:
        with self._changed:
            self.facts.extend(batch)
            self._changed.notify_all()

    def wait(self, wanted: Callable[[Any], bool], what: str, timeout: float = PATIENCE) -> Any:
        """The first fact that is wanted, of those told and to come."""
        with self._changed:
            found = self._changed.wait_for(lambda: [f for f in self.facts if wanted(f)], timeout)
        assert found, f"waited {timeout} s in vain for the fact: {what}; the last are {self.facts[-5:]}"
        return found[0]

    def of(self, kind: type[T]) -> list[T]:
        with self._changed:
            return [fact for fact in self.facts if isinstance(fact, kind)]

    def settle(self) -> None:
        """Have everything told that happened until now."""
        name = f"settle-{time.monotonic_ns()}"
        self.tap.post_marker(name)
        self.wait(lambda f: getattr(f, "name", None) == name, f"marker {name}")
