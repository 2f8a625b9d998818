"""When a snapshot of one application is due, and taking it while its engine goes on committing.

Responsible for the rule, and for at most one snapshot under way. Refuses to know how a state is written (`snapshot`),
and how the head is changed: the engine does that, in its turn. Invariant: a snapshot that fails stops nothing else; it
is logged, and tried again later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from coordinator import logs
from coordinator.core.ids import ApplicationId, Sequence
from coordinator.core.state import State, copy, rows
from coordinator.core.sweep import is_closed
from coordinator.runtime.errors import CoordinatorError
from coordinator.runtime.loading import Loaded
from coordinator.runtime.snapshot import Snapshots
from coordinator.wire.records import Head
from state_backend.errors import StateBackendError

log = logs.logger(__name__)


class Snapshotting:
    """For one application."""

    def __init__(
        self,
        application: ApplicationId,
        snapshots: Snapshots,
        every_events: int,
        name: Callable[[int, int], Awaitable[Head]],
    ) -> None:
        """``name``: has the head name the snapshot of a sequence number, with so many parts; gives the head then."""
        self.task: asyncio.Task[None] | None = None  #: The newest one, under way or over.
        self._application = application
        self._snapshots = snapshots
        self._every_events = every_events
        self._name = name
        self._failed_at = 0  #: The last event of the newest snapshot that a defect of ours has kept from being written.
        self._found = self._begun_after = Sequence(0)

    def loaded(self, loaded: Loaded) -> None:
        """Notes the snapshot that was found, and where this replica began: one that it passed over counts for none."""
        self._found, self._begun_after = loaded.mark.head.last_snapshot, loaded.begun_after

    def begin_if_due(self, state: State, head: Head) -> None:
        """Begins a snapshot of a copy of the state, if one is due."""
        if self._is_due(state, head):
            self.task = asyncio.create_task(self._take(copy(state)), name="snapshot")

    def _is_due(self, state: State, head: Head) -> bool:
        """Whether as many events have come since the last one as the options say, and as many as the state has rows.

        So a replica that takes over has few events to fold, and a large state is not written for a few events. The last
        one is the last that could be read: after one of other rules, or a damaged one, a new one is due soon. A closed
        application gets none: nothing follows in its log, and what takes it out of the store removes its snapshots
        first.
        """
        if is_closed(state):
            return False
        last = self._begun_after if head.last_snapshot == self._found else head.last_snapshot
        behind = state.meta.next_sequence - 1 - max(last, self._failed_at)
        if behind < self._every_events:
            return False
        under_way = self.task is not None and not self.task.done()
        return not under_way and behind >= rows(state)

    async def _take(self, state: State) -> None:
        """Writes the state beside the log, then has the head name it.

        If the store refuses, the next commit tries again; after a defect of ours it is tried again when as many events
        more have come.
        """
        try:
            parts = await self._snapshots.write(state)
            if parts is not None:
                await self._snapshots.prune(await self._name(state.meta.next_sequence - 1, parts))
        except (StateBackendError, CoordinatorError) as error:
            log.warning("no snapshot", application=self._application, error=str(error))
        except Exception:
            self._failed_at = state.meta.next_sequence - 1
            log.exception("a defect in a snapshot", application=self._application)
