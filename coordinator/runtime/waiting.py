"""What waits to be decided.

Responsible for the queue of one application: its order, its bound, and telling each asker once. Refuses to decide.
Invariant: a batch's answers are given in the order of its requests, each after the commit that it belongs to, and a
batch that was withdrawn is never decided.
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
        self._room = asyncio.Event()
        self.requests = 0

    def __bool__(self) -> bool:
        return bool(self._batches)

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._batches)

    async def put(self, batch: Batch, until_s: float) -> None:
        """Takes the batch in, when there is room; raises `Overloaded` where there is none in time."""
        while self._batches and self.requests + batch.left > self._most:
            self._room.clear()
            left_s = until_s - self._clock.monotonic_s()
            if left_s <= 0:
                raise Overloaded(self._application, self.requests, self._most)
            await wait_event(self._room, left_s)
        self._batches[batch] = None
        self.requests += batch.left

    def withdraw(self, batch: Batch) -> None:
        """Takes the batch out; one that is not in is left so."""
        if batch in self._batches:
            del self._batches[batch]
            self.requests -= batch.left
            self._room.set()

    def answer(self, batch: Batch, answers: list[Answer]) -> None:
        """The next requests of a batch are committed."""
        if batch in self._batches:
            self.requests -= len(answers)
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

    def refuse_all(self, error: BaseException) -> None:
        """Everything that waits gets the error."""
        for batch in list(self._batches):
            self.refuse(batch, error)
