"""What waits to be decided.

Responsible for the queue of one application: its order, its bound, and telling each asker once. Refuses to decide.
Invariant: a batch's answers are given in the order of its requests, each after the commit that it belongs to, and a
batch that was withdrawn is never decided. Who waits for room gets it in the order of coming, a large batch as well as a
small one; once the queue is closed nothing comes in, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coordinator.core.commands import Request
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Answer
from coordinator.runtime.clock import Clock, wait_event
from coordinator.runtime.errors import CoordinatorError, Happened, Overloaded, PartlyDone


@dataclass(slots=True, eq=False)
class Batch:
    """Requests that were sent together; one future for all."""

    requests: Sequence[Request]
    done: asyncio.Future[list[Answer]]
    answers: list[Answer] = field(default_factory=list)  #: Of the first requests: those that are committed.

    @property
    def left(self) -> int:
        """Requests that wait for their answer."""
        return len(self.requests) - len(self.answers)


class Waiting:
    """The queue. More than ``most`` requests do not fit, except that one batch always does."""

    def __init__(self, application: ApplicationId, most: int, clock: Clock) -> None:
        self._application = application
        self._most = most
        self._clock = clock
        self._batches: dict[Batch, None] = {}  #: In the order in which they came.
        self._outside: dict[Batch, asyncio.Event] = {}  #: What waits for room, in that order; set: look again.
        self._closed: BaseException | None = None
        self.requests = 0

    def __bool__(self) -> bool:
        return bool(self._batches)

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._batches)

    async def put(self, batch: Batch, until_s: float) -> None:
        """Takes the batch in, when there is room; raises `Overloaded` where there is none in time."""
        called = self._outside[batch] = asyncio.Event()
        try:
            while not self._may_enter(batch):
                called.clear()
                left_s = until_s - self._clock.monotonic_s()
                if left_s <= 0:
                    raise Overloaded(self._application, self.requests, self._most)
                await wait_event(called, left_s)
            self._batches[batch] = None
            self.requests += batch.left
        finally:
            del self._outside[batch]
            self._call_next()

    def _may_enter(self, batch: Batch) -> bool:
        """Whether it is its turn, and there is room. Raises what the queue was closed with."""
        if self._closed is not None:
            raise self._closed
        is_next = next(iter(self._outside)) is batch
        return is_next and (not self._batches or self.requests + batch.left <= self._most)

    def _call_next(self) -> None:
        """There may be room for who has waited longest."""
        for called in self._outside.values():
            called.set()
            return

    def withdraw(self, batch: Batch) -> None:
        """Takes the batch out; one that is not in is left so."""
        if batch in self._batches:
            del self._batches[batch]
            self.requests -= batch.left
            self._call_next()

    def answer(self, batch: Batch, answers: list[Answer]) -> None:
        """The next requests of a batch are committed."""
        if batch in self._batches:
            self.requests -= len(answers)
            self._call_next()
        batch.answers.extend(answers)
        if not batch.left:
            self.withdraw(batch)
            if not batch.done.done():
                batch.done.set_result(batch.answers)

    def refuse(self, batch: Batch, error: BaseException) -> None:
        """The batch gets an error instead, which never says that nothing happened where something did."""
        self.withdraw(batch)
        if batch.answers and isinstance(error, CoordinatorError) and error.happened is Happened.NOTHING:
            error = PartlyDone(self._application, len(batch.answers), len(batch.requests), error)
        if not batch.done.done():
            batch.done.set_exception(error)

    def close(self, error: BaseException) -> None:
        """Who waits for room gets the error, now and from now on; what is in stays."""
        self._closed = error
        for called in self._outside.values():
            called.set()

    def refuse_all(self, error: BaseException) -> None:
        """Everything that waits gets the error, and so does what comes."""
        self.close(error)
        for batch in list(self._batches):
            self.refuse(batch, error)
