"""The parts of an attachment: which there are in this driver, for these settings and this shuffle service.

Responsible for: the eyes of looks, the disks that are watched, the coordinator, and what it is told of the application;
and for saying what is missing where people will wonder.
Refuses to know: the order in which parts begin and end (`plugin`, `bridge`), and what they do.
Invariant: a part that is not wanted, or cannot be had, is None, and the job goes on without it.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shuffle_lifecycle.v1 import common_pb2, service_pb2

from listener_bridge import settings as choices
from listener_bridge import words
from listener_bridge.disks import Watch, Watermarks
from listener_bridge.reach.looker import Sight
from listener_bridge.settings import Settings
from listener_bridge.shorten import short
from listener_bridge.shuffle_services import native
from listener_bridge.shuffle_services.api import Capability
from listener_bridge.tap.tap import Tap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("shuffle_lifecycle")

_BLIND = (
    "spark.shuffleLifecycle.looks=false: the program is not looked at, so reachable lets nothing go; expected "
    "looks=true, or a rule that guesses: frontier, eager"
)


def eyes(spark: SparkSession, tap: Tap, chosen: Settings, can: Capability) -> Sight | None:
    """The eyes of looks at the program; None where nobody wants them, or where they do not see this driver."""
    if can.deletes is not True:
        return None
    if not chosen.looks:
        if chosen.policy.rule == choices.DEFAULT_RULE:
            log.warning("%s", _BLIND)
        return None
    from listener_bridge.reach import opening

    try:
        return opening.eyes(spark, tap, chosen.liveness)
    except Exception as error:
        log.warning("the program is not looked at, reachable deletes nothing (%s: %s)", type(error).__name__, error)
        log.debug("looks failed to begin", exc_info=True)
        return None


def disks(tap: Tap, chosen: Settings, can: Capability) -> Watch | None:
    """The disks that this driver can see; None where nobody asks how full they are, or none can be seen."""
    pressure = chosen.pressure
    if pressure.capacity_bytes or not (pressure.directories or chosen.policy.rule == "pressure"):
        return None
    own = native.local_directories(tap.driver) if can.service == native.SERVICE else ()
    directories = pressure.directories or own
    if directories:
        _warn_of_absent(pressure.directories)
        return Watch(directories, Watermarks(pressure.high, pressure.low))
    log.warning(
        "policy pressure deletes nothing: the executors' disks cannot be seen from the driver; set "
        "spark.shuffleLifecycle.pressure.capacity to what their shuffle data may take together"
    )
    return None


def _warn_of_absent(directories: Sequence[str]) -> None:
    for directory in directories:
        if not os.path.isdir(directory):  # noqa: PTH112 - which answers for whatever people write
            log.warning(
                "spark.shuffleLifecycle.pressure.directories: %r is no folder on this machine, so its disk counts as "
                "empty until it is; expected a folder that the driver can see",
                directory,
            )


@dataclass(frozen=True, slots=True)
class Coordinator:
    """How the coordinator is reached, whoever runs it."""

    addresses: Callable[[], Sequence[str]]
    store: str = ""  #: Of an embedded one, as people may see it; empty where others run it.
    release: Callable[[float], None] = lambda _: None  #: Let go of an embedded one, within so many seconds.


def coordinator(chosen: Settings) -> Coordinator:
    """The coordinators that the settings name, or one in this process. Raises what is wrong with its store."""
    if chosen.addresses:
        return Coordinator(lambda: chosen.addresses)
    from listener_bridge import embedded

    store = chosen.store or embedded.default_store()
    ours = embedded.Embedded(store, chosen.history, chosen.archive, chosen.retention_ms / 1_000)
    return Coordinator(ours.addresses, ours.shown, ours.stop)


def registration(
    spark: SparkSession, application: str, chosen: Settings, can: Capability
) -> service_pb2.RegisterApplication:
    """What a coordinator is told of an application, once: who it is, what its service can do, what was chosen."""
    return service_pb2.RegisterApplication(
        application=application,
        driver=_driver(spark, chosen, can),
        capabilities=words.capabilities(can),
        policy=words.policy(chosen.policy),
        settings=words.promises(chosen),
    )


def _driver(spark: SparkSession, chosen: Settings, can: Capability) -> common_pb2.Driver:
    context = spark.sparkContext
    attempt = context._jsc.sc().applicationAttemptId()  # noqa: SLF001 - PySpark has no public way
    return common_pb2.Driver(
        spark_application_id=str(context.applicationId),
        spark_attempt=str(attempt.get()) if attempt.isDefined() else "",
        name=short(chosen.name or str(context.appName)),
        user=str(context.sparkUser()),
        spark_version=str(spark.version),
        python_version=platform.python_version(),
        service=can.service,
        master=str(context.master),
    )
