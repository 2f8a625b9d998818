"""The watch: an ordered stream of commits.

Responsible for: what a watch is to its reader. Refuses to know: where commits come from.
Invariant: what it yields is in order and has no gap; where that cannot be kept it raises and ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

from state_backend.values import Commit, Revision

_Watch = TypeVar("_Watch", bound="Watch")


class Watch(ABC):
    """One reader's stream: `async for commit in watch`. One task reads it; `close` may come from any task."""

    @property
    @abstractmethod
    def revision(self) -> Revision:
        """Everything up to here was yielded or concerned other keys; a new watch goes on at this + 1."""

    @abstractmethod
    async def __anext__(self) -> Commit:
        """Waits for the next commit. Raises `Compacted`, `Denied`, `Closed`; a closed watch ends its loop."""

    @abstractmethod
    async def close(self) -> None:
        """Ends the loop of the reader. May be repeated."""

    def __aiter__(self: _Watch) -> _Watch:
        return self

    async def __aenter__(self: _Watch) -> _Watch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
