"""What is to be told and not yet answered for: bounded, numbered, pure.

Responsible for: numbering requests as they leave, keeping them until they are answered, sending them again after a
reconnect, and saying when content had to be dropped.
Refuses to know: time, threads, connections, and what a request says.
Invariant: numbers are consecutive from 1; the same number always has the same content; what was dropped was never sent,
and until the gap is closed nothing follows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from listener_bridge.shorten import shortened
from listener_bridge.words import Request

WAITING_MAX = 20_000
UNANSWERED_MAX = 2_048  # a coordinator takes 4,096 that are not confirmed, unless it is told otherwise
REQUEST_OVERHEAD_BYTES = 8
MESSAGE_OVERHEAD_BYTES = 64


@dataclass(slots=True)
class _Sent:
    request: Request
    is_answered: bool = False


class Outbox:
    """One client's requests on their way. Not for several threads at once."""

    def __init__(self, waiting_max: int = WAITING_MAX, unanswered_max: int = UNANSWERED_MAX) -> None:
        self._waiting_max = waiting_max
        self._unanswered_max = unanswered_max
        self._message_bytes_max = 0
        self._waiting: deque[Request] = deque()
        self._sent: deque[_Sent] = deque()  # numbers confirmed + 1, …; answered ones stay behind one that is not
        self._again: deque[Request] = deque()  # sent before a reconnect and to be sent once more
        self.confirmed = 0  #: Every answer up to this number has arrived.
        self.taken = 0  #: The highest number whose answer was no refusal: whoever keeps the log knows of it.
        self.dropped = 0  #: Requests whose content was lost since the gap opened.
        self.is_open_gap = False  #: Content is missing; only `close_gap` lets anything follow.

    def __len__(self) -> int:
        """Requests that are not answered yet."""
        return len(self._waiting) + sum(not sent.is_answered for sent in self._sent)

    def add(self, requests: Iterable[Request]) -> None:
        """Take requests to be sent; what does not fit is lost, and so is what waits: the gap has to be told."""
        for request in requests:
            if self.is_open_gap:
                self.dropped += 1
            elif len(self._waiting) >= self._waiting_max:
                self.open_gap(1)
            else:
                self._waiting.append(shortened(request))

    def open_gap(self, dropped: int = 0) -> None:
        """Content is missing: nothing that waits makes sense without it."""
        self.is_open_gap = True
        self.dropped += dropped + len(self._waiting)
        self._waiting.clear()

    def close_gap(self, requests: Iterable[Request]) -> None:
        """What follows the gap: it says that there was one, and the whole truth."""
        self.is_open_gap = False
        self.dropped = 0
        self.add(requests)

    def next_batch(self, most: int, bytes_max: int) -> list[Request]:
        """What may leave now, numbered: at most so many, of so many bytes together; a larger one leaves alone."""
        batch: list[Request] = []
        size = 0
        while len(batch) < most and (request := self._peek()) is not None:
            size += request.ByteSize() + REQUEST_OVERHEAD_BYTES
            if size > bytes_max and batch:
                break
            if size > max(bytes_max, self._message_bytes_max) and not self._again:
                self._drop_oversized()
                break
            batch.append(self._take())
        return batch

    def rewind(self, unanswered_max: int = UNANSWERED_MAX, message_bytes_max: int = 0) -> None:
        """A new connection, with its own limits: all that was not answered is sent again, in order."""
        self._unanswered_max = max(1, min(unanswered_max, UNANSWERED_MAX))
        self._message_bytes_max = message_bytes_max - MESSAGE_OVERHEAD_BYTES
        self._again = deque(sent.request for sent in self._sent if not sent.is_answered)

    def answer(self, first: int, last: int, is_refusal: bool = False) -> list[Request]:
        """Answers for the numbers from `first` to `last` have come; gives the requests that they are for."""
        found: list[Request] = []
        low, high = max(first, self.confirmed + 1), min(last, self.confirmed + len(self._sent))
        for sent in islice(self._sent, low - self.confirmed - 1, max(low, high + 1) - self.confirmed - 1):
            if not sent.is_answered:
                sent.is_answered = True
                found.append(sent.request)
        if found and not is_refusal:
            self.taken = max(self.taken, high)
        self._confirm()
        return found

    def begin_again(self) -> None:
        """The coordinator has lost what it confirmed: a new client begins at number 1, and with a gap."""
        lost = sum(not sent.is_answered for sent in self._sent)
        self._sent.clear()
        self._again.clear()
        self.confirmed = self.taken = 0
        self.open_gap(lost)

    @property
    def can_send(self) -> bool:
        """Whether `next_batch` would give anything."""
        return self._peek() is not None

    @property
    def is_unsent(self) -> bool:
        """Whether anything waits to be sent, now or when there is room for it."""
        return bool(self._again or self._waiting)

    def holds(self, request: Request) -> bool:
        """Whether this very request is still on its way."""
        return any(kept is request for kept in chain(self._waiting, (sent.request for sent in self._sent)))

    def unanswered(self) -> Iterator[Request]:
        """What waits, and what was sent and has no answer yet."""
        yield from (sent.request for sent in self._sent if not sent.is_answered)
        yield from self._waiting

    def _peek(self) -> Request | None:
        if self._again:  # perhaps more than this connection takes at once
            return self._again[0] if self._again[0].number <= self.confirmed + self._unanswered_max else None
        if self._waiting and len(self._sent) < self._unanswered_max:
            return self._waiting[0]
        return None

    def _take(self) -> Request:
        if self._again:
            return self._again.popleft()
        request = self._waiting.popleft()
        request.number = self.confirmed + len(self._sent) + 1
        self._sent.append(_Sent(request))
        return request

    def _drop_oversized(self) -> None:
        """One request alone that no message can hold."""
        self._waiting.popleft()
        self.open_gap(1)

    def _confirm(self) -> None:
        while self._sent and self._sent[0].is_answered:
            self._sent.popleft()
            self.confirmed += 1
