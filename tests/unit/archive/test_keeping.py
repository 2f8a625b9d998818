"""Only what was read back counts as archived, and nothing of another log is written over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.archive import files, keeping
from coordinator.archive.api import ArchiveAway, NotReadBack, OtherLog
from coordinator.archive.folder import Folder
from coordinator.core.events import ApplicationRegistered
from coordinator.core.ids import ApplicationId, Sequence
from coordinator.wire.codec import encode_segment
from coordinator.wire.errors import Corrupt, Torn
from coordinator.wire.logfile import read_log
from coordinator.wire.records import ApplicationRecord, Head, encode
from tests.unit.replay.logs import deleted_and_missed

SEGMENTS = deleted_and_missed().segments()
SEALED = [encode_segment(segment) for segment in SEGMENTS]
FIRST, LAST = SEGMENTS[0].first_sequence, SEGMENTS[-1].next_sequence - 1


class Forgetful(Folder):
    """Loses the end of whatever is written."""

    def write(self, name: str, content: bytes) -> None:
        super().write(name, content[:-3])


def test_a_file_of_events_is_an_exported_log(tmp_path: Path) -> None:
    archive = Folder(tmp_path)
    file = keeping.keep_events(archive, "app", FIRST, LAST, SEALED)
    assert list(read_log((tmp_path / file.name).read_bytes())) == list(SEGMENTS)
    assert files.segments(file, archive.read(file.name)) == list(SEGMENTS)
    assert files.events_files(archive.names("app")) == [file]


def test_what_does_not_read_back_is_not_archived(tmp_path: Path) -> None:
    with pytest.raises(NotReadBack, match="did not read back"):
        keeping.keep_events(Forgetful(tmp_path), "app", FIRST, LAST, SEALED)


def test_an_earlier_try_is_found_again_even_where_it_came_less_far(tmp_path: Path) -> None:
    archive = Folder(tmp_path)
    half = len(SEGMENTS) // 2
    earlier = keeping.keep_events(archive, "app", FIRST, SEGMENTS[half - 1].next_sequence - 1, SEALED[:half])
    assert keeping.keep_events(archive, "app", FIRST, LAST, SEALED) == earlier
    assert len(archive.names("app")) == 1


@pytest.mark.parametrize("left", [files.events_content(SEALED)[:-5], *map(files.events_content, (SEALED[:-1], []))])
def test_a_torn_try_is_written_anew(tmp_path: Path, left: bytes) -> None:
    """Also where it was cut right behind a segment, or before the first: what it lacks would leave the store."""
    archive = Folder(tmp_path)
    name = files.events_name("app", FIRST, LAST)
    archive.write(name, left)
    assert keeping.keep_events(archive, "app", FIRST, LAST, SEALED).name == name
    assert archive.read(name) == files.events_content(SEALED)


def test_what_somebody_is_just_writing_is_not_taken_away(tmp_path: Path) -> None:
    """Two chores may archive an application at one time, and a place may show a file before all of it is there."""
    half = len(SEGMENTS) // 2
    middle = SEGMENTS[half - 1].next_sequence - 1
    name = files.events_name("app", FIRST, middle)

    class Shared(Folder):
        is_full = True

        def read(self, name: str) -> bytes:
            found = super().read(name)
            if found == b"":
                super().write(name, files.events_content(SEALED[:half]))  # the other comes to its end
            return found

        def write(self, name: str, content: bytes) -> None:
            if self.is_full:
                raise ArchiveAway(self.where, "it is full")
            super().write(name, content)

    archive = Shared(tmp_path)
    Folder(tmp_path).write(name, b"")
    with pytest.raises(ArchiveAway):
        keeping.keep_events(archive, "app", FIRST, LAST, SEALED)
    assert archive.read(name) == files.events_content(SEALED[:half])
    Folder(tmp_path).write(name, files.events_content(SEALED[:half])[:-5])
    archive.is_full = False
    kept = keeping.keep_events(archive, "app", FIRST, LAST, SEALED)
    assert files.events_files(archive.names("app")) == [kept], "what is torn goes when another file holds all of it"


def test_another_log_is_not_written_over(tmp_path: Path) -> None:
    archive = Folder(tmp_path)
    other = [encode_segment(replace(segment, writer="somebody else")) for segment in SEGMENTS]
    keeping.keep_events(archive, "app", FIRST, LAST, other)
    with pytest.raises(OtherLog, match="Give each store its own"):
        keeping.keep_events(archive, "app", FIRST, LAST, SEALED)
    assert archive.read(files.events_name("app", FIRST, LAST)) == files.events_content(other)


HALF = len(SEGMENTS) // 2
MIDDLE = SEGMENTS[HALF].first_sequence


@pytest.mark.parametrize("begins", [0, HALF], ids=["from its beginning", "from its middle"])
def test_nothing_is_put_beside_another_log_that_goes_further(tmp_path: Path, begins: int) -> None:
    """As where a store was set back to a copy: what is read is the file that goes furthest."""
    archive = Folder(tmp_path)
    later = [*SEGMENTS[:1], *(replace(segment, writer="before it was set back") for segment in SEGMENTS[1:])]
    other = keeping.keep_events(archive, "app", FIRST, LAST, list(map(encode_segment, later)))
    ours = SEGMENTS[begins:-1]
    first, last = ours[0].first_sequence, ours[-1].next_sequence - 1
    with pytest.raises(OtherLog, match="holds other events"):
        keeping.keep_events(archive, "app", first, last, list(map(encode_segment, ours)))
    assert files.events_files(archive.names("app")) == [other]


@pytest.mark.parametrize(
    "left",
    [*map(files.events_content, (SEALED, SEALED[:1], [])), files.events_content(SEALED)[:-5], b""],
    ids=["whole", "cut behind a segment", "cut before the first", "torn", "empty"],
)
def test_beside_a_try_that_came_further_all_is_written(tmp_path: Path, left: bytes) -> None:
    archive = Folder(tmp_path)
    archive.write(files.events_name("app", FIRST, LAST), left)
    for first, last, sealed in ((FIRST, MIDDLE - 1, SEALED[:HALF]), (MIDDLE, LAST, SEALED[HALF:])):
        kept = keeping.keep_events(archive, "app", first, last, sealed)
        assert files.sealed_segments(archive.read(kept.name), kept.name) == sealed


def test_two_snapshots_are_kept(tmp_path: Path) -> None:
    archive = Folder(tmp_path)
    for sequence in (10, 20, 20, 30):
        keeping.keep_snapshot(archive, "app", sequence, [b"a part"])
    assert files.snapshot_sequences(archive.names("app")) == [20, 30]


def ended(next_sequence: int, registered_ms: int = 1) -> tuple[bytes, bytes]:
    registration = SEGMENTS[0].records[0].event
    assert isinstance(registration, ApplicationRegistered)
    record = ApplicationRecord(
        ApplicationId("app"),
        registration.driver,
        registration.capabilities,
        registration.policy,
        registration.settings,
        registered_ms=registered_ms,
    )
    return encode(record), encode(Head(Sequence(next_sequence)))


def test_the_last_record_may_be_of_a_log_that_has_grown(tmp_path: Path) -> None:
    archive = Folder(tmp_path)
    keeping.keep_ended(archive, "app", *ended(7))
    keeping.keep_ended(archive, "app", *ended(9))
    found = files.ended(archive.read(files.ended_name("app")), "here")
    assert (found.record.application, found.head.next_sequence) == ("app", 9)
    for wrong in (ended(8), ended(9, registered_ms=2)):
        with pytest.raises(OtherLog):
            keeping.keep_ended(archive, "app", *wrong)


@pytest.mark.parametrize("left", [0, 3, -5])
def test_a_last_record_that_is_torn_is_written_anew(tmp_path: Path, left: int) -> None:
    """It is not relied on before the application has left; else it would keep it in the store for ever."""
    archive = Folder(tmp_path)
    archive.write(files.ended_name("app"), files.ended_content(*ended(7))[:left])
    keeping.keep_ended(archive, "app", *ended(7))
    assert archive.read(files.ended_name("app")) == files.ended_content(*ended(7))


def test_a_file_must_hold_what_its_name_says(tmp_path: Path) -> None:
    file = files.EventsFile(FIRST, LAST + 1, files.events_name("app", FIRST, LAST + 1))
    with pytest.raises(Corrupt, match="as its name says"):
        files.segments(file, files.events_content(SEALED))
    with pytest.raises(Torn):
        files.segments(file, files.events_content(SEALED)[:-1])
    with pytest.raises(Corrupt, match="it begins with"):
        files.snapshot(files.events_content(SEALED), "a snapshot")


@pytest.mark.parametrize("name", ["../../etc", "..", ".", "a/b", "0190b2c4-5d6e-7f80-9a1b-2c3d4e5f6071", "ä %2E"])
def test_no_id_leads_out_of_the_archive(tmp_path: Path, name: str) -> None:
    folder = files.folder_of(ApplicationId(name))
    assert files.application_of(folder) == name
    Folder(tmp_path / "archive").write(f"{folder}/x", b"")
    assert [path.parent.parent for path in tmp_path.rglob("x")] == [tmp_path / "archive"]
