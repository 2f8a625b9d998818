"""The files of one application: what they are called, and what is in them.

Responsible for names, and for content as sealed values. Refuses to know places and stores. Invariant: a name says what
its file holds, and names sort as the log runs; an application's folder is a plain name, whatever its id is.

    <application>/events-<first>-<last>.log    segments as the store held them; `shufflectl --log` reads it
    <application>/snapshot-<sequence>.parts    a snapshot's parts
    <application>/ended.records                its registration and its last head, when it has left the store
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from coordinator.core.ids import ApplicationId
from coordinator.wire import framing, logfile
from coordinator.wire.codec import Segment, decode_segment
from coordinator.wire.errors import Corrupt
from coordinator.wire.records import ApplicationRecord, Head, decode
from coordinator.wire.snapshots import Snapshot, decode_snapshot

SNAPSHOT_MAGIC = b"shuffle-lifecycle snapshot 1\n"
ENDED_MAGIC = b"shuffle-lifecycle ended 1\n"
DIGITS = 20
#: Endings of what stands beside events: snapshots, records, drafts.
BESIDE = (".parts", ".records", ".part")

_EVENTS = re.compile(rf"^(?P<folder>.+)/events-(?P<first>\d{{{DIGITS}}})-(?P<last>\d{{{DIGITS}}})\.log$")
_SNAPSHOT = re.compile(rf"^.+/snapshot-(\d{{{DIGITS}}})\.parts$")


@dataclass(frozen=True, slots=True, order=True)
class EventsFile:
    """A file of consecutive segments."""

    first: int
    last: int
    name: str

    def holds(self, sequence: int) -> bool:
        """Whether this event is in it."""
        return self.first <= sequence <= self.last


@dataclass(frozen=True, slots=True)
class Ended:
    """What is kept of an application that has left the store."""

    record: ApplicationRecord
    head: Head


def folder_of(application: ApplicationId) -> str:
    """The application's folder: no id can name a place outside it."""
    return quote(application, safe="").replace(".", "%2E")


def application_of(folder: str) -> ApplicationId:
    """Whose folder it is."""
    return ApplicationId(unquote(folder))


def events_name(folder: str, first: int, last: int) -> str:
    """The name of a file of events."""
    return f"{folder}/events-{first:0{DIGITS}d}-{last:0{DIGITS}d}.log"


def snapshot_name(folder: str, sequence: int) -> str:
    """The name of a snapshot's file."""
    return f"{folder}/snapshot-{sequence:0{DIGITS}d}.parts"


def ended_name(folder: str) -> str:
    """The name of the last record."""
    return f"{folder}/ended.records"


def events_files(names: Iterable[str]) -> list[EventsFile]:
    """The files of events among these, as the log runs."""
    found = (_EVENTS.match(name) for name in names)
    return sorted(EventsFile(int(m["first"]), int(m["last"]), m[0]) for m in found if m is not None)


def snapshot_sequences(names: Iterable[str]) -> list[int]:
    """Of which events there are snapshots, ascending."""
    return sorted(int(m[1]) for name in names if (m := _SNAPSHOT.match(name)) is not None)


# ---- content ---------------------------------------------------------------------------------------------------------


def events_content(sealed: Iterable[bytes]) -> bytes:
    """A file of these sealed segments."""
    return framing.pack(logfile.MAGIC, sealed)


def sealed_segments(content: bytes, name: str) -> list[bytes]:
    """The sealed segments of a file, each proved whole; raises what is wrong with it."""
    sealed: list[bytes] = []
    expected: int | None = None
    for place, value in framing.unpack(logfile.MAGIC, content, name):
        segment = decode_segment(value, place)
        if expected not in (None, segment.first_sequence):
            raise Corrupt(place, f"the segment begins with record {segment.first_sequence}", f"record {expected}")
        expected = segment.next_sequence
        sealed.append(value)
    return sealed


def segments_by_sequence(sealed: Iterable[bytes]) -> dict[int, bytes]:
    """Sealed segments by the number of their first event."""
    return {decode_segment(value, "a segment").first_sequence: value for value in sealed}


def segments(file: EventsFile, content: bytes) -> list[Segment]:
    """The segments of a file, which must be the ones that its name promises."""
    found = list(logfile.read_log(content, file.name))
    if not found or (found[0].first_sequence, found[-1].next_sequence - 1) != (file.first, file.last):
        held = f"{found[0].first_sequence} to {found[-1].next_sequence - 1}" if found else "none"
        raise Corrupt(file.name, f"it holds events {held}", f"{file.first} to {file.last}, as its name says")
    return found


def snapshot_content(parts: Iterable[bytes]) -> bytes:
    """A file of a snapshot's sealed parts."""
    return framing.pack(SNAPSHOT_MAGIC, parts)


def snapshot(content: bytes, name: str) -> Snapshot:
    """The snapshot in a file."""
    return decode_snapshot([value for _, value in framing.unpack(SNAPSHOT_MAGIC, content, name)], name)


def ended_content(record: bytes, head: bytes) -> bytes:
    """A file of the sealed registration and the sealed last head."""
    return framing.pack(ENDED_MAGIC, (record, head))


def ended(content: bytes, name: str) -> Ended:
    """The last record."""
    values = [value for _, value in framing.unpack(ENDED_MAGIC, content, name)]
    if len(values) != 2:
        raise Corrupt(name, f"it holds {len(values)} records", "2: the registration and the last head")
    return Ended(decode(ApplicationRecord, values[0], name), decode(Head, values[1], name))
