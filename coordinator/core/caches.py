"""What a stage may take from caches instead of reading it.

Responsible for the shuffles that a stage lists and may never touch, since its persisted RDDs lie in between. Refuses to
know whether all their blocks are there: nobody tells. Invariant: what is read past every cache is never among them.
"""

from __future__ import annotations

from coordinator.core.commands import ReportStageSubmitted
from coordinator.core.events import StageSubmitted
from coordinator.core.ids import AppShuffle


def behind(stage: ReportStageSubmitted | StageSubmitted) -> tuple[AppShuffle, ...]:
    """The app shuffles among its reads that lie behind persisted RDDs of it: it may take their blocks instead.

    A driver of an older release tells only that there are some (``cached``): then each of its reads may be one.
    """
    return stage.behind or (stage.reads if stage.cached else ())


def direct(stage: ReportStageSubmitted | StageSubmitted) -> tuple[AppShuffle, ...]:
    """The app shuffles that it reads wherever it runs, whatever is cached."""
    hidden = behind(stage)
    return tuple(read for read in stage.reads if read not in hidden) if hidden else stage.reads
