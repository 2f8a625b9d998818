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

import json
from collections.abc import Callable, Iterator
from typing import Any

from listener_bridge.shuffle_services import api
from listener_bridge.tap import jvm
from listener_bridge.tap.jvm import DriverJvm, JavaObject
from listener_bridge.tap.tap import Tap

SERVICE = "native"
ACTED_UPON = ((3, 5), (4, 0), (4, 1), (4, 3))
_ANY_GENERATION = -1
_SORT_SHUFFLE = "org.apache.spark.shuffle.sort.SortShuffleManager"
_LOCAL_DISK = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"


class NativeShuffleService:
    """The adapter of Spark's sort shuffle. One an application, made from its tap."""

    def __init__(self, tap: Tap) -> None:
        self._driver = tap.driver
        self._application = str(tap.driver.context.applicationId())
        self._capability = _capability(tap.driver)
        self._java = _attach(tap) if self._capability.deletes is True else None

    def probe(self) -> api.Capability:
        return self._capability

    def holds(self, app_shuffle: int) -> api.Held | api.NotHeld:
        generation = -1 if self._java is None else int(self._java.holds(app_shuffle))
        if generation < 0:
            return api.NotHeld(f"Spark has no outputs of app shuffle {app_shuffle}")
        return api.Held(self._locator(app_shuffle, generation))

    def fence(self, app_shuffle: int, timeout: float, generation: api.Locator | None = None) -> api.FenceOutcome:
        expected = _ANY_GENERATION
        if generation is not None:
            named = self._read(generation)
            if named is None or named[0] != app_shuffle:
                return api.Cannot(self._not_ours(generation))
            expected = named[1]
        answer = self._ask(lambda java: java.fence(app_shuffle, expected, _ms(timeout)))
        return self._fence_outcome(answer)

    def invalidate(self, locator: api.Locator, timeout: float) -> api.FenceOutcome:
        named = self._read(locator)
        if named is None:
            return api.Cannot(self._not_ours(locator))
        return self.fence(named[0], timeout, locator)

    def free(self, locator: api.Locator, timeout: float) -> api.FreeOutcome:
        named = self._read(locator)
        if named is None:
            return api.Failed(self._not_ours(locator))
        return _free_outcome(self._ask(lambda java: java.free(*named, _ms(timeout))))

    def forget(self, locator: api.Locator, timeout: float) -> api.ForgetOutcome:
        named = self._read(locator)
        if named is None:
            return api.Failed(self._not_ours(locator))
        answer = self._ask(lambda java: java.forget(*named, _ms(timeout)))
        return api.Busy(tuple(answer["who"])) if answer["e"] == "busy" else _free_outcome(answer)

    def close(self) -> None:
        """Nothing to let go of: the counts must outlive us, for as long as the context."""

    def _ask(self, verb: Callable[[JavaObject], str]) -> dict[str, Any]:
        if self._java is None:
            return {"e": "cannot", "why": str(self._capability.deletes)}
        try:
            answer: dict[str, Any] = json.loads(verb(self._java))
        except Exception as error:  # noqa: BLE001 - a stopped context, a lost gateway: states of the world, told as values
            return {"e": "cannot", "why": f"the driver's JVM did not do it: {str(error)[:500]}"}
        return answer

    def _fence_outcome(self, answer: dict[str, Any]) -> api.FenceOutcome:
        kind = answer["e"]
        if kind == "fenced":
            locator = self._locator(answer["shuffle"], answer["generation"])
            return api.Fenced(locator, answer["bytes"], answer["marker"])
        if kind == "busy":
            return api.Busy(tuple(answer["who"]))
        if kind == "superseded":
            return api.Superseded(answer["by"])
        return api.Cannot(answer["why"])

    def _locator(self, app_shuffle: int, generation: int) -> api.Locator:
        return api.Locator(SERVICE, f"{self._application}/{app_shuffle}/{generation}")

    def _read(self, locator: api.Locator) -> tuple[int, int] | None:
        application, *numbers = locator.payload.split("/")
        if locator.service != SERVICE or application != self._application or len(numbers) != 2:
            return None
        return int(numbers[0]), int(numbers[1])

    def _not_ours(self, locator: api.Locator) -> str:
        return f"{locator} is not of this application; expected service {SERVICE!r}, payload {self._application}/…"


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _free_outcome(answer: dict[str, Any]) -> api.FreeOutcome:
    kind = answer["e"]
    if kind == "freed":
        return api.Freed(answer["bytes"])
    if kind == "superseded":
        return api.Superseded(answer["by"])
    return api.Failed(answer["why"])


def _capability(driver: DriverJvm) -> api.Capability:
    reason = next(_obstacles(driver), None)
    return api.Capability(
        service=SERVICE,
        deletes=True if reason is None else api.ObserveOnly(reason),
        exact_bytes=False,
        reader_fails_cleanly_when_data_vanish=True,
        can_complete_generation_after_loss=True,
        forget_is_separate=True,
    )


def _obstacles(driver: DriverJvm) -> Iterator[str]:
    """Why this session's data must not be deleted early, most fundamental first."""
    if driver.version not in ACTED_UPON:
        known = ", ".join(f"{major}.{minor}" for major, minor in ACTED_UPON)
        yield f"Spark {driver.version[0]}.{driver.version[1]} was never tried; deletion is known to be safe on {known}"
    manager = str(driver.shuffle_manager.getClass().getName())
    if manager != _SORT_SHUFFLE:
        yield f"shuffle manager {manager} is not known here; expected {_SORT_SHUFFLE}"
    if driver.conf("spark.shuffle.sort.io.plugin.class", _LOCAL_DISK) != _LOCAL_DISK:
        yield "spark.shuffle.sort.io.plugin.class is set: files may lie elsewhere than on executors' local disks"
    if _is_on(driver, "spark.shuffle.push.enabled"):
        yield "spark.shuffle.push.enabled=true: merged copies of the data are not deleted early"
    if _is_on(driver, "spark.shuffle.useOldFetchProtocol"):
        yield "spark.shuffle.useOldFetchProtocol=true: generations have the same file names; set it to false"
    if driver.conf("spark.storage.decommission.fallbackStorage.path", ""):
        yield "spark.storage.decommission.fallbackStorage.path is set: copies there are not deleted early"
    if all(_is_on(driver, key) for key in _MIGRATION):
        yield "decommissioning migrates shuffle blocks between executors: a fence could miss one under way"


_MIGRATION = (
    "spark.decommission.enabled",
    "spark.storage.decommission.enabled",
    "spark.storage.decommission.shuffleBlocks.enabled",
)
_ON_BY_DEFAULT = frozenset({"spark.storage.decommission.shuffleBlocks.enabled"})


def _is_on(driver: DriverJvm, key: str) -> bool:
    return driver.conf(key, "true" if key in _ON_BY_DEFAULT else "false").lower() == "true"


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
        int(driver.conf("spark.shuffle.service.port", "7337")),
    )


def _deletion(driver: DriverJvm, loader: JavaObject) -> JavaObject:
    outlives = _is_on(driver, "spark.shuffle.service.enabled")
    algorithm = driver.conf("spark.shuffle.checksum.algorithm", "ADLER32")
    checksums = driver.conf("spark.shuffle.checksum.enabled", "true").lower() == "true"
    return driver.construct(
        loader,
        "Deletion",
        driver.block_manager.master(),
        driver.shuffle_manager if driver.context.isLocal() else None,
        driver.block_manager.blockStoreClient() if outlives else None,
        f".checksum.{algorithm}" if checksums else None,
    )
