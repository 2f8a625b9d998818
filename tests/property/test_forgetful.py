"""The small Spark against the core, where facts are dropped on the way and the whole truth is told later.

Nothing may expire and nothing be fenced from a gap on until the truth has been told and the jobs that ran then have
ended; all else must hold that holds of `test_machine`, and in the end everything is let go.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import JobId
from coordinator.core.values import Level
from tests.property.test_machine import Machine

#: An outcome is kept until it is answered; a look that did not arrive is taken again.
_KEPT = (c.ReportOutcome, c.BeginLook, c.ReportCut, c.ReportGap, c.Resync)


class Waited:
    """What a log says of gaps, read by its own plain means."""

    def __init__(self) -> None:
        self.for_truth = False
        self.for_jobs: set[JobId] = set()

    def hear(self, event: e.Event) -> None:
        """One more event of the log."""
        if isinstance(event, e.GapRecorded):
            self.for_truth, self.for_jobs = not event.resynced, set(event.until)
        elif isinstance(event, e.JobEnded):
            self.for_jobs.discard(event.job)
        elif isinstance(event, (e.GenerationExpired, e.FenceRequested)):
            assert not self.for_truth, event
            assert not self.for_jobs, event


class Forgetful(Machine):
    """What is told may be dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = Waited()

    def do(self, command: c.Command) -> list[e.Recorded]:
        log = super().do(command)
        for recorded in log:
            self.waited.hear(recorded.event)
        return log

    @rule(data=st.data(), steps=st.integers(0, 6), at_once=st.booleans())
    def forget(self, data: st.DataObject, steps: int, at_once: bool) -> None:
        """Spark goes on; of what it tells some is dropped, and the truth is told now or when it is delivered."""
        self.spark.lost_something = True  # whoever has missed something may have missed a loss
        self.do(c.ReportGap(1, "outbox"))
        self.spark.work(steps)
        told, self.spark.told = self.spark.told, []
        kept = data.draw(st.lists(st.booleans(), min_size=len(told), max_size=len(told)))
        self.spark.told = [one for one, is_kept in zip(told, kept, strict=True) if is_kept or isinstance(one, _KEPT)]
        self.spark.told.append(self.spark.truth())
        if at_once:
            self.deliver(1_000)

    def _finish(self) -> None:
        """A job comes after all others: who asked for one that was never told is waited for no longer."""
        super()._finish()
        self.spark.start_job(self.spark.make((), Level.DETERMINATE), map_stage=False)
        super()._finish()
        assert self.witness.state.meta.gap is None


LONG = os.environ.get("SHUFFLE_LIFECYCLE_LONG", "")

Forgetful.TestCase.settings = settings(
    max_examples=1_000 if LONG else 40,
    stateful_step_count=80 if LONG else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestForgetful = pytest.mark.timeout(7_200 if LONG else 300)(Forgetful.TestCase)
