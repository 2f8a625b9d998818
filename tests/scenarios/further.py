"""What the further stories share: kinds of directives, why something expires, jobs and outputs as resyncs tell them."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import (
    JobId,
    StageId,
    spans_of,
)
from coordinator.core.values import (
    Capabilities,
    DirectiveKind,
    Outputs,
)
from tests.scenarios.story import shuffle

FENCE, DELETE, INVALIDATE = DirectiveKind.FENCE, DirectiveKind.DELETE, DirectiveKind.INVALIDATE
REMOTE = Capabilities(completes_after_loss=False)
READ = "expired: read by a stage that wrote"
CUT = "expired: in no live cut"


def job_of(number: int, final: int, reads: str, stages: tuple[int, ...], writes: str = "") -> c.ReportJobStarted:
    return c.ReportJobStarted(
        JobId(number), StageId(final), tuple(map(shuffle, reads)), shuffle(writes) if writes else None, spans_of(stages)
    )


def found(**left: int) -> tuple[Outputs, ...]:
    return tuple(Outputs(shuffle(name), available, 10) for name, available in left.items())
