"""What a replica tells those who count.

Responsible for the moments that somebody may want to count, and for what is so at a moment. Refuses to count, and to
know who does. Invariant: an observer changes nothing: what it raises is logged, and the work goes on.

Each replica tells of its own commits alone, so that figures of several replicas can be added; what stands is told of
applications whose session it holds, which is one replica each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.core.state import State


@dataclass(frozen=True, slots=True)
class Committed:
    """One commit of this replica, durable now. ``before``: the state that it changes; to be read at once, not kept."""

    application: ApplicationId
    records: Sequence[Recorded]
    before: State
    requests: int  #: Answered by it.
    seconds: float  #: From the first try to the store's answer.


@dataclass(frozen=True, slots=True)
class Standing:
    """What is so on a replica. ``held``: the states of the applications whose session it holds; not to be changed."""

    sessions: int
    applications: int  #: In memory.
    held: dict[ApplicationId, State]


class Observer:
    """Hears what a replica does. This one does nothing with it."""

    def committed(self, commit: Committed) -> None:
        """A commit is durable."""

    def conflicted(self, application: ApplicationId) -> None:
        """Another replica was faster: the draft is decided anew."""

    def refused(self, application: ApplicationId) -> None:
        """The store refused, or did not say what came of it, and is asked again; `ALL`: for the replica itself."""
