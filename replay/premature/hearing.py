"""How generations that were missed came to be deleted.

Responsible for the chain of events from the expiry to the miss and no further, for who missed it, and for what
writing it again took.
Refuses to know what would have kept it (`trying`). Invariant: an event is told with the state before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, JobId, ShuffleId
from coordinator.core.policies import policy_of
from coordinator.core.state import State, empty
from coordinator.core.values import Policy
from replay.blocks import Blocks
from replay.causes import Causes
from replay.names import Known, Names
from replay.numbers import Numbers
from replay.phrases import phrase
from replay.premature.values import Cause
from replay.simulate.fetching import Readings
from replay.telling import CHOSEN

#: The events between the expiry and the miss that are told.
_Step: TypeAlias = e.HoldChanged | e.FenceRefused | e.GenerationFenced | e.GenerationDeleted


@dataclass(slots=True)
class Miss:
    """One premature deletion, as far as it was heard."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    policy: Policy
    chain: list[Cause]
    expired_ms: int
    call_site: str = ""
    missed: e.Recorded | None = None
    missed_by: str = ""
    job: JobId | None = None  #: The job that misses it.
    job_ms: int = 0  #: When that job began.
    rewritten_ms: int = 0  #: Task time of the stage attempts that wrote it again, whose outputs were left.


@dataclass(slots=True)
class Missed:
    """Collects which generations were missed, from a log that goes by."""

    ids: set[ShuffleId] = field(default_factory=set)

    def hear(self, recorded: e.Recorded) -> None:
        """One more event of the log."""
        if isinstance(recorded.event, e.PrematureDeletion):
            self.ids.add(recorded.event.shuffle_id)


@dataclass(slots=True)
class Beforehand:
    """Collects what a trial has to know of the whole run before it begins."""

    ran: Numbers = field(default_factory=Numbers)
    readings: Readings = field(default_factory=Readings)
    looked: bool = False

    def hear(self, event: e.Event) -> None:
        """One more event of the log."""
        if isinstance(event, e.StageSubmitted):
            self.ran.add(event.stage.stage)
            self.readings.submitted(event)
        elif isinstance(event, e.StageCompleted):
            self.readings.over(event)
        elif isinstance(event, e.ShuffleCleaned):
            self.readings.forget(event.app_shuffle)
        elif isinstance(event, e.LookEnded):
            self.looked = True


@dataclass(slots=True)
class Heard:
    """Collects how the missed generations came to be deleted, from a log that goes by once more."""

    missed: frozenset[ShuffleId]
    state: State = field(default_factory=empty)
    names: Names = field(default_factory=Names)
    going: dict[ShuffleId, Miss] = field(default_factory=dict)
    job_ms: Known[JobId, int] = field(default_factory=Known)
    causes: Causes = field(default_factory=Causes)
    misses: list[Miss] = field(default_factory=list)
    rewriting: dict[AppShuffle, Miss] = field(default_factory=dict)  #: Missed, and not complete again.
    beforehand: Beforehand = field(default_factory=Beforehand)
    blocks: Blocks = field(default_factory=Blocks)

    def hear(self, recorded: e.Recorded) -> None:
        """One more event of the log."""
        self.causes.hear(recorded, self.state)
        self.names.hear(recorded)
        self.beforehand.hear(recorded.event)
        rule = _HEARD.get(type(recorded.event))
        if rule is not None:
            rule(self, recorded, recorded.event)
        self.blocks.hear(recorded, self.state)
        apply(self.state, recorded)

    def _job_started(self, recorded: e.Recorded, event: e.JobStarted) -> None:
        self.job_ms.begin(event.job, recorded.time_ms)

    def _job_ended(self, _: e.Recorded, event: e.JobEnded) -> None:
        self.job_ms.end(event.job)

    def _expired(self, recorded: e.Recorded, event: e.GenerationExpired) -> None:
        generation = self.state.generations.get(event.shuffle_id)
        if generation is None or event.shuffle_id not in self.missed:
            return
        fact = self.causes.of(recorded, self.state)
        chain = [self._cause(fact)] if fact is not None else []
        chain.append(self._cause(recorded))
        policy, app_shuffle = policy_of(self.state, generation), generation.app_shuffle
        self.going[event.shuffle_id] = Miss(event.shuffle_id, app_shuffle, policy, chain, recorded.time_ms)

    def _taken_back(self, _: e.Recorded, event: e.ExpiryTakenBack | e.FenceRefused) -> None:
        self.going.pop(event.shuffle_id, None)

    def _refused(self, recorded: e.Recorded, event: e.FenceRefused) -> None:
        """It is kept, so that the expiry is over; or its fence will be asked for again."""
        (self._taken_back if event.keep else self._goes_on)(recorded, event)

    def _goes_on(self, recorded: e.Recorded, event: _Step) -> None:
        going = self.going.get(event.shuffle_id)
        if going is not None:
            going.chain.append(self._cause(recorded))

    def _fence_requested(self, recorded: e.Recorded, event: e.FenceRequested) -> None:
        """Takes the policy that lets it go. Where somebody has chosen another one since the expiry, that is told."""
        going = self.going.get(event.shuffle_id)
        if going is None:
            return
        generation = self.state.generations.get(going.shuffle_id)
        going.policy = policy_of(self.state, generation) if generation is not None else going.policy
        fact = self.causes.of(recorded, self.state)
        if fact is not None and isinstance(fact.event, CHOSEN) and fact.sequence > going.chain[-1].sequence:
            going.chain.append(self._cause(fact))
        going.chain.append(self._cause(recorded))

    def _missed(self, recorded: e.Recorded, event: e.PrematureDeletion) -> None:
        going = self.going.pop(event.shuffle_id, None)
        if going is None:
            return
        job = self.names.job_of(event.stage.stage) if event.stage is not None else None
        going.call_site = self.names.call_site(going.app_shuffle)
        going.missed, going.missed_by = recorded, self.names.stage_of_job(event.stage)
        going.job = job
        going.job_ms = self.job_ms.get(job, recorded.time_ms) if job is not None else recorded.time_ms
        going.chain += map(self._of_blocks, self.blocks.before(going.app_shuffle, event.shuffle_id))
        going.chain.append(self._cause(recorded))
        self.misses.append(going)
        self.rewriting[going.app_shuffle] = going

    def _writes(self, _: e.Recorded, event: e.StageSubmitted) -> None:
        """What failed attempts cost is dropped when one writes all of it anew: it found nothing of what they wrote."""
        miss = self.rewriting.get(event.writes) if event.writes is not None else None
        shuffle = self.state.shuffles.get(event.writes) if event.writes is not None else None
        if miss is not None and shuffle is not None and 0 < shuffle.lineage.maps <= event.tasks:
            miss.rewritten_ms = 0

    def _wrote(self, _: e.Recorded, event: e.StageCompleted) -> None:
        attempt = self.state.attempts.get(event.stage)
        miss = self.rewriting.get(attempt.writes) if attempt is not None and attempt.writes is not None else None
        if miss is not None:
            miss.rewritten_ms += event.task_ms

    def _is_complete(self, _: e.Recorded, event: e.GenerationCompleted) -> None:
        generation = self.state.generations.get(event.shuffle_id)
        if generation is not None:
            self.rewriting.pop(generation.app_shuffle, None)

    def _of_blocks(self, recorded: e.Recorded) -> Cause:
        event = recorded.event
        if not isinstance(event, e.StageSubmitted):
            return self._cause(recorded)
        told = f"{self.names.stage_of_job(event.stage)} took cached blocks instead of it"
        return Cause(recorded.sequence, recorded.time_ms, told)

    def _cause(self, recorded: e.Recorded) -> Cause:
        return Cause(recorded.sequence, recorded.time_ms, phrase(recorded.event, self.names))


_HEARD: dict[type, Callable[[Heard, e.Recorded, Any], None]] = {
    e.JobStarted: Heard._job_started,  # noqa: SLF001 - the class's own table
    e.JobEnded: Heard._job_ended,  # noqa: SLF001
    e.StageSubmitted: Heard._writes,  # noqa: SLF001
    e.StageCompleted: Heard._wrote,  # noqa: SLF001
    e.GenerationCompleted: Heard._is_complete,  # noqa: SLF001
    e.GenerationExpired: Heard._expired,  # noqa: SLF001
    e.ExpiryTakenBack: Heard._taken_back,  # noqa: SLF001
    e.HoldChanged: Heard._goes_on,  # noqa: SLF001
    e.FenceRequested: Heard._fence_requested,  # noqa: SLF001
    e.FenceRefused: Heard._refused,  # noqa: SLF001
    e.GenerationFenced: Heard._goes_on,  # noqa: SLF001
    e.GenerationDeleted: Heard._goes_on,  # noqa: SLF001
    e.PrematureDeletion: Heard._missed,  # noqa: SLF001
}
