"""What-if: the same core and policies, driven by a recorded run instead of a live driver.

Responsible for the one question "what would this policy have done to this run, and what would it have cost". Refuses
to guess in silence: what cannot be known is listed here. Invariant: a run that is simulated as it was recorded decides
what it decided live, event for event; that is tested on real jobs, and is why the other answers can be trusted.

    from replay.simulate import facts_of, simulate
    outcome = simulate(facts_of(log))                                     # as it was recorded
    outcome = simulate(facts_of(log), Policy(Rule.EAGER, observe=False))  # otherwise
    outcome = simulate(run.facts, policy, task_ms={w.app_shuffle: w.task_ms for w in run.shuffles})  # a history log

A log holds three kinds of events. **Facts** are reported from outside, and are as they are under any policy: what
Spark's scheduler did (jobs, stages, executions, executors lost, its own cleaner), what looks found, gaps, and what
people asked for (pins, policies, resumptions). **Decisions** are the core's: generations and who reads and writes them,
expiries, holds, rescues, directives, premature deletions, recoveries, suspensions, sweeps. **Outcomes** are what the
driver made of a directive. (Clients and their numbers are book-keeping: copied when a run is simulated as recorded,
else left out.) Each command's events point at the first of them, and so are turned back into the command (`reading`).

As recorded (``policy`` is None, or is the one that the whole run had), commands come at their recorded times, outcomes
and ticks of the clock at their recorded places: the whole log comes out again (`comparing.first_difference`).

Otherwise a simulated driver answers: a fence is `Busy` where an attempt that runs reads or writes the shuffle, else
`Fenced`; data are freed; each after a modelled time (`Pace`). The policy given counts for the whole run, its jobs and
its groups. Two worlds part where one deletes and the other does not:

- A stage reads what the simulated policy has deleted. Spark would have run its map stage again, and those of all that
  is gone behind it. They are put before the reader, take no time, read what they read and write what they wrote:
  premature deletions, recoveries and the budget are the core's own, the data are back from there on, and bytes and
  task-seconds are charged. What lies behind a stage's persisted RDDs it misses only where it fetched more than all
  that it reads directly weighs in the record: else its caches gave it (`fetching`; of records that do not tell what
  lies behind, all may).
- A map stage ran in the record only because the recorded policy had deleted its output, which is there in the
  simulation: it is left out, with its end.
- An output that the record repairs in part is written whole where the simulation has nothing left of it.

What cannot be known from a record, and is not claimed: how long a job would have taken otherwise (facts keep their
times); whether data that the record had deleted would have been lost with an executor that died later; what looks would
have found, and when they would have been taken, under a policy that asks for them (a record without looks tells nothing
of `reachable`: it deletes nothing then, and ``Outcome.looks`` is 0); what of a map stage's inputs a cache would have
spared; task-seconds where nobody measured tasks (then: wall time times the tasks that ran at a time, at least 1).

    what was reported  facts, reading, resyncs
    decided again      running, core, driver, rewriting, fetching
    what came of it    ledger, baseline, slots, outcome, summary, comparing
    many runs          recordings, places, exports
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import AppShuffle
from coordinator.core.values import Lesson, Policy
from replay.simulate.baseline import Baseline, Costs
from replay.simulate.comparing import Difference, decisions, first_difference
from replay.simulate.driver import Driver, Pace
from replay.simulate.facts import Fact, Kind, Timed, as_facts
from replay.simulate.ledger import Ledger
from replay.simulate.outcome import Life, Miss, Outcome
from replay.simulate.reading import facts_of
from replay.simulate.rewriting import Rewriter
from replay.simulate.running import Otherwise, as_recorded
from replay.simulate.slots import slots_of

__all__ = [
    "Difference",
    "Fact",
    "Kind",
    "Life",
    "Miss",
    "Outcome",
    "Pace",
    "Timed",
    "decisions",
    "facts_of",
    "first_difference",
    "simulate",
    "simulate_all",
]


def simulate(
    facts: Iterable[Fact | Timed],
    policy: Policy | None = None,
    *,
    pace: Pace = Pace(),  # noqa: B008 - a frozen value
    task_ms: Mapping[AppShuffle, int] | None = None,
    lessons: tuple[Lesson, ...] | None = None,
    capacity_bytes: int | None = None,
    keep_log: bool = True,
) -> Outcome:
    """One run under one policy. ``task_ms``: run time of all tasks that write each app shuffle once, if measured.

    ``lessons``: of earlier runs, for `history`, instead of those that the application was registered with.
    ``capacity_bytes``: what all shuffle data may take together, for `pressure`, instead of the disks reported.
    """
    given = as_facts(facts)
    return _simulate(given, policy, pace, _costs(given, task_ms), lessons, capacity_bytes, keep_log)


def simulate_all(
    facts: Iterable[Fact | Timed],
    policies: Iterable[Policy | None],
    *,
    pace: Pace = Pace(),  # noqa: B008 - a frozen value
    task_ms: Mapping[AppShuffle, int] | None = None,
    lessons: tuple[Lesson, ...] | None = None,
    capacity_bytes: int | None = None,
) -> list[Outcome]:
    """One run under each policy, in the order of the policies; the outcomes have no logs. Parameters as `simulate`."""
    given = as_facts(facts)
    costs = _costs(given, task_ms)
    return [_simulate(given, policy, pace, costs, lessons, capacity_bytes, keep_log=False) for policy in policies]


def _simulate(
    facts: list[Fact],
    policy: Policy | None,
    pace: Pace,
    task_ms: Mapping[AppShuffle, int],
    lessons: tuple[Lesson, ...] | None,
    capacity_bytes: int | None,
    keep_log: bool,
) -> Outcome:
    heard, baseline = _Heard(keep_log), Baseline()
    if lessons is None and capacity_bytes is None and _is_as_recorded(facts, policy):
        as_recorded(facts, heard.hear)
    else:
        rewriter = Rewriter.of(fact.command for fact in facts)
        Otherwise(policy, Driver(pace), rewriter, heard.hear, lessons, capacity_bytes).run(facts)
    for fact in facts:
        baseline.hear(fact)
    ended_ms = max((fact.time_ms for fact in facts), default=0)
    heard.ledger.close(ended_ms)
    baseline.close(ended_ms)
    return _outcome(facts, policy, heard, baseline, task_ms)


@dataclass(slots=True)
class _Heard:
    """What is made of the decisions of a simulation while they come: a log, if it is to be kept, and a ledger."""

    keeps_log: bool
    log: list[Recorded] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    looks: int = 0

    def hear(self, some: list[Recorded]) -> None:
        """The next events that were decided."""
        self.ledger.hear(some)
        self.looks += sum(type(recorded.event) is e.LookEnded for recorded in some)
        if self.keeps_log:
            self.log.extend(some)


def _is_as_recorded(facts: list[Fact], policy: Policy | None) -> bool:
    """Whether a coordinator recorded it under this very policy, all the time and for all jobs."""
    is_ours = any(fact.kind is not Kind.FACT or _tells_its_policy(fact.command) for fact in facts)
    return is_ours and (policy is None or _policies(facts) == {policy})


def _tells_its_policy(command: c.Command | None) -> bool:
    """Whether it registers an application with a policy: the first command of all our logs does, Spark's know none."""
    return isinstance(command, c.RegisterApplication) and command.policy is not None


def _policies(facts: list[Fact]) -> set[Policy]:
    commands = (fact.command for fact in facts)
    kinds = (c.RegisterApplication, c.SetPolicy, c.ReportJobStarted)
    named = (command.policy for command in commands if isinstance(command, kinds))
    return {policy for policy in named if policy is not None}


def _costs(facts: list[Fact], task_ms: Mapping[AppShuffle, int] | None) -> Mapping[AppShuffle, int]:
    if task_ms is not None:
        return task_ms
    registered = (fact.command for fact in facts if isinstance(fact.command, c.RegisterApplication))
    costs = Costs(next((slots_of(command.driver.master) for command in registered), 1))
    costs.hear(facts)
    return costs.task_ms


def _outcome(
    facts: list[Fact],
    policy: Policy | None,
    heard: _Heard,
    baseline: Baseline,
    task_ms: Mapping[AppShuffle, int],
) -> Outcome:
    registered = next((fact.command for fact in facts if isinstance(fact.command, c.RegisterApplication)), None)
    ledger, lives = heard.ledger, heard.ledger.lives()
    return Outcome(
        application=registered.application if registered is not None else "",
        name=registered.driver.name if registered is not None else "",
        policy=policy,
        began_ms=min((fact.time_ms for fact in facts), default=0),
        ended_ms=max((fact.time_ms for fact in facts), default=0),
        log=tuple(heard.log),
        lives=lives,
        misses=ledger.misses(task_ms),
        written_bytes=sum(life.bytes for life in lives),
        held_byte_seconds=ledger.byte_seconds,
        needed_byte_seconds=baseline.oracle.byte_seconds,
        never_byte_seconds=baseline.never.byte_seconds,
        peak_bytes=ledger.peak_bytes,
        needed_peak_bytes=baseline.oracle.peak_bytes,
        never_peak_bytes=baseline.never.peak_bytes,
        deletions=sum(life.is_deleted_early for life in lives),
        deleted_bytes=ledger.deleted_bytes,
        looks=heard.looks,
        facts=len(facts),
    )
