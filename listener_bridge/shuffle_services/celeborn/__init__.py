"""Shuffles in Celeborn: files on its workers, named by ids that its client in the driver gives out.

Responsible for: fencing, freeing and forgetting generations that Celeborn keeps, and saying where that must not be
done.
Refuses to know: why a generation goes. All acting is in Java, in the driver; here is the way there and back.
Invariant: a call acts on the ids that its locator names, or not at all; Celeborn never gives an id out twice.

A locator is `application/app shuffle/generation/ids`, ids joined by `+`. The client and the servers are the stock ones,
reached through the shuffle manager that Spark holds; no class of Celeborn is needed before one is seen there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from listener_bridge.shuffle_services import api, native
from listener_bridge.tap import jvm
from listener_bridge.tap.jvm import DriverJvm, JavaObject
from listener_bridge.tap.tap import Tap

SERVICE = "celeborn"
MANAGER = "org.apache.spark.shuffle.celeborn.SparkShuffleManager"
ACTED_UPON = ((3, 5), (4, 0))
_ANY_GENERATION = -1
#: The newest name first; a client knows one of them.
_RERUN = ("clientStageRerunEnabled", "clientFetchThrowsFetchFailure")
_NEEDED = {
    "org.apache.celeborn.client.LifecycleManager": ("unregisterShuffle", "workerSnapshots", "commitManager", "self"),
    "org.apache.celeborn.client.CommitManager": ("getCommitHandler",),
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


class _Name(NamedTuple):
    """What a locator names."""

    app_shuffle: int
    generation: int
    ids: tuple[int, ...]


class CelebornShuffleService:
    """The adapter of Celeborn's shuffle manager. One an application, made from its tap."""

    def __init__(self, tap: Tap) -> None:
        self._driver = tap.driver
        self._application = str(tap.driver.context.applicationId())
        self._capability = _capability(tap.driver)
        self._java = _attach(tap) if self._capability.deletes is True else None

    def probe(self) -> api.Capability:
        return self._capability

    def holds(self, app_shuffle: int) -> api.Held | api.NotHeld:
        present = "" if self._java is None else str(self._java.holds(app_shuffle))
        if not present:
            return api.NotHeld(f"Celeborn has no outputs of app shuffle {app_shuffle}")
        return api.Held(self._locator(app_shuffle, present))

    def fence(self, app_shuffle: int, timeout: float, generation: api.Locator | None = None) -> api.FenceOutcome:
        expected = _ANY_GENERATION
        if generation is not None:
            named = self._read(generation)
            if named is None or named.app_shuffle != app_shuffle:
                return api.Cannot(self._not_ours(generation))
            expected = named.generation
        return self._fence_outcome(self._ask(lambda java: java.fence(app_shuffle, expected, _ms(timeout))))

    def invalidate(self, locator: api.Locator, timeout: float) -> api.FenceOutcome:
        named = self._read(locator)
        if named is None:
            return api.Cannot(self._not_ours(locator))
        return self.fence(named.app_shuffle, timeout, locator)

    def free(self, locator: api.Locator, timeout: float) -> api.FreeOutcome:
        named = self._read(locator)
        if named is None:
            return api.Failed(self._not_ours(locator))
        return _free_outcome(self._ask(lambda java: java.free(named.app_shuffle, self._ids(named), _ms(timeout))))

    def forget(self, locator: api.Locator, timeout: float) -> api.ForgetOutcome:
        named = self._read(locator)
        if named is None:
            return api.Failed(self._not_ours(locator))
        answer = self._ask(lambda java: java.forget(named.app_shuffle, self._ids(named), _ms(timeout)))
        return api.Busy(tuple(answer["who"])) if answer["e"] == "busy" else _free_outcome(answer)

    def close(self) -> None:
        """Nothing to let go of: the fences must outlive us, for as long as the context."""

    def _ask(self, verb: Callable[[JavaObject], str]) -> dict[str, Any]:
        if self._java is None:
            return {"e": "cannot", "why": str(self._capability.deletes)}
        try:
            answer: dict[str, Any] = json.loads(verb(self._java))
        except Exception as error:  # noqa: BLE001 - a stopped context, another client: states of the world, told as values
            return {"e": "cannot", "why": f"the driver's JVM did not do it: {str(error)[:500]}"}
        return answer

    def _fence_outcome(self, answer: dict[str, Any]) -> api.FenceOutcome:
        kind = answer["e"]
        if kind == "fenced":
            return api.Fenced(self._locator(answer["shuffle"], answer["locator"]), answer["bytes"], answer["marker"])
        if kind == "busy":
            return api.Busy(tuple(answer["who"]))
        if kind == "superseded":
            return api.Superseded(answer["by"])
        return api.Cannot(answer["why"])

    def _locator(self, app_shuffle: int, present: str) -> api.Locator:
        return api.Locator(SERVICE, f"{self._application}/{app_shuffle}/{present}")

    def _read(self, locator: api.Locator) -> _Name | None:
        application, *parts = locator.payload.split("/")
        if locator.service != SERVICE or application != self._application or len(parts) != 3:
            return None
        ids = tuple(int(one) for one in parts[2].split("+") if one)
        return _Name(int(parts[0]), int(parts[1]), ids)

    def _ids(self, named: _Name) -> JavaObject:
        array = self._driver.gateway.new_array(self._driver.gateway.jvm.int, len(named.ids))
        for index, one in enumerate(named.ids):
            array[index] = one
        return array

    def _not_ours(self, locator: api.Locator) -> str:
        return f"{locator} is not of this application; expected service {SERVICE!r}, payload {self._application}/…"


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _free_outcome(answer: dict[str, Any]) -> api.FreeOutcome:
    return api.Freed(answer["bytes"]) if answer["e"] == "freed" else api.Failed(answer["why"])


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
    manager = str(driver.shuffle_manager.getClass().getName())
    if manager != MANAGER:
        yield f"the shuffle manager of this session is {manager}, not Celeborn's {MANAGER}"
        return
    if driver.version not in ACTED_UPON:
        known = ", ".join(f"{major}.{minor}" for major, minor in ACTED_UPON)
        version = ".".join(map(str, driver.version))
        yield f"Celeborn's client does not fit Spark {version}, or was never tried with it; {known} were"
    try:
        yield from _missing(driver)
        if not _reruns(driver):
            yield (
                "Celeborn does not write a lost shuffle again in this session; set "
                "spark.celeborn.client.spark.stageRerun.enabled=true "
                "(before 0.6: spark.celeborn.client.spark.fetch.throwsFetchFailure)"
            )
    except Exception as error:  # noqa: BLE001 - another client than those that were tried
        yield f"Celeborn's client is not as expected: {str(error).splitlines()[0][:200]}"
    if _is_on(driver, "spark.celeborn.client.spark.fetch.cleanFailedShuffle"):
        yield "spark.celeborn.client.spark.fetch.cleanFailedShuffle=true was never tried with early deletion"


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
    field = driver.shuffle_manager.getClass().getDeclaredField("celebornConf")
    field.setAccessible(True)
    conf = field.get(driver.shuffle_manager)
    there = {str(method.getName()) for method in conf.getClass().getMethods()}
    return any(name in there and bool(getattr(conf, name)()) for name in _RERUN)


def _is_on(driver: DriverJvm, key: str) -> bool:
    return driver.conf(key, "false").lower() == "true"


def load(tap: Tap) -> JavaObject:
    """The class loader of our Java for Celeborn, which sees its client's classes."""
    return tap.driver.load(jvm.sources_beside(__file__), parent=native.load(tap))


def _attach(tap: Tap) -> JavaObject:
    driver = tap.driver
    parts = (tap.java.scheduler(), tap.java.stages(), driver.map_output_tracker, driver.shuffle_manager)
    return driver.construct(load(tap), "CelebornService", *parts)
