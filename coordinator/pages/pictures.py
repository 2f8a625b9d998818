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
    told: bytes = b""
    told_sequence: int = 0


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
            await self._catch_up(application, kept.picture)
            if after and kept.picture.last_sequence == after:
                return None
            if kept.told_sequence != kept.picture.last_sequence or not kept.told:
                kept.told = (await _aside(partial(data, kept.picture))).encode()
                kept.told_sequence = kept.picture.last_sequence
            return kept.told

    async def _catch_up(self, application: ApplicationId, picture: Picture) -> None:
        for _ in range(_AT_ONCE // _PAGE):
            found = await self._coordinator.events(application, picture.last_sequence, _PAGE)
            await _aside(partial(_hear, picture, found))
            if len(found) < _PAGE:
                return


async def _aside(run: Callable[[], T]) -> T:
    """In a thread. A thread cannot be cancelled: who is, waits for its end, so that the next question draws alone."""
    drawing = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(drawing)
    except asyncio.CancelledError:
        await asyncio.wait((drawing,))
        raise


def _hear(picture: Picture, records: list[Recorded]) -> None:
    for recorded in records:
        picture.hear(recorded)
