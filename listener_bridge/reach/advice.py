"""One line for the job's owner, where a name keeps much for long: pure.

Responsible for: when such a line is due, and its words.
Refuses to know: how it is shown, and whether the name is needed: only its owner knows.
Invariant: a name is spoken of once, and not for what is pinned; lines come, and pins are asked for, at most every
`PAUSE_S`. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from listener_bridge.reach.findings import Kind, Root

BYTES_MIN = 1_000_000_000
HELD_MIN_S = 600.0
PAUSE_S = 600.0


class Advisor:
    """What was seen of names so far."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}
        self._told: set[str] = set()
        self._due_s = 0.0

    def advise(
        self, now_s: float, roots: Collection[Root], sizes: Mapping[int, int], pins: Callable[[], Iterable[int]] = tuple
    ) -> str | None:
        """The line that is due now; None where none is. `sizes`: app shuffle -> bytes. `pins`: asks who is pinned."""
        held = _held(roots, sizes)
        self._since_s = {who: self._since_s.get(who, now_s) for who in held}
        due = [who for who in held if who not in self._told and now_s - self._since_s[who] >= HELD_MIN_S]
        if not due or now_s < self._due_s:
            return None
        self._due_s = now_s + PAUSE_S
        held = _held(roots, {**sizes, **dict.fromkeys(pins(), 0)})
        who = max(due, key=lambda name: held.get(name, 0))
        if who not in held:
            return None  # it would stay all the same
        self._told.add(who)
        minutes = (now_s - self._since_s[who]) / 60
        return (
            f"{who} has kept {held[who] / 1e9:,.1f} GB of shuffle data for {minutes:.0f} minutes: "
            "`del` it, or let it go out of scope, where it is not needed any more"
        )


def _held(roots: Collection[Root], sizes: Mapping[int, int]) -> dict[str, int]:
    """The bytes that each name alone holds, where they are many."""
    reach: dict[str, set[int]] = {}
    for root in roots:
        reach.setdefault(root.why if root.kind is Kind.HANDLE else root.root, set()).update(root.needs)
    holders: dict[int, int] = {}
    for needs in reach.values():
        for shuffle in needs:
            holders[shuffle] = holders.get(shuffle, 0) + 1
    names = {root.why for root in roots if root.kind is Kind.HANDLE and root.why}
    held = {name: sum(sizes.get(s, 0) for s in reach[name] if holders[s] == 1) for name in names}
    return {name: size for name, size in held.items() if size >= BYTES_MIN}
