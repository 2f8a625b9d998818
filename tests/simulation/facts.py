"""What a driver reports, as short stories.

Responsible for the commands of small Spark jobs, numbered as a client numbers them. Refuses to know who hears them.
Invariant: a story told to a coordinator that deletes ends with everything deleted.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.core.commands import (
    Command,
    GetShuffleId,
    RegisterApplication,
    RegisterClient,
    ReportJobEnded,
    ReportJobStarted,
    ReportMissing,
    ReportStageCompleted,
    ReportStageSubmitted,
    Request,
)
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId, JobId, ShuffleId, Span, StageAttempt, StageId
from coordinator.core.values import Capabilities, Driver, Lineage, Policy, Rule

APP = ApplicationId("0190b2c4-5d6e-7f80-9a1b-2c3d4e5f6071")
DRIVER = ClientId("driver")
EAGER = Policy(Rule.EAGER, observe=False)


def attempt(stage: int, number: int = 0) -> StageAttempt:
    return StageAttempt(StageId(stage), number)


def registration(application: ApplicationId = APP, policy: Policy = EAGER, **more: object) -> RegisterApplication:
    capabilities = Capabilities(**more)  # type: ignore[arg-type]
    return RegisterApplication(application, Driver(name="story"), capabilities, policy)


def opening(application: ApplicationId = APP, policy: Policy = EAGER, **more: object) -> list[Request]:
    """Registers the application and the driver's client; not numbered, so harmless when repeated."""
    return [
        Request(DRIVER, 0, registration(application, policy, **more)),
        Request(DRIVER, 0, RegisterClient(DRIVER)),
    ]


def writes(job: int) -> list[Command]:
    """Job k writes app shuffle k in stage 2k, and will read it in stage 2k+1."""
    shuffle, first = AppShuffle(job), 2 * job
    started = ReportJobStarted(
        JobId(job),
        StageId(first + 1),
        reads=(shuffle,),
        stages=(Span(first, first + 1),),
        lineage=(Lineage(shuffle, maps=4),),
    )
    return [
        started,
        ReportStageSubmitted(attempt(first), writes=shuffle, tasks=4, name="write"),
        ReportStageCompleted(attempt(first), shuffle_bytes_written=1_000),
    ]


def reads(job: int) -> list[Command]:
    """The reader is submitted and asks."""
    return [ReportStageSubmitted(attempt(2 * job + 1), reads=(AppShuffle(job),), tasks=4), asks(job)]


def comes_back(job: int) -> list[Command]:
    """Another job reads what job k has written."""
    number, shuffle = 1_000 + job, AppShuffle(job)
    started = ReportJobStarted(JobId(number), StageId(number), reads=(shuffle,), stages=(Span(number, number),))
    return [started, ReportStageSubmitted(attempt(number), reads=(shuffle,), tasks=4)]


def finishes(job: int) -> list[Command]:
    """The reader has written output; then the job has ended. Under `eager` its shuffle goes."""
    return [ReportStageCompleted(attempt(2 * job + 1), output_bytes=10), ReportJobEnded(JobId(job))]


def asks(job: int) -> GetShuffleId:
    return GetShuffleId(AppShuffle(job), attempt(2 * job + 1))


def misses(job: int, shuffle_id: int, stage: int) -> ReportMissing:
    return ReportMissing(AppShuffle(job), ShuffleId(shuffle_id), attempt(stage))


def whole(job: int) -> list[Command]:
    return [*writes(job), *reads(job), *finishes(job)]


class Numbers:
    """Numbers requests as one client does."""

    def __init__(self, client: ClientId = DRIVER) -> None:
        self.client = client
        self.last = 0

    def __call__(self, commands: Iterable[Command], confirmed: int = 0) -> list[Request]:
        numbered = []
        for command in commands:
            self.last += 1
            numbered.append(Request(self.client, self.last, command, confirmed))
        return numbered
