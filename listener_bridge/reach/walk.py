"""The JVM's half of a look: every root that lives in the driver's JVM, and the shuffles in its cut.

Responsible for: compiling and attaching the Java that walks plans, lineages and what py4j binds, asking it for one look
at a time, and handing over what it found as values.
Refuses to know: which names of the program are dead (it is told), and which calls are under way.
Invariant: a look reads what is there and computes nothing; it leaves no reference behind in the JVM; whatever goes
wrong with it keeps more, never less.

Everything is in one call, answered with one text: a call costs a round trip, and every Java object that an answer held
would be one more root of the next look.
"""

from __future__ import annotations

import json
from typing import Any

from listener_bridge.reach.findings import Found, Kind, Program, Root, TargetId
from listener_bridge.tap import jvm
from listener_bridge.tap.tap import Tap

DEADLINE_SECONDS = 2.0  # of one look; a late one tells nothing


class Walker:
    """Walks one application. Made from its tap, used by one thread at a time: never the scheduler's or a listener's."""

    def __init__(self, tap: Tap) -> None:
        driver = tap.driver
        self._deadline_ms = int(DEADLINE_SECONDS * 1000)
        loader = driver.load(jvm.sources_beside(__file__), parent=tap.loader)
        server = driver.gateway.java_gateway_server
        self._java = driver.construct(loader, "Walk", driver.context, driver.map_output_tracker, server)

    def warm(self) -> None:
        """Take a look for nothing: the first one in a JVM loads its classes, which takes a hundred times as long."""
        self.walk(Program())

    def walk(self, program: Program, announced: frozenset[int] = frozenset()) -> Found:
        """One look. It never raises: what kept it from looking is in `everything`.

        `announced`: app shuffles behind which the coordinator goes on by itself (`announced`).
        """
        try:
            answer = json.loads(
                self._java.look(" ".join(program.dead), " ".join(map(str, announced)), self._deadline_ms)
            )
        except Exception as error:  # noqa: BLE001 - a stopped context, a lost gateway: states of the world, told as values
            return Found((), f"the driver's JVM did not look: {str(error)[:500]}")
        roots = tuple(_root(row, program) for row in answer["roots"])
        return Found(roots, answer["everything"], answer["jvm_ns"] / 1e9)

    def close(self) -> None:
        """Leave the bus. Harmless when repeated, and after the application has ended."""
        try:
            self._java.close()
        except Exception:  # noqa: BLE001 - the application is over, and its bus with it
            return


def _root(row: list[Any], program: Program) -> Root:
    root, kind, why, needs = row
    return Root(root, Kind(kind), frozenset(needs), program.names.get(TargetId(root), why))
