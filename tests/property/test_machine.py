"""A simulated Spark against the core: whatever happens, in whatever order it is told.

Every step is witnessed (all invariants, incremental forms, digest, folding). Here is asserted what needs both sides:
Spark never reads what we deleted, nothing is missed that was not lost, and in the end everything is let go.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import ApplicationId, AppShuffle, DirectiveId, ShuffleId, StageAttempt, StageId
from coordinator.core.lifecycle import Life
from coordinator.core.sweep import next_due_ms
from coordinator.core.values import Capabilities, DirectiveKind, Driver, Hold, Level, Policy, RootKind, Rule, Settings
from tests.property.spark import Spark
from tests.property.witness import Witness
from tests.support.simulated import check_as_recorded

POLICIES = st.builds(
    Policy,
    st.sampled_from(Rule),
    observe=st.sampled_from([False, False, False, True]),
    grace_ms=st.sampled_from([0, 0, 50]),
)
LASTING = (Hold.MISSED, Hold.SUSPENDED, Hold.OBSERVE, Hold.PIN, Hold.UNABLE)


class Machine(RuleBasedStateMachine):
    """What a driver and its program do, and what reaches the core of it."""

    @initialize(
        policy=POLICIES,
        completes=st.booleans(),
        budget=st.sampled_from([0, 8]),
        bound=st.sampled_from([1, 4]),
        capacity=st.sampled_from([0, 0, 0, 60]),
        kind=st.sampled_from([RootKind.HANDLE, RootKind.PLAN]),
    )
    def register(self, policy: Policy, completes: bool, budget: int, bound: int, capacity: int, kind: RootKind) -> None:
        self.now_ms = 0
        self.spark = Spark(root_kind=kind)
        self.witness = Witness()
        self.told_twice: list[c.ReportOutcome] = []
        self.premature_allowed = policy.rule is not Rule.REACHABLE
        self.asked_early = False
        capabilities = Capabilities(completes_after_loss=completes)
        limits = Settings(premature_budget=budget, recoveries_per_shuffle=bound, pressure_capacity_bytes=capacity)
        self.do(c.RegisterApplication(ApplicationId("app"), Driver(), capabilities, policy, limits))
        self._begin_a_chain()

    def _begin_a_chain(self) -> None:
        """Something to go on from: a chain of three that has run once."""
        made: tuple[AppShuffle, ...] = ()
        for _ in range(3):
            made = (self.spark.make(made, Level.DETERMINATE),)
        self.spark.start_job(made[0], map_stage=False)
        self.go_on(12)

    def do(self, command: c.Command) -> list[e.Recorded]:
        self.now_ms += 1
        _, log = self.witness.do(command, self.now_ms)
        if not (self.premature_allowed or self.spark.lost_something or self.asked_early):
            missed = [r.event for r in log if isinstance(r.event, (e.PrematureDeletion, e.RecoveryOpened))]
            assert not missed, missed
        return log

    # ---- the program -------------------------------------------------------------------------------------------------

    @rule(data=st.data(), level=st.sampled_from([Level.DETERMINATE] * 4 + [Level.INDETERMINATE]))
    def make_and_run(self, data: st.DataObject, level: Level) -> None:
        self.make(data, level)
        self.go_on(data.draw(st.integers(1, 6)))

    @rule(data=st.data(), level=st.sampled_from([Level.DETERMINATE] * 4 + [Level.INDETERMINATE]))
    def make(self, data: st.DataObject, level: Level) -> None:
        if len(self.spark.shuffles) < 8:
            held = sorted(self.spark.held)
            reads: list[AppShuffle] = []
            if held:
                reads = data.draw(st.lists(st.sampled_from(held), max_size=2, unique=True))
            made = self.spark.make(tuple(sorted(reads)), level)
            if reads and data.draw(st.sampled_from([True, False])):
                self.spark.held -= set(reads)  # the name is bound to the new one
            self.spark.start_job(made, data.draw(st.booleans()))

    @precondition(lambda self: self.spark.held)
    @rule(data=st.data(), map_stage=st.booleans())
    def start_job(self, data: st.DataObject, map_stage: bool) -> None:
        if len(self.spark.jobs) < 3:
            self.spark.start_job(data.draw(st.sampled_from(sorted(self.spark.held))), map_stage)

    @precondition(lambda self: self.spark.held)
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        self.spark.held.discard(data.draw(st.sampled_from(sorted(self.spark.held))))

    # ---- the scheduler -----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.spark.runnable())
    @rule(data=st.data())
    def submit(self, data: st.DataObject) -> None:
        runnable = self.spark.runnable()
        self.spark.submit(*runnable[data.draw(st.integers(0, len(runnable) - 1))])

    @precondition(lambda self: self.spark.running)
    @rule(data=st.data(), ends=st.sampled_from(["well", "well", "well", "well", "badly", "badly, unreported"]))
    def finish(self, data: st.DataObject, ends: str) -> None:
        running = self.spark.running[data.draw(st.sampled_from(sorted(self.spark.running)))]
        if ends == "well":
            self.spark.complete(running)
        else:
            self.spark.fail(running, ends == "badly")

    @rule(steps=st.integers(1, 6))
    def go_on(self, steps: int) -> None:
        """Work as it usually goes: told at once, and well."""
        self.spark.work(steps)
        self.deliver(100)

    @precondition(lambda self: self.spark.jobs)
    @rule(data=st.data(), cancel=st.booleans())
    def end_job(self, data: st.DataObject, cancel: bool) -> None:
        job = self.spark.jobs[data.draw(st.sampled_from(sorted(self.spark.jobs)))]
        if job.done or cancel:
            self.spark.end_job(job, job.done)

    @precondition(lambda self: self.spark.shuffles)
    @rule(data=st.data(), left=st.integers(0, 2), reported=st.booleans())
    def lose(self, data: st.DataObject, left: int, reported: bool) -> None:
        written = [one for one, shuffled in sorted(self.spark.shuffles.items()) if shuffled.available]
        if written:
            self.spark.lose(data.draw(st.sampled_from(written)), left, reported)

    @precondition(lambda self: self.spark.shuffles)
    @rule(data=st.data())
    def lose_blocks(self, data: st.DataObject) -> None:
        self.spark.lose_blocks(data.draw(st.sampled_from(sorted(self.spark.shuffles))))

    def clean(self) -> None:
        self.spark.clean()

    # ---- looks -------------------------------------------------------------------------------------------------------

    def begin_look(self) -> None:
        self.spark.begin_look()

    def end_look(self) -> None:
        self.spark.end_look()

    @rule()
    def look(self) -> None:
        self.spark.begin_look()
        self.spark.end_look()
        self.deliver(100)

    # ---- what reaches the core ---------------------------------------------------------------------------------------

    @rule(most=st.integers(1, 12))
    def deliver(self, most: int) -> None:
        for _ in range(min(most, len(self.spark.told))):
            self.do(self.spark.told.pop(0))

    @precondition(lambda self: self.witness.state.meta.policy.rule is Rule.PRESSURE)
    @rule(disk=st.sampled_from(["/x", "/x", "/y"]), percent=st.sampled_from([0, 50, 74, 75, 76, 84, 85, 90, 100]))
    def report_disk(self, disk: str, percent: int) -> None:
        """A disk that holds a hundred shuffles."""
        self.do(c.ReportDisk(disk, 10 * percent, 10 * (100 - percent)))

    @precondition(lambda self: self.witness.state.directives)
    @rule(data=st.data(), at_once=st.booleans())
    def carry_out(self, data: st.DataObject, at_once: bool) -> None:
        """The driver carries a directive out; some refuse or fail."""
        number = data.draw(st.sampled_from(sorted(self.witness.state.directives)))
        if any(isinstance(told, c.ReportOutcome) and told.directive == number for told in self.spark.told):
            return  # it is done, and its outcome is on the way: a repeated directive is answered from there
        directive = self.witness.state.directives[number]
        if data.draw(st.integers(0, 9)) == 0:
            refusal = c.Cannot("no") if directive.kind is DirectiveKind.FENCE else c.Failed("disk")
            outcome: c.Outcome = refusal
        else:
            outcome = self.spark.carry_out(directive)
        report = c.ReportOutcome(number, outcome)
        self.told_twice.append(report)
        self.spark.told.append(report)
        if at_once:
            self.deliver(1000)

    @precondition(lambda self: self.told_twice)
    @rule(data=st.data())
    def repeat_outcome(self, data: st.DataObject) -> None:
        """An outcome that has arrived comes again, or one of a directive never given."""
        report = data.draw(st.sampled_from(self.told_twice))
        if report.directive not in self.witness.state.directives:
            for again in (report, c.ReportOutcome(DirectiveId(9_999), report.outcome)):
                kinds = {type(recorded.event) for recorded in self.do(again)}
                assert kinds <= {e.FenceRequested, e.SweepChanged}  # what was due by now, whoever came

    @precondition(lambda self: self.spark.running or self.witness.state.shuffles)
    @rule(data=st.data(), write=st.booleans(), anybody=st.booleans(), mistaken=st.booleans())
    def ask(self, data: st.DataObject, write: bool, anybody: bool, mistaken: bool) -> None:
        """A task asks past the stream: before its stage is told, after it has ended, of no stage, or mistakenly."""
        known = sorted(self.witness.state.shuffles)
        running = [r for _, r in sorted(self.spark.running.items())]
        if running and not anybody:
            one = data.draw(st.sampled_from(running))
            if write and mistaken and known:
                self.asked_early = True
                self.do(c.GetShuffleId(data.draw(st.sampled_from(known)), one.stage, write=True))
                return
            shuffles = (*one.reads, *(() if one.writes is None else (one.writes,)))
            if shuffles:
                asked = data.draw(st.sampled_from(shuffles))
                self.asked_early = True
                self.do(c.GetShuffleId(asked, one.stage, write=asked == one.writes))
        elif known:
            number = StageId(data.draw(st.one_of(st.integers(0, 12), st.just(10_000))))
            stage = StageAttempt(number, data.draw(st.integers(0, 2)))
            if not write and stage not in self.spark.running and not self.witness.state.meta.is_to_come(number):
                self.asked_early = True
                self.do(c.GetShuffleId(data.draw(st.sampled_from(known)), stage))

    @precondition(lambda self: self.witness.state.shuffles)
    @rule(data=st.data(), of=st.integers(0, 3))
    def report_missing(self, data: st.DataObject, of: int) -> None:
        """A task that nobody knows misses something, perhaps an old generation."""
        if data.draw(st.integers(0, 3)) == 0:
            self.spark.lost_something = True
            app_shuffle = data.draw(st.sampled_from(sorted(self.witness.state.shuffles)))
            ids = [g.shuffle_id for g in self.witness.state.generations.values() if g.app_shuffle == app_shuffle]
            self.do(c.ReportMissing(app_shuffle, ShuffleId(min([*ids, 0]) if of else 0)))

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.do(c.Tick())

    def set_policy(self, policy: Policy) -> None:
        self.premature_allowed |= policy.rule is not Rule.REACHABLE
        self.do(c.SetPolicy(policy))

    @precondition(lambda self: self.witness.state.shuffles)
    @rule(data=st.data(), what=st.sampled_from(["policy", "pin", "unpin", "resume", "clean", "wait", "begin", "end"]))
    def do_something_rare(self, data: st.DataObject, what: str) -> None:
        if what == "policy" and data.draw(st.integers(0, 3)) == 0:
            self.set_policy(data.draw(POLICIES))
        elif what in ("pin", "unpin"):
            self.pin(data, what == "pin")
        elif what == "wait":
            self.wait(data.draw(st.sampled_from([1, 50, 1_000, 40_000])))
        else:
            rare = {"resume": self.resume, "clean": self.clean, "begin": self.begin_look, "end": self.end_look}
            rare.get(what, self.clean)()

    def pin(self, data: st.DataObject, pin: bool) -> None:
        app_shuffle = data.draw(st.sampled_from(sorted(self.witness.state.shuffles)))
        self.do(c.SetPin(app_shuffle, "mine") if pin else c.RemovePin(app_shuffle))

    def resume(self) -> None:
        self.do(c.ResumeDeletion())

    # ---- the end -----------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "witness"):
            return
        self._finish()
        self._look_and_delete()
        self._check_rest()
        self._close()
        self.witness.check_prefixes()
        check_as_recorded(self.witness.log)

    def _finish(self) -> None:
        self.deliver(10_000)
        for _ in range(200):
            self.spark.work(1)
            self.deliver(100)
        assert not self.spark.jobs

    def _look_and_delete(self) -> None:
        self.spark.held.clear()
        for _ in range(3):
            self.look()
            for _ in range(200):
                if not self.witness.state.directives and not self._is_due():
                    break
                self.now_ms += 40_000
                self.do(c.Tick())
                for number, directive in sorted(self.witness.state.directives.items()):
                    self.spark.told.append(c.ReportOutcome(number, self.spark.carry_out(directive)))
                self.deliver(100)

    def _is_due(self) -> bool:
        return next_due_ms(self.witness.state) is not None

    def _check_rest(self) -> None:
        state = self.witness.state
        assert not state.attempts
        assert not state.jobs
        assert not state.directives
        assert not [recovery for recovery in state.recoveries.values() if recovery.open]
        if state.meta.policy.rule is Rule.REACHABLE:
            left = [g for g in state.generations.values() if g.life is not Life.EXPIRED or g.hold not in LASTING]
            assert not left, left

    def _close(self) -> None:
        self.do(c.EndApplication())
        while self.witness.state.meta.sweeping:
            self.do(c.Tick())
        assert not self.witness.state.generations


LONG = os.environ.get("SHUFFLE_LIFECYCLE_LONG", "")

Machine.TestCase.settings = settings(
    max_examples=1_000 if LONG else 60,
    stateful_step_count=80 if LONG else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestMachine = pytest.mark.timeout(7_200 if LONG else 300)(Machine.TestCase)
