"""What adapters have in common whose verbs are Java in the driver: calling them, and reading what they answer.

Responsible for: locators that begin with `application/app shuffle/generation`, whether one is of this application, and
the values that the Java's JSON stands for.
Refuses to know: any service.
Invariant: where the session must only be observed there is no Java, and every verb refuses; what the JVM throws is told
as a value, since a stopped context and a lost gateway are states of the world.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from listener_bridge.shuffle_services import api
from listener_bridge.tap.jvm import JavaObject
from listener_bridge.tap.tap import Tap

_ANY_GENERATION = -1
_UNREGISTERED_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Named:
    """What a locator names: a generation by its count, and by what the service itself calls it, part by part."""

    app_shuffle: int
    generation: int
    parts: tuple[str, ...]


class InTheDriver:
    """An adapter. One an application, made from its tap; a service says how its locators end, and what Java takes."""

    service: str
    name: str  #: For people.

    def __init__(self, tap: Tap, capability: api.Capability, attach: Callable[[Tap], JavaObject]) -> None:
        self._driver = tap.driver
        self._application = str(tap.driver.context.applicationId())
        self._capability = capability
        self._java = attach(tap) if capability.deletes is True else None
        self._unregistered: dict[int, None] = {}

    # ---- what a service says ----

    def _present(self, java: JavaObject, app_shuffle: int) -> str:
        """The end of the present generation's locator, from its count on; empty: there is none."""
        return str(java.holds(app_shuffle))

    def _is_whole(self, parts: tuple[str, ...]) -> bool:
        """Whether a locator ends as this service's do."""
        raise NotImplementedError

    def _arguments(self, named: Named) -> tuple[object, ...]:
        """What the service's `free` and `forget` take between the app shuffle and the limit."""
        raise NotImplementedError

    # ---- the contract ----

    def probe(self) -> api.Capability:
        return self._capability

    def holds(self, app_shuffle: int) -> api.Held | api.NotHeld:
        present = "" if self._java is None else self._present(self._java, app_shuffle)
        if not present:
            return api.NotHeld(f"{self.name} has no outputs of app shuffle {app_shuffle}")
        return api.Held(self._locator(app_shuffle, present))

    def fence(self, app_shuffle: int, timeout_s: float, generation: api.Locator | None = None) -> api.FenceOutcome:
        expected = _ANY_GENERATION
        if generation is not None:
            named = self._read(generation)
            if named is None or named.app_shuffle != app_shuffle:
                return api.Cannot(self._not_ours(generation))
            expected = named.generation
        return self._fence_outcome(self._ask(lambda java: java.fence(app_shuffle, expected, _ms(timeout_s))))

    def invalidate(self, locator: api.Locator, timeout_s: float) -> api.FenceOutcome:
        named = self._read(locator)
        if named is None:
            return api.Cannot(self._not_ours(locator))
        return self.fence(named.app_shuffle, timeout_s, locator)

    def keeps(self, app_shuffle: int) -> str:  # noqa: ARG002 - where a fence is never refused for good
        return ""

    def free(self, locator: api.Locator, timeout_s: float) -> api.FreeOutcome:
        named = self._read(locator)
        if named is None:
            return api.Failed(self._not_ours(locator))
        limit = _ms(timeout_s)
        return _free_outcome(self._ask(lambda java: java.free(named.app_shuffle, *self._arguments(named), limit)))

    def forget(self, locator: api.Locator, timeout_s: float) -> api.ForgetOutcome:
        named = self._read(locator)
        if named is None:
            return api.Failed(self._not_ours(locator))
        limit = _ms(timeout_s)
        answer = self._ask(lambda java: java.forget(named.app_shuffle, *self._arguments(named), limit))
        return api.Busy(tuple(answer["who"])) if answer["e"] == "busy" else _free_outcome(answer)

    def close(self) -> None:
        """Nothing to let go of: fences and counts must outlive us, for as long as the context."""

    # ---- there and back ----

    def _ask(self, verb: Callable[[JavaObject], str]) -> dict[str, Any]:
        if self._java is None:
            return {"e": "cannot", "why": str(self._capability.deletes)}
        try:
            answer: dict[str, Any] = json.loads(verb(self._java))
        except Exception as error:  # noqa: BLE001 - a stopped context, another client: states of the world, told as values
            return {"e": "failed", "why": f"the driver's JVM did not say what became of it: {str(error)[:500]}"}
        return answer

    def _fence_outcome(self, answer: dict[str, Any]) -> api.FenceOutcome:
        kind = answer["e"]
        if kind == "fenced":
            present = answer["locator"] or str(answer["generation"])
            return api.Fenced(self._locator(answer["shuffle"], present), answer["bytes"], answer["marker"])
        if kind == "busy":
            return api.Busy(tuple(answer["who"]))
        if kind == "superseded":
            return api.Superseded(answer["by"])
        if kind == "unregistered":
            return self._gone(answer["shuffle"])
        if kind == "failed":
            return api.Failed(answer["why"])
        return api.Cannot(answer["why"])

    def _gone(self, app_shuffle: int) -> api.FenceOutcome:
        """Spark's cleaner says so itself, a moment later; what cleans without a word is believed when asked again."""
        why = f"app shuffle {app_shuffle} is not registered with Spark: never written, or cleaned"
        if app_shuffle in self._unregistered:
            del self._unregistered[app_shuffle]
            return api.Superseded(f"nothing: {why}")
        if len(self._unregistered) >= _UNREGISTERED_MAX:
            del self._unregistered[next(iter(self._unregistered))]
        self._unregistered[app_shuffle] = None
        return api.Cannot(why)

    def _locator(self, app_shuffle: int, present: str) -> api.Locator:
        return api.Locator(self.service, f"{self._application}/{app_shuffle}/{present}")

    def _read(self, locator: api.Locator) -> Named | None:
        application, *rest = locator.payload.split("/")
        if locator.service != self.service or application != self._application:
            return None
        if len(rest) < 2 or not all(count.isdigit() for count in rest[:2]) or not self._is_whole(tuple(rest[2:])):
            return None
        return Named(int(rest[0]), int(rest[1]), tuple(rest[2:]))

    def _not_ours(self, locator: api.Locator) -> str:
        return f"{locator} is not of this application; expected service {self.service!r}, payload {self._application}/…"


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _free_outcome(answer: dict[str, Any]) -> api.FreeOutcome:
    kind = answer["e"]
    if kind == "freed":
        return api.Freed(answer["bytes"])
    if kind == "superseded":
        return api.Superseded(answer["by"])
    return api.Failed(answer["why"])
