"""What `frontier` would have let go before it was read again.

Responsible for going through a run under `frontier`, and for telling who missed what. Refuses to know what comes of it.
Invariant: a map stage that repairs what it wrote teaches nothing: that outputs were lost in this run is no reason to
keep in the next one what they were made from. Where another stage reads it after that, it was late all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.values import Capabilities, Policy, Rule
from replay.simulate.driver import Driver, Pace
from replay.simulate.facts import Fact
from replay.simulate.rewriting import Rewriter
from replay.simulate.running import Otherwise

#: Whether a stage has read this before, for what it writes again.
Repairs: TypeAlias = Callable[[c.ReportStageSubmitted, AppShuffle], bool]

_FRONTIER = Policy(Rule.FRONTIER, observe=False)
_ANY = 1 << 31


@dataclass(slots=True)
class Late:
    """One run under `frontier`, which goes on deleting however often it has deleted too early before."""

    rewriter: Rewriter
    repairs: Repairs
    found: set[AppShuffle] = field(default_factory=set)
    _run: Otherwise = field(init=False)
    _shuffles: dict[ShuffleId, AppShuffle] = field(default_factory=dict)
    _missed: set[AppShuffle] = field(default_factory=set)  #: With the fact that is told now.
    _let_go: set[AppShuffle] = field(default_factory=set)  #: Missed by repairs alone, so far.

    def __post_init__(self) -> None:
        self._run = Otherwise(_FRONTIER, Driver(Pace()), self.rewriter, self._hear)

    def take(self, fact: Fact) -> None:
        """One more fact of the run."""
        self._run.take(_patient(fact))
        if isinstance(fact.command, c.ReportStageSubmitted):
            self._judge(fact.command)
        self.found |= self._missed
        self._missed.clear()

    def _judge(self, stage: c.ReportStageSubmitted) -> None:
        """Who missed what has just been missed; what is behind it was missed for it."""
        anew = {read for read in stage.reads if not self.repairs(stage, read)}
        self.found |= self._let_go & anew
        if self._missed and anew.isdisjoint(self._missed) and not self._missed.isdisjoint(stage.reads):
            self._let_go |= self._missed
            self._missed.clear()

    def _hear(self, log: Iterable[e.Recorded]) -> None:
        for recorded in log:
            event = recorded.event
            if isinstance(event, e.GenerationStarted | e.GenerationAdopted):
                self._shuffles[event.shuffle_id] = event.app_shuffle
            elif isinstance(event, e.PrematureDeletion) and event.shuffle_id in self._shuffles:
                self._missed.add(self._shuffles[event.shuffle_id])


def _patient(fact: Fact) -> Fact:
    """The fact, where it registers the application with budgets so large that deletion never suspends itself."""
    if not isinstance(fact.command, c.RegisterApplication):
        return fact
    settings = replace(fact.command.settings, premature_budget=_ANY, recoveries=_ANY, recoveries_per_shuffle=_ANY)
    return replace(fact, command=replace(fact.command, settings=settings, capabilities=Capabilities()))
