"""What a recorded run reports: commands with their times, and which of them hold under any policy.

Responsible for the value that a simulation is driven by. Refuses to know where it was recorded. Invariant: facts are in
the order in which they were reported, and one that only happened because of the recorded policy says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from coordinator.core import events as e
from coordinator.core.commands import Command, RegisterApplication, ReportJobStarted, ReportLineage, Resync
from coordinator.core.ids import ApplicationId
from coordinator.core.values import Driver, Lineage


class Kind(Enum):
    """What a recorded command is to a simulation."""

    FACT = "fact"  #: What Spark did, looks found and people wished for: it happens under every policy.
    ASKED = "asked"  #: A task or the driver asked; what it asks for may never have been missing under another policy.
    CLOCK = "clock"  #: Time had passed and something was due.
    OUTCOME = "outcome"  #: The driver answered a directive.
    KEPT = "kept"  #: The coordinator's own book-keeping about its clients; nothing follows from it.


@dataclass(frozen=True, slots=True)
class Fact:
    """One recorded command; None where an event was merely kept.

    ``again``: the stage ran, or somebody asked, only because the recorded policy had deleted what is written or asked
    for. Under another policy that may not happen.
    """

    time_ms: int
    command: Command | None
    kind: Kind = Kind.FACT
    again: bool = False
    event: e.Event | None = None  #: What is kept, where there is no command.
    held_bytes: int = 0  #: Of a report of a disk: what all generations together held then, as recorded.


#: Milliseconds since the epoch and what was reported then: what a Spark history log gives. All of it happened.
Timed: TypeAlias = tuple[int, Command]


def as_facts(told: Iterable[Fact | Timed]) -> list[Fact]:
    """Recorded commands, all as facts. Where the first registers no application, an unnamed one is put before it."""
    facts = [one if isinstance(one, Fact) else Fact(*one) for one in told]
    if facts and not any(isinstance(fact.command, RegisterApplication) for fact in facts[:1]):
        unnamed = RegisterApplication(ApplicationId(""), Driver())
        facts.insert(0, Fact(facts[0].time_ms, unnamed))
    return facts


def lineage_in(command: Command | None) -> Iterator[Lineage]:
    """The lineage that a command tells: of a job that starts, ahead of one, or of each job that runs at a resync."""
    jobs = command.jobs if isinstance(command, Resync) else (command,)
    for told in jobs:
        if isinstance(told, (ReportJobStarted, ReportLineage)):
            yield from told.lineage
