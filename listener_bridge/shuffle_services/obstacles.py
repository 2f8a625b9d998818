"""Why a session's shuffle data must not be deleted early: what several services check, and how one answers.

Responsible for: the obstacles that are the same for every service, for every service with a client of its own, and the
capability that follows from a service's obstacles.
Refuses to know: any one service; each lists its own obstacles, the most fundamental first.
Invariant: an obstacle is one line for people, which says what was found and what was expected; to look for one changes
nothing in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from listener_bridge.shuffle_services.api import ObserveOnly
from listener_bridge.tap.jvm import DriverJvm

_CONNECT = "SparkConnectPlugin"  #: PySpark starts it where a program asks for a remote session on a master.
_TEXT_MAX = 200  #: Characters that are told of a foreign error.

SparkVersion = tuple[int, int]
"""Major and minor version: (3, 5)."""


def deletes_unless(obstacles: Iterator[str]) -> Literal[True] | ObserveOnly:
    """Whether a service may delete early; the first obstacle is the one that people are told."""
    reason = next(obstacles, None)
    return True if reason is None else ObserveOnly(reason)


def of_spark_version(driver: DriverJvm, tried: Sequence[SparkVersion], told: str) -> Iterator[str]:
    """The session's Spark is none of the versions that the service was tried with.

    `told` is the sentence for people, with `{version}` for the session's Spark and `{tried}` for those versions.
    """
    if driver.version not in tried:
        yield told.format(version=spelled([driver.version]), tried=spelled(tried))


def of_any_service(driver: DriverJvm) -> Iterator[str]:
    """What forbids it whatever the service is."""
    if _CONNECT in driver.conf("spark.plugins", ""):
        yield (
            f"this driver serves Spark Connect (spark.plugins has {_CONNECT}): what its clients may still use is not "
            "seen; expected a session of the driver's own: spark.api.mode=classic, and no remote"
        )


def of_client(driver: DriverJvm, name: str, check: Callable[[DriverJvm], Iterable[str]]) -> Iterator[str]:
    """What `check` finds in the client of the service called `name`.

    `check` reaches into the client by reflection. A client other than those that were tried may have nothing of what it
    looks for: whatever it raises then is an obstacle, too.
    """
    try:
        yield from check(driver)
    except Exception as error:  # noqa: BLE001 - as said above
        yield f"{name}'s client is not as expected: {str(error).splitlines()[0][:_TEXT_MAX]}"


def of_manager(driver: DriverJvm, name: str, expected: str) -> Iterator[str]:
    """The session uses another shuffle manager (a class name) than that of the service called `name`."""
    found = str(driver.shuffle_manager.getClass().getName())
    if found != expected:
        yield f"the shuffle manager of this session is {found}, not {name}'s {expected}"


def is_on(driver: DriverJvm, key: str, default: str = "false") -> bool:
    """Whether Spark may take the key for true.

    Spark strips blanks, and replaces references such as `${env:PUSH}`, which are not resolved here: every value but a
    plain `false` counts as true.
    """
    return driver.conf(key, default).strip().lower() != "false"


def spelled(versions: Sequence[SparkVersion]) -> str:
    """`3.5, 4.0`."""
    return ", ".join(f"{major}.{minor}" for major, minor in versions)
