"""One commit's worth of decisions.

Responsible for deciding what waits on one desk, as much as a segment may hold, cut between commands. Refuses to know
the store. Invariant: nothing outside the draft changes, so it can be thrown away and made anew at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from coordinator.core import decide, numbering
from coordinator.core.commands import RegisterClient, Request
from coordinator.core.desk import Desk
from coordinator.core.events import Recorded
from coordinator.core.ids import ShuffleId
from coordinator.core.rejections import Answer, Rejection
from coordinator.core.state import State
from coordinator.runtime.limits import Limits, crowded, no_room
from coordinator.runtime.moves import RECORDS_MAX, touched
from coordinator.runtime.waiting import Batch
from coordinator.wire.upcast import VERSION
from coordinator.wire.versions import needed

#: A single command may move a few more records than a segment shall; what the store's limit of 128 operations leaves.
RECORDS_HARD_MAX = 60
EVENTS_MAX = 4_096
_LIMITS = Limits()


class Poisoned(Exception):  # noqa: N818 - it names the batch, not a failure of ours
    """A rule has failed on a command of this batch (None: on a tick). That is a bug, and one asker's error."""

    def __init__(self, batch: Batch | None) -> None:
        super().__init__(batch)
        self.batch = batch


@dataclass(slots=True)
class Draft:
    """What was decided, and for whom. ``count``: how many requests it answers, of all batches in ``taken``."""

    desk: Desk
    ticked: bool
    taken: list[tuple[Batch, list[Answer]]] = field(default_factory=list)
    count: int = 0
    records: set[ShuffleId] = field(default_factory=set)
    full: bool = False  #: The last request did not fit: make it anew with ``count`` requests.
    crowded: dict[str, int] = field(default_factory=dict)  #: Tables that are at their limit, each with it.
    newer: int = 0  #: The version of what was decided last, where not every replica can read it.

    @property
    def over_size(self) -> bool:
        """Even the store would refuse it."""
        return len(self.records) > RECORDS_HARD_MAX

    @property
    def locator_bytes(self) -> int:
        """What is long in the records that move; the same locators stand in the segment once more."""
        moved = (self.desk.state.generations.get(shuffle_id) for shuffle_id in self.records)
        return sum(len(generation.locator.payload) for generation in moved if generation is not None)


def refusal(state: State, batches: Iterable[Batch], now_ms: int, why: Rejection) -> Draft:
    """Answers the first request that waits with a refusal, and nothing else."""
    made = Draft(Desk.over(state, now_ms), ticked=False, count=1)
    batch = next(iter(batches))
    made.taken.append((batch, [numbering.refuse(made.desk, batch.requests[len(batch.answers)], why)]))
    numbering.close_commit(made.desk)
    return made


def draft(
    state: State,
    batches: Iterable[Batch],
    requests_max: int,
    now_ms: int,
    tick: bool,
    readable: int = VERSION,
    limits: Limits = _LIMITS,
) -> Draft:
    """Decides what is due and the first requests that wait, in order. ``readable``: by every replica."""
    made = Draft(Desk.over(state, now_ms), tick, crowded=crowded(state, limits))
    if tick:
        _tick(made, readable)
    for batch in batches:
        if made.full or made.newer or made.count >= requests_max:
            break
        _take(made, batch, requests_max, readable)
    numbering.close_commit(made.desk)
    return made


def _tick(made: Draft, readable: int) -> None:
    try:
        decide.tick(made.desk)
    except Exception as error:
        raise Poisoned(None) from error
    made.newer = _beyond(made.desk.log, readable)
    made.records.update(touched(made.desk.state, made.desk.log))


def _take(made: Draft, batch: Batch, requests_max: int, readable: int) -> None:
    """Decides what is left of the batch, as far as it fits."""
    desk, log = made.desk, made.desk.log
    answer = numbering.answer if not made.crowded else _answer_in_a_crowd(made.crowded)
    answers: list[Answer] = []
    made.taken.append((batch, answers))
    seen = len(log)
    first = len(batch.answers)
    try:
        for request in batch.requests[first : first + requests_max - made.count]:
            given = answer(desk, request)
            if len(log) != seen:
                made.records.update(touched(desk.state, log[seen:]))
                made.newer = _beyond(log[seen:], readable)
                seen = len(log)
                if _is_full(made, len(answers)) or made.newer:
                    break
            answers.append(given)
    except Exception as error:
        raise Poisoned(batch) from error
    made.count += len(answers)


def _answer_in_a_crowd(full: dict[str, int]) -> Callable[[Desk, Request], Answer]:
    """Answers what adds nothing to a full table, or makes room in it first, and refuses the rest."""

    def answer(desk: Desk, request: Request) -> Answer:
        makes_room = isinstance(request.command, RegisterClient) and decide.idle_clients(desk)
        why = None if makes_room else no_room(desk.state, request.command, full)
        return numbering.answer(desk, request) if why is None else numbering.refuse(desk, request, why)

    return answer


def _beyond(log: Sequence[Recorded], readable: int) -> int:
    """The version that these need, where it is beyond what every replica can read; else 0."""
    version = needed(log)
    return version if version > readable else 0


def _is_full(made: Draft, answered: int) -> bool:
    """Whether the last command goes beyond a segment, or some replica. Where it is the only one, it is not cut."""
    if len(made.records) <= RECORDS_MAX and len(made.desk.log) <= EVENTS_MAX and not made.newer:
        return False
    made.full = made.count + answered > 0 or made.ticked
    return made.full
