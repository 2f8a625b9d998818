"""A session for programs under policy `reachable`."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.spark.bridge.conftest import Log, Run
from tests.support.own_spark import own_spark
from tests.support.spark import LOCAL, wait_for

CONF = {"spark.sql.adaptive.enabled": "true", "spark.sql.autoBroadcastJoinThreshold": "-1"}


class Program:
    """What a test asks of an attached program: everything of the log, and of the session."""

    def __init__(self, run: Run, attachment: Any, log: Log) -> None:
        self.spark = run.spark
        self.log = log
        self._run = run
        self._attachment = attachment

    def settled(self) -> None:
        self._run.settled(self._attachment)

    def written(self) -> list[int]:
        """The app shuffles that were written so far, in order."""
        self.settled()
        return list(dict.fromkeys(self.log.map_stages()))

    def gone(self) -> set[int]:
        """The app shuffles whose data were deleted, by us or by Spark's own cleaner."""
        return set(self.log.app_shuffles("generation_deleted"))

    def wait_gone(self, *app_shuffles: int) -> None:
        gc.collect()  # what py4j binds for a cycle of ours is held until Python collects it, and nothing else might now
        try:
            wait_for(lambda: set(app_shuffles) <= self.gone(), f"{app_shuffles} to go")
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.told()}") from None

    def told(self) -> str:
        """How far looks have come, and the end of the log."""
        looker = self._attachment._bridge.looker
        spent = f"{looker.looks} looks in {looker.looking_s:.2f} s of a processor, of {dict(looker.candidates.bytes)}"
        return "\n".join([f"gone are {self.gone()} after {spent}", *map(str, self.log.events()[-40:])])

    def look(self) -> None:
        """A whole look has begun after this, and all that came of it is done."""
        looker = self._attachment._bridge.looker
        target = looker.looks + 2  # the next one may have begun already
        looker._call_for_one()

        def has_looked() -> bool:
            looker._call_for_one()
            return bool(looker.looks >= target or not looker.candidates.bytes)

        wait_for(has_looked, "two looks")
        self.settled()

    def recomputed(self) -> list[int]:
        """App shuffles whose map stage ran more than once."""
        self.settled()
        return [shuffle for shuffle, times in Counter(self.log.map_stages()).items() if times > 1]


def let_go_of_caches(spark: Any) -> None:
    """What is cached and persisted is a root of its own until this."""
    spark.catalog.clearCache()
    persisted = None
    for persisted in spark.sparkContext._jsc.getPersistentRDDs().values():
        persisted.unpersist()
    del persisted
    gc.collect()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder: Path = tmp_path_factory.mktemp("spark")
    with own_spark(folder, LOCAL, **CONF) as spark:
        yield Run(spark, folder, tmp_path_factory.mktemp("logs"))


@pytest.fixture
def program(run: Run) -> Iterator[Program]:
    with attached(run) as made:
        yield made


@contextmanager
def attached(run: Run, **overrides: Any) -> Iterator[Program]:
    with run.attached("reachable", **overrides) as (attachment, log):
        made = Program(run, attachment, log)
        yield made
        assert made.recomputed() == []
        assert log.events("premature_deletion") == []
