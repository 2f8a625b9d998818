"""What must hold of a store, checked at each commit as it is made.

Responsible for reading every commit by its own plain means, folding the log once, and saying what is wrong with it.
Refuses to know replicas; shares no code with the journal. Invariant: where nothing is wrong, no log forks or has a
gap, its head and the records of every keyspace say what it says, no request was answered twice, what was acknowledged
is in it, every loss has one recovery, ids only grow, nothing in use was fenced or deleted, and every invariant of the
core holds after each event and each commit.

It says what `checks` says of a whole store, without reading it again from the beginning: a test holds them together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator.core import events as e
from coordinator.core import invariants, steps
from coordinator.core.evolve import apply
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import State, copy, empty
from coordinator.runtime import places
from coordinator.wire.codec import decode_segment
from coordinator.wire.records import GenerationRecord, Head, decode
from state_backend.memory import MemoryStore
from state_backend.transaction import Effect
from state_backend.values import Change, Keyspace, Revision, Written, changed_key
from tests.simulation.checks import ALIVE, HOMES, ranges_of

_WATCHED = frozenset(
    {Keyspace.EVENTS, Keyspace.HEADS, Keyspace.DELETED, Keyspace.LOST, Keyspace.SESSIONS, Keyspace.SNAPSHOTS, *ALIVE}
)


@dataclass(slots=True)
class Account:
    """One application, as its log says and as its keyspaces say."""

    application: ApplicationId
    state: State = field(default_factory=empty)
    events: int = 0
    commits: dict[bytes, int] = field(default_factory=dict)
    answered: dict[ClientId, set[int]] = field(default_factory=dict)
    recovered: set[int] = field(default_factory=set)
    given: dict[int, int] = field(default_factory=dict)  #: Shuffle id -> app shuffle.
    segments: dict[str, bytes] = field(default_factory=dict)
    head: Head | None = None
    records: dict[tuple[int, Keyspace], Life] = field(default_factory=dict)
    snapshots: set[str] = field(default_factory=set)
    buried: dict[Keyspace, set[int]] = field(default_factory=dict)
    alive: bool = False  #: There is a sign of life.
    last_commit: bytes = b""


class BookedStore(MemoryStore):
    """A store of which a book is kept."""

    def __init__(self, history_commits: int) -> None:
        super().__init__(history_commits)
        self.book = Book()

    def commit(self, effects: Iterable[Effect]) -> Revision:
        before = self.revision
        revision = super().commit(tuple(effects))
        if revision != before:
            self.book.note(self._commits[revision])
        return revision


class Book:
    """Every application of one store."""

    def __init__(self) -> None:
        self.wrongs: list[str] = []
        self.accounts: dict[ApplicationId, Account] = {}
        self.segments = 0

    def account(self, application: ApplicationId) -> Account:
        """The application's account; empty where nothing was written of it."""
        account = self.accounts.get(application)
        if account is None:
            account = self.accounts[application] = Account(application)
        return account

    def note(self, changes: Iterable[tuple[Keyspace, Change]]) -> None:
        """One commit."""
        touched: dict[ApplicationId, Account] = {}
        for keyspace, change in sorted(changes, key=lambda each: each[0] is not Keyspace.EVENTS):
            if keyspace in _WATCHED:
                account = self.account(places.application_of(changed_key(change)))
                touched[account.application] = account
                self._enter(account, keyspace, change)
        for account in touched.values():
            self._say(account, _balance(account))

    def acknowledged(self, application: ApplicationId, client: ClientId, number: int) -> None:
        """Somebody was told that this request is answered: it is in the log by now."""
        account = self.account(application)
        if number and number not in account.answered.get(client, ()):
            self._say(account, [f"request {number} of {client} was acknowledged and is not in the log"])

    def given(self, application: ApplicationId, app_shuffle: AppShuffle, shuffle_id: ShuffleId) -> None:
        """Somebody was told to read or write this generation: it is one of that shuffle, and in the log."""
        account = self.account(application)
        if account.given.get(shuffle_id) != app_shuffle:
            self._say(
                account, [f"generation {shuffle_id} was answered for app shuffle {app_shuffle} and is none of it"]
            )

    def _say(self, account: Account, wrongs: Iterable[str]) -> None:
        self.wrongs += [f"{account.application}, event {account.events}: {wrong}" for wrong in wrongs]

    def _enter(self, account: Account, keyspace: Keyspace, change: Change) -> None:
        value = change.entry.value if isinstance(change, Written) else None
        if keyspace is Keyspace.EVENTS:
            self._enter_segment(account, change, value)
        elif keyspace is Keyspace.HEADS:
            account.head = decode(Head, value, "head") if value is not None else None
        elif keyspace is Keyspace.SESSIONS:
            account.alive = value is not None
        elif keyspace is Keyspace.SNAPSHOTS:
            (account.snapshots.discard if value is None else account.snapshots.add)(changed_key(change))
        elif keyspace in (Keyspace.DELETED, Keyspace.LOST):
            account.buried[keyspace] = ranges_of(value or b"")
        elif keyspace in ALIVE:
            _enter_record(account, keyspace, changed_key(change), value)

    def _enter_segment(self, account: Account, change: Change, value: bytes | None) -> None:
        key = changed_key(change)
        if value is None:
            archived = account.head.archived_below if account.head is not None else 0
            self._say(account, [] if places.begins_by(key, archived - 1) else [f"segment {key} was removed"])
            account.segments.pop(key, None)
            return
        if key in account.segments:
            self._say(account, [f"segment {key} was written over"])
            return
        account.segments[key] = value
        segment = decode_segment(value, key)
        self.segments += 1
        if segment.first_sequence != account.events + 1 or places.first_sequence_of(key) != segment.first_sequence:
            self._say(account, [f"the segment of {segment.first_sequence} stands at {key}"])
        if segment.commit_id in account.commits:
            self._say(account, [f"commit {segment.commit_id!r} is in the log twice"])
        account.commits[segment.commit_id] = segment.first_sequence
        account.last_commit = segment.commit_id
        for recorded in segment.records:
            self._say(account, _fold(account, recorded))
        self._say(account, map(str, invariants.check(account.state)))


def _fold(account: Account, recorded: e.Recorded) -> list[str]:
    """One event: what it must not do, and what it may not have done before."""
    before = copy(account.state)
    apply(account.state, recorded)
    account.events = recorded.sequence
    wrongs = list(map(str, steps.check_step(before, recorded, account.state)))
    event = recorded.event
    if isinstance(event, e.RequestsAnswered):
        wrongs += _answer(account, event)
    elif isinstance(event, (e.GenerationStarted, e.GenerationAdopted)):
        wrongs += _give(account, event.shuffle_id, event.app_shuffle)
    elif isinstance(event, e.RecoveryOpened):
        wrongs += [f"generation {event.missing} has two recoveries"] if event.missing in account.recovered else []
        account.recovered.add(event.missing)
    return wrongs


def _answer(account: Account, event: e.RequestsAnswered) -> list[str]:
    known = account.answered.setdefault(event.client, set())
    numbers = [number for span in event.answered for number in range(span.first, span.last + 1)]
    twice = [number for number in numbers if number in known]
    known.update(numbers)
    return [f"requests {twice} of {event.client} were answered twice"] if twice else []


def _give(account: Account, shuffle_id: ShuffleId, app_shuffle: AppShuffle) -> list[str]:
    highest = max(account.given, default=0)
    account.given[shuffle_id] = app_shuffle
    return [f"shuffle id {shuffle_id} was given out after {highest}"] if shuffle_id <= highest else []


def _enter_record(account: Account, keyspace: Keyspace, key: str, value: bytes | None) -> None:
    shuffle_id = int(key.rpartition("/")[2])
    if value is not None:
        account.records[shuffle_id, keyspace] = decode(GenerationRecord, value, key).life
    else:
        account.records.pop((shuffle_id, keyspace), None)


def _balance(account: Account) -> Iterable[str]:
    """After each commit the head, the records and the tombstones say what the log says."""
    state, head = account.state, account.head
    if head is not None and (head.next_sequence, head.commit_id) != (state.meta.next_sequence, account.last_commit):
        yield f"the head says {head.next_sequence} comes next, the log {state.meta.next_sequence}"
    if (
        head is not None
        and head.last_snapshot
        and _part(account, head, head.snapshot_parts - 1) not in account.snapshots
    ):
        yield f"the head names the snapshot of {head.last_snapshot}, which is not there"
    lives = {int(shuffle_id): generation.life for shuffle_id, generation in state.generations.items()}
    expected = {(shuffle_id, HOMES.get(life, Keyspace.LIVE)): life for shuffle_id, life in lives.items()}
    if account.records != expected:
        yield f"records are {account.records}, the log says {expected}"
    dead = {number for numbers in account.buried.values() for number in numbers}
    gone = set(range(1, state.meta.next_shuffle_id)) - set(lives)
    if dead != gone:
        yield f"tombstones are {sorted(dead)}, the log says {sorted(gone)}"


def _part(account: Account, head: Head, part: int) -> str:
    return places.snapshot_part(account.application, head.last_snapshot, part)
