"""Remote shuffle services as processes. Tests here change the network of their process,
so they run in one of their own."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from listener_bridge.shuffle_services import uniffle as uniffle_service
from listener_bridge.shuffle_services.api import Held, ShuffleService
from listener_bridge.shuffle_services.choosing import choose
from listener_bridge.tap.facts import MarkerPassed, StageSubmitted
from listener_bridge.tap.tap import Tap
from tests.spark.bridge.conftest import Run
from tests.support.celeborn import Celeborn, running_celeborn
from tests.support.generations import generations, kept_in
from tests.support.own_spark import own_spark
from tests.support.spark import LOCAL, FactLog, Gate, gate, in_background, wait_for
from tests.support.uniffle import SERVERS, Uniffle, running_uniffle

PARTITIONS = 10  #: More than any shuffle here has.


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
    """An application on a remote shuffle service, as the contract and the stories need it."""

    spark: Any
    tap: Tap
    log: FactLog
    service: ShuffleService
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

    def write_many_blocks(self) -> tuple[int, Callable[[], list[int]]]:
        """A shuffle of more blocks than Spark keeps the sizes of (2,000), and how many rows some of them have: a task
        for each would take a minute."""
        keyed = self.keyed(reduces=2_001)

        def counted() -> list[int]:
            rows: list[int] = self.spark.sparkContext.runJob(keyed, lambda part: [sum(1 for _ in part)], [0, 7, 2_000])
            return rows

        assert counted() == [200, 200, 0]
        return self.newest_shuffle(), counted

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

    def bytes_stored(self, app_shuffle: int) -> int:
        """What the service really stores of it, all generations."""
        raise NotImplementedError

    def hanging(self, app_shuffle: int) -> AbstractContextManager[None]:
        """Whoever stores it takes connections and answers nobody, until the block ends."""
        raise NotImplementedError

    @property
    def generations(self) -> Any:
        """Our Java's counts of this application."""
        return generations(self.tap)

    def marker_passed(self, name: str) -> bool:
        self.log.settle()
        return any(marker.name == name for marker in self.log.of(MarkerPassed))


@dataclass
class OnCeleborn(Remote):
    cluster: Celeborn = field(kw_only=True)

    def ids(self, app_shuffle: int) -> dict[int, bool]:
        """Celeborn's own ids of an app shuffle, and whether each is valid."""
        lifecycle = self.tap.driver.shuffle_manager.getLifecycleManager()
        mapping = lifecycle.getClass().getDeclaredField("shuffleIdMapping")  # 0.5.4 has no method that gives it
        mapping.setAccessible(True)
        told = str(mapping.get(lifecycle).get(app_shuffle))
        return {int(number): valid == "true" for number, valid in re.findall(r"\((\d+),(true|false)\)", told)}

    def bytes_stored(self, app_shuffle: int) -> int:
        return self.cluster.bytes_of(self.spark.sparkContext.applicationId, tuple(self.ids(app_shuffle)))

    @contextmanager
    def hanging(self, app_shuffle: int) -> Iterator[None]:
        with ExitStack() as stopped:
            for worker in self.cluster.workers[:2]:
                stopped.enter_context(worker.hanging())
            yield


@contextmanager
def on_celeborn(cluster: Celeborn, folder: Path, master: str = LOCAL, **conf: str) -> Iterator[OnCeleborn]:
    """An application of its own."""
    settings = {**cluster.conf(spark_version()), "spark.sql.adaptive.enabled": "false", **conf}
    with own_spark(folder, master, **settings) as spark:
        tap = Tap.open(spark)
        yield OnCeleborn(spark, tap, FactLog(tap), choose(tap), folder, cluster=cluster)
        tap.close()


@pytest.fixture(scope="module")
def on_cluster(celeborn: Celeborn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnCeleborn]:
    with on_celeborn(celeborn, tmp_path_factory.mktemp("spark")) as run:
        yield run


def asked_in_vain(run: Remote, silences: tuple[str, ...], times: int) -> None:
    """As if whoever is silent had been asked so often: each time is 20 s after the one before. Where the adapter's Java
    keeps them is the name of a field in each holder."""
    holder = run.service._java  # type: ignore[attr-defined]
    for name in silences:
        holder = kept_in(holder, name)
    for whom in list(kept_in(holder, "until")):
        for _ in range(times):
            holder.note(whom)


# ---- Uniffle ----


@pytest.fixture(scope="session")
def uniffle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Uniffle]:
    """A coordinator and six servers, for all tests of the process."""
    if "UNIFFLE_HOME" not in os.environ:
        pytest.skip("UNIFFLE_HOME is not set: a directory with a built or unpacked Uniffle (docs/remote-shuffle.md)")
    with running_uniffle(tmp_path_factory.mktemp("uniffle"), servers=6) as cluster:
        yield cluster


@dataclass
class OnUniffle(Remote):
    cluster: Uniffle = field(kw_only=True)
    padding: int = 0  #: Characters that each row carries: many are flushed to disk, none stay in memory.

    def keyed(self, rows: int = 4_000, maps: int = 4, reduces: int = 3) -> Any:
        padding = self.padding

        def row(n: int) -> tuple[int, str]:
            return n % 20, f"{n} {random.Random(n).randbytes(padding // 2).hex()}"

        return self.spark.sparkContext.parallelize(range(rows), maps).map(row).partitionBy(reduces)

    @property
    def application(self) -> str:
        """As Uniffle calls it."""
        return str(self.tap.driver.shuffle_manager.getAppId())

    def servers(self, app_shuffle: int) -> set[str]:
        """Where the present generation is, by the adapter's own word."""
        held = self.service.holds(app_shuffle)
        assert isinstance(held, Held), held
        return set(held.locator.payload.rsplit("/", 1)[1].split("+"))

    @property
    def client(self) -> Any:
        """Our Java's way to Uniffle's own client."""
        driver = self.tap.driver
        return driver.construct(uniffle_service.load(self.tap), "UniffleClient", driver.context, driver.shuffle_manager)

    def blocks(self, app_shuffle: int) -> dict[str, int]:
        """How many blocks each server says that it has of it, of whatever generation; none: it is not in here."""
        client = self.client
        names = [f"127.0.0.1:{SERVERS + number}" for number in range(len(self.cluster.servers))]
        found = {name: int(client.blocks(name, app_shuffle, PARTITIONS)) for name in names}
        return {name: blocks for name, blocks in found.items() if blocks}

    def bytes_stored(self, app_shuffle: int) -> int:
        """In blocks: they count in memory and on disk alike, and while they are flushed."""
        return sum(self.blocks(app_shuffle).values())

    @contextmanager
    def hanging(self, app_shuffle: int) -> Iterator[None]:
        with ExitStack() as stopped:
            for name in self.servers(app_shuffle):
                stopped.enter_context(self.cluster.servers[int(name.rpartition(":")[2]) - SERVERS].hanging())
            yield

    def bytes_on_disk(self, app_shuffle: int) -> int:
        return self.cluster.bytes_on_disk(self.application, app_shuffle)


@contextmanager
def on_uniffle(cluster: Uniffle, folder: Path, master: str = LOCAL, **conf: str) -> Iterator[OnUniffle]:
    """An application of its own."""
    settings = {**cluster.conf(), "spark.sql.adaptive.enabled": "false", **conf}
    with own_spark(folder, master, **settings) as spark:
        tap = Tap.open(spark)
        yield OnUniffle(spark, tap, FactLog(tap), choose(tap), folder, cluster=cluster)
        tap.close()


# ---- either ----


@dataclass
class Served(Run):
    """A session as the stories of `tests/spark` need it, whose shuffles a service has."""

    world: Remote = field(kw_only=True)

    def files(self, app_shuffle: int) -> dict[Path, int]:
        stored = self.world.bytes_stored(app_shuffle)
        return {Path(f"app shuffle {app_shuffle}"): stored} if stored else {}


OPENED: dict[str, Callable[..., AbstractContextManager[Remote]]] = {"celeborn": on_celeborn, "uniffle": on_uniffle}


@contextmanager
def served(service: str, cluster: Any, folder: Path, master: str = LOCAL, **conf: str) -> Iterator[Served]:
    (logs := folder / "logs").mkdir()
    with OPENED[service](cluster, folder, master, **conf) as world:
        yield Served(world.spark, folder, logs, world=world)
