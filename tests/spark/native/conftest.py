"""One session a module, tapped, with the native service on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.shuffle_services.native import NativeShuffleService
from listener_bridge.tap import facts
from listener_bridge.tap.tap import Tap
from tests.support.spark import LOCAL, LOCAL_CLUSTER, FactLog, Gate, gate, shuffle_files, spark_session

_GATES = itertools.count()


@dataclass
class Run:
    """A running application as a test sees it."""

    spark: Any
    tap: Tap
    log: FactLog
    service: NativeShuffleService
    folder: Path

    def gate(self) -> Gate:
        return gate(self.folder / f"gate-{self.spark.sparkContext.applicationId}-{next(_GATES)}")

    def keyed(self, rows: int = 400, maps: int = 4, reduces: int = 3) -> Any:
        """A shuffled RDD that nobody has computed yet."""
        numbers = self.spark.sparkContext.parallelize(range(rows), maps)
        return numbers.map(lambda n: (n % 20, n)).partitionBy(reduces)

    def newest_shuffle(self) -> int:
        """The app shuffle that the newest map stage of all jobs so far writes."""
        self.log.settle()
        return max(s.stage.writes for s in self.log.of(facts.StageSubmitted) if s.stage.writes is not None)

    def files(self, app_shuffle: int) -> dict[Path, int]:
        return shuffle_files(self.folder, app_shuffle)

    def fetch_failures(self) -> list[facts.FetchFailed]:
        self.log.settle()
        return self.log.of(facts.FetchFailed)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all sessions of the process: Spark keeps the first local directory for the life of the JVM."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(
    scope="module", params=[LOCAL, pytest.param(LOCAL_CLUSTER, marks=pytest.mark.slow)], ids=["local", "cluster"]
)
def run(request: pytest.FixtureRequest, folder: Path) -> Iterator[Run]:
    with spark_session(folder, request.param, **{"spark.sql.adaptive.enabled": "false"}) as spark:
        tap = Tap.open(spark)
        yield Run(spark, tap, FactLog(tap), NativeShuffleService(tap), folder)
        tap.close()
