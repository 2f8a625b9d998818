"""How long to wait for one answer of the cluster before asking another member.

Responsible for: a time that follows how fast answers have been, and how long there were none. Refuses to know: what is
asked, and of whom.
Invariant: never less than the shortest nor more than the longest time; a cluster whose answers are slow, or that has
been silent for long, and a question that had no answer in time, are given ever more time, so that waiting in vain never
becomes the reason for waiting in vain: a large page takes longer than what is answered beside it.

What a member has forwarded to a leader that dies is lost, and nobody says so: only giving up early and asking again
finds the new leader soon after its election. A write that is given up is unknown, and submitting it again is harmless.
"""

from __future__ import annotations

#: What takes so many times as long as slow answers have lately is taken for lost.
_TIMES_TYPICAL = 8
#: What is left, with each answer, of how slow those before it were: one slow answer counts for some twenty.
_FORGETTING = 0.9
#: Of the time for which nobody has answered, the part that the next answer may take.
_SHARE_OF_SILENCE = 0.25


class Patience:
    """Of one client of a cluster. Times are seconds of one monotonic clock."""

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
