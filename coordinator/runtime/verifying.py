"""Proving that an application's log is whole, and that everything beside it says what it says.

Responsible for reading store and archive as one log from its first event to its last, and for comparing every snapshot
and every record with the fold. Refuses to mend anything. Invariant: a log without problems can be replayed from
anywhere, and whatever was acknowledged is in it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from coordinator.archive.api import ArchiveError
from coordinator.core.digest import digest
from coordinator.core.ids import ApplicationId, Sequence
from coordinator.core.lifecycle import Life
from coordinator.core.proving import Broken, Proof
from coordinator.runtime import loading, places
from coordinator.runtime.errors import CoordinatorError
from coordinator.runtime.journal import Journal, Mark
from coordinator.runtime.moves import deleted_text, lost_text
from coordinator.runtime.snapshot import Snapshots, checked
from coordinator.runtime.tail import known_mark
from coordinator.wire.codec import Segment
from coordinator.wire.errors import OtherRules, WireError
from coordinator.wire.records import GenerationRecord, decode
from coordinator.wire.snapshots import decode_snapshot
from state_backend.api import StateBackend
from state_backend.errors import Compacted, Corrupt
from state_backend.values import Keyspace, Revision

_ALIVE = (Keyspace.LIVE, Keyspace.EXPIRED, Keyspace.FENCED)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found. ``archived_below``: events below it come from the archive; 0: none do."""

    application: ApplicationId
    events: int
    archived_below: int
    snapshots: int  #: That were compared.
    problems: tuple[str, ...]
    broken: tuple[Broken, ...] = ()  #: Of the first step after which something does not hold that must.


async def verify(backend: StateBackend, journal: Journal, snapshots: Snapshots) -> Verdict:
    """Reads everything. Raises `UnknownApplication`, and what the store says."""
    verifier = _Verifier(backend, journal, snapshots, *await known_mark(journal))
    while True:
        try:
            return await verifier.run()
        except Compacted:  # what was proved stays so: reading may take longer than the store's history is
            verifier.go_on(*await known_mark(journal))


def prove_segment(proof: Proof, segment: Segment) -> None:
    """Folds a segment into the proof's state; a step ends where a commit does."""
    for recorded in segment.records:
        proof.take(recorded)
    proof.rest()
    loading.pass_over(proof.state, segment)


class _Verifier:
    def __init__(self, backend: StateBackend, journal: Journal, snapshots: Snapshots, mark: Mark, at: Revision) -> None:
        self._backend = backend
        self._journal = journal
        self._snapshots = snapshots
        self._mark = mark
        self._at = at
        self._proof = Proof()
        self._state = self._proof.state
        self._problems: list[str] = []
        self._wanted: dict[int, str] | None = None  #: Digests of snapshots that are not compared yet.
        self._compared = 0

    def go_on(self, mark: Mark, at: Revision) -> None:
        """The log may have grown since."""
        self._mark, self._at = mark, at

    async def run(self) -> Verdict:
        if await self._fold():
            await self._compare_records()
        return Verdict(
            self._journal.application,
            self._state.meta.next_sequence - 1,
            self._mark.head.archived_below,
            self._compared,
            (*map(str, self._proof.broken), *self._problems),
            self._proof.broken,
        )

    async def _compare_records(self) -> None:
        before = list(self._problems)
        try:
            self._problems += [problem async for problem in self._records()]
        except Corrupt as error:
            self._problems.append(str(error))
        except Compacted:
            self._problems = before
            raise

    async def _fold(self) -> bool:
        """Whether it could be folded to its end."""
        if self._wanted is None:
            self._problems.clear()
            self._wanted = await self._snapshot_digests()
        wanted = self._wanted
        try:
            async for segment in self._journal.log(self._state.meta.next_sequence - 1, self._mark, self._at):
                prove_segment(self._proof, segment)
                self._compare(wanted.pop(segment.next_sequence - 1, None))
            loading.check_reached(self._journal, self._state, self._mark)
        except CoordinatorError as error:
            self._problems.append(str(error))
            return False
        self._problems += [f"the snapshot of event {sequence} is of no end of a segment" for sequence in wanted]
        wanted.clear()
        return True

    def _compare(self, told: str | None) -> None:
        if told is None:
            return
        self._compared += 1
        found = digest(self._state)
        if told != found:
            last = self._state.meta.next_sequence - 1
            self._problems.append(f"the snapshot of event {last} gives the state {told}, the log gives {found}")

    async def _snapshot_digests(self) -> dict[int, str]:
        """What each snapshot's own state is, by the event that it is of."""
        found: dict[int, str] = {}
        head = self._mark.head
        for sequence in {head.last_snapshot, head.previous_snapshot} - {Sequence(0)}:
            place = f"snapshots/{places.snapshot(self._journal.application, sequence)}"
            try:
                parts = await self._snapshots.parts(sequence)
                if not parts and (await self._journal.mark())[0] != self._mark:
                    continue  # a newer one has taken its place meanwhile
                snapshot = decode_snapshot(parts, place)
                found[sequence] = digest(checked(snapshot, sequence, place))
            except OtherRules:
                continue  # it says nothing of what the log means here, and nobody here begins from it
            except (WireError, Corrupt) as error:
                self._problems.append(str(error))
        return found | await self._archived_digest()

    async def _archived_digest(self) -> dict[int, str]:
        if self._journal.shelf is None or not self._mark.head.archived_below:
            return {}
        try:
            snapshot = await self._journal.shelf.snapshot(self._mark.head.next_sequence - 1)  # newer ones may come
        except OtherRules:
            return {}
        except (WireError, ArchiveError) as error:
            self._problems.append(str(error))
            return {}
        return {} if snapshot is None else {int(snapshot.sequence): digest(snapshot.state)}

    async def _records(self) -> AsyncIterator[str]:
        """What beside the log does not say what the log says."""
        if not self._mark.revision:
            return  # it has left the store
        found = [record async for record in self._generations()]
        expected = {
            (int(shuffle_id), generation.life, places.OF_LIFE[generation.life])
            for shuffle_id, generation in self._state.generations.items()
        }
        for shuffle_id, life, keyspace in sorted(set(found) ^ expected, key=lambda one: one[0]):
            who = "the log says" if (shuffle_id, life, keyspace) in expected else "a record says"
            yield f"{who} that shuffle #{shuffle_id} is {life.value}, in {keyspace.value}; the other does not"
        gone = {Keyspace.DELETED: deleted_text(self._state), Keyspace.LOST: lost_text(self._state)}
        for keyspace, said in gone.items():
            told = await self._tombstones(keyspace)
            if told != said:
                yield f"{keyspace.value} says {told.decode() or 'none'}, the log says {said.decode() or 'none'}"

    async def _generations(self) -> AsyncIterator[tuple[int, Life, Keyspace]]:
        prefix = places.within_application(self._journal.application)
        for keyspace in _ALIVE:
            last_key, more = None, True
            while more:
                page = await self._backend.scan(keyspace, prefix, last_key, at=self._at)
                for entry in page.entries:
                    last_key = entry.key
                    record = self._read(keyspace, entry.key, entry.value)
                    if record is not None:
                        yield int(record.shuffle_id), record.life, keyspace
                more = page.more

    def _read(self, keyspace: Keyspace, key: str, value: bytes) -> GenerationRecord | None:
        try:
            return decode(GenerationRecord, value, places.name(keyspace, key))
        except WireError as error:
            self._problems.append(str(error))
            return None

    async def _tombstones(self, keyspace: Keyspace) -> bytes:
        key = places.of_application(self._journal.application)
        page = await self._backend.scan(keyspace, key, limit=1, at=self._at)
        return next((entry.value for entry in page.entries if entry.key == key), b"")
