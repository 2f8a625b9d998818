"""Spark's own shuffle: files on executors' disks, named by app shuffle and map task.

Responsible for: fencing, freeing and forgetting generations of native shuffle data, and saying where that must not be
done.
Refuses to know: why a generation goes. All acting is in Java, in the driver; here is the way there and back.
Invariant: a call acts on the generation that its locator counts, or not at all, and never on files of a writer that
began after the check: the map stage cannot be submitted between the check and the executors' answers (`Hold.java`).

A locator is `application/app shuffle/generation`. Where the outputs lay is kept in the JVM: nobody else can use it, and
it dies with the application as the files do.
"""

from __future__ import annotations

from collections.abc import Iterator

from listener_bridge.shuffle_services import api, obstacles
from listener_bridge.shuffle_services.in_the_driver import InTheDriver, Named
from listener_bridge.tap import jvm
from listener_bridge.tap.jvm import DriverJvm, JavaObject
from listener_bridge.tap.tap import Tap

SERVICE = "native"
ACTED_UPON = ((3, 5), (4, 0), (4, 1), (4, 3))
_SORT_SHUFFLE = "org.apache.spark.shuffle.sort.SortShuffleManager"
_LOCAL_DISK = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"


class NativeShuffleService(InTheDriver):
    """The adapter of Spark's sort shuffle. One an application, made from its tap."""

    service = SERVICE
    name = "Spark"

    def __init__(self, tap: Tap) -> None:
        super().__init__(tap, _capability(tap.driver), _attach)

    def _present(self, java: JavaObject, app_shuffle: int) -> str:
        generation = int(java.holds(app_shuffle))
        return "" if generation < 0 else str(generation)

    def _is_whole(self, parts: tuple[str, ...]) -> bool:
        return not parts

    def _arguments(self, named: Named) -> tuple[object, ...]:
        return (named.generation,)


def _capability(driver: DriverJvm) -> api.Capability:
    return api.Capability(
        service=SERVICE,
        deletes=obstacles.deletes_unless(_obstacles(driver)),
        can_complete_generation_after_loss=True,
        forget_is_separate=True,
    )


def _obstacles(driver: DriverJvm) -> Iterator[str]:
    """Why this session's data must not be deleted early, most fundamental first."""
    yield from obstacles.of_spark_version(
        driver, ACTED_UPON, "Spark {version} was never tried; deletion is known to be safe on {tried}"
    )
    manager = str(driver.shuffle_manager.getClass().getName())
    if manager != _SORT_SHUFFLE:
        yield f"shuffle manager {manager} is not known here; expected {_SORT_SHUFFLE}"
    yield from obstacles.of_any_service(driver)
    if driver.conf("spark.shuffle.sort.io.plugin.class", _LOCAL_DISK) != _LOCAL_DISK:
        yield "spark.shuffle.sort.io.plugin.class is set: files may lie elsewhere than on executors' local disks"
    if _is_on(driver, "spark.shuffle.push.enabled"):
        yield "spark.shuffle.push.enabled=true: merged copies of the data are not deleted early"
    if driver.version < (4, 0) and all(_is_on(driver, key) for key in _REMOVED_BY_SERVICE):
        yield "spark.shuffle.service.removeShuffle=true: Spark's cleaner fails on shuffles without outputs; unset it"
    if _is_on(driver, "spark.shuffle.useOldFetchProtocol"):
        yield "spark.shuffle.useOldFetchProtocol=true: generations have the same file names; set it to false"
    if driver.conf("spark.storage.decommission.fallbackStorage.path", ""):
        yield "spark.storage.decommission.fallbackStorage.path is set: copies there are not deleted early"
    if all(_is_on(driver, key) for key in _MIGRATION):
        yield "decommissioning migrates shuffle blocks between executors: a fence could miss one under way"


_REMOVED_BY_SERVICE = ("spark.shuffle.service.enabled", "spark.shuffle.service.removeShuffle")
_MIGRATION = (
    "spark.decommission.enabled",
    "spark.storage.decommission.enabled",
    "spark.storage.decommission.shuffleBlocks.enabled",
)
_ON_BY_DEFAULT = frozenset({"spark.storage.decommission.shuffleBlocks.enabled"})


def _is_on(driver: DriverJvm, key: str) -> bool:
    return obstacles.is_on(driver, key, "true" if key in _ON_BY_DEFAULT else "false")


def load(tap: Tap) -> JavaObject:
    """The class loader of our Java for Spark's own shuffle."""
    return tap.driver.load(jvm.sources_beside(__file__), parent=tap.loader)


def _attach(tap: Tap) -> JavaObject:
    driver = tap.driver
    loader = load(tap)
    cleaner = driver.context.cleaner()
    return driver.construct(
        loader,
        "NativeService",
        tap.java.scheduler(),
        tap.java.stages(),
        driver.map_output_tracker,
        _deletion(driver, loader),
        cleaner.get() if cleaner.isDefined() else None,
        _allocation(driver),
        int(driver.conf("spark.shuffle.service.port", "7337")),
    )


def _allocation(driver: DriverJvm) -> JavaObject | None:
    """Who has executors go that nobody needs, where Spark does so: it counts the shuffles that each one holds."""
    manager = driver.context.executorAllocationManager()
    return manager.get().executorMonitor() if manager.isDefined() else None


def _deletion(driver: DriverJvm, loader: JavaObject) -> JavaObject:
    outlives = _is_on(driver, "spark.shuffle.service.enabled")
    algorithm = driver.conf("spark.shuffle.checksum.algorithm", "ADLER32").upper()  # as in files' names
    checksums = obstacles.is_on(driver, "spark.shuffle.checksum.enabled", "true")
    return driver.construct(
        loader,
        "Deletion",
        driver.block_manager.master(),
        driver.shuffle_manager if driver.context.isLocal() else None,
        driver.block_manager.blockStoreClient() if outlives else None,
        f".checksum.{algorithm}" if checksums else None,
    )


def local_directories(driver: DriverJvm) -> tuple[str, ...]:
    """The folders of shuffle data that the driver writes itself; none where executors do, whose disks it cannot see."""
    if not driver.context.isLocal():
        return ()
    return tuple(str(folder.getParent()) for folder in driver.block_manager.diskBlockManager().localDirs())
