"""Mistakes in a replica: commits, catching up, snapshots, sessions, housekeeping, the records beside the log.

Responsible for bugs in the runtime, the server and the records. Refuses to know rules. Invariant: each is planted where
the code looks it up, so that every replica of a test has the bug.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from coordinator.core.desk import Desk
from coordinator.core.ids import ApplicationId, DirectiveId
from coordinator.core.rejections import Accepted
from coordinator.core.state import State, copy, settle
from coordinator.core.values import Ending
from coordinator.runtime import drafting, engine, moves, snapshot
from coordinator.runtime.drafting import Draft
from coordinator.runtime.engine import Engine
from coordinator.runtime.errors import CoordinatorError
from coordinator.runtime.following import Follower
from coordinator.runtime.journal import Journal, Mark, Sealed
from coordinator.runtime.reaping import Reaper, Silence
from coordinator.runtime.registration import Registration
from coordinator.runtime.sessions import OpenSession
from coordinator.runtime.snapshotting import Snapshotting
from coordinator.runtime.waiting import Batch
from coordinator.server.line import Line
from coordinator.wire import codec, sealing, upcast
from state_backend.api import Lock
from state_backend.errors import Conflict, OutcomeUnknown, StateBackendError, Unavailable
from state_backend.values import Compare, Delete, Entry, Keyspace, Operation, Revision
from tests.planted.bug import RUNTIME, SIMULATION, WIRE, Patch, bug

SEEN = f"{SIMULATION}::test_some_schedules_of_faults_break_nothing"

# ---- commits ---------------------------------------------------------------------------------------------------------


@bug("an answer is sent before its commit is made", SEEN)
def acknowledge_before_commit(patch: Patch) -> None:
    commit = Engine._commit

    async def eager(self: Engine, made: Draft, sealed: Sealed) -> None:
        for batch, answers in made.taken:
            self._waiting.answer(batch, list(answers))
            answers.clear()
        await commit(self, made, sealed)

    patch.setattr(Engine, "_commit", eager)


@bug("an append that compares nothing", SEEN)
def append_without_its_compare(patch: Patch) -> None:
    settle_it = Journal._settle

    async def blind(self: Journal, compares: Sequence[Compare], writes: Sequence[Operation]) -> Revision:
        return await settle_it(self, (), writes)

    patch.setattr(Journal, "_settle", blind)


@bug(
    "after a lost compare the same draft is appended against the new head",
    SEEN,
)
def compare_on_a_stale_head(patch: Patch) -> None:
    append = Journal.append

    async def stubborn(
        self: Journal, mark: Mark, sealed: Sealed, operations: Sequence[Operation], compares: Sequence[Compare]
    ) -> Mark:
        try:
            return await append(self, mark, sealed, operations, compares)
        except Conflict:
            present, _ = await self.mark()
            return await append(self, present, sealed, operations, compares)

    patch.setattr(Journal, "append", stubborn)


@bug("an unknown outcome is taken for a commit", SEEN)
def take_unknown_for_done(patch: Patch) -> None:
    async def hopeful(self: Journal, compares: Sequence[Compare], writes: Sequence[Operation]) -> Revision:
        try:
            return await self._backend.put_txn(compares, writes)
        except OutcomeUnknown:
            return Revision(1)

    patch.setattr(Journal, "_settle", hopeful)


@bug(
    "an unknown outcome is taken for a failure: the asker hears that nothing happened",
    f"{RUNTIME}/test_engine.py::test_an_unknown_outcome_is_told_as_unknown_and_settled_later",
)
def take_unknown_for_failed(patch: Patch) -> None:
    async def gloomy(self: Journal, compares: Sequence[Compare], writes: Sequence[Operation]) -> Revision:
        try:
            return await self._backend.put_txn(compares, writes)
        except OutcomeUnknown as error:
            raise Unavailable("the store", "it did not answer") from error

    patch.setattr(Journal, "_settle", gloomy)


@bug(
    "after an unknown outcome somebody else's segment is taken for one's own",
    SEEN,
)
def mistake_the_winner(patch: Patch) -> None:
    async def whoever(self: Journal, key: str, commit_id: bytes) -> Entry | None:
        return (await self._backend.get(Keyspace.EVENTS, key)).entry

    patch.setattr(Journal, "_own_segment", whoever)


@bug("the last request of a batch is answered and not decided", SEEN)
def lose_the_last_of_a_batch(patch: Patch) -> None:
    take = drafting._take

    def hasty(made: Draft, batch: Batch, requests_max: int, readable: int) -> None:
        asked = batch.requests
        if len(asked) < 2:
            take(made, batch, requests_max, readable)
            return
        batch.requests = asked[:-1]
        take(made, batch, requests_max, readable)
        batch.requests = asked
        taken = made.taken[-1][1]
        if len(batch.answers) + len(taken) == len(asked) - 1:
            taken.append(Accepted())

    patch.setattr(drafting, "_take", hasty)


@bug("a draft is true before it is durable", SEEN)
def believe_a_draft(patch: Patch) -> None:
    async def early(self: Engine, desk: Desk, sealed: Sealed, compares: Sequence[Compare], requests: int = 0) -> None:
        operations = moves.operations(self.application, self.state, desk.state, desk.log)
        settle(desk.state, self.state)
        self.mark = await self._journal.append(self.mark, sealed, operations, compares)
        self._after_change(desk.log)

    patch.setattr(Engine, "_append", early)


@bug(
    "a question is answered from what this replica happens to know",
    f"{RUNTIME}/test_replicas.py::test_a_question_sees_what_another_replica_has_just_acknowledged",
)
def answer_from_a_stale_state(patch: Patch) -> None:
    async def known(self: Engine) -> State:
        return copy(self.state)

    patch.setattr(Engine, "view", known)


# ---- catching up -----------------------------------------------------------------------------------------------------


@bug("the head's place is taken over and what lies before it is not read", SEEN)
def catch_up_without_reading(patch: Patch) -> None:
    async def skip(self: Engine, mark: Mark, at: Revision) -> None:
        self.state.meta = replace(self.state.meta, next_sequence=mark.head.next_sequence)

    patch.setattr(Engine, "_read_on", skip)


@bug(
    "a watch that was interrupted goes on, and what came meanwhile is never heard of",
    f"{RUNTIME}/test_directives.py::test_what_came_while_a_watch_was_interrupted_is_heard_of",
)
def swallow_a_gap_of_the_watch(patch: Patch) -> None:
    follow = Follower._follow

    async def deaf(self: Follower) -> None:
        self._all = lambda: ()
        await follow(self)

    patch.setattr(Follower, "_follow", deaf)


# ---- snapshots and records -------------------------------------------------------------------------------------------


@bug(
    "a snapshot leaves out whose requests were answered",
    f"{RUNTIME}/test_log.py::test_a_snapshot_equals_the_replay_of_its_events",
)
def a_snapshot_without_clients(patch: Patch) -> None:
    def forgetful(state: State) -> State:
        return replace(copy(state), clients={})

    patch.setattr(engine, "copy", forgetful)


@bug("the head names a snapshot before it is written", SEEN)
def name_a_snapshot_too_early(patch: Patch) -> None:
    async def hasty(self: Snapshotting, state: State) -> None:
        try:
            head = await self._name(state.meta.next_sequence - 1, 1)
            await self._snapshots.write(state)
            await self._snapshots.prune(head)
        except (StateBackendError, CoordinatorError):
            return

    patch.setattr(Snapshotting, "_take", hasty)


@bug(
    "the snapshot before the newest is taken away too",
    f"{RUNTIME}/test_log.py::test_a_snapshot_and_the_tail_are_the_whole_log",
)
def keep_one_snapshot_only(patch: Patch) -> None:
    prune = snapshot.Snapshots.prune

    async def greedy(self: snapshot.Snapshots, head: Any) -> None:
        await prune(self, replace(head, previous_snapshot=0))

    patch.setattr(snapshot.Snapshots, "prune", greedy)


@bug("a record that moves stays in its old keyspace too", SEEN)
def leave_the_old_record(patch: Patch) -> None:
    move = moves._move

    def lazy(*args: Any) -> Iterator[Operation]:
        return (operation for operation in move(*args) if not isinstance(operation, Delete))

    patch.setattr(moves, "_move", lazy)


@bug("what is gone leaves no tombstone", SEEN)
def bury_without_a_tombstone(patch: Patch) -> None:
    patch.setattr(moves, "_tombstones", lambda *args: iter(()))


@bug(
    "a stored value is read without looking at its checksum",
    f"{WIRE}/test_codec.py::test_a_flipped_bit_is_never_read_over",
)
def trust_what_is_stored(patch: Patch) -> None:
    patch.setattr(codec, "unseal", lambda kind, value, place: kind.FromString(value[: -sealing._SEAL.size]))


@bug(
    "a replica writes what it can read itself, whoever else has to read it",
    f"{RUNTIME}/test_versions.py::test_43_what_an_older_replica_could_not_read_is_refused_and_all_else_goes_on",
)
def write_what_others_cannot_read(patch: Patch) -> None:
    patch.setattr(Registration, "readable", lambda self: upcast.VERSION)


# ---- sessions --------------------------------------------------------------------------------------------------------


@bug(
    "a directive that was sent once is never sent again",
    f"{RUNTIME}/test_directives.py::test_a_directive_is_sent_once_a_session_and_again_in_the_next",
)
def send_a_directive_only_once(patch: Patch) -> None:
    sent: dict[tuple[ApplicationId, DirectiveId], int] = {}
    unsent = OpenSession._unsent

    def once(self: OpenSession) -> list[Any]:
        new = [one for one in unsent(self) if sent.get((self.application, one.directive)) != one.failures]
        sent.update({(self.application, one.directive): one.failures for one in new})
        return new

    patch.setattr(OpenSession, "_unsent", once)


@bug(
    "a session takes up numbers behind a gap",
    "tests/unit/server/test_sessions.py::test_a_broken_rule_ends_its_own_stream_and_nothing_is_lost",
)
def accept_a_gap_in_the_numbers(patch: Patch) -> None:
    patch.setattr(Line, "_check_number", lambda self, number: None)


# ---- housekeeping ----------------------------------------------------------------------------------------------------


@bug(
    "an application is ended without comparing the sign of life that was counted",
    f"{RUNTIME}/test_housekeeping.py::test_a_sign_of_life_in_the_last_moment_saves_the_application",
)
def reap_whatever_the_heartbeat(patch: Patch) -> None:
    end = Engine.end

    async def heedless(self: Engine, ending: Ending, compares: Sequence[Compare]) -> bool:
        return await end(self, ending, ())

    patch.setattr(Engine, "end", heedless)


@bug(
    "silence counts from the last sign of life, and not from when this replica began to look",
    f"{RUNTIME}/test_housekeeping.py::test_the_count_begins_anew_with_a_new_keeper_of_the_house",
)
def count_silence_of_before(patch: Patch) -> None:
    count = Reaper._count

    def impatient(self: Reaper, entry: Entry, now_s: float) -> Silence:
        known = count(self, entry, now_s)
        return known if entry.key in self._silences else replace(known, since_s=now_s - self._options.silence_s)

    patch.setattr(Reaper, "_count", impatient)


@bug(
    "a store that can be read and not written counts as silence of the drivers",
    f"{RUNTIME}/test_housekeeping.py::test_41a_a_time_in_which_nothing_can_be_written_is_no_silence",
)
def count_an_outage_as_silence(patch: Patch) -> None:
    async def trusting(self: Reaper, lock: Lock) -> None:
        return

    patch.setattr(Reaper, "_prove_writable", trusting)
