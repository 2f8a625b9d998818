"""What would have kept what was missed.

Responsible for the changes to try, for what becomes of the recorded run with each, and for which of them to tell.
Refuses to know why something was let go (`hearing`). Invariant: what a change costs is the difference between two runs
that are simulated alike, and the whole log is heard once for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, Sequence, StageAttempt, StageId
from coordinator.core.values import Policy, Rule
from replay.premature.hearing import Heard, Miss
from replay.premature.values import Advice, Premature
from replay.simulate.baseline import Costs
from replay.simulate.driver import Driver, Pace
from replay.simulate.facts import Fact
from replay.simulate.ledger import Ledger
from replay.simulate.outcome import Miss as Cost
from replay.simulate.reading import Listener
from replay.simulate.rewriting import Rewriter
from replay.simulate.running import AsRecorded, Otherwise
from replay.simulate.slots import slots_of
from replay.units import duration

_SECOND_MS = 1_000
#: App shuffles for which changes of their own are tried: each is one more run of the whole log. The budget of an
#: application allows eight premature deletions, unless somebody raises it.
MOST_TRIED = 16


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


class Trial:
    """Runs the record as it is, once without a change, and once with each change, all at once while the log goes by."""

    def __init__(self, heard: Heard) -> None:
        self._misses = heard.misses
        self._looked = heard.beforehand.looked
        self._recorded = Ledger(keeps_lives=False)
        self._as_recorded = AsRecorded(self._recorded.hear)
        self._costs = Costs()
        self._wanted = {miss.app_shuffle for miss in heard.misses}
        self._of_job: dict[JobId | None, list[Miss]] = {}
        for miss in heard.misses:
            self._of_job.setdefault(miss.job, []).append(miss)
        self._left: dict[_Change, Counter[AppShuffle]] = {}  #: How often each app shuffle is missed with it.
        self._now_ms = 0
        ran, behind = heard.beforehand.ran, heard.beforehand.readings.behind
        self._dearest = _dearest(heard.misses)
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
        return tuple(self._told(miss, costs.get(miss.shuffle_id)) for miss in self._misses)

    def _told(self, miss: Miss, cost: Cost | None) -> Premature:
        return _told(miss, cost, self._advice_on(miss), is_tried=miss.app_shuffle in self._dearest)

    def _take(self, fact: Fact) -> None:
        self._now_ms = max(self._now_ms, fact.time_ms)
        self._as_recorded.take(fact)
        self._count(fact)
        for run in (self._unchanged, *self._tried.values()):
            run.take(fact)

    def _count(self, fact: Fact) -> None:
        """Measures what it takes to write the missed app shuffles."""
        command = fact.command
        if isinstance(command, c.RegisterApplication):
            self._costs.slots = slots_of(command.driver.master)
        elif not isinstance(command, c.ReportStageSubmitted) or command.writes in self._wanted:
            self._costs.hear([fact])

    def _advice_on(self, miss: Miss) -> tuple[Advice, ...]:
        """Changes with which it is not missed, those that hold least first.

        Changes for other app shuffles that the same job misses are among them: if this one is written again only for
        such a one, what keeps that one keeps both. Of these one pin and one grace, if none of its own is as good.
        """
        own = self._keeping(miss.app_shuffle, self._changes(miss))
        further = self._keeping(miss.app_shuffle, self._of_others(miss))
        told = list(own.values())
        for kind in (_Kind.PIN, _Kind.GRACE):
            best = min(_of_kind(kind, further), key=_left_by, default=None)
            if best is not None and not any(_is_no_worse(one, best) for one in _of_kind(kind, own)):
                told.append(best)
        return tuple(sorted(told, key=lambda one: (one.extra_byte_seconds, one.change)))

    def _of_others(self, miss: Miss) -> Iterable[_Change]:
        """Changes tried for others that the same job misses; every change, if none of its own is tried."""
        if miss.app_shuffle not in self._dearest:
            return self._tried
        others = self._of_job[miss.job] if miss.job is not None else ()
        return (change for other in others for change in self._changes(other))

    def _keeping(self, app_shuffle: AppShuffle, changes: Iterable[_Change]) -> dict[_Change, Advice]:
        """Those of ``changes`` with which the app shuffle is not missed, each with what it costs."""
        tried = ((change, self._advice(change, app_shuffle)) for change in dict.fromkeys(changes))
        return {change: advice for change, advice in tried if advice is not None}

    def _changes(self, miss: Miss) -> Iterator[_Change]:
        if miss.app_shuffle in self._dearest:
            yield _pin(miss.app_shuffle)
            yield from _graces(miss)
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


def _dearest(misses: Iterable[Miss]) -> frozenset[AppShuffle]:
    """The app shuffles that took the most task time to write again; of equals those that were missed first."""
    again_ms: Counter[AppShuffle] = Counter()
    for miss in misses:
        again_ms[miss.app_shuffle] += miss.rewritten_ms
    return frozenset(app_shuffle for app_shuffle, _ in again_ms.most_common(MOST_TRIED))


def _graces(miss: Miss) -> Iterator[_Change]:
    """Grace periods that last until the job which misses it began, and until it was missed."""
    missed_ms = miss.missed.time_ms if miss.missed is not None else miss.expired_ms
    for until_ms in sorted({miss.job_ms, missed_ms}):
        grace_s = -(-(until_ms - miss.expired_ms + 1) // _SECOND_MS)
        if grace_s > 0:
            policy = replace(miss.policy, grace_ms=miss.policy.grace_ms + grace_s * _SECOND_MS)
            told = f"policy delayed ({policy.rule.value}) with a grace of {duration(policy.grace_ms)}"
            yield _Change(told, _Kind.GRACE, policy)


def _of_kind(kind: _Kind, advice: dict[_Change, Advice]) -> list[Advice]:
    return [one for change, one in advice.items() if change.kind is kind]


def _left_by(one: Advice) -> tuple[int, float, str]:
    return one.others_missed, one.extra_byte_seconds, one.change


def _is_no_worse(one: Advice, other: Advice) -> bool:
    return one.others_missed <= other.others_missed and one.extra_byte_seconds <= other.extra_byte_seconds


@dataclass(slots=True)
class _Otherwise:
    """The recorded run with a change. A simulated driver answers: the recorded one was asked other things."""

    to_pin: AppShuffle | None
    run: Otherwise
    ledger: Ledger

    @classmethod
    def of(cls, change: _Change, ran: Container[StageId], behind: Container[StageAttempt]) -> _Otherwise:
        ledger = Ledger(keeps_lives=False)
        return cls(change.pinned, Otherwise(change.policy, Driver(Pace()), Rewriter(ran, behind), ledger.hear), ledger)

    def take(self, fact: Fact) -> None:
        """The next fact. The app shuffle to pin is pinned as soon as it is announced."""
        self.run.take(fact)
        lineage: Any = getattr(fact.command, "lineage", ()) if self.to_pin is not None else ()
        if any(told.app_shuffle == self.to_pin for told in lineage):
            self.run.take(Fact(fact.time_ms, c.SetPin(AppShuffle(self.to_pin or 0), "what if")))
            self.to_pin = None

    def close(self, now_ms: int) -> None:
        """That was all."""
        self.run.close()
        self.ledger.close(now_ms)


def _told(miss: Miss, cost: Cost | None, advice: tuple[Advice, ...], is_tried: bool) -> Premature:
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
        is_tried,
    )
