"""What is to be appended next: what is due and what waits, as far as one segment holds it.

Responsible for the largest draft that fits, and for refusing what never would: a request that is too large alone, that
some replica could not read, or on which a rule fails. Refuses to know the store, and who else appends. Invariant: one
such request is refused by itself, what waits behind it goes on, and a tick that cannot be carried out holds up nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from coordinator import logs
from coordinator.core.rejections import Rejection
from coordinator.core.state import State
from coordinator.runtime import drafting
from coordinator.runtime.clock import EventTime
from coordinator.runtime.drafting import Draft, Poisoned
from coordinator.runtime.due import Due
from coordinator.runtime.errors import over_size, too_new
from coordinator.runtime.journal import SEGMENT_BYTES_MAX, Journal, Sealed
from coordinator.runtime.options import Options
from coordinator.runtime.waiting import Waiting

#: A segment with the locators of the records that move along; what else a transaction holds is less than the rest of
#: the 1.5 MiB that etcd takes.
COMMIT_BYTES_MAX = SEGMENT_BYTES_MAX + (3 << 17)

log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft, and the segment that makes it durable; None where it appends nothing."""

    draft: Draft
    sealed: Sealed | None


@dataclass(frozen=True, slots=True)
class _Portion:
    """How much is tried: so many requests at the most, behind what is due or without it."""

    most: int
    tick: bool


class Proposer:
    """For one application."""

    def __init__(
        self,
        journal: Journal,
        waiting: Waiting,
        options: Options,
        time: EventTime,
        due: Due,
        readable: Callable[[], int],
    ) -> None:
        """``readable``: the newest version of records that every replica can read now."""
        self._application = journal.application
        self._journal = journal
        self._waiting = waiting
        self._options = options
        self._time = time
        self._due = due
        self._readable = readable

    def propose(self, state: State, tick: bool) -> Proposal | None:
        """The largest draft that a segment can hold, with it; None where there is nothing left to decide."""
        portion = _Portion(self._options.commit_requests_max, tick)
        while self._waiting or portion.tick:
            came = self._try(state, portion)
            if isinstance(came, Proposal):
                return came
            portion = came
        return None

    def _try(self, state: State, portion: _Portion) -> Proposal | _Portion:
        """What is proposed, or what is to be tried instead."""
        now_ms, readable, limits = self._time.now_ms(), self._readable(), self._options.limits
        try:
            made = drafting.draft(state, self._waiting, portion.most, now_ms, portion.tick, readable, limits)
        except Poisoned as poisoned:
            return replace(portion, tick=self._refuse_poisoned(state, poisoned) and portion.tick)
        if made.newer and made.ticked and not made.taken:
            return self._without_tick(state, "not done: a replica could not read it", version=made.newer)
        if made.full:
            return replace(portion, most=made.count)
        if made.newer:
            return self._refused(state, too_new(self._application, made.newer, readable))
        if made.over_size:
            return self._refuse_over_size(state, "records", len(made.records), drafting.RECORDS_HARD_MAX)
        return self._sealed(state, portion, made) if made.desk.log else Proposal(made, None)

    def _sealed(self, state: State, portion: _Portion, made: Draft) -> Proposal | _Portion:
        """Only as bytes does a draft show whether it fits; where it does not, half of its requests may."""
        sealed = self._journal.seal(made.desk.log)
        size, limit = _size(made, sealed)
        if size <= limit:
            return Proposal(made, sealed)
        if made.count > 1 or (made.count and made.ticked):
            return replace(portion, most=made.count // 2)
        if made.ticked:
            return self._without_tick(state, "not done: it is too large", bytes=size, limit=limit)
        return self._refuse_over_size(state, "bytes", size, limit)

    def _refuse_poisoned(self, state: State, poisoned: Poisoned) -> bool:
        """Whether a tick may still be tried."""
        log.error("a rule has failed", application=self._application, exc_info=poisoned.__cause__)
        if poisoned.batch is None:
            self._due.note_idle(state)
            return False
        assert poisoned.__cause__ is not None
        self._waiting.refuse(poisoned.batch, poisoned.__cause__)
        return True

    def _without_tick(self, state: State, why: str, **figures: int) -> _Portion:
        """What is due is put off."""
        log.warning(why, application=self._application, **figures)
        self._due.note_idle(state)
        return _Portion(self._options.commit_requests_max, tick=False)

    def _refuse_over_size(self, state: State, what: str, size: int, limit: int) -> Proposal:
        """One request alone is too much."""
        first = next(iter(self._waiting))
        command = type(first.requests[len(first.answers)].command)
        return self._refused(state, over_size(self._application, command, what, size, limit))

    def _refused(self, state: State, why: Rejection) -> Proposal:
        """The first request is answered with a refusal, and what waits behind it goes on."""
        log.warning("a request is refused", application=self._application, why=str(why))
        made = drafting.refusal(state, self._waiting, self._time.now_ms(), why)
        return Proposal(made, self._journal.seal(made.desk.log) if made.desk.log else None)


def _size(made: Draft, sealed: Sealed) -> tuple[int, int]:
    """Bytes, and how many there may be: of the segment alone, or with what moves along where that is the matter."""
    if len(sealed.value) > SEGMENT_BYTES_MAX:
        return len(sealed.value), SEGMENT_BYTES_MAX
    return len(sealed.value) + made.locator_bytes, COMMIT_BYTES_MAX
