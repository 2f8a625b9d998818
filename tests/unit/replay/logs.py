"""Logs for tests, made by the core itself.

Responsible for telling the core what a small Spark application does, and for the log that comes of it. Refuses to know
what is read out of it. Invariant: every event was decided, none was written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.core import commands as c
from coordinator.core.decide import carry_out
from coordinator.core.desk import Desk
from coordinator.core.events import GenerationExpired, Recorded
from coordinator.core.evolve import apply
from coordinator.core.ids import ApplicationId, AppShuffle, JobId, Sequence, Span, StageAttempt, StageId
from coordinator.core.rejections import Answer
from coordinator.core.state import State, empty
from coordinator.core.values import Capabilities, Driver, Lineage, Policy, Rule, Settings
from coordinator.wire.codec import Segment

APP = ApplicationId("6f1c2d3e-0000-4000-8000-000000000001")
FRONTIER = Policy(Rule.FRONTIER, observe=False)
BEGIN_MS = 1_790_000_000_000


@dataclass(slots=True)
class Told:
    """One application, told command by command; time goes on by 10 ms a command."""

    application: ApplicationId = APP
    policy: Policy = FRONTIER
    name: str = "chain"
    spark_id: str = "local-1790000000000"
    capabilities: Capabilities = Capabilities()
    settings: Settings = Settings()
    state: State = field(default_factory=empty)
    log: list[Recorded] = field(default_factory=list)
    said: list[c.Command] = field(default_factory=list)
    now_ms: int = BEGIN_MS

    def __post_init__(self) -> None:
        driver = Driver(self.spark_id, "", self.name, "ann", "4.3.0", "3.11.7")
        self.say(c.RegisterApplication(self.application, driver, self.capabilities, self.policy, self.settings))

    def say(self, *commands: c.Command) -> Answer:
        """The last one's answer."""
        assert commands
        for command in commands:
            desk = Desk.over(self.state, self.now_ms)
            answer = carry_out(desk, command)
            for recorded in desk.log:
                apply(self.state, recorded)
            self.log += desk.log
            self.said.append(command)
            self.now_ms += 10
        return answer

    def segments(self, size: int = 8) -> list[Segment]:
        """The log as it is stored."""
        starts = range(0, len(self.log), size)
        return [Segment(self.log[i].sequence, b"c%d" % i, "replica-1", tuple(self.log[i : i + size])) for i in starts]

    # ---- what a driver does ----

    def chain_job(self, job: int = 0) -> None:
        """Starts a job of three stages: 0 writes app shuffle 0, 1 reads it and writes 1, 2 reads that."""
        first = 3 * job
        self.say(
            c.ReportJobStarted(
                JobId(job),
                StageId(first + 2),
                reads=(AppShuffle(1),),
                stages=(Span(first, first + 2),),
                lineage=(lineage(0, "map at chain.py:12"), lineage(1, "groupBy at chain.py:14", reads=(0,))),
                call_site="count at chain.py:20",
            )
        )

    def stage(self, number: int, name: str, reads: tuple[int, ...] = (), writes: int | None = None) -> None:
        """Submits a stage."""
        shuffles = tuple(map(AppShuffle, reads))
        written = None if writes is None else AppShuffle(writes)
        self.say(c.ReportStageSubmitted(attempt(number), shuffles, written, 4, name))

    def done(self, number: int, written: int = 0, failure: str = "") -> None:
        """Completes a stage."""
        self.say(c.ReportStageCompleted(attempt(number), failure, shuffle_bytes_written=written))

    def whole_chain(self) -> None:
        """The first job up to its end: app shuffle 0 has expired when stage 1 has written app shuffle 1."""
        self.chain_job()
        self.stage(0, "map at chain.py:12", writes=0)
        self.done(0, 120_000_000)
        self.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
        self.done(1, 60_000_000)

    def carried_out(self, found_bytes: int = 120_000_000) -> None:
        """The driver answers everything that it was asked, as if all went well."""
        while self.state.directives:
            directive = next(iter(self.state.directives.values()))
            fence = directive.kind.value == "fence"
            outcome: c.Outcome = c.Fenced(found_bytes) if fence else c.Freed(found_bytes)
            self.say(c.ReportOutcome(directive.directive, outcome))

    def refused(self) -> None:
        """The driver is busy with what it was asked for first."""
        self.say(c.ReportOutcome(next(iter(self.state.directives)), c.Busy(("9.0",))))


def attempt(stage: int, number: int = 0) -> StageAttempt:
    return StageAttempt(StageId(stage), number)


def lineage(app_shuffle: int, call_site: str, reads: tuple[int, ...] = ()) -> Lineage:
    return Lineage(AppShuffle(app_shuffle), tuple(map(AppShuffle, reads)), maps=4, call_site=call_site)


def expired(log: list[Recorded]) -> list[Sequence]:
    """Where something expired."""
    return [recorded.sequence for recorded in log if isinstance(recorded.event, GenerationExpired)]


def wanted_while_fencing() -> Told:
    """App shuffle 0 has expired; while it is to be fenced a second job reads it, so that the fence is refused."""
    told = Told()
    told.whole_chain()
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    told.stage(4, "collect at chain.py:31", reads=(0,))
    told.refused()
    return told


def asked_in_vain() -> Told:
    """Stage 2 asks for app shuffle 0, which stage 1 has read, and by its submission reads app shuffle 1 alone."""
    told = Told(policy=Policy(Rule.FRONTIER, observe=True))
    told.whole_chain()
    told.say(c.GetShuffleId(AppShuffle(0), attempt(2)))
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    return told


def fence_finds(found_bytes: int) -> Told:
    """App shuffle 0 is deleted early; its fence finds other bytes than the 120 MB that its writers told of."""
    told = Told()
    told.whole_chain()
    told.carried_out(found_bytes)
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    return told


def deleted_and_missed(settings: Settings = Settings()) -> Told:
    """App shuffle 0 is deleted early, and a second job wants it again."""
    told = Told(settings=settings)
    told.whole_chain()
    told.carried_out()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    told.say(
        c.ReportJobStarted(
            JobId(1),
            StageId(4),
            reads=(AppShuffle(0),),
            stages=(Span(3, 4),),
            call_site="collect at chain.py:31",
        )
    )
    told.stage(3, "map at chain.py:12", writes=0)
    told.done(3, 120_000_000)
    told.stage(4, "collect at chain.py:31", reads=(0,))
    return told


def read_from_blocks(*lost: str, taken_after: bool = False, told_of_blocks: bool = False) -> Told:
    """App shuffle 0 is deleted; a job takes cached blocks instead, these executors go, and the next job misses it.

    `told_of_blocks`: the driver says that they had some.
    """
    told = Told()
    told.whole_chain()
    told.carried_out()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    told.say(c.ReportStageSubmitted(attempt(4), (AppShuffle(0),), None, 4, "sum at chain.py:25", cached=True))
    told.done(4)
    told.say(c.ReportJobEnded(JobId(1)))
    for executor in lost:
        if told_of_blocks:
            told.say(c.ReportCachedBlocksLost(executor, (AppShuffle(0),)))
        told.say(c.ReportExecutorLost(executor, "killed"))
    if taken_after:
        told.say(c.ReportJobStarted(JobId(3), StageId(8), (AppShuffle(0),), None, (Span(7, 8),)))
        told.say(c.ReportStageSubmitted(attempt(8), (AppShuffle(0),), None, 4, "sum at chain.py:25", cached=True))
    told.say(c.ReportJobStarted(JobId(2), StageId(6), (AppShuffle(0),), None, (Span(5, 6),)))
    told.stage(5, "map at chain.py:12", writes=0)
    told.done(5, 120_000_000)
    return told
