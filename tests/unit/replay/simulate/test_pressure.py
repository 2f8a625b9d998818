"""Policy `pressure` over recorded runs: against a capacity, and against the disks that were reported."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, Span, StageId
from coordinator.core.policies import REST_MS
from coordinator.core.values import Expiry, Policy, Rule
from replay.explain import explain
from replay.simulate import Outcome, Pace, facts_of, simulate
from tests.support.simulated import check_as_recorded
from tests.unit.replay.logs import Told, attempt, lineage

OBSERVE = Policy(Rule.PRESSURE, observe=True)
PRESSURE = Policy(Rule.PRESSURE, observe=False)
AT_ONCE = Pace(0, 0)
BYTES = 100


def read_once(shuffles: int = 8, policy: Policy = OBSERVE, disk: int = 0) -> Told:
    """One shuffle after the other, each read by a job of its own; a disk of that size fills with them."""
    told = Told(policy=policy)
    for n in range(shuffles):
        told.say(
            c.ReportJobStarted(
                JobId(n), StageId(2 * n + 1), (AppShuffle(n),), None, (Span(2 * n, 2 * n + 1),),
                (lineage(n, f"map at fill.py:{n}"),),
            )
        )  # fmt: skip
        told.stage(2 * n, f"map at fill.py:{n}", writes=n)
        told.say(c.ReportStageCompleted(attempt(2 * n), shuffle_bytes_written=BYTES, task_ms=1_000 * (n + 1)))
        if disk:
            used = sum(generation.bytes for generation in told.state.generations.values())
            told.say(c.ReportDisk("/mnt/spark", used, disk - used))
        told.stage(2 * n + 1, "count at fill.py:99", reads=(n,))
        told.done(2 * n + 1)
        told.say(c.ReportJobEnded(JobId(n)))
        told.now_ms += REST_MS
        if policy.observe is False:
            told.carried_out()
    told.say(c.EndApplication())
    return told


def gone(outcome: Outcome) -> list[int]:
    """App shuffles that went early, in order."""
    early = [life for life in outcome.lives if life.is_deleted_early]
    return [life.app_shuffle for life in sorted(early, key=lambda life: life.gone_ms or 0)]


def test_a_capacity_is_kept_and_nothing_goes_that_fits() -> None:
    facts = list(facts_of(read_once().log))
    roomy, narrow = (simulate(facts, PRESSURE, pace=AT_ONCE, capacity_bytes=size) for size in (10_000, 500))
    assert (roomy.deletions, roomy.peak_bytes) == (0, 800)
    assert narrow.peak_bytes == 500
    assert gone(narrow) == [0, 1, 2, 3]  # the cheapest of what is there each time the capacity is reached
    assert {life.why for life in narrow.lives if life.is_deleted_early} == {Expiry.PRESSED}
    assert narrow.premature == 0


def test_what_is_held_less_than_in_the_record_is_on_the_disk_no_more() -> None:
    outcome = simulate(facts_of(read_once(disk=500).log), PRESSURE, pace=AT_ONCE)
    told = [recorded.event for recorded in outcome.log if isinstance(recorded.event, e.DiskReported)]
    assert [event.used_bytes for event in told] == [100, 200, 300, 400, 500, 400, 500, 400]
    assert [event.used_bytes + event.free_bytes for event in told] == [500] * 8
    assert len(gone(outcome)) == 4


def test_a_run_under_pressure_is_decided_again_and_explained() -> None:
    told = read_once(policy=PRESSURE, disk=500)
    check_as_recorded(told.log)
    fences = [recorded.event for recorded in told.log if isinstance(recorded.event, e.FenceRequested)]
    assert fences
    [chapter] = explain(told.log, shuffle_id=fences[0].shuffle_id).chapters
    assert "disk /mnt/spark at 100 %, above 85 %; 1.0 task-s for 100 B" in chapter.verdict
    assert any("asked to fence it" in line.text and "1.0 task-s for 100 B" in line.text for line in chapter.lines)
