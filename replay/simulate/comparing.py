"""Whether two logs decide the same.

Responsible for telling decisions from facts, and for the first place where two logs differ. Refuses to judge which one
is right. Invariant: two logs without differences have the same events, in the same places, at the same times, for the
same reasons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from coordinator.core import events as e
from coordinator.core.events import Event, Recorded
from coordinator.core.values import Deletion

#: Reported from outside; whatever the policy, they are as they are.
FACTS: frozenset[type] = frozenset(
    {
        e.ApplicationRegistered,
        e.ApplicationEnded,
        e.PolicyChanged,
        e.PinSet,
        e.PinRemoved,
        e.DeletionResumed,
        e.GapRecorded,
        e.LineageLearned,
        e.JobStarted,
        e.JobEnded,
        e.StageSubmitted,
        e.StageCompleted,
        e.ExecutionStarted,
        e.ExecutionEnded,
        e.ExecutorLost,
        e.CachedBlocksLost,
        e.DiskReported,
        e.ShuffleCleaned,
        e.LookBegan,
        e.CutReported,
        e.RootGone,
        e.LookEnded,
        e.GenerationsMixed,
        e.ResultsMayDiffer,
    }
)

#: What the driver made of a directive.
OUTCOMES: frozenset[type] = frozenset({e.FenceRefused, e.GenerationFenced, e.DirectiveFailed, e.DataInvalidated})

#: The coordinator's own book-keeping.
KEPT: frozenset[type] = frozenset({e.ClientRegistered, e.ClientDropped, e.RequestsAnswered})


def is_decision(event: Event) -> bool:
    """Whether the core decided it, and could have decided otherwise."""
    if isinstance(event, e.GenerationDeleted):
        return event.cause not in (Deletion.POLICY, Deletion.SPARK)
    return type(event) not in FACTS | OUTCOMES | KEPT


def decisions(log: Iterable[Recorded]) -> list[Recorded]:
    """What was decided, in order."""
    return [recorded for recorded in log if is_decision(recorded.event)]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two logs differ."""

    recorded: Recorded | None  #: None: the simulated log goes on.
    simulated: Recorded | None

    def __str__(self) -> str:
        return f"recorded {_told(self.recorded)}; simulated {_told(self.simulated)}"


def first_difference(recorded: Iterable[Recorded], simulated: Iterable[Recorded]) -> Difference | None:
    """The first place where they differ; all later ones may follow from it."""
    pairs = zip_longest(recorded, simulated)
    return next((Difference(one, other) for one, other in pairs if one != other), None)


def _told(recorded: Recorded | None) -> str:
    return "nothing more" if recorded is None else f"event {recorded.sequence} at {recorded.time_ms}: {recorded.event}"
