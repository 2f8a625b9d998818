"""What was deleted too early, what that cost, and the least that would have kept it.

Responsible for every premature deletion of a log: the chain of events behind it, its cost, and changes of policy that
avoid it, tried out on the recorded run. Refuses to guess: a change is named only where the core, told the same facts
under it, does not miss the shuffle. Invariant: the same log gives the same answer, without a server and without Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, JobId, Sequence, ShuffleId, StageAttempt, StageId
from coordinator.core.policies import policy_of
from coordinator.core.state import State, empty
from coordinator.core.values import Policy, Rule
from replay.blocks import Blocks
from replay.names import Known, Names
from replay.numbers import Numbers
from replay.phrases import phrase
from replay.simulate.baseline import Costs
from replay.simulate.driver import Driver, Pace
from replay.simulate.facts import Fact
from replay.simulate.fetching import Readings
from replay.simulate.ledger import Ledger
from replay.simulate.outcome import Miss as Cost
from replay.simulate.reading import Listener
from replay.simulate.rewriting import Rewriter
from replay.simulate.running import AsRecorded, Otherwise
from replay.simulate.slots import slots_of
from replay.telling import CHOSEN
from replay.units import count, duration, size

_SECOND_MS = 1_000
Hear: TypeAlias = Callable[[e.Recorded], None]
#: What is told between the expiry and the miss; a fence that was refused is asked for again.
_GOING_ON = (e.HoldChanged, e.FenceRequested, e.FenceRefused, e.GenerationFenced, e.GenerationDeleted)


@dataclass(frozen=True, slots=True)
class Cause:
    """One event of the chain."""

    sequence: Sequence
    time_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that keeps the shuffle. ``extra_byte_seconds``: what more the whole run would have held, told the same
    facts with and without it: with the same simulated driver, so that only the change makes the difference."""

    change: str
    extra_byte_seconds: float
    others_missed: int  #: Premature deletions that are left, of other shuffles.


@dataclass(frozen=True, slots=True)
class Premature:
    """One premature deletion."""

    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    call_site: str
    policy: str  #: That let it go.
    sequence: Sequence  #: Where it was missed.
    time_ms: int
    missed_by: str
    chain: tuple[Cause, ...]
    recomputed_bytes: int
    #: None where nobody measured it: then wall time of the stage that wrote it, times the tasks that ran at a time.
    recomputed_task_seconds: float | None
    advice: tuple[Advice, ...]  #: The least first; empty where nothing that was tried keeps it.


def premature(log: Iterable[e.Recorded]) -> tuple[Premature, ...]:
    """Every premature deletion, in the order of the log."""
    records, inquiry = list(log), Inquiry()
    for hear in inquiry.passes():
        for recorded in records:
            hear(recorded)
    return inquiry.found


@dataclass(slots=True)
class Inquiry:
    """Finds them in a log that may be longer than memory: it is read once, and twice more where anything was missed.

    What is held is what was missed, what is alive in the run (in the recorded one, and in each that is tried), and a
    bit for each stage that there was.
    """

    found: tuple[Premature, ...] = ()

    def passes(self) -> Iterator[Hear]:
        """Who is to hear the whole log, one after the other."""
        missed = _Missed()
        yield missed.hear
        if missed.ids:
            heard = _Heard(frozenset(missed.ids))
            yield heard.hear
            trial = _Trial(heard)
            yield trial.hear
            self.found = trial.told()


# ---- what happened ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Miss:
    shuffle_id: ShuffleId
    app_shuffle: AppShuffle
    policy: Policy
    chain: list[Cause]
    expired_ms: int
    call_site: str = ""
    missed: e.Recorded | None = None
    missed_by: str = ""
    job: JobId | None = None  #: That misses it.
    job_ms: int = 0  #: When that began.
    rewritten_ms: int = 0  #: Task time of the stage attempts that wrote it again, whose outputs were left.


@dataclass(slots=True)
class _Missed:
    """Hears which generations were missed."""

    ids: set[ShuffleId] = field(default_factory=set)

    def hear(self, recorded: e.Recorded) -> None:
        if isinstance(recorded.event, e.PrematureDeletion):
            self.ids.add(recorded.event.shuffle_id)


@dataclass(slots=True)
class _Beforehand:
    """Hears what a trial has to know of the whole run before it begins."""

    ran: Numbers = field(default_factory=Numbers)
    readings: Readings = field(default_factory=Readings)
    looked: bool = False

    def hear(self, event: e.Event) -> None:
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
class _Heard:
    """Hears how those came to be let go that were missed."""

    missed: frozenset[ShuffleId]
    state: State = field(default_factory=empty)
    names: Names = field(default_factory=Names)
    going: dict[ShuffleId, _Miss] = field(default_factory=dict)
    job_ms: Known[JobId, int] = field(default_factory=Known)
    facts: dict[int, e.Recorded] = field(default_factory=dict)
    misses: list[_Miss] = field(default_factory=list)
    rewriting: dict[AppShuffle, _Miss] = field(default_factory=dict)  #: Missed, and not complete again.
    beforehand: _Beforehand = field(default_factory=_Beforehand)
    blocks: Blocks = field(default_factory=Blocks)

    def hear(self, recorded: e.Recorded) -> None:
        event = recorded.event
        if recorded.because == recorded.sequence:
            self.facts = {recorded.sequence: recorded}
        self.names.hear(recorded)
        self.beforehand.hear(event)
        if isinstance(event, e.JobStarted):
            self.job_ms.begin(event.job, recorded.time_ms)
        elif isinstance(event, e.JobEnded):
            self.job_ms.end(event.job)
        elif isinstance(event, e.GenerationExpired):
            self._expired(recorded, event)
        elif isinstance(event, e.ExpiryTakenBack) or (isinstance(event, e.FenceRefused) and event.keep):
            self.going.pop(event.shuffle_id, None)
        elif isinstance(event, _GOING_ON):
            self._go_on(recorded, event.shuffle_id)
        elif isinstance(event, e.PrematureDeletion):
            self._missed(recorded, event)
        elif isinstance(event, e.StageSubmitted):
            self._writes(event)
        elif isinstance(event, e.StageCompleted):
            self._wrote(event)
        elif isinstance(event, e.GenerationCompleted):
            self._is_complete(event.shuffle_id)
        self.blocks.hear(recorded, self.state)
        apply(self.state, recorded)

    def _expired(self, recorded: e.Recorded, event: e.GenerationExpired) -> None:
        generation = self.state.generations.get(event.shuffle_id)
        if generation is None or event.shuffle_id not in self.missed:
            return
        fact = self.facts.get(recorded.because)
        chain = [self._cause(fact)] if fact is not None and fact is not recorded else []
        chain.append(self._cause(recorded))
        policy, app_shuffle = policy_of(self.state, generation), generation.app_shuffle
        self.going[event.shuffle_id] = _Miss(event.shuffle_id, app_shuffle, policy, chain, recorded.time_ms)

    def _go_on(self, recorded: e.Recorded, shuffle_id: ShuffleId) -> None:
        going = self.going.get(shuffle_id)
        if going is None:
            return
        if isinstance(recorded.event, e.FenceRequested):
            self._fence(recorded, going)
        going.chain.append(self._cause(recorded))

    def _fence(self, recorded: e.Recorded, going: _Miss) -> None:
        """The policy that lets it go, which somebody may have chosen since it expired."""
        generation = self.state.generations.get(going.shuffle_id)
        going.policy = policy_of(self.state, generation) if generation is not None else going.policy
        fact = self.facts.get(recorded.because)
        if fact is not None and isinstance(fact.event, CHOSEN):
            going.chain.append(self._cause(fact))

    def _missed(self, recorded: e.Recorded, event: e.PrematureDeletion) -> None:
        going = self.going.get(event.shuffle_id)
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

    def _writes(self, event: e.StageSubmitted) -> None:
        """An attempt that writes all of it anew found nothing of what failed ones had written."""
        miss = self.rewriting.get(event.writes) if event.writes is not None else None
        shuffle = self.state.shuffles.get(event.writes) if event.writes is not None else None
        if miss is not None and shuffle is not None and 0 < shuffle.lineage.maps <= event.tasks:
            miss.rewritten_ms = 0

    def _wrote(self, event: e.StageCompleted) -> None:
        attempt = self.state.attempts.get(event.stage)
        miss = self.rewriting.get(attempt.writes) if attempt is not None and attempt.writes is not None else None
        if miss is not None:
            miss.rewritten_ms += event.task_ms

    def _is_complete(self, shuffle_id: ShuffleId) -> None:
        generation = self.state.generations.get(shuffle_id)
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


# ---- what would have kept it -----------------------------------------------------------------------------------------


class _Kind(Enum):
    NONE = "none"
    PIN = "pin"
    GRACE = "grace"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class _Change:
    """Something to try: a policy for the whole run, or further commands."""

    name: str
    kind: _Kind
    policy: Policy | None = None
    pinned: AppShuffle | None = None


_UNCHANGED = _Change("none", _Kind.NONE)


def _pin(app_shuffle: AppShuffle) -> _Change:
    return _Change(f"pin app shuffle {app_shuffle}", _Kind.PIN, pinned=app_shuffle)


class _Trial:
    """The recorded run, and what becomes of it with each change and with none, all at once as the log goes by."""

    def __init__(self, heard: _Heard) -> None:
        self._misses = heard.misses
        self._looked = heard.beforehand.looked
        self._recorded = Ledger(keeps_lives=False)
        self._as_recorded = AsRecorded(self._recorded.hear)
        self._costs = Costs()
        self._wanted = {miss.app_shuffle for miss in heard.misses}
        self._of_job: dict[JobId | None, list[_Miss]] = {}
        for miss in heard.misses:
            self._of_job.setdefault(miss.job, []).append(miss)
        self._left: dict[_Change, Counter[AppShuffle]] = {}  #: What is still missed with each.
        self._now_ms = 0
        ran, behind = heard.beforehand.ran, heard.beforehand.readings.behind
        changes = dict.fromkeys(change for miss in heard.misses for change in self._changes(miss))
        self._tried = {change: _Otherwise.of(change, ran, behind) for change in changes}
        self._unchanged = _Otherwise.of(_UNCHANGED, ran, behind)
        self._listener = Listener(self._take)

    def hear(self, recorded: e.Recorded) -> None:
        """One more event of the log."""
        self._listener.hear(recorded)

    def told(self) -> tuple[Premature, ...]:
        """Every miss, once the whole log was heard."""
        self._listener.close()
        self._recorded.close(self._now_ms)
        self._unchanged.close(self._now_ms)
        for change, run in self._tried.items():
            run.close(self._now_ms)
            self._left[change] = Counter(one.app_shuffle for one in run.ledger.misses({}))
        costs = {cost.shuffle_id: cost for cost in self._recorded.misses(self._costs.task_ms)}
        return tuple(_told(miss, costs.get(miss.shuffle_id), self._advice_on(miss)) for miss in self._misses)

    def _take(self, fact: Fact) -> None:
        self._now_ms = max(self._now_ms, fact.time_ms)
        self._as_recorded.take(fact)
        self._count(fact)
        for run in (self._unchanged, *self._tried.values()):
            run.take(fact)

    def _count(self, fact: Fact) -> None:
        """What writing what was missed takes."""
        command = fact.command
        if isinstance(command, c.RegisterApplication):
            self._costs.slots = slots_of(command.driver.master)
        elif not isinstance(command, c.ReportStageSubmitted) or command.writes in self._wanted:
            self._costs.hear([fact])

    def _advice_on(self, miss: _Miss) -> tuple[Advice, ...]:
        """What keeps it; what holds least first. Of what the same job misses too: where this is written again only for
        that one, what keeps that one keeps both. One pin and one grace, where none of its own is as good."""
        own = self._keeping(miss.app_shuffle, self._changes(miss))
        others = self._of_job[miss.job] if miss.job is not None else ()
        further = self._keeping(miss.app_shuffle, (change for other in others for change in self._changes(other)))
        told = list(own.values())
        for kind in (_Kind.PIN, _Kind.GRACE):
            best = min(_of_kind(kind, further), key=_left_by, default=None)
            if best is not None and not any(_is_no_worse(one, best) for one in _of_kind(kind, own)):
                told.append(best)
        return tuple(sorted(told, key=lambda one: (one.extra_byte_seconds, one.change)))

    def _keeping(self, app_shuffle: AppShuffle, changes: Iterable[_Change]) -> dict[_Change, Advice]:
        """Those of these that keep it."""
        tried = ((change, self._advice(change, app_shuffle)) for change in dict.fromkeys(changes))
        return {change: advice for change, advice in tried if advice is not None}

    def _changes(self, miss: _Miss) -> Iterator[_Change]:
        yield _pin(miss.app_shuffle)
        missed_ms = miss.missed.time_ms if miss.missed is not None else miss.expired_ms
        for until_ms in sorted({miss.job_ms, missed_ms}):
            grace_s = -(-(until_ms - miss.expired_ms + 1) // _SECOND_MS)
            if grace_s > 0:
                policy = replace(miss.policy, grace_ms=miss.policy.grace_ms + grace_s * _SECOND_MS)
                told = f"policy delayed ({policy.rule.value}) with a grace of {duration(policy.grace_ms)}"
                yield _Change(told, _Kind.GRACE, policy)
        if miss.policy.rule is not Rule.REACHABLE and self._looked:
            reachable = Policy(Rule.REACHABLE, False)
            yield _Change(f"policy reachable instead of {miss.policy.rule.value}", _Kind.RULE, reachable)
        if miss.policy.rule is Rule.EAGER:
            frontier = Policy(Rule.FRONTIER, False, miss.policy.grace_ms)
            yield _Change("policy frontier instead of eager", _Kind.RULE, frontier)

    def _advice(self, change: _Change, app_shuffle: AppShuffle) -> Advice | None:
        left = self._left[change]
        if left[app_shuffle]:
            return None
        more = self._tried[change].ledger.byte_seconds - self._unchanged.ledger.byte_seconds
        return Advice(change.name, more, left.total())


def _of_kind(kind: _Kind, advice: dict[_Change, Advice]) -> list[Advice]:
    return [one for change, one in advice.items() if change.kind is kind]


def _left_by(one: Advice) -> tuple[int, float, str]:
    return one.others_missed, one.extra_byte_seconds, one.change


def _is_no_worse(one: Advice, other: Advice) -> bool:
    return one.others_missed <= other.others_missed and one.extra_byte_seconds <= other.extra_byte_seconds


@dataclass(slots=True)
class _Otherwise:
    """The recorded run with a change; a simulated driver answers, since what was recorded may never be asked."""

    to_pin: AppShuffle | None
    run: Otherwise
    ledger: Ledger

    @classmethod
    def of(cls, change: _Change, ran: Container[StageId], behind: Container[StageAttempt]) -> _Otherwise:
        ledger = Ledger(keeps_lives=False)
        return cls(change.pinned, Otherwise(change.policy, Driver(Pace()), Rewriter(ran, behind), ledger.hear), ledger)

    def take(self, fact: Fact) -> None:
        """One more; what is to be pinned is pinned as soon as it is announced."""
        self.run.take(fact)
        lineage: Any = getattr(fact.command, "lineage", ()) if self.to_pin is not None else ()
        if any(told.app_shuffle == self.to_pin for told in lineage):
            self.run.take(Fact(fact.time_ms, c.SetPin(AppShuffle(self.to_pin or 0), "what if")))
            self.to_pin = None

    def close(self, now_ms: int) -> None:
        """That was all."""
        self.run.close()
        self.ledger.close(now_ms)


def _told(miss: _Miss, cost: Cost | None, advice: tuple[Advice, ...]) -> Premature:
    sequence = miss.missed.sequence if miss.missed is not None else Sequence(0)
    guessed = cost.recomputed_task_seconds if cost is not None else None
    return Premature(
        miss.shuffle_id,
        miss.app_shuffle,
        miss.call_site,
        miss.policy.name,
        sequence,
        miss.missed.time_ms if miss.missed is not None else 0,
        miss.missed_by,
        tuple(miss.chain),
        cost.recomputed_bytes if cost is not None else 0,
        miss.rewritten_ms / _SECOND_MS if miss.rewritten_ms else guessed,
        advice,
    )


def worth(advice: Advice) -> str:
    """What a change costs, in words."""
    more = advice.extra_byte_seconds
    held = f"holds {size(round(abs(more)))}·s {'more' if more >= 0 else 'less'}"
    left = f"{count(advice.others_missed, 'other')} {'is' if advice.others_missed == 1 else 'are'} still missed"
    return held + (f"; {left}" if advice.others_missed else "")
