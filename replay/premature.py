"""What was deleted too early, what that cost, and the least that would have kept it.

Responsible for every premature deletion of a log: the chain of events behind it, its cost, and changes of policy that
avoid it, tried out on the recorded run. Refuses to guess: a change is named only where the core, told the same facts
under it, does not miss the shuffle. Invariant: the same log gives the same answer, without a server and without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, Sequence, ShuffleId
from coordinator.core.policies import policy_of
from coordinator.core.state import State, empty
from coordinator.core.values import Policy, Rule
from replay.names import Names
from replay.phrases import phrase
from replay.simulate import Fact, Pace, facts_of, simulate
from replay.simulate.driver import Driver
from replay.simulate.ledger import Ledger
from replay.simulate.rewriting import Rewriter
from replay.simulate.running import Otherwise
from replay.units import size, span

_SECOND_MS = 1_000
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
    """A change that keeps the shuffle. ``extra_byte_seconds``: what more the whole run would have held."""

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
    records = list(log)
    heard = Heard()
    for recorded in records:
        heard.hear(recorded)
    return told(heard, records)


def told(heard: Heard, log: Iterable[e.Recorded]) -> tuple[Premature, ...]:
    """What was heard of this log, with its cost and what would have kept it; the log is gone through only for that."""
    if not heard.misses:
        return ()
    trial = _Trial(log)
    return tuple(_told(miss, trial) for miss in heard.misses)


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
    job_ms: int = 0  #: When the job began that misses it.
    rewritten_ms: int = 0  #: Task time of the stage attempts that wrote it again.


@dataclass(slots=True)
class Heard:
    """Hears a log; remembers the chain of every generation that was let go, until it is gone for good."""

    state: State = field(default_factory=empty)
    names: Names = field(default_factory=Names)
    going: dict[ShuffleId, _Miss] = field(default_factory=dict)
    job_ms: dict[int, int] = field(default_factory=dict)
    facts: dict[int, e.Recorded] = field(default_factory=dict)
    misses: list[_Miss] = field(default_factory=list)
    rewriting: dict[AppShuffle, _Miss] = field(default_factory=dict)  #: Missed, and not complete again.

    def hear(self, recorded: e.Recorded) -> None:
        event = recorded.event
        if recorded.because == recorded.sequence:
            self.facts = {recorded.sequence: recorded}
        self.names.hear(recorded)
        if isinstance(event, e.JobStarted):
            self.job_ms[event.job] = recorded.time_ms
        elif isinstance(event, e.GenerationExpired):
            self._expired(recorded, event)
        elif isinstance(event, e.ExpiryTakenBack) or (isinstance(event, e.FenceRefused) and event.keep):
            self.going.pop(event.shuffle_id, None)
        elif isinstance(event, _GOING_ON):
            self._go_on(recorded, event.shuffle_id)
        elif isinstance(event, e.PrematureDeletion):
            self._missed(recorded, event)
        elif isinstance(event, e.StageCompleted):
            self._wrote(event)
        elif isinstance(event, e.GenerationCompleted):
            self._is_complete(event.shuffle_id)
        apply(self.state, recorded)

    def _expired(self, recorded: e.Recorded, event: e.GenerationExpired) -> None:
        generation = self.state.generations.get(event.shuffle_id)
        if generation is None:
            return
        fact = self.facts.get(recorded.because)
        chain = [self._cause(fact)] if fact is not None and fact is not recorded else []
        chain.append(self._cause(recorded))
        policy, app_shuffle = policy_of(self.state, generation), generation.app_shuffle
        self.going[event.shuffle_id] = _Miss(event.shuffle_id, app_shuffle, policy, chain, recorded.time_ms)

    def _go_on(self, recorded: e.Recorded, shuffle_id: ShuffleId) -> None:
        going = self.going.get(shuffle_id)
        if going is not None:
            going.chain.append(self._cause(recorded))

    def _missed(self, recorded: e.Recorded, event: e.PrematureDeletion) -> None:
        going = self.going.get(event.shuffle_id)
        if going is None:
            return
        job = self.names.job_of(event.stage.stage) if event.stage is not None else None
        going.call_site = self.names.call_site(going.app_shuffle)
        going.missed, going.missed_by = recorded, self.names.stage_of_job(event.stage)
        going.job_ms = self.job_ms.get(job, recorded.time_ms) if job is not None else recorded.time_ms
        going.chain.append(self._cause(recorded))
        self.misses.append(going)
        self.rewriting[going.app_shuffle] = going

    def _wrote(self, event: e.StageCompleted) -> None:
        attempt = self.state.attempts.get(event.stage)
        miss = self.rewriting.get(attempt.writes) if attempt is not None and attempt.writes is not None else None
        if miss is not None:
            miss.rewritten_ms += event.task_ms

    def _is_complete(self, shuffle_id: ShuffleId) -> None:
        generation = self.state.generations.get(shuffle_id)
        if generation is not None:
            self.rewriting.pop(generation.app_shuffle, None)

    def _cause(self, recorded: e.Recorded) -> Cause:
        return Cause(recorded.sequence, recorded.time_ms, phrase(recorded.event, self.names))


# ---- what would have kept it -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """Something to try: a policy for the whole run, or further commands."""

    name: str
    policy: Policy | None = None
    pinned: AppShuffle | None = None


class _Trial:
    """The recorded run, and what becomes of it otherwise. Every change is tried once."""

    def __init__(self, records: Iterable[e.Recorded]) -> None:
        self._facts = list(facts_of(records))
        self.recorded = simulate(self._facts, keep_log=False)
        self._looked = self.recorded.looks > 0
        self._tried: dict[_Change, Ledger] = {}

    def advice(self, miss: _Miss) -> tuple[Advice, ...]:
        """What keeps it; what holds least first."""
        tried = (self._advice(change, miss.app_shuffle) for change in dict.fromkeys(self._changes(miss)))
        return tuple(sorted(filter(None, tried), key=lambda one: (one.extra_byte_seconds, one.change)))

    def _changes(self, miss: _Miss) -> Iterator[_Change]:
        yield _Change(f"pin app shuffle {miss.app_shuffle}", pinned=miss.app_shuffle)
        missed_ms = miss.missed.time_ms if miss.missed is not None else miss.expired_ms
        for until_ms in sorted({miss.job_ms, missed_ms}):
            grace_s = -(-(until_ms - miss.expired_ms + 1) // _SECOND_MS)
            if grace_s > 0:
                policy = replace(miss.policy, grace_ms=miss.policy.grace_ms + grace_s * _SECOND_MS)
                yield _Change(f"policy delayed ({policy.rule.value}) with a grace of {span(policy.grace_ms)}", policy)
        if miss.policy.rule is not Rule.REACHABLE and self._looked:
            yield _Change(f"policy reachable instead of {miss.policy.rule.value}", Policy(Rule.REACHABLE, False))
        if miss.policy.rule is Rule.EAGER:
            yield _Change("policy frontier instead of eager", Policy(Rule.FRONTIER, False, miss.policy.grace_ms))

    def _advice(self, change: _Change, app_shuffle: AppShuffle) -> Advice | None:
        ledger = self._tried.get(change)
        if ledger is None:
            ledger = self._tried[change] = self._try(change)
        misses = ledger.misses({})
        if any(one.app_shuffle == app_shuffle for one in misses):
            return None
        extra = ledger.byte_seconds - self.recorded.held_byte_seconds
        return Advice(change.name, extra, len(misses))

    def _try(self, change: _Change) -> Ledger:
        """The recorded run with the change; a simulated driver answers, since what was recorded may never be asked."""
        facts = self._facts if change.pinned is None else list(_pinned(self._facts, change.pinned))
        ledger = Ledger()
        rewriter = Rewriter.of(fact.command for fact in facts)
        Otherwise(change.policy, Driver(Pace()), rewriter, ledger.hear).run(facts)
        ledger.close(max(fact.time_ms for fact in facts))
        return ledger


def _pinned(facts: Iterable[Fact], app_shuffle: AppShuffle) -> Iterator[Fact]:
    """The facts, with a pin as soon as the shuffle is announced."""
    done = False
    for fact in facts:
        yield fact
        lineage: Any = getattr(fact.command, "lineage", ())
        if not done and any(told.app_shuffle == app_shuffle for told in lineage):
            yield Fact(fact.time_ms, c.SetPin(app_shuffle, "what if"))
            done = True


def _told(miss: _Miss, trial: _Trial) -> Premature:
    cost = next((one for one in trial.recorded.misses if one.shuffle_id == miss.shuffle_id), None)
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
        trial.advice(miss),
    )


def worth(advice: Advice) -> str:
    """What a change costs, in words."""
    more = advice.extra_byte_seconds
    held = f"holds {size(round(abs(more)))}·s {'more' if more >= 0 else 'less'}"
    return held + (f"; {advice.others_missed} others are still missed" if advice.others_missed else "")
