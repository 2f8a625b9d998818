"""A premature deletion is told with its chain and its cost, and what is advised really keeps the shuffle."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, Span, StageId
from coordinator.core.values import Outputs, Policy, Rule, Settings
from replay import names
from replay.premature import MOST_TRIED, Inquiry, Premature, premature, worth
from tests.unit.replay.logs import FRONTIER, Told, attempt, deleted_and_missed, lineage, read_from_blocks

LATER_MS = 12_000


def comes_back(policy: Policy = FRONTIER, pinned: bool = False) -> Told:
    """Twelve seconds after its first job has ended, a second job reads app shuffle 0 again."""
    told = Told(policy=policy)
    told.chain_job()
    if pinned:
        told.say(c.SetPin(AppShuffle(0)))
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, 60_000_000)
    told.carried_out()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    told.now_ms += LATER_MS
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),), call_site="collect at x"))
    if told.state.generations.keys() >= {1}:  # it is there: Spark skips the map stage
        told.stage(4, "collect at chain.py:31", reads=(0,))
        return told
    told.stage(3, "map at chain.py:12", writes=0)
    told.now_ms += 3_000
    told.done(3, 120_000_000)
    told.stage(4, "collect at chain.py:31", reads=(0,))
    return told


def missed(told: Told) -> list[e.PrematureDeletion]:
    return [one.event for one in told.log if isinstance(one.event, e.PrematureDeletion)]


def test_the_policy_is_the_one_that_let_it_go_and_who_chose_it_is_in_the_chain() -> None:
    told = Told(policy=Policy())
    told.whole_chain()
    told.say(c.SetPolicy(Policy(Rule.EAGER, observe=False), by="ann"))
    told.carried_out()
    told.say(
        c.ReportJobStarted(JobId(1), StageId(14), (AppShuffle(0),), None, (Span(13, 14),), call_site="collect at x")
    )
    told.stage(13, "map at chain.py:12", writes=0)
    found = next(one for one in premature(told.log) if one.app_shuffle == 0)
    assert found.policy == "eager"
    assert any("by ann" in cause.text for cause in found.chain)


def test_who_chose_the_policy_under_which_it_expired_is_told_once() -> None:
    told = Told(policy=Policy(Rule.REACHABLE, observe=False))
    told.whole_chain()
    told.say(c.SetPolicy(FRONTIER, by="ann"))
    told.carried_out()
    told.say(c.ReportJobStarted(JobId(1), StageId(14), (AppShuffle(0),), None, (Span(13, 14),)))
    told.stage(13, "map at chain.py:12", writes=0)
    found = next(one for one in premature(told.log) if one.app_shuffle == 0)
    assert [word in cause.text for word, cause in zip(("by ann", "expired"), found.chain, strict=False)] == [True, True]
    assert all(earlier.sequence < later.sequence for earlier, later in pairwise(found.chain))


def test_the_chain_leads_from_the_fact_that_let_it_go_to_who_missed_it() -> None:
    (found,) = premature(comes_back().log)
    words = ["completed", "expired", "asked to fence", "fenced", "deleted (policy)", "deleted too early"]
    assert [word in cause.text for word, cause in zip(words, found.chain, strict=True)] == [True] * len(words)
    assert all(earlier.sequence < later.sequence for earlier, later in pairwise(found.chain))
    assert (found.shuffle_id, found.app_shuffle, found.call_site) == (1, 0, "map at chain.py:12")
    assert found.missed_by == "stage 3.0 (map at chain.py:12) of job 1 (collect at x)"
    assert found.chain[-1].sequence == found.sequence


def test_the_chain_ends_with_the_miss_though_the_data_go_later() -> None:
    told = Told()
    told.whole_chain()
    told.say(c.ReportOutcome(next(iter(told.state.directives)), c.Fenced(120_000_000)))
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    told.stage(3, "map at chain.py:12", writes=0)
    told.carried_out()
    assert any(isinstance(one.event, e.GenerationDeleted) and one.event.shuffle_id == 1 for one in told.log)
    (found,) = premature(told.log)
    assert found.chain[-1].sequence == found.sequence


def test_the_cost_is_what_was_written_again_and_what_that_took() -> None:
    (found,) = premature(comes_back().log)
    assert found.recomputed_bytes == 120_000_000
    assert found.recomputed_task_seconds is not None
    assert 3.0 <= found.recomputed_task_seconds < 3.1


def test_the_cost_is_that_of_the_stage_that_wrote_it_again_and_not_of_the_first_one() -> None:
    """The first one starts the Python workers, and reads files that nobody has read before."""
    told = Told(policy=Policy(Rule.EAGER, observe=False))
    told.chain_job()
    told.say(c.ReportStageSubmitted(attempt(0), (), AppShuffle(0), 4, "map at chain.py:12"))
    told.say(c.ReportStageCompleted(attempt(0), shuffle_bytes_written=9_000, task_ms=15_000))
    told.say(c.ReportStageSubmitted(attempt(2), (AppShuffle(0),), None, 4, "save at chain.py:20"))
    told.say(c.ReportStageCompleted(attempt(2), output_bytes=5))
    told.say(c.ReportJobEnded(JobId(0)))
    told.carried_out()
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    told.say(c.ReportStageSubmitted(attempt(3), (), AppShuffle(0), 4, "map at chain.py:12"))
    told.say(c.ReportStageCompleted(attempt(3), shuffle_bytes_written=9_000, task_ms=1_400))
    told.stage(4, "collect at chain.py:31", reads=(0,))
    told.done(4)
    (found,) = premature(told.log)
    assert (found.recomputed_bytes, found.recomputed_task_seconds) == (9_000, 1.4)


@pytest.mark.parametrize(("tasks", "wrote_bytes", "seconds"), [(4, 9_000, 1.4), (2, 4_500, 3.4)])
def test_what_a_failed_attempt_did_costs_where_it_was_left(tasks: int, wrote_bytes: int, seconds: float) -> None:
    """The next attempt writes all four outputs anew, or the two that were not there."""
    told = Told()
    told.whole_chain()
    told.carried_out()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(
        c.ReportJobEnded(JobId(0)),
        c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)),
        c.ReportStageSubmitted(attempt(3), (), AppShuffle(0), 4, "map at chain.py:12"),
        c.ReportStageCompleted(attempt(3), "a fetch failed", shuffle_bytes_written=4_500, task_ms=2_000),
        c.ReportStageSubmitted(attempt(3, 1), (), AppShuffle(0), tasks, "map at chain.py:12"),
        c.ReportStageCompleted(attempt(3, 1), shuffle_bytes_written=wrote_bytes, task_ms=1_400),
    )
    (found,) = premature(told.log)
    assert (found.recomputed_bytes, found.recomputed_task_seconds) == (9_000, seconds)


def test_the_grace_that_is_advised_keeps_it() -> None:
    (found,) = premature(comes_back().log)
    (grace,) = [one for one in found.advice if "grace" in one.change]
    assert grace.change == "policy delayed (frontier) with a grace of 13s"
    assert not missed(comes_back(Policy(Rule.FRONTIER, observe=False, grace_ms=13_000)))
    assert found.advice[0].change == "pin app shuffle 0", "a pin holds that shuffle alone"


def test_the_pin_that_is_advised_keeps_it() -> None:
    assert missed(comes_back())
    assert not missed(comes_back(pinned=True))


def test_what_a_change_costs_is_told_and_the_least_comes_first() -> None:
    (found,) = premature(comes_back().log)
    costs = [one.extra_byte_seconds for one in found.advice]
    assert costs == sorted(costs)
    assert all(cost > 0 for cost in costs)
    assert worth(found.advice[0]).startswith("holds 1.")


def deletes_slowly(slow_ms: int) -> Told:
    """The driver takes so long to delete 120 MB that nobody misses; of 1 kB that goes at once somebody does."""
    told = Told(policy=Policy(Rule.EAGER, observe=False))
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, 1_000)
    told.now_ms += slow_ms
    told.carried_out()
    told.say(c.ReportStageSubmitted(attempt(2), (AppShuffle(1),), None, 4, "save at chain.py:20"))
    told.say(c.ReportStageCompleted(attempt(2), output_bytes=5))
    told.say(c.ReportJobEnded(JobId(0)))
    told.carried_out(1_000)
    told.now_ms += LATER_MS
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(1),), None, (Span(3, 4),), (lineage(1, "x"),)))
    told.stage(3, "groupBy at chain.py:14", writes=1)
    told.done(3, 1_000)
    told.stage(4, "collect at chain.py:31", reads=(1,))
    told.done(4)
    return told


def test_how_slow_the_driver_was_is_no_merit_of_a_change() -> None:
    (found,) = premature(deletes_slowly(30_000).log)
    (pin,) = [one for one in found.advice if one.change == "pin app shuffle 1"]
    assert pin.extra_byte_seconds == pytest.approx(1_000 * LATER_MS / 1_000, rel=0.1)


def test_an_eager_deletion_that_frontier_would_not_have_made() -> None:
    told = Told(policy=Policy(Rule.EAGER, observe=False))
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 9_000)
    told.say(c.ReportStageSubmitted(attempt(2), (AppShuffle(0),), None, 4, "save at chain.py:20"))
    told.say(c.ReportStageCompleted(attempt(2), output_bytes=5))
    told.say(c.ReportJobEnded(JobId(0)))
    told.carried_out()
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    told.stage(3, "map at chain.py:12", writes=0)
    told.done(3, 9_000)
    (found,) = premature(told.log)
    assert "policy frontier instead of eager" in [one.change for one in found.advice]


def chain_missed(pinned: bool = False, second_took_ms: int = 0) -> Told:
    """Under `eager` both shuffles of a chain go, and a second job reads the last one again."""
    told = Told(policy=Policy(Rule.EAGER, observe=False))
    told.chain_job()
    if pinned:
        told.say(c.SetPin(AppShuffle(1)))
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, 1_000)
    told.say(c.ReportStageSubmitted(attempt(2), (AppShuffle(1),), None, 4, "save at chain.py:20"))
    told.now_ms += second_took_ms
    told.say(c.ReportStageCompleted(attempt(2), output_bytes=5))
    told.say(c.ReportJobEnded(JobId(0)))
    told.carried_out()
    told.say(c.ReportJobStarted(JobId(1), StageId(5), (AppShuffle(1),), None, (Span(3, 5),)))
    if not pinned:  # else it is there: Spark skips both map stages
        told.stage(3, "map at chain.py:12", writes=0)
        told.done(3, 120_000_000)
        told.stage(4, "groupBy at chain.py:14", reads=(0,), writes=1)
        told.done(4, 1_000)
    told.stage(5, "collect at chain.py:31", reads=(1,))
    told.done(5)
    return told


def test_what_was_written_again_for_a_shuffle_that_a_change_keeps_is_missed_no_more() -> None:
    assert [one.shuffle_id for one in missed(chain_missed())] == [1, 2]
    assert not missed(chain_missed(pinned=True))
    found = next(one for one in premature(chain_missed().log) if one.app_shuffle == 1)
    (pin,) = [one for one in found.advice if one.change == "pin app shuffle 1"]
    assert pin.others_missed == 0


def test_a_pin_of_the_shuffle_that_it_was_written_again_for_keeps_it_too() -> None:
    found = next(one for one in premature(chain_missed().log) if one.app_shuffle == 0)
    assert (found.advice[0].change, found.advice[0].others_missed) == ("pin app shuffle 1", 0)
    own = next(one for one in found.advice if one.change == "pin app shuffle 0")
    assert worth(own).endswith("; 1 other is still missed")
    above = next(one for one in premature(chain_missed().log) if one.app_shuffle == 1)
    assert "pin app shuffle 0" not in [one.change for one in above.advice], "what was made of it is missed all the same"


def test_the_grace_of_the_shuffle_that_it_was_written_again_for_keeps_it_too() -> None:
    """The first shuffle goes 20 s before the second one, but only the second one is wanted."""
    run = chain_missed(second_took_ms=20_000)
    found = {one.app_shuffle: [told for told in one.advice if "grace" in told.change] for one in premature(run.log)}
    assert [told.change for told in found[AppShuffle(1)]] == ["policy delayed (eager) with a grace of 1s"]
    assert [(told.change, told.others_missed) for told in found[AppShuffle(0)]] == [
        ("policy delayed (eager) with a grace of 1s", 0),
        ("policy delayed (eager) with a grace of 21s", 0),
    ]


def test_a_fence_that_was_refused_at_first_stands_in_the_chain() -> None:
    told = Told()
    told.whole_chain()
    told.refused()
    told.now_ms += 60_000
    told.say(c.Tick())
    told.carried_out()
    told.stage(3, "map at chain.py:12", writes=0)
    (found,) = premature(told.log)
    words = ["completed", "expired", "asked to fence", "did not fence", "asked to fence", "fenced", "deleted (policy)",
             "deleted too early"]  # fmt: skip
    assert [word in cause.text for word, cause in zip(words, found.chain, strict=True)] == [True] * len(words)


def test_what_a_loss_has_brought_back_is_told_so() -> None:
    told = Told()
    told.whole_chain()
    told.carried_out()
    told.say(c.ReportOutputs((Outputs(AppShuffle(1), 0, 4),)))
    told.say(c.ReportJobStarted(JobId(1), StageId(5), (AppShuffle(1),), None, (Span(3, 5),)))
    told.stage(3, "map at chain.py:12", writes=0)
    (found,) = premature(told.log)
    assert found.chain[-1].text.endswith("wanted it, since something before it was lost")


def test_blocks_that_can_have_gone_with_an_executor_are_in_the_chain() -> None:
    """No look was wrong: what a whole cache stood before is wanted when a block of it is lost."""
    (found,) = premature(read_from_blocks("7").log)
    assert [cause.text for cause in found.chain[-3:-1]] == [
        "stage 4.0 (sum at chain.py:25) of job 1 took cached blocks instead of it",
        "executor 7 lost: killed",
    ]
    assert all(earlier.sequence < later.sequence for earlier, later in pairwise(found.chain))


def test_blocks_that_are_known_to_have_gone_are_in_the_chain_and_no_executor_is_suspected() -> None:
    (found,) = premature(read_from_blocks("7", "8", told_of_blocks=True).log)
    assert [cause.text.split(" (")[0] for cause in found.chain[-4:-1]] == [
        "stage 4.0",
        "cached blocks may have gone with executor 7, which are taken instead of app shuffle 0",
        "cached blocks may have gone with executor 8, which are taken instead of app shuffle 0",
    ]
    assert found.chain[-1].text.endswith("wanted it, since something before it was lost")


def test_an_executor_is_told_that_was_lost_just_before_a_stage_wanted_its_blocks() -> None:
    """Spark submits a stage that is to take blocks of an executor of whose end the listeners have heard already."""
    told = read_from_blocks("7", taken_after=True)
    (found,) = premature(told.log)
    assert [cause.text.split(" (")[0] for cause in found.chain[-3:-1]] == ["executor 7 lost: killed", "stage 8.0"]


def test_a_cache_that_was_given_up_is_told_without_an_executor() -> None:
    (found,) = premature(read_from_blocks().log)
    assert "took cached blocks instead of it" in found.chain[-2].text


def test_of_many_executors_that_were_lost_the_last_ones_are_told() -> None:
    (found,) = premature(read_from_blocks(*map(str, range(50))).log)
    assert [cause.text for cause in found.chain if "lost" in cause.text] == [
        f"executor {one} lost: killed" for one in range(47, 50)
    ]


def missed_by_the_next_job(shuffles: int) -> Told:
    """So many shuffles, each of which the next job reads again; the later ones take longer to write."""
    told = Told(settings=Settings(premature_budget=shuffles, recoveries=shuffles))
    for number in range(shuffles):
        first, written, derived = 10 * number, 2 * number, 2 * number + 1
        made = (lineage(written, "map at x"), lineage(derived, "group at x", reads=(written,)))
        listed = (Span(first, first + 2),)
        told.say(
            c.ReportJobStarted(JobId(written), StageId(first + 2), (AppShuffle(derived),), None, listed, lineage=made)
        )
        told.stage(first, "map at x", writes=written)
        told.done(first, 1_000)
        told.stage(first + 1, "group at x", reads=(written,), writes=derived)
        told.done(first + 1, 1_000)
        told.say(c.ReportJobEnded(JobId(written)))
        told.carried_out(1_000)
        listed = (Span(first + 3, first + 4),)
        told.say(c.ReportJobStarted(JobId(derived), StageId(first + 4), (AppShuffle(written),), None, listed))
        told.stage(first + 3, "map at x", writes=written)
        told.say(c.ReportStageCompleted(attempt(first + 3), "", shuffle_bytes_written=1_000, task_ms=100 + number))
        told.stage(first + 4, "count at x", reads=(written,))
        told.done(first + 4)
        told.say(c.ReportJobEnded(JobId(derived)))
        told.carried_out(1_000)
    return told


def test_of_many_that_were_missed_changes_are_made_up_for_the_dearest() -> None:
    found = premature(missed_by_the_next_job(MOST_TRIED + 5).log)
    assert [one.is_tried for one in found] == 5 * [False] + MOST_TRIED * [True]
    own = [[told.change for told in one.advice if told.change == f"pin app shuffle {one.app_shuffle}"] for one in found]
    assert list(map(len, own)) == 5 * [0] + MOST_TRIED * [1]
    of_others = [{told.change for told in one.advice} for one in found[:5]]
    assert of_others == 5 * [{told.change for told in found[-1].advice if "grace" in told.change}]
    assert len(of_others[0]) == 1


def test_nothing_missed_is_nothing_told() -> None:
    told = Told()
    told.whole_chain()
    told.carried_out()
    assert premature(told.log) == ()
    assert len(premature(deleted_and_missed().log)) == 1


def goes_on(told: Told, jobs: int) -> Iterator[e.Recorded]:
    """So many further jobs, each with a shuffle that is deleted, and cleaned by Spark; told as the log goes by."""
    for number in range(10, 10 + jobs):
        app, writer, reader = AppShuffle(number), attempt(2 * number), attempt(2 * number + 1)
        stages = (Span(writer.stage, reader.stage),)
        told.say(c.ReportJobStarted(JobId(number), reader.stage, (app,), None, stages, (lineage(number, "map at x"),)))
        told.stage(writer.stage, "map at x", writes=number)
        told.done(writer.stage, 1_000)
        told.stage(reader.stage, "count at x", reads=(number,))
        told.done(reader.stage)
        told.say(c.ReportJobEnded(JobId(number)))
        told.carried_out()
        told.say(c.ReportShuffleCleaned(app))
        told.said.clear()
        yield from told.log
        told.log.clear()


def inquired(log: Callable[[], Iterator[e.Recorded]]) -> tuple[int, tuple[Premature, ...]]:
    """How many bytes were held at the end of a pass at most, of a log in nobody's memory, and what was found."""
    inquiry, most = Inquiry(), 0
    tracemalloc.start()
    try:
        for hear in inquiry.passes():
            for recorded in log():
                hear(recorded)
            gc.collect()
            most = max(most, tracemalloc.get_traced_memory()[0])
        return most, inquiry.found
    finally:
        tracemalloc.stop()


def test_memory_grows_with_what_was_missed_and_not_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_OVER", 20)

    def log(jobs: int) -> Iterator[e.Recorded]:
        told = comes_back(Policy(Rule.EAGER, observe=False))
        yield from told.log
        told.log.clear()
        yield from goes_on(told, jobs)

    short, few = inquired(lambda: log(50))
    long, found = inquired(lambda: log(300))
    assert [(one.chain, one.recomputed_bytes) for one in found] == [(one.chain, one.recomputed_bytes) for one in few]
    assert len(found) == 1
    assert found[0].advice
    assert (long - short) / 250 < 30, "bytes a job: no fact, and no number of a stage or generation"


def test_a_log_in_which_nothing_was_missed_is_gone_through_once() -> None:
    told = Told()
    told.whole_chain()
    inquiry, passes = Inquiry(), 0
    for hear in inquiry.passes():
        passes += 1
        for recorded in told.log:
            hear(recorded)
    assert (passes, inquiry.found) == (1, ())
