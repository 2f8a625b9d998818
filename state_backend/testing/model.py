"""The model machine: any backend against a store that is too simple to be wrong.

Responsible for: making up calls and comparing every answer. Refuses to know: the backend's inside.
Invariant: after every step the backend and the model hold the same entries, and a watch tells exactly the commits that
the model made.

    machine = model_machine(open_mine)          # an async function that opens a fresh and empty store
    TestMachine = machine.TestCase
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from state_backend.api import (
    Absent,
    Change,
    Compare,
    Delete,
    Entry,
    FailedCompare,
    Keyspace,
    Move,
    Operation,
    Present,
    Put,
    Removed,
    Revision,
    RevisionIs,
    Stamp,
    StateBackend,
    VersionIs,
    Watch,
    Written,
)
from state_backend.errors import Conflict, DuplicateKey

_Result = TypeVar("_Result")

Open = Callable[[], Awaitable[StateBackend]]
Place = tuple[Keyspace, str]

SPACES = (Keyspace.LIVE, Keyspace.EXPIRED)
KEYS = ("a", "a/1", "a/2", "ab", "b", "é")

spaces = st.sampled_from(SPACES)
keys = st.sampled_from(KEYS)
values = st.binary(max_size=4)
revision_backs = st.integers(0, 6)
compares = st.one_of(
    st.builds(Absent, spaces, keys),
    st.builds(Present, spaces, keys),
    st.builds(VersionIs, spaces, keys, st.integers(1, 3)),
)
operations = st.one_of(st.builds(Put, spaces, keys, values), st.builds(Delete, spaces, keys))


class Model:
    """A dictionary and a list of what was done."""

    def __init__(self, revision: Revision) -> None:
        self.first_revision = revision
        self.revision = revision
        self.entries: dict[Place, Entry] = {}
        self.past: dict[int, dict[Place, Entry]] = {revision: {}}
        self.told: list[tuple[int, list[Change]]] = []

    def in_order(self, keyspace: Keyspace, prefix: str = "", at: int | None = None) -> list[Entry]:
        entries = self.entries if at is None else self.past[at]
        found = (entry for place, entry in entries.items() if place[0] is keyspace and place[1].startswith(prefix))
        return sorted(found, key=lambda entry: entry.key.encode())

    def failed(self, asked: list[Compare]) -> list[Compare]:
        return [compare for compare in asked if not self._holds(compare)]

    def apply(self, done: list[Operation]) -> None:
        """Every operation is a put or a delete of one place; a move is both."""
        revision = Revision(self.revision + 1)
        steps = [step for operation in done for step in self._steps(operation)]
        changes = [change for place, value in steps if (change := self._set(place, value, revision)) is not None]
        if changes:
            self.revision = revision
            self.past[revision] = dict(self.entries)
            self.told.append((revision, changes))

    def _steps(self, operation: Operation) -> list[tuple[Place, bytes | None]]:
        if isinstance(operation, Move):
            source = (operation.from_keyspace, operation.key)
            value = self.entries[source].value if operation.value is None else operation.value
            return [(source, None), ((operation.to_keyspace, operation.key), value)]
        place = (operation.keyspace, operation.key)
        return [(place, operation.value if isinstance(operation, Put) else None)]

    def _set(self, place: Place, value: bytes | None, revision: Revision) -> Change | None:
        before = self.entries.pop(place, None)
        if value is None:
            return None if before is None else Removed(*place, revision)
        created, version = (revision, 1) if before is None else (before.create_revision, before.version + 1)
        self.entries[place] = Entry(place[1], value, revision, created, version)
        return Written(place[0], self.entries[place])

    def _holds(self, compare: Compare) -> bool:
        entry = self.entries.get((compare.keyspace, compare.key))
        if entry is None or isinstance(compare, Absent):
            return entry is None and isinstance(compare, Absent)
        if isinstance(compare, VersionIs):
            return entry.version == compare.version
        return isinstance(compare, Present) or entry.revision == compare.revision


class ModelMachine(RuleBasedStateMachine):
    """`model_machine` makes one for a backend."""

    open: Open

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.backend = self.run(type(self).open())
        self.model = Model(self.run(self.backend.get(SPACES[0], "a")).revision)
        self.watches = self.run(self._watch_all())
        self.awaited = 0

    def run(self, doing: Awaitable[_Result]) -> _Result:
        async def bounded() -> _Result:
            return await asyncio.wait_for(doing, 30)

        return self.loop.run_until_complete(bounded())

    async def _watch_all(self) -> list[tuple[Keyspace, Watch]]:
        start = Revision(self.model.revision + 1)
        return [(space, self.backend.watch(space, "", start)) for space in SPACES]

    def teardown(self) -> None:
        self.run(self.backend.close())
        self.loop.close()

    # ---- steps ------------------------------------------------------------------------------------------------------

    @rule(space=spaces, key=keys, value=values)
    def put(self, space: Keyspace, key: str, value: bytes) -> None:
        self.transact([], [Put(space, key, value)])

    @rule(space=spaces, key=keys)
    def delete(self, space: Keyspace, key: str) -> None:
        self.transact([], [Delete(space, key)])

    @rule(asked=st.lists(compares, max_size=3), done=st.lists(operations, min_size=1, max_size=4))
    def put_txn(self, asked: list[Compare], done: list[Operation]) -> None:
        self.transact(asked, done)

    @rule(space=spaces, key=keys, value=st.none() | values, back=revision_backs)
    def mv(self, space: Keyspace, key: str, value: bytes | None, back: int) -> None:
        """Mostly at the revision that the source is at, sometimes at another."""
        entry = self.model.entries.get((space, key))
        at = self.model.revision if entry is None or back == 0 else entry.revision
        (other,) = (each for each in SPACES if each is not space)
        self.transact([], [Move(space, other, key, at, value)])

    @rule(space=spaces, key=keys, back=revision_backs)
    def put_at_revision(self, space: Keyspace, key: str, back: int) -> None:
        at = Revision(max(1, self.model.revision - back))
        self.transact([RevisionIs(space, key, at)], [Put(space, key, b"seen")])

    def transact(self, asked: list[Compare], done: list[Operation]) -> None:
        """Both must do the same, or refuse for the same reason."""
        places = [place for operation in done for place in _places(operation)]
        own = [compare for operation in done if isinstance(operation, Move) for compare in _own_compares(operation)]
        failed = self.model.failed([*asked, *own])
        try:
            revision = self.run(self.backend.put_txn(asked, done))
        except DuplicateKey:
            assert len(set(places)) < len(places)
            return
        except Conflict as conflict:
            self._same_failures(conflict, failed)
            return
        assert len(set(places)) == len(places)
        assert not failed
        self.model.apply(done)
        assert revision == self.model.revision

    def _same_failures(self, conflict: Conflict, failed: list[Compare]) -> None:
        assert conflict.failed == tuple(FailedCompare(compare, self._stamp(compare)) for compare in failed)

    def _stamp(self, compare: Compare) -> Stamp | None:
        entry = self.model.entries.get((compare.keyspace, compare.key))
        return None if entry is None else entry.stamp

    # ---- looks ------------------------------------------------------------------------------------------------------

    @rule(space=spaces, key=keys)
    def get(self, space: Keyspace, key: str) -> None:
        reading = self.run(self.backend.get(space, key))
        assert reading.entry == self.model.entries.get((space, key))
        assert reading.revision == self.model.revision

    @rule(space=spaces, prefix=st.sampled_from(("", "a", "a/", "z")), after=st.none() | keys, limit=st.integers(1, 4))
    def scan(self, space: Keyspace, prefix: str, after: str | None, limit: int) -> None:
        expected = [entry for entry in self.model.in_order(space, prefix) if after is None or entry.key > after]
        page = self.run(self.backend.scan(space, prefix, after, limit))
        assert list(page.entries) == expected[:limit]
        assert page.more == (len(expected) > limit)

    @rule(space=spaces, back=revision_backs)
    def scan_the_past(self, space: Keyspace, back: int) -> None:
        at = Revision(max(self.model.first_revision, self.model.revision - back))
        page = self.run(self.backend.scan(space, at=at))
        assert list(page.entries) == self.model.in_order(space, at=at)

    @precondition(lambda self: self.awaited < len(self.model.told))
    @rule()
    def watch(self) -> None:
        """All that was done since the last time, in order."""
        fresh, self.awaited = self.model.told[self.awaited :], len(self.model.told)
        for space, watch in self.watches:
            wanted = [(revision, told) for revision, changes in fresh if (told := _within(space, changes))]
            heard = [self.run(watch.__anext__()) for _ in wanted]
            assert [(commit.revision, list(commit.changes)) for commit in heard] == wanted

    @invariant()
    def holds_the_same(self) -> None:
        for space in SPACES:
            assert list(self.run(self.backend.scan(space)).entries) == self.model.in_order(space)


def model_machine(open_backend: Callable[[], Coroutine[Any, Any, StateBackend]]) -> type[ModelMachine]:
    """The machine for one kind of backend."""
    return type("ModelMachine", (ModelMachine,), {"open": staticmethod(open_backend)})


def _places(operation: Operation) -> list[Place]:
    if isinstance(operation, Move):
        return [(operation.from_keyspace, operation.key), (operation.to_keyspace, operation.key)]
    return [(operation.keyspace, operation.key)]


def _own_compares(move: Move) -> list[Compare]:
    return [
        RevisionIs(move.from_keyspace, move.key, move.expected_revision),
        Absent(move.to_keyspace, move.key),
    ]


def _within(space: Keyspace, changes: list[Change]) -> list[Change]:
    wanted = [change for change in changes if change.keyspace is space]
    return sorted(wanted, key=lambda change: change.entry.key if isinstance(change, Written) else change.key)
