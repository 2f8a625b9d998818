"""A watch over a store that can be read by revision.

Responsible for: reading on from the last revision whenever something changed. Refuses to know: what keeps the history.
Invariant: the signal is cleared before the history is read, so a commit between the two wakes the reader again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass

from state_backend.signal import Signal
from state_backend.values import Commit, Keyspace, Revision
from state_backend.watch import Watch


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of history: the commits that matter, and the revision up to which there is no other."""

    commits: tuple[Commit, ...]
    through_revision: Revision


class History(ABC):
    """A store whose commits can be read again, until they are compacted."""

    @abstractmethod
    async def read_commits(self, keyspace: Keyspace, prefix: str, from_revision: Revision) -> Stretch:
        """The next commits from a revision on, not necessarily all. Raises `Compacted`."""


class FollowingWatch(Watch):
    """Reads the history, then waits for the signal, and so on."""

    def __init__(
        self, history: History, signal: Signal, keyspace: Keyspace, prefix: str, from_revision: Revision
    ) -> None:
        self._history = history
        self._signal = signal
        self._keyspace = keyspace
        self._prefix = prefix
        self._through = Revision(from_revision - 1)
        self._ready: deque[Commit] = deque()
        self._changed = signal.subscribe()
        self._closed = False

    @property
    def revision(self) -> Revision:
        return Revision(self._ready[0].revision - 1) if self._ready else self._through

    async def __anext__(self) -> Commit:
        while not self._closed:
            if self._ready:
                return self._ready.popleft()
            self._changed.clear()
            if not await self._read_on():
                await self._changed.wait()
        raise StopAsyncIteration

    async def close(self) -> None:
        self._closed = True
        self._changed.set()
        self._signal.unsubscribe(self._changed)

    async def _read_on(self) -> bool:
        """Whether the history went on since the last time."""
        before = self._through
        stretch = await self._history.read_commits(self._keyspace, self._prefix, Revision(before + 1))
        self._ready.extend(stretch.commits)
        self._through = Revision(max(before, stretch.through_revision))
        return self._through > before
