"""Several tries at one part of a log.

Responsible for which file to read where archiving broke off, and a longer one was begun beside it. Refuses to know
places: who asks brings the reading. Invariant: one that is whole goes before those that are torn, and one that is there
by itself is not read for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coordinator.archive import files
from coordinator.archive.api import ArchiveError
from coordinator.archive.files import EventsFile
from coordinator.wire.errors import WireError


def furthest(tries: Iterable[EventsFile], read: Callable[[str], bytes]) -> EventsFile | None:
    """The one that goes furthest and is whole; where none is, the one that goes furthest. None: there is none."""
    known = sorted(tries, key=lambda one: one.last, reverse=True)
    if len(known) == 1:
        return known[0]
    return next((one for one in known if _is_whole(one, read)), known[0] if known else None)


def _is_whole(file: EventsFile, read: Callable[[str], bytes]) -> bool:
    try:
        files.segments(file, read(file.name))
    except (WireError, ArchiveError, OSError):
        return False
    return True
