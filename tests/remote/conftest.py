"""Remote shuffle services as processes. Tests here change the network of their process,
so they run in one of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.shuffle_services.api import ShuffleService
from listener_bridge.shuffle_services.choosing import choose
from listener_bridge.tap.facts import MarkerPassed, StageSubmitted
from listener_bridge.tap.tap import Tap
from tests.support.celeborn import Celeborn, running_celeborn
from tests.support.own_spark import own_spark
from tests.support.spark import LOCAL, FactLog, Gate, gate, in_background, wait_for

TASKS_MAX_FAILURES = "spark.task.maxFailures"


def spark_version() -> tuple[int, int]:
    import pyspark

    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


@pytest.fixture(scope="session")
def celeborn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Celeborn]:
    """A master and two workers, for all tests of the process."""
    if "CELEBORN_HOME" not in os.environ:
        pytest.skip("CELEBORN_HOME is not set: a directory with a built or unpacked Celeborn (docs/remote-shuffle.md)")
    with running_celeborn(tmp_path_factory.mktemp("celeborn")) as cluster:
        yield cluster


@dataclass
class Remote:
    """An application on Celeborn, as the contract and the stories need it."""

    spark: Any
    tap: Tap
    log: FactLog
    service: ShuffleService
    cluster: Celeborn
    folder: Path
    _frames: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def write(self) -> int:
        keyed = self.keyed()
        result = sorted(keyed.collect())
        shuffle = self.newest_shuffle()
        self._frames[shuffle] = (keyed, result)
        return shuffle

    def keyed(self, rows: int = 4_000, maps: int = 4, reduces: int = 3) -> Any:
        numbers = self.spark.sparkContext.parallelize(range(rows), maps)
        return numbers.map(lambda n: (n % 20, n)).partitionBy(reduces)

    def newest_shuffle(self) -> int:
        self.log.settle()
        return max(s.stage.writes for s in self.log.of(StageSubmitted) if s.stage.writes is not None)

    def read_again(self, app_shuffle: int) -> bool:
        keyed, result = self._frames[app_shuffle]
        return bool(sorted(keyed.collect()) == result)

    def gate(self) -> Gate:
        return gate(self.folder / f"gate-{len(list(self.folder.iterdir()))}")

    @contextmanager
    def reader_running(self, app_shuffle: int) -> Iterator[None]:
        keyed, result = self._frames[app_shuffle]
        closed = self.gate()

        def held(index: int, rows: Iterator[Any]) -> Iterator[Any]:
            closed.pass_through(index)
            return rows

        with in_background(lambda: sorted(keyed.mapPartitionsWithIndex(held).collect())) as job:
            try:
                wait_for(closed.arrived, "a reader's task at the gate")
                yield
            finally:
                closed.open()
            assert job.result() == result

    def ids(self, app_shuffle: int) -> dict[int, bool]:
        """Celeborn's own ids of an app shuffle, and whether each is valid."""
        mapping = self.tap.driver.shuffle_manager.getLifecycleManager().getShuffleIdMapping()
        told = str(mapping.get(app_shuffle))
        return {int(number): valid == "true" for number, valid in re.findall(r"\((\d+),(true|false)\)", told)}

    def bytes_stored(self, app_shuffle: int) -> int:
        return self.cluster.bytes_of(tuple(self.ids(app_shuffle)))

    def marker_passed(self, name: str) -> bool:
        self.log.settle()
        return any(marker.name == name for marker in self.log.of(MarkerPassed))


@contextmanager
def on_celeborn(cluster: Celeborn, folder: Path, master: str = LOCAL, **conf: str) -> Iterator[Remote]:
    """An application of its own."""
    settings = {**cluster.conf(spark_version()), "spark.sql.adaptive.enabled": "false", **conf}
    with own_spark(folder, master, **settings) as spark:
        tap = Tap.open(spark)
        yield Remote(spark, tap, FactLog(tap), choose(tap), cluster, folder)
        tap.close()


@pytest.fixture(scope="module")
def on_cluster(celeborn: Celeborn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    with on_celeborn(celeborn, tmp_path_factory.mktemp("spark")) as run:
        yield run
