"""Shuffles in Uniffle: blocks in its servers' memory and on their disks, named by shuffle, map task and attempt.

Responsible for: fencing and freeing generations that Uniffle keeps, and saying where that must not be done.
Refuses to know: why a generation goes. All acting is in Java, in the driver; here is the way there and back.
Invariant: a call acts on the servers that its locator names, or not at all; a shuffle never comes back to servers that
it has left.

A locator is `application/app shuffle/generation/partitions/servers`, servers as `host:port` joined by `+`. The client
and the servers are the stock ones, reached through the shuffle manager that Spark holds; no class of Uniffle is needed
before one is seen there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from listener_bridge.shuffle_services import api, native, obstacles
from listener_bridge.shuffle_services.in_the_driver import InTheDriver, Named
from listener_bridge.tap import jvm
from listener_bridge.tap.jvm import DriverJvm, JavaObject
from listener_bridge.tap.tap import Tap

log = logging.getLogger("shuffle_lifecycle")

SERVICE = "uniffle"
MANAGER = "org.apache.spark.shuffle.RssShuffleManager"
ACTED_UPON = ((3, 5),)
CLIENTS = ("0.9.2", "0.10.0")
_GRPC = "GRPC"
_STORAGE = "MEMORY_LOCALFILE"
SAYS_VERSION = "META-INF/maven/org.apache.uniffle/rss-common/pom.properties"


class UniffleShuffleService(InTheDriver):
    """The adapter of Uniffle's shuffle manager. One an application, made from its tap."""

    service = SERVICE
    name = "Uniffle"

    def __init__(self, tap: Tap) -> None:
        super().__init__(tap, _capability(tap.driver), _attach)

    def keeps(self, app_shuffle: int) -> str:
        """Empty too where nobody knows: a fence that finds no servers then refuses, and changes nothing."""
        try:
            return "" if self._java is None else str(self._java.cannotMove(app_shuffle))
        except Exception as error:  # noqa: BLE001 - a coordinator that does not answer, a stopped context
            log.debug("Uniffle was not asked for servers: %s", error)
            return ""

    def _is_whole(self, parts: tuple[str, ...]) -> bool:
        return len(parts) == 2 and parts[0].isdigit() and all(_is_server(one) for one in parts[1].split("+"))

    def _arguments(self, named: Named) -> tuple[object, ...]:
        partitions, servers = named.parts
        names = servers.split("+")
        array = self._driver.gateway.new_array(self._driver.gateway.jvm.java.lang.String, len(names))
        for index, one in enumerate(names):
            array[index] = one
        return (named.generation, int(partitions), array)


def _is_server(name: str) -> bool:
    host, _, port = name.rpartition(":")
    return bool(host) and port.isdigit()


def _capability(driver: DriverJvm) -> api.Capability:
    return api.Capability(
        service=SERVICE,
        deletes=obstacles.deletes_unless(_obstacles(driver)),
        can_complete_generation_after_loss=False,
        forget_is_separate=False,
        may_have_to_keep=True,
    )


def _obstacles(driver: DriverJvm) -> Iterator[str]:
    """Why this session's data must not be deleted early, most fundamental first."""
    name = UniffleShuffleService.name
    yield from obstacles.of_manager(driver, name, MANAGER)
    yield from obstacles.of_spark_version(
        driver, ACTED_UPON, "Uniffle's client was never tried with Spark {version}; {tried} was"
    )
    yield from obstacles.of_any_service(driver)
    yield from obstacles.of_client(driver, name, _of_the_client)
    yield from _of_the_settings(driver)


def _of_the_client(driver: DriverJvm) -> Iterator[str]:
    """What its jar and its shuffle manager say of themselves: coordinators set its configuration too."""
    version = _version(driver)
    if version not in CLIENTS:
        yield f"Uniffle's client is {version or 'of an unknown version'}; {' and '.join(CLIENTS)} were tried"
    manager = driver.shuffle_manager
    used = str(_field(manager, "clientType"))
    if used != _GRPC:
        yield f"Uniffle's client type is {used}; set spark.rss.client.type={_GRPC}, others were never tried"
    if bool(_field(manager, "shuffleManagerRpcServiceEnabled")):
        yield (
            "Uniffle's tasks ask its driver in this session, which may give a shuffle other servers by itself; leave "
            "off stage retry (spark.rss.stageRetry.*, spark.rss.resubmit.stage), reassignment "
            "(spark.rss.client.reassign.enabled, spark.rss.client.blockSendFailureRetry.enabled), block ids that "
            "the driver keeps (spark.rss.blockId.selfManagementEnabled) and Uniffle's page in Spark's UI "
            "(UnifflePlugin in spark.plugins)"
        )
    if int(_field(manager, "dataReplica")) != 1:
        yield "spark.rss.data.replica is more than 1, which was never tried with early deletion"


def _of_the_settings(driver: DriverJvm) -> Iterator[str]:
    if obstacles.is_on(driver, "spark.speculation"):
        yield "spark.speculation=true: a late attempt could register an output on servers that the shuffle has left"
    storage = driver.conf("spark.rss.storage.type", "")
    if storage != _STORAGE:
        yield f"spark.rss.storage.type is {storage or 'not set'}; {_STORAGE} was tried"
    if not driver.context.cleaner().isDefined():
        yield "spark.cleaner.referenceTracking=false: a shuffle's servers cannot be found"


def _version(driver: DriverJvm) -> str:
    """As the jar's build says it; empty where it does not."""
    found = driver.shuffle_manager.getClass().getClassLoader().getResourceAsStream(SAYS_VERSION)
    if found is None:
        return ""
    said = driver.gateway.jvm.java.util.Properties()
    said.load(found)
    found.close()
    return str(said.getProperty("version", ""))


def _field(of: JavaObject, name: str) -> JavaObject:
    """Of the object's class or one above it."""
    kind = of.getClass()
    while kind is not None:
        for field in kind.getDeclaredFields():
            if str(field.getName()) == name:
                field.setAccessible(True)
                return field.get(of)
        kind = kind.getSuperclass()
    raise LookupError(f"{of.getClass().getName()} has no field {name}")


def load(tap: Tap) -> JavaObject:
    """The class loader of our Java for Uniffle, which sees its client's classes."""
    return tap.driver.load(jvm.sources_beside(__file__), parent=native.load(tap))


def _attach(tap: Tap) -> JavaObject:
    driver = tap.driver
    parts = (tap.java.scheduler(), tap.java.stages(), driver.map_output_tracker, driver.context, driver.shuffle_manager)
    return driver.construct(load(tap), "UniffleService", *parts)
