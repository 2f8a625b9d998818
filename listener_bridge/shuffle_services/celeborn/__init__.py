"""Shuffles in Celeborn: files on its workers, named by ids that its client in the driver gives out.

Responsible for: fencing, freeing and forgetting generations that Celeborn keeps, and saying where that must not be
done.
Refuses to know: why a generation goes. All acting is in Java, in the driver; here is the way there and back.
Invariant: a call acts on the ids that its locator names, or not at all; Celeborn never gives an id out twice.

A locator is `application/app shuffle/generation/ids`, ids joined by `+`. The client and the servers are the stock ones,
reached through the shuffle manager that Spark holds; no class of Celeborn is needed before one is seen there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from listener_bridge.shuffle_services import api, native, obstacles
from listener_bridge.shuffle_services.in_the_driver import InTheDriver, Named
from listener_bridge.tap import jvm
from listener_bridge.tap.jvm import DriverJvm, JavaObject
from listener_bridge.tap.tap import Tap

SERVICE = "celeborn"
MANAGER = "org.apache.spark.shuffle.celeborn.SparkShuffleManager"
ACTED_UPON = ((3, 5), (4, 0))
#: The newest name first; a client knows one of them.
_RERUN = ("clientStageRerunEnabled", "clientFetchThrowsFetchFailure")
_NEEDED = {
    "org.apache.celeborn.client.LifecycleManager": ("unregisterShuffle", "workerSnapshots", "commitManager"),
    "org.apache.celeborn.client.CommitManager": (
        "getCommitHandler",
        "getMapperAttempts",
        "isStageEnd",
        "isStageEndOrInProcess",
        "setStageEnd",
        "committedPartitionInfo",
    ),
}
_KEPT = {
    "org.apache.celeborn.client.LifecycleManager": (
        "shuffleIdMapping",
        "appShuffleDeterminateMap",
        "unregisterShuffleTime",
        "appUniqueId",
    ),
    "org.apache.celeborn.client.commit.CommitHandler": ("reducerFileGroupsMap",),
}
#: Class -> members of it that our Java reaches, public ones and others.
MEMBERS = {name: (*_NEEDED.get(name, ()), *_KEPT.get(name, ())) for name in {**_NEEDED, **_KEPT}}


class CelebornShuffleService(InTheDriver):
    """The adapter of Celeborn's shuffle manager. One an application, made from its tap."""

    service = SERVICE
    name = "Celeborn"

    def __init__(self, tap: Tap) -> None:
        super().__init__(tap, _capability(tap.driver), _attach)

    def _is_whole(self, parts: tuple[str, ...]) -> bool:
        return len(parts) == 1 and all(one.isdigit() for one in parts[0].split("+") if one)

    def _arguments(self, named: Named) -> tuple[object, ...]:
        ids = _ids(named)
        array = self._driver.gateway.new_array(self._driver.gateway.jvm.int, len(ids))
        for index, one in enumerate(ids):
            array[index] = one
        return (named.generation, array)


def _ids(named: Named) -> tuple[int, ...]:
    """Celeborn's own ids of a generation."""
    return tuple(int(one) for one in named.parts[0].split("+") if one)


def _capability(driver: DriverJvm) -> api.Capability:
    return api.Capability(
        service=SERVICE,
        deletes=obstacles.deletes_unless(_obstacles(driver)),
        can_complete_generation_after_loss=True,
        forget_is_separate=True,
    )


def _obstacles(driver: DriverJvm) -> Iterator[str]:
    """Why this session's data must not be deleted early, most fundamental first."""
    name = CelebornShuffleService.name
    yield from obstacles.of_manager(driver, name, MANAGER)
    yield from obstacles.of_spark_version(
        driver,
        ACTED_UPON,
        "Celeborn's client does not fit Spark {version}, or was never tried with it; {tried} were",
    )
    yield from obstacles.of_any_service(driver)
    yield from obstacles.of_client(driver, name, _of_the_client)
    if obstacles.is_on(driver, "spark.celeborn.client.spark.fetch.cleanFailedShuffle"):
        yield "spark.celeborn.client.spark.fetch.cleanFailedShuffle=true was never tried with early deletion"


def _of_the_client(driver: DriverJvm) -> Iterator[str]:
    """What the client lacks, and how it is configured."""
    yield from _missing(driver)
    if not _reruns(driver):
        yield (
            "Celeborn does not write a lost shuffle again in this session; set "
            "spark.celeborn.client.spark.stageRerun.enabled=true "
            "(before 0.6: spark.celeborn.client.spark.fetch.throwsFetchFailure)"
        )


def _missing(driver: DriverJvm) -> Iterator[str]:
    """Methods and fields of the client that we need and that it does not have."""
    loader = driver.shuffle_manager.getClass().getClassLoader()
    for name, methods in _NEEDED.items():
        yield from _lacking(name, methods, loader.loadClass(name).getMethods())
    for name, fields in _KEPT.items():
        yield from _lacking(name, fields, loader.loadClass(name).getDeclaredFields())


def _lacking(name: str, needed: Iterable[str], there: Iterable[JavaObject]) -> Iterator[str]:
    names = {str(member.getName()).rpartition("$$")[2] for member in there}  # Scala may put the class's name before it
    for member in needed:
        if member not in names:
            yield f"Celeborn's client has no {name}.{member}; clients 0.5.4 and 0.6 were tried"


def _reruns(driver: DriverJvm) -> bool:
    """Whether Celeborn's client reports lost data as fetch failures, so that Spark runs the map stage again."""
    field = driver.shuffle_manager.getClass().getDeclaredField("celebornConf")
    field.setAccessible(True)
    conf = field.get(driver.shuffle_manager)
    there = {str(method.getName()) for method in conf.getClass().getMethods()}
    return any(name in there and bool(getattr(conf, name)()) for name in _RERUN)


def load(tap: Tap) -> JavaObject:
    """The class loader of our Java for Celeborn, which sees its client's classes."""
    return tap.driver.load(jvm.sources_beside(__file__), parent=native.load(tap))


def _attach(tap: Tap) -> JavaObject:
    driver = tap.driver
    parts = (tap.java.scheduler(), tap.java.stages(), driver.map_output_tracker, driver.shuffle_manager)
    return driver.construct(load(tap), "CelebornService", *parts)
