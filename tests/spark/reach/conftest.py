"""One session for all, with its handles and its calls watched, and programs that stand still while one looks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from listener_bridge.reach import calls
from listener_bridge.reach.calls import Calls
from listener_bridge.reach.findings import Program, Region
from listener_bridge.reach.handles import Handles, proxies_of, released_of, target
from listener_bridge.reach.regions import Regions
from listener_bridge.tap.facts import Fact
from listener_bridge.tap.tap import Tap
from tests.support.own_spark import own_spark
from tests.support.spark import PATIENCE, FactLog, in_background


class Listening(FactLog):
    """Facts, heard by regions too; `seen`: the regions that were there after each fact."""

    def __init__(self, tap: Tap, regions: Regions) -> None:
        self.regions = regions
        self.seen: list[tuple[Region, ...]] = []
        super().__init__(tap)

    def _add(self, batch: tuple[Fact, ...]) -> None:
        for fact in batch:
            self.regions.hear(fact)
            self.seen.append(self.regions.read())
        super()._add(batch)


@dataclass
class Stand:
    """Where a program waits to be looked at. `told`: what it says of itself."""

    told: dict[str, Any] = field(default_factory=dict)
    arrived: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def still(self, **told: Any) -> None:
        self.told.update(told)
        self.arrived.set()
        assert self.go_on.wait(PATIENCE)


@dataclass
class Watched:
    """A running application, watched."""

    spark: Any
    handles: Handles
    calls: Calls
    tap: Tap
    log: Listening

    def look(self, program: Callable[[Stand], Any]) -> tuple[dict[str, Any], Program]:
        """Run a program in a thread to where it stands still, and look at it."""
        stand = Stand()
        with in_background(lambda: program(stand)) as running:
            while not stand.arrived.wait(0.01):
                if running.done():
                    running.result()
            self.log.settle()  # who listens runs code of the tests, which counts as the program's
            found = self.handles.read()
            stand.go_on.set()
            running.result()
        return stand.told, found

    @contextmanager
    def regions_of(self) -> Iterator[list[Region]]:
        """The regions that were seen while the block ran."""
        self.log.settle()
        since = len(self.log.seen)
        found: list[Region] = []
        yield found
        self.log.settle()
        found.extend(region for seen in self.log.seen[since:] for region in seen)


def name_of(handle: Any) -> str:
    """What py4j calls the JVM object of a handle."""
    proxy = handle._jdf if hasattr(handle, "_jdf") else handle._jrdd
    return target(proxy)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with own_spark(tmp_path_factory.mktemp("spark")) as spark:
        context: Any = spark.sparkContext
        noted = calls.of_gateway(context._gateway, context._jsc)
        client = context._gateway._gateway_client
        handles = Handles(proxies_of(client), released=released_of(client))
        tap = Tap.open(spark, prompt_bytes=0)
        noted.watch()
        handles.watch()
        log = Listening(tap, Regions(noted))
        yield Watched(spark, handles, noted, tap, log)
        tap.close()
        handles.unwatch()
        noted.unwatch()
