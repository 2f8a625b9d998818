"""How long to wait for one answer of the cluster before asking another member.

Responsible for: a time that follows how fast the last answers were, and how long there were none. Refuses to know: what
is asked, and of whom.
Invariant: the time is never below the shortest nor above the longest. It grows while answers are slow, while there are
none, and with each try of a question that had no answer in time: so a question that takes long in itself, as a large
page does, is not given up for ever.

A request that a member has forwarded to a leader which then dies is lost without an error. Only giving up early and
asking again finds the new leader soon after its election. The outcome of a write that is given up is unknown, and
submitting the same segment again is harmless.
"""

from __future__ import annotations

#: An answer that takes so many times as long as the slow ones of late is taken for lost.
_TIMES_TYPICAL = 8
#: By this factor the memory of a slow answer shrinks with each answer: after some twenty it no longer counts.
_FORGETTING = 0.9
#: As a part of the time for which nobody has answered: so long the next answer may take at least.
_SHARE_OF_SILENCE = 0.25


class Patience:
    """The patience of one client with its cluster. Times are seconds of one monotonic clock."""

    def __init__(self, shortest_seconds: float, longest_seconds: float) -> None:
        self._shortest_seconds = min(shortest_seconds, longest_seconds)
        self._longest_seconds = longest_seconds
        self._typical_seconds = 0.0
        self._silent_since_seconds: float | None = None

    def seconds(self, now_seconds: float, tries: int = 0) -> float:
        """How long the next answer may take, to a question that was given up so many times."""
        silent_seconds = 0.0 if self._silent_since_seconds is None else now_seconds - self._silent_since_seconds
        wished_seconds = max(_TIMES_TYPICAL * self._typical_seconds, _SHARE_OF_SILENCE * silent_seconds)
        return min(max(wished_seconds, self._shortest_seconds) * 2.0**tries, self._longest_seconds)

    def answered(self, took_seconds: float) -> None:
        """An answer came."""
        self._typical_seconds = max(took_seconds, _FORGETTING * self._typical_seconds)
        self._silent_since_seconds = None

    def given_up(self, sent_seconds: float) -> None:
        """No answer came to what was sent then."""
        if self._silent_since_seconds is None:
            self._silent_since_seconds = sent_seconds
