"""Writing to an archive so that what is written may leave the store.

Responsible for reading back everything that was written, and for finding again what an earlier try has left there.
Refuses to know the store, and what is written when. Invariant: what returns without an error is in the archive, byte
for byte, as it was read from there; a file that holds another log is never written over.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.archive import files
from coordinator.archive.api import Archive, NotReadBack, OtherLog
from coordinator.archive.files import Ended, EventsFile
from coordinator.wire.errors import Corrupt, Torn, WireError


def keep(archive: Archive, name: str, content: bytes) -> None:
    """Writes a file, unless it is there already, and reads it back."""
    if _read(archive, name) == content:
        return
    archive.write(name, content)
    back = _read(archive, name)
    if back != content:
        raise NotReadBack(name, "it is not there" if back is None else f"{len(back)} bytes that differ")


def keep_events(archive: Archive, folder: str, first: int, last: int, sealed: Sequence[bytes]) -> EventsFile:
    """Writes these segments, or finds them written by an earlier try; that may have come less far.

    What looks torn may be somebody's who is just writing it: it goes when another file holds all of it.
    """
    there = files.events_files(archive.names(folder))
    tried = [file for file in there if file.first == first and file.last <= last]
    for file in there:
        if file not in tried and file.first <= last and first <= file.last:
            _check_same(archive, file, sealed)
    for file in tried:
        if _holds(archive, file, sealed):
            return file
    kept = _keep_whole(archive, EventsFile(first, last, files.events_name(folder, first, last)), sealed)
    for file in tried:
        if file.name != kept.name:
            archive.remove(file.name)
    return kept


def _check_same(archive: Archive, file: EventsFile, sealed: Sequence[bytes]) -> None:
    """A file that goes further is the one that is read: what it holds of these events must be they."""
    found = _whole(archive, file)
    if found is None:
        return  # nobody reads one that is damaged, where another one holds its events
    theirs, ours = files.segments_by_sequence(found), files.segments_by_sequence(sealed)
    if any(theirs.get(sequence) != ours[sequence] for sequence in ours if file.holds(sequence)):
        raise OtherLog(file.name, "holds other events")


def _keep_whole(archive: Archive, file: EventsFile, sealed: Sequence[bytes]) -> EventsFile:
    """Writes a file of events, and reads it back."""
    keep(archive, file.name, files.events_content(sealed))
    try:
        found = files.sealed_segments(archive.read(file.name), file.name)
    except WireError as error:
        raise NotReadBack(file.name, error) from error
    if found != list(sealed):
        raise NotReadBack(file.name, "other segments")
    return file


def keep_snapshot(archive: Archive, folder: str, sequence: int, parts: Sequence[bytes]) -> None:
    """Writes a snapshot; it and the one before it are kept, older ones go."""
    keep(archive, files.snapshot_name(folder, sequence), files.snapshot_content(parts))
    older = files.snapshot_sequences(archive.names(folder))[:-2]
    for old in older:
        archive.remove(files.snapshot_name(folder, old))


def keep_ended(archive: Archive, folder: str, record: bytes, head: bytes) -> None:
    """Writes the last record of an application that leaves the store; its log may have grown since an earlier try."""
    name = files.ended_name(folder)
    content = files.ended_content(record, head)
    there = _ended(archive, name)
    if there is not None and not _may_follow(there, files.ended(content, name)):
        raise OtherLog(name, "is of another run, or a longer log")
    keep(archive, name, content)


def _ended(archive: Archive, name: str) -> Ended | None:
    """What an earlier try has written; one that is damaged is not relied on as long as the application is here."""
    content = _read(archive, name)
    try:
        return files.ended(content, name) if content is not None else None
    except (Corrupt, Torn):
        return None


def _may_follow(there: Ended, now: Ended) -> bool:
    same = (there.record.application, there.record.registered_ms) == (now.record.application, now.record.registered_ms)
    return same and there.head.next_sequence <= now.head.next_sequence


def _holds(archive: Archive, file: EventsFile, sealed: Sequence[bytes]) -> bool:
    """Whether the file holds the first of these segments; one that is damaged, or gone by now, does not."""
    found = _whole(archive, file)
    if found is not None and found != list(sealed[: len(found)]):
        raise OtherLog(file.name, "holds other events")
    return found is not None


def _whole(archive: Archive, file: EventsFile) -> list[bytes] | None:
    """The sealed segments of a file; None where it is damaged, or gone by now."""
    content = _read(archive, file.name)
    if content is None:
        return None
    try:
        files.segments(file, content)  # all that its name says: it may be cut right behind a segment
        return files.sealed_segments(content, file.name)
    except WireError:
        return None


def _read(archive: Archive, name: str) -> bytes | None:
    try:
        return archive.read(name)
    except FileNotFoundError:
        return None
