"""The fact that an event follows from.

One report may tell many facts: a look names many roots, and a resync all that was missed. In the log, every event that
follows from the report points to the first of them (``because``).

Responsible for naming, of all facts of that report, the one that decided. Refuses to know words.
Invariant: the fact that is named belongs to the report that the event follows from, and comes before the event.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.core import events as e
from coordinator.core import policies
from coordinator.core.ids import AppShuffle, Sequence
from coordinator.core.state import Root, State
from coordinator.core.values import RootKind


@dataclass(slots=True)
class Causes:
    """Listens to a whole log."""

    fact: e.Recorded | None = None  #: The last fact; of a look or a resync, the event that sums it up.
    _first: Sequence = Sequence(0)  #: The number of the first event of the last report.
    #: By app shuffle: the roots that let go of it in this report, each with the event that says so.
    _let_go: dict[AppShuffle, list[tuple[RootKind, e.Recorded]]] = field(default_factory=dict)

    def hear(self, recorded: e.Recorded, before: State) -> None:
        """One more event, and the state before it."""
        event = recorded.event
        if recorded.because == recorded.sequence:
            self.fact, self._first = recorded, recorded.sequence
            self._let_go.clear()
        if isinstance(event, e.LookEnded) or (isinstance(event, e.GapRecorded) and event.resynced):
            self.fact = recorded
        elif isinstance(event, (e.CutReported, e.RootGone)) and event.root in before.roots:
            self._lets_go(recorded, event, before.roots[event.root])

    def _lets_go(self, recorded: e.Recorded, event: e.CutReported | e.RootGone, root: Root) -> None:
        for app_shuffle in event.removed if isinstance(event, e.CutReported) else root.needs:
            self._let_go.setdefault(app_shuffle, []).append((root.kind, recorded))

    def of(self, recorded: e.Recorded, state: State) -> e.Recorded | None:
        """The fact that the event follows from; None where it is that fact itself, or follows from an earlier report.

        ``state``: a folded state in which the generation that the event is about is there.
        """
        if self.fact is None or recorded.because != self._first or recorded is self.fact:
            return None
        return self._of_expiry(recorded.event, state) if isinstance(recorded.event, e.GenerationExpired) else self.fact

    def _of_expiry(self, event: e.GenerationExpired, state: State) -> e.Recorded | None:
        """Of the roots that count under the generation's policy, the one that let go of it last; else the report."""
        generation = state.generations.get(event.shuffle_id)
        if generation is None:
            return self.fact
        kinds = policies.counted(state, generation)
        let_go = [one for kind, one in self._let_go.get(generation.app_shuffle, ()) if kind in kinds]
        return let_go[-1] if let_go else self.fact
