"""One application on one replica: having what waits decided, making it durable, telling it.

Responsible for group commit: what arrives while a commit is under way is decided together and appended as one segment;
for catching up with other replicas; and for doing, where the session is held, whatever is due in event time. Refuses to
know rules, transport, what fits into a segment (`proposing`), when a snapshot is due (`snapshotting`), and who else
serves the application. Invariant: nothing is told before it is durable, and the state is always the fold of a prefix of
the log; a lost compare costs the draft and nothing else.

No method assumes that this replica is the only one: whatever it decides is appended against the head that it has seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from coordinator import logs
from coordinator.core import decide
from coordinator.core.commands import EndApplication, RegisterApplication, Request
from coordinator.core.desk import Desk
from coordinator.core.events import Recorded, RequestsAnswered
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Answer
from coordinator.core.state import State, copy, settle
from coordinator.core.sweep import is_closed
from coordinator.core.values import Ending
from coordinator.runtime import loading, moves, snapshot
from coordinator.runtime.clock import Clock, EventTime, back_off_s, wait_event
from coordinator.runtime.drafting import Draft
from coordinator.runtime.due import Due
from coordinator.runtime.errors import (
    CoordinatorError,
    Defect,
    Draining,
    Happened,
    InDoubt,
    Overtaken,
    PartlyDone,
    SetBack,
    Unavailable,
    UnknownApplication,
)
from coordinator.runtime.journal import Journal, Mark, Sealed
from coordinator.runtime.loading import Loaded
from coordinator.runtime.observing import Committed, Observer
from coordinator.runtime.options import Options
from coordinator.runtime.proposing import Proposer
from coordinator.runtime.snapshot import Snapshots
from coordinator.runtime.snapshotting import Snapshotting
from coordinator.runtime.waiting import Batch, Waiting
from coordinator.wire.records import Head
from state_backend.errors import Closed, Compacted, Conflict, NothingHappened, OutcomeUnknown, StateBackendError
from state_backend.signal import Signal
from state_backend.values import Compare, Revision

log = logs.logger(__name__)


class Engine:
    """One application. `submit` and the rest may be called by many tasks; one task of its own does the work."""

    def __init__(
        self,
        journal: Journal,
        snapshots: Snapshots,
        loaded: Loaded,
        options: Options,
        clock: Clock,
        readable: Callable[[], int],
        observer: Observer | None = None,
    ) -> None:
        """``readable``: the newest version of records that every replica can read now."""
        self.application: ApplicationId = journal.application
        self.state: State = loaded.state
        self.mark = loaded.mark
        self.changed = Signal()  #: Told after each change of the state.
        self.broken: CoordinatorError | None = None  #: Why it has stopped for good: the application is loaded anew.
        self.sessions = 0  #: How many are open here; where there is one, this engine ticks.
        self._keepers = 0  #: How many callers are inside `kept`.
        self.used_s = clock.monotonic_s()  #: When somebody last asked.
        self.time = EventTime(clock)
        self.time.heard(self.state.meta.time_ms)
        self._journal = journal
        self._observer = observer or Observer()
        self._snapshots = snapshots
        self._options = options
        self._clock = clock
        self._waiting = Waiting(self.application, options.limits.waiting, clock)
        self._in_flight: frozenset[Batch] = frozenset()
        self._turn = asyncio.Lock()  #: Held while the state, or the mark, is being changed.
        self._wake = asyncio.Event()
        self._seen = Revision(0)  #: Of the newest head that a watch has told of.
        self._due = Due(self.time, self.state)
        self._proposer = Proposer(journal, self._waiting, options, self.time, self._due, readable)
        self._trouble: StateBackendError | None = None
        self._failures = 0
        self._closing = False
        self._snapshotting = Snapshotting(
            self.application, snapshots, options.snapshot_every_events, self._name_snapshot
        )
        self._snapshotting.loaded(loaded)
        self._work = asyncio.create_task(self._run(), name=f"engine {self.application}")

    # ---- asked by others --------------------------------------------------------------------------------------------

    async def submit(self, requests: Sequence[Request], within_s: float) -> list[Answer]:
        """The answers, in order, when all that they append is durable."""
        if not requests:
            return []
        self._use()
        until_s = self._clock.monotonic_s() + within_s
        batch = Batch(requests, asyncio.get_running_loop().create_future())
        self._check_open()
        await self._waiting.put(batch, until_s)
        self._wake.set()
        try:
            await asyncio.wait((batch.done,), timeout=until_s - self._clock.monotonic_s())
            return batch.done.result() if batch.done.done() else self._give_up(batch, within_s)
        finally:
            self._waiting.withdraw(batch)
            batch.done.cancel()  # nobody hears what comes of it now

    def register_again(self, command: RegisterApplication) -> Answer:
        """The answer to a repeated registration, without reading on: what the first one has fixed never changes."""
        self._use()
        self._check_open()
        return decide.decide(self.state, command, self.time.now_ms()).answer

    def _give_up(self, batch: Batch, within_s: float) -> list[Answer]:
        if batch in self._in_flight:
            raise InDoubt(self.application, within_s)
        why = self._trouble or "it did not answer in time"
        if batch.answers:
            raise PartlyDone(self.application, len(batch.answers), len(batch.requests), why)
        raise Unavailable(self.application, why)

    async def view(self) -> State:
        """A copy of the state at the log's present end."""
        self._use()
        async with self._turn:
            self._check_open()
            await self._catch_up()
            return copy(self.state)

    async def catch_up(self) -> None:
        """Reads on to the log's present end."""
        self._use()
        async with self._turn:
            self._check_open()
            await self._catch_up()

    async def end(self, ending: Ending, compares: Sequence[Compare]) -> bool:
        """Ends the application if, in that very moment, the compares hold. False: they did not."""
        while True:
            async with self._turn:
                self._check_open()
                await self._catch_up()
                if self.state.meta.ending is not None:
                    return True
                desk = Desk.over(self.state, self.time.now_ms())
                decide.carry_out(desk, EndApplication(ending))
                try:
                    await self._append(desk, self._journal.seal(desk.log), compares)
                    return True
                except Conflict as conflict:
                    if any(failed.compare in compares for failed in conflict.failed):
                        return False

    def nudge(self, revision: Revision) -> None:
        """A watch has seen the head at this revision."""
        if revision > self.mark.revision:
            self._seen = max(self._seen, revision)
            self._wake.set()

    def hold(self) -> None:
        """A session of the application is open here."""
        self._use()
        self.sessions += 1
        self._wake.set()

    def release(self) -> None:
        """The session is closed."""
        self._use()
        self.sessions -= 1

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Until the block is left the engine is not forgotten, even if its caller waits for something else."""
        self._use()
        self._keepers += 1
        try:
            yield
        finally:
            self._keepers -= 1

    @property
    def closing(self) -> bool:
        """Whether it refuses new requests."""
        return self._closing

    @property
    def idle(self) -> bool:
        """Nobody would notice if it were forgotten here."""
        is_used = self.sessions or self._keepers or self._waiting or self._in_flight
        return not is_used and not self.state.meta.sweeping

    async def close(self, drain: bool) -> None:
        """Takes nothing more; with ``drain`` what waits is committed first, unless the store is away for too long."""
        self._closing, draining = True, Draining(self._options.replica)
        self._waiting.close(draining)
        if not drain:
            self._refuse_unfinished(draining)
            self._work.cancel()
        self._wake.set()
        tasks = [task for task in (self._work, self._snapshotting.task) if task is not None]
        self.changed.tell()
        _, late = await asyncio.wait(tasks, timeout=self._options.answer_within_s)
        if late:
            self._refuse_unfinished(draining)
            for task in late:
                task.cancel()
            await asyncio.wait(late)

    def _refuse_unfinished(self, error: CoordinatorError) -> None:
        """Refuses every batch: of what is being appended the outcome is unknown, what only waits has not happened."""
        if error.happened is Happened.NOTHING:
            for batch in self._in_flight:
                self._waiting.refuse(batch, InDoubt(self.application, cause=error.fact))
        self._waiting.refuse_all(error)

    def _use(self) -> None:
        """Notes that somebody asks here: an engine that nobody asks may be forgotten, whatever others append."""
        self.used_s = self._clock.monotonic_s()

    def _check_open(self) -> None:
        if self.broken is not None:
            raise self.broken
        if self._closing:
            raise Draining(self._options.replica)

    # ---- the work ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while not (self._closing and not self._waiting) and self.broken is None:
            if not self._has_work():
                self._wake.clear()
                await wait_event(self._wake, self._until_due_s())
                continue
            async with self._turn:
                await self._attempt()
            if self._failures:
                await self._clock.sleep(back_off_s(self._failures))

    def _has_work(self) -> bool:
        return bool(self._waiting) or self._seen > self.mark.revision or self._tick_is_due()

    async def _attempt(self) -> None:
        """One step; what the store refuses is tried again, as long as somebody waits."""
        try:
            await self._step()
            self._trouble, self._failures = None, 0
        except CoordinatorError as error:
            self._break(error)
        except (Closed, OutcomeUnknown) as error:
            self._break(Unavailable(self.application, error))
        except NothingHappened as error:
            self._trouble = error
            self._failures += 1
            self._observer.refused(self.application)
            log.warning("the store refused", application=self.application, error=str(error), failures=self._failures)
        except Exception as error:
            log.exception("a defect", application=self.application)
            self._break(Defect(self.application, error))
        finally:
            self._in_flight = frozenset()

    def _break(self, error: CoordinatorError) -> None:
        if self.broken is None and isinstance(error, UnknownApplication) and is_closed(self.state):
            log.info("application has left the store", application=self.application)
        elif self.broken is None:
            log.error("application stopped here", application=self.application, error=str(error))
        self.broken = error
        self._refuse_unfinished(error)
        self.changed.tell()

    async def _step(self) -> None:
        """Decides what waits, makes it durable and tells it; or catches up, to decide it again."""
        if self._seen > self.mark.revision:
            await self._catch_up_to_seen()
        proposal = self._proposer.propose(self.state, self._tick_is_due())
        if proposal is None:
            return
        made, sealed = proposal.draft, proposal.sealed
        holds = await (self._commit(made, sealed) if sealed is not None else self._holds_as_it_is(made))
        for batch, answers in made.taken if holds else ():
            self._waiting.answer(batch, answers)

    async def _commit(self, made: Draft, sealed: Sealed) -> bool:
        """Makes a draft durable. False: somebody was faster, and what they wrote is known now."""
        self._in_flight = frozenset(batch for batch, _ in made.taken)
        try:
            await self._append(made.desk, sealed, (), made.count)
        except Conflict:
            self._in_flight = frozenset()
            self._observer.conflicted(self.application)
            await self._catch_up()
            return False
        return True

    async def _holds_as_it_is(self, made: Draft) -> bool:
        """Whether a draft that changes nothing is true of the log's present end."""
        if made.taken and await self._catch_up():
            return False
        if made.ticked:
            self._due.note_idle(self.state)
        return True

    async def _append(self, desk: Desk, sealed: Sealed, compares: Sequence[Compare], requests: int = 0) -> None:
        """Makes what is on the desk durable, then true. Raises `Conflict` where somebody was faster."""
        operations = moves.operations(self.application, self.state, desk.state, desk.log)
        begun_s = self._clock.monotonic_s()
        self.mark = await self._journal.append(self.mark, sealed, operations, compares)
        self._tell_observer(desk, requests, self._clock.monotonic_s() - begun_s)
        settle(desk.state, self.state)
        self._after_change(desk.log)

    def _tell_observer(self, desk: Desk, requests: int, seconds: float) -> None:
        try:
            self._observer.committed(Committed(self.application, desk.log, self.state, requests, seconds))
        except Exception:
            log.exception("an observer has failed", application=self.application)

    async def _catch_up_to_seen(self) -> None:
        seen, self._seen = self._seen, Revision(0)
        try:
            await self._catch_up()
        except StateBackendError:
            self._seen = max(self._seen, seen)
            raise

    async def _catch_up(self) -> bool:
        """Reads on to the log's present end (linearizable). Whether there was anything new."""
        while True:
            mark, at = await self._journal.mark()
            if (mark.revision, mark.head) == (self.mark.revision, self.mark.head):
                return False
            self._check_there(mark)
            try:
                await self._read_on(mark, at)
            except Compacted:
                continue
            self._after_change(None)
            return True

    async def _read_on(self, mark: Mark, at: Revision) -> None:
        """Up to the mark, or beyond it. A rule that fails on an event leaves the state half changed: then it stops."""
        try:
            await self._fold_on(mark, at)
        except (SetBack, Overtaken) as error:  # whose session is open here has to hear of it, and begin anew
            self._break(error)
            raise
        except (StateBackendError, CoordinatorError):
            raise
        except Exception as error:
            log.exception("a defect", application=self.application)
            self._break(Defect(self.application, error))
            raise Defect(self.application, error) from error

    async def _fold_on(self, mark: Mark, at: Revision) -> None:
        """From a snapshot, if the next event, or the last that is known here, has left the store.

        Then nothing shows that it is still the log of which the driver with a session here was told: it is sent away.
        """
        if loading.has_left(self.mark, mark):
            if self.sessions:
                raise Overtaken(self.application, self.mark.head.next_sequence - 1)
            loaded = await loading.load(self._journal, self._snapshots)
            self._check_there(loaded.mark)
            self.state, self.mark = loaded.state, loaded.mark
            self._snapshotting.loaded(loaded)
        else:
            async for reached in loading.catch_up(self.state, self._journal, self.mark, mark, at):
                self.mark = reached

    def _check_there(self, mark: Mark) -> None:
        """Stops, with `UnknownApplication`, if the application has left the store."""
        if not mark.revision:
            self._break(UnknownApplication(self.application))
            raise UnknownApplication(self.application)

    def _after_change(self, appended: Sequence[Recorded] | None) -> None:
        if appended is None or any(type(recorded.event) is not RequestsAnswered for recorded in appended):
            self._due.changed(self.state)
        self.time.heard(self.state.meta.time_ms)
        self.changed.tell()
        self._wake.set()  # what is due may have changed
        if not self._closing:
            self._snapshotting.begin_if_due(self.state, self.mark.head)

    # ---- what is due ------------------------------------------------------------------------------------------------

    def _tick_is_due(self) -> bool:
        """Only where the session is held; the sweep of an ended application goes on wherever it is loaded."""
        return bool(self.sessions or self.state.meta.sweeping) and self._due.is_now(self.state)

    def _until_due_s(self) -> float | None:
        return self._due.within_s(self.state) if self.sessions else None

    # ---- snapshots --------------------------------------------------------------------------------------------------

    async def _name_snapshot(self, sequence: int, parts: int) -> Head:
        """Has the head name a snapshot that is in the store, unless it names one as new. Gives the head then."""
        while True:
            async with self._turn:
                if self.mark.head.last_snapshot >= sequence:
                    return self.mark.head
                try:
                    self.mark = await self._journal.set_head(self.mark, snapshot.named(self.mark.head, sequence, parts))
                    return self.mark.head
                except Conflict:
                    await self._catch_up()
