"""A program in small: handles as PySpark has them, and py4j's real proxies without a JVM.

Responsible for: classes that hold each other as PySpark's do; a client that py4j's own proxies accept; names as a test
says they are.
Refuses to know: what is tested.
Invariant: proxies and members are py4j's own classes, so its cycles are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from py4j.java_gateway import JavaObject

from listener_bridge.reach.liveness import Dead, Name, Wanted


@dataclass
class Memory:
    auto_field: bool = False
    pool: Any = None
    enable_memory_management: bool = True


@dataclass
class Client:
    """What a proxy asks of its gateway's client. `said`: the commands that were sent."""

    gateway_property: Memory = field(default_factory=Memory)
    address: str = "nowhere"
    port: int = 0
    converters: tuple[()] = ()
    said: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    def garbage_collect_object(self, target_id: str) -> None:
        self.dropped.append(target_id)

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> str:
        self.said.append(command)
        return "yv"

    def __hash__(self) -> int:
        return id(self)


class Rdd:
    """A handle with a JVM object."""

    def __init__(self, jrdd: JavaObject) -> None:
        self._jrdd = jrdd

    def toLocalIterator(self) -> Any:  # noqa: N802 - as PySpark calls it
        return (number for number in range(3))


class Pipelined(Rdd):
    """A handle made of another one, not evaluated yet."""

    def __init__(self, prev: Rdd) -> None:
        self._prev_jrdd: JavaObject = prev._jrdd if not isinstance(prev, Pipelined) else prev._prev_jrdd
        self.prev = prev


def names(
    *dead: object,
    alive: Mapping[int, tuple[Name, ...]] | None = None,
    held: Callable[[], tuple[object, ...]] = tuple,
) -> Callable[..., Dead]:
    """Says of each of `dead` that one of its references is a dead name. `held`: what names hold, but for handles."""
    places: dict[int, int] = {}
    for thing in dead:
        places[id(thing)] = places.get(id(thing), 0) + 1
    said = Dead(places, alive or {})

    def read(is_own: Callable[[FrameType], bool], wanted: Wanted | None = None) -> Dead:
        return said if wanted is None else replace(said, held=tuple(one for one in held() if wanted(type(one))))

    return read
