"""Pictures of live applications, kept up to date as they are asked for.

Responsible for catching up with the log and for the numbers as bytes. Refuses to know who asks. Invariant: at most so
many pictures are kept, and one question reads at most so many events: a long log is drawn in several steps, and says
how far it is. One thread at a time draws in a picture, also where its question is given up.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId
from coordinator.runtime.api import Coordinator
from replay.timeline.collect import Picture
from replay.timeline.page import data

T = TypeVar("T")

#: Pictures that are kept; the one that was asked for longest ago goes first, and is drawn anew when asked for again.
_KEPT = 8
_PAGE = 1_000
#: Events that one question reads at the most.
_AT_ONCE = 20_000


@dataclass(slots=True)
class _Kept:
    picture: Picture = field(default_factory=Picture)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    heard: Recorded | None = None  #: The last event that is drawn.
    told: bytes = b""
    told_sequence: int = 0

    def begin_anew(self) -> None:
        """Its log has become another one."""
        self.picture, self.heard, self.told = Picture(), None, b""


class Pictures:
    """All pictures of one replica."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._kept: OrderedDict[ApplicationId, _Kept] = OrderedDict()

    async def numbers(self, application: ApplicationId, after: int) -> bytes | None:
        """The picture's numbers as JSON; None where nothing has happened after this event. Raises what reading does."""
        await self._coordinator.registration(application)  # an unknown one takes no place here
        kept = self._kept.setdefault(application, _Kept())
        self._kept.move_to_end(application)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        async with kept.lock:
            before = kept.picture
            await self._catch_up(application, kept)
            if after and kept.picture is before and before.last_sequence == after:
                return None
            if kept.told_sequence != kept.picture.last_sequence or not kept.told:
                kept.told = (await _aside(partial(data, kept.picture))).encode()
                kept.told_sequence = kept.picture.last_sequence
            return kept.told

    async def _catch_up(self, application: ApplicationId, kept: _Kept) -> None:
        for _ in range(_AT_ONCE // _PAGE):
            found = await self._following(application, kept)
            await _aside(partial(_hear, kept, found))
            if len(found) < _PAGE:
                return

    async def _following(self, application: ApplicationId, kept: _Kept) -> list[Recorded]:
        """Behind the last event that was heard, where that is still there; else the store was set back to a copy."""
        if kept.heard is not None:
            found = await self._coordinator.events(application, kept.heard.sequence - 1, _PAGE + 1)
            if found[:1] == [kept.heard]:
                return found[1:]
            kept.begin_anew()
        return await self._coordinator.events(application, 0, _PAGE)


async def _aside(run: Callable[[], T]) -> T:
    """In a thread. A thread cannot be cancelled: who is, waits for its end, so that the next question draws alone."""
    drawing = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(drawing)
    except asyncio.CancelledError:
        await asyncio.wait((drawing,))
        raise


def _hear(kept: _Kept, records: list[Recorded]) -> None:
    for recorded in records:
        kept.picture.hear(recorded)
        kept.heard = recorded
