"""Who keeps how much: the roots of an application, with the bytes that each one holds.

Responsible for weighing what jobs and roots reach, in a folded state. Refuses to know how a root was found, and why a
policy counts it or not. Invariant: a holder's own bytes are those that nobody else holds: they go when it lets go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from coordinator.core import cuts
from coordinator.core.events import ApplicationEnded, Recorded
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle
from coordinator.core.state import State, empty
from replay.names import Names


@dataclass(frozen=True, slots=True)
class Holder:
    """One holder. ``alone_bytes`` of its ``bytes`` nobody else holds. ``call_sites``: where they were written."""

    kind: str
    who: str
    bytes: int
    alone_bytes: int
    app_shuffles: tuple[AppShuffle, ...]
    call_sites: tuple[str, ...]


@dataclass(slots=True)
class Weigher:
    """Listens to a log, of which it keeps what is alive and names."""

    state: State = field(default_factory=empty)
    names: Names = field(default_factory=Names)
    at_end: tuple[Holder, ...] = ()  #: Who held something when the application ended; nobody does any more.

    def hear(self, recorded: Recorded) -> None:
        """One more event."""
        if isinstance(recorded.event, ApplicationEnded):
            self.at_end = self.holders()
        apply(self.state, recorded)
        self.names.hear(recorded)

    def holders(self) -> tuple[Holder, ...]:
        """All that hold something now; who would give back most comes first."""
        return weigh(self.state, self.names)

    def bytes_there(self) -> int:
        """Bytes of all shuffles whose data are there, whoever holds them."""
        return sum(_weights(self.state).values())


def holders(log: Iterable[Recorded]) -> tuple[Holder, ...]:
    """All that hold something at the end of the log; who would give back most comes first."""
    weigher = Weigher()
    for recorded in log:
        weigher.hear(recorded)
    return weigher.holders()


def weigh(state: State, names: Names) -> tuple[Holder, ...]:
    """All that hold something in a folded state; who would give back most comes first."""
    weights = _weights(state)
    held = [(kind, who, cut & weights.keys()) for kind, who, cut in _merged(_cuts(state, names))]
    times = Counter(shuffle for _, _, cut in held for shuffle in cut)
    found = [
        Holder(
            kind,
            who,
            sum(weights[shuffle] for shuffle in cut),
            sum(weights[shuffle] for shuffle in cut if times[shuffle] == 1),
            tuple(sorted(cut)),
            tuple(dict.fromkeys(filter(None, (_call_site(state, shuffle) for shuffle in sorted(cut))))),
        )
        for kind, who, cut in held
        if cut
    ]
    return tuple(sorted(found, key=lambda one: (-one.alone_bytes, -one.bytes, one.kind, one.who)))


def _weights(state: State) -> dict[AppShuffle, int]:
    """The bytes of every app shuffle that is there."""
    there = (one for one in state.generations.values() if one.intact)
    return {generation.app_shuffle: generation.bytes for generation in there}


def _cuts(state: State, names: Names) -> Iterator[tuple[str, str, frozenset[AppShuffle]]]:
    for _, job in sorted(state.jobs.items()):
        yield "job", names.job(job.job), cuts.of_job(state, job)
    for _, root in sorted(state.roots.items()):
        yield root.kind.value, names.who(root.kind, root.root, root.why), cuts.walk(state, root.needs)


def _merged(
    found: Iterable[tuple[str, str, frozenset[AppShuffle]]],
) -> Iterator[tuple[str, str, frozenset[AppShuffle]]]:
    """What people call by one name is one holder: a handle, and the JVM's objects behind it."""
    merged: dict[tuple[str, str], frozenset[AppShuffle]] = {}
    for kind, who, cut in found:
        merged[kind, who] = merged.get((kind, who), frozenset()) | cut
    for (kind, who), cut in merged.items():
        yield kind, who, cut


def _call_site(state: State, app_shuffle: AppShuffle) -> str:
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle.lineage.call_site if shuffle is not None else ""
