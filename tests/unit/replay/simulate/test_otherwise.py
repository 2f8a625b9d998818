"""Small runs under other policies: what is deleted, missed, written again, and what is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import ApplicationId, AppShuffle, JobId, LookId, Span, StageId
from coordinator.core.values import Driver, Expiry, Outputs, Policy, Rule
from replay.learn import learn
from replay.simulate import Fact, Outcome, Pace, facts_of, simulate
from replay.simulate.baseline import Costs
from replay.simulate.ledger import Ledger
from tests.support.simulated import check_as_recorded, check_otherwise
from tests.unit.replay.logs import APP, BEGIN_MS, Told, attempt, deleted_and_missed, lineage
from tests.unit.replay.test_holders import looked_at, root

OBSERVE = Policy(Rule.FRONTIER, observe=True)
FRONTIER = Policy(Rule.FRONTIER, observe=False)
EAGER = Policy(Rule.EAGER, observe=False)
AT_ONCE = Pace(0, 0)


def run_twice(policy: Policy = OBSERVE) -> Told:
    """A chain, and a second job that reads the first shuffle again, whose map stage it lists and skips."""
    told = Told(policy=policy)
    told.whole_chain()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    if policy.observe:
        told.say(c.ReportJobStarted(JobId(1), StageId(4), reads=(AppShuffle(0),), stages=(Span(3, 4),)))
        told.stage(4, "collect at chain.py:31", reads=(0,))
        told.done(4)
        told.say(c.ReportJobEnded(JobId(1)), c.EndApplication())
    return told


def kinds(log: tuple[Recorded, ...], *wanted: type) -> list[str]:
    return [type(recorded.event).__name__ for recorded in log if isinstance(recorded.event, wanted)]


def test_what_a_stage_misses_is_written_again_before_it_and_charged() -> None:
    outcome = simulate(facts_of(run_twice().log), FRONTIER, pace=AT_ONCE)
    [miss] = outcome.misses
    assert (miss.app_shuffle, miss.why, miss.recomputed_bytes) == (0, Expiry.FRONTIER, 120_000_000)
    assert miss.recomputed_task_seconds == 0.01  # its stage took 10 ms, and nobody says that tasks ran side by side
    assert miss.call_site == "map at chain.py:12"
    told = kinds(outcome.log, e.PrematureDeletion, e.RecoveryOpened, e.GenerationStarted, e.RecoveryClosed)
    assert told[2:] == ["PrematureDeletion", "RecoveryOpened", "GenerationStarted", "RecoveryClosed"]
    stage = next(r.event.stage for r in outcome.log if isinstance(r.event, e.PrematureDeletion))
    assert stage == attempt(3)  # the one that the second job lists and has skipped
    last = next(r.event for r in reversed(outcome.log) if isinstance(r.event, e.ReaderRegistered))
    assert last.shuffle_id == outcome.lives[-1].shuffle_id
    assert outcome.written_bytes == 300_000_000


def test_what_is_gone_behind_it_is_written_first() -> None:
    told = run_twice()
    told.log.pop()  # it goes on
    told = Told(policy=OBSERVE)
    told.say(
        c.ReportJobStarted(
            JobId(0),
            StageId(3),
            reads=(AppShuffle(2),),
            stages=(Span(0, 3),),
            lineage=(lineage(0, "a"), lineage(1, "b", reads=(0,)), lineage(2, "c", reads=(1,))),
        )
    )
    for number, reads in ((0, ()), (1, (0,)), (2, (1,))):
        told.stage(number, "map", reads=reads, writes=number)
        told.done(number, 1_000)
    told.stage(3, "count", reads=(2,))
    told.done(3)
    told.say(c.ReportJobEnded(JobId(0)))
    told.say(c.ReportJobStarted(JobId(1), StageId(6), reads=(AppShuffle(1),), stages=(Span(4, 6),)))
    told.stage(6, "collect", reads=(1,))
    told.done(6)
    outcome = simulate(facts_of(told.log), FRONTIER, pace=AT_ONCE)
    assert [miss.app_shuffle for miss in outcome.misses] == [0, 1]
    started = [r.event.app_shuffle for r in outcome.log if isinstance(r.event, e.GenerationStarted)]
    assert started == [0, 1, 2, 0, 1]


def test_what_ran_again_because_of_a_deletion_does_not_run_where_nothing_is_deleted() -> None:
    told = deleted_and_missed()
    outcome = simulate(facts_of(told.log), OBSERVE)
    assert outcome.misses == ()
    assert [life.app_shuffle for life in outcome.lives] == [0, 1]
    assert attempt(3) not in {r.event.stage for r in outcome.log if isinstance(r.event, e.StageSubmitted)}
    assert outcome.held_byte_seconds == outcome.never_byte_seconds


def test_a_fence_waits_for_who_reads_and_one_that_is_asked_for_again_comes_through() -> None:
    told = Told(policy=OBSERVE)
    told.whole_chain()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.say(c.ReportJobStarted(JobId(5), StageId(9), reads=(AppShuffle(0),), stages=(Span(8, 9),)))
    told.stage(9, "late", reads=(0,))
    told.now_ms += 1_000
    told.done(9)
    told.now_ms += 60_000
    told.say(c.ReportJobEnded(JobId(5)))
    outcome = simulate(facts_of(told.log), FRONTIER, pace=Pace(fence_ms=35, free_ms=0))
    refused = [r.event for r in outcome.log if isinstance(r.event, e.FenceRefused)]
    assert [event.detail for event in refused] == ["9.0"]
    assert outcome.misses == ()


def test_a_real_loss_is_a_loss_under_every_policy() -> None:
    told = Told(policy=OBSERVE)
    told.whole_chain()
    told.say(c.ReportOutputs((Outputs(AppShuffle(1), 0, 4),)))
    for policy in (OBSERVE, FRONTIER, EAGER):
        outcome = simulate(facts_of(told.log), policy)
        assert [life.end for life in outcome.lives if life.app_shuffle == 1] == ["lost: outputs gone"]


def written_in_parts(policy: Policy = OBSERVE) -> Told:
    """App shuffle 0: a failed attempt writes 60 MB, the next one 40; then half is lost, and 45 MB are written again."""
    told = Told(policy=policy)
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 60_000_000, failure="fetch failed")
    told.say(c.ReportStageSubmitted(attempt(0, 1), (), AppShuffle(0), 2, "map at chain.py:12"))
    told.say(c.ReportStageCompleted(attempt(0, 1), shuffle_bytes_written=40_000_000))
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 2, 4),)))
    told.say(c.ReportStageSubmitted(attempt(0, 2), (), AppShuffle(0), 2, "map at chain.py:12"))
    told.say(c.ReportStageCompleted(attempt(0, 2), shuffle_bytes_written=45_000_000))
    return told


def test_bytes_are_what_every_attempt_wrote_less_what_was_lost() -> None:
    told = written_in_parts()
    sizes = []
    for length in range(len(told.log) + 1):
        ledger = Ledger()
        ledger.hear(told.log[:length])
        sizes.append(ledger.held_bytes)
    assert list(dict.fromkeys(sizes)) == [0, 60_000_000, 100_000_000, 50_000_000, 95_000_000]
    outcome = simulate(facts_of(told.log))
    assert (outcome.written_bytes, outcome.peak_bytes) == (95_000_000, 100_000_000)


def test_the_bounds_go_by_the_same_bytes() -> None:
    told = written_in_parts()
    told.now_ms += 1_000
    told.say(c.EndApplication())
    outcome = simulate(facts_of(told.log))
    assert outcome.never_byte_seconds == outcome.held_byte_seconds
    assert outcome.never_peak_bytes == 100_000_000
    # Of what nobody read, only what a failed attempt left for the next one was needed: 60 MB for 20 ms.
    assert outcome.needed_byte_seconds == pytest.approx(60e6 * 0.020)


def test_no_policy_that_misses_nothing_holds_less_at_its_peak_than_the_oracle() -> None:
    """When stage 1 ends, what it read and what it wrote are on disk together: 120 and 60 MB."""
    told = Told(policy=OBSERVE)
    told.whole_chain()
    told.say(c.EndApplication())
    outcome = simulate(facts_of(told.log), FRONTIER, pace=AT_ONCE)
    assert (outcome.premature, outcome.deletions) == (0, 1)
    assert outcome.needed_peak_bytes == outcome.peak_bytes == 180_000_000


def test_what_nobody_reads_was_there_when_it_was_written() -> None:
    told = Told(policy=OBSERVE)
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    outcome = simulate(facts_of(told.log))
    assert (outcome.needed_byte_seconds, outcome.needed_peak_bytes) == (0, 120_000_000)


def test_of_one_shuffle_that_grows_the_parts_do_not_count_twice() -> None:
    outcome = simulate(facts_of(written_in_parts().log))
    assert (outcome.needed_peak_bytes, outcome.never_peak_bytes) == (100_000_000, 100_000_000)


def repaired_unmeasured() -> Told:
    """App shuffle 0, of 120 MB, loses a quarter, and half of the rest; who repairs it tells no bytes."""
    told = Told(policy=OBSERVE)
    told.whole_chain()
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 3, 4),)))
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 2, 4),)))
    told.say(c.ReportStageSubmitted(attempt(0, 1), (), AppShuffle(0), 1, "again"))
    told.say(c.ReportStageCompleted(attempt(0, 1)))
    return told


def test_a_repair_of_which_no_bytes_are_told_puts_back_what_was_lost() -> None:
    outcome = simulate(facts_of(repaired_unmeasured().log))
    assert outcome.written_bytes == outcome.peak_bytes == outcome.never_peak_bytes == 180_000_000


def test_what_is_lost_bit_by_bit_holds_what_all_that_is_left_holds() -> None:
    facts: list[tuple[int, c.Command]] = [
        (1_000, c.ReportJobStarted(JobId(0), StageId(0), (), AppShuffle(0), lineage=(lineage(0, "map"),))),
        (1_000, c.ReportStageSubmitted(attempt(0), (), AppShuffle(0), 4, "map")),
        (2_000, c.ReportStageCompleted(attempt(0), shuffle_bytes_written=120)),
        (3_000, c.ReportOutputs((Outputs(AppShuffle(0), 3, 4),))),
        (4_000, c.ReportOutputs((Outputs(AppShuffle(0), 2, 4),))),
        (5_000, c.ReportOutputs((Outputs(AppShuffle(0), 1, 4),))),
        (6_000, c.EndApplication()),
    ]
    assert simulate(facts, OBSERVE).never_byte_seconds == 120 + 90 + 60 + 30


def test_a_partial_repair_of_what_is_gone_is_a_whole_one() -> None:
    told = Told(policy=OBSERVE)
    told.whole_chain()
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 3, 4),)))
    told.say(c.ReportStageSubmitted(attempt(0, 1), (), AppShuffle(0), 1, "again"))
    told.done(0, 0)
    told.say(c.ReportStageCompleted(attempt(0, 1), shuffle_bytes_written=30_000_000))
    outcome = simulate(facts_of(told.log), FRONTIER, pace=AT_ONCE)
    assert [miss.recomputed_bytes for miss in outcome.misses] == [120_000_000]


def failed_and_missed(tasks: int, policy: Policy) -> Told:
    """Of 4 outputs of 10 MB, 1 s each, a failed attempt writes 2; the next one writes so many. So it goes again where
    the policy has let it go when a second job reads it."""
    told = Told(policy=policy)
    told.chain_job()
    write_in_two(told, 0, tasks)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, 1_000)
    told.carried_out(40_000_000)
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    told.say(c.ReportJobStarted(JobId(1), StageId(4), (AppShuffle(0),), None, (Span(3, 4),)))
    if not policy.observe:
        write_in_two(told, 3, tasks)
    told.stage(4, "collect at chain.py:31", reads=(0,))
    told.done(4)
    return told


def write_in_two(told: Told, stage: int, tasks: int) -> None:
    for number, (of, done, failure) in enumerate(((4, 2, "fetch failed"), (tasks, tasks, ""))):
        told.say(c.ReportStageSubmitted(attempt(stage, number), (), AppShuffle(0), of, "map at chain.py:12"))
        over = c.ReportStageCompleted(attempt(stage, number), failure, done * 10_000_000, task_ms=done * 1_000)
        told.say(over)


@pytest.mark.parametrize("tasks", [2, 4])
@pytest.mark.parametrize(("recorded", "tried"), [(FRONTIER, None), (OBSERVE, FRONTIER)])
def test_what_a_failed_attempt_wrote_counts_where_the_next_one_has_not_written_it_again(
    tasks: int, recorded: Policy, tried: Policy | None
) -> None:
    (miss,) = simulate(facts_of(failed_and_missed(tasks, recorded).log), tried, pace=AT_ONCE).misses
    assert (miss.recomputed_bytes, miss.recomputed_task_seconds) == (40_000_000, 4.0)


def test_bounds_and_what_lies_between() -> None:
    never, frontier = (simulate(facts_of(run_twice().log), policy, pace=AT_ONCE) for policy in (OBSERVE, FRONTIER))
    assert never.needed_byte_seconds <= frontier.held_byte_seconds < never.never_byte_seconds
    assert never.saved_byte_seconds == 0
    possible = frontier.never_byte_seconds - frontier.needed_byte_seconds
    assert frontier.saved_byte_seconds == possible  # what is deleted too early is not held either: see what it cost
    assert frontier.premature_rate == 1 / frontier.deletions
    assert never.peak_bytes == never.never_peak_bytes == 180_000_000


@pytest.mark.parametrize(("runs", "needed_s"), [(True, 60.0), (False, 0.0)], ids=["it runs on", "it is over"])
def test_of_a_run_that_goes_on_who_reads_needs_it_unless_its_end_was_missed(runs: bool, needed_s: float) -> None:
    told = Told(policy=OBSERVE)
    told.whole_chain()
    told.stage(2, "count at chain.py:20", reads=(1,))
    jobs = tuple(one for one in told.said if isinstance(one, c.ReportJobStarted) and runs)
    stages = tuple(one for one in told.said[-1:] if isinstance(one, c.ReportStageSubmitted) and runs)
    there = (Outputs(AppShuffle(0), 4, 4), Outputs(AppShuffle(1), 4, 4))
    told.say(c.ReportGap(1, "bus"), c.Resync(jobs, stages, (), there))
    told.now_ms += 60_000
    told.say(c.SetPin(AppShuffle(1)))
    held = simulate(facts_of(told.log), FRONTIER, pace=AT_ONCE)
    assert held.needed_byte_seconds == pytest.approx(120e6 * 0.020 + 60e6 * needed_s, rel=0.01)


@pytest.mark.parametrize("is_truth", [False, True], ids=["with its start", "with the truth after a gap"])
def test_what_is_written_anew_as_a_whole_counts_once_whoever_told_how_many_tasks_that_takes(is_truth: bool) -> None:
    told = Told(policy=OBSERVE)
    told.chain_job()
    job = told.said[-1]
    assert isinstance(job, c.ReportJobStarted)
    if is_truth:
        told = Told(policy=OBSERVE)
        told.say(c.ReportGap(1, "bus"), c.Resync((job,)))
    for number in range(2):
        told.say(c.ReportStageSubmitted(attempt(0, number), (), AppShuffle(0), 4))
        told.say(c.ReportStageCompleted(attempt(0, number), shuffle_bytes_written=100))
    told.say(c.EndApplication())
    assert simulate(facts_of(told.log), OBSERVE, pace=AT_ONCE).never_peak_bytes == 100


def test_what_is_read_to_write_again_what_the_record_had_deleted_is_no_need() -> None:
    """App shuffle 0 is read by the map stage of 1 alone; that runs twice, since both were deleted too early."""
    told = Told(policy=EAGER)
    told.whole_chain()
    told.carried_out()
    told.stage(2, "save at chain.py:20", reads=(1,))
    told.say(c.ReportStageCompleted(attempt(2), output_bytes=5), c.ReportJobEnded(JobId(0)))
    told.carried_out()
    told.now_ms += 60_000
    told.say(c.ReportJobStarted(JobId(1), StageId(5), (AppShuffle(1),), None, (Span(3, 5),)))
    told.stage(3, "map at chain.py:12", writes=0)
    told.done(3, 120_000_000)
    told.stage(4, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(4, 60_000_000)
    told.stage(5, "collect at chain.py:31", reads=(1,))
    told.done(5)
    facts = list(facts_of(told.log))
    assert [fact.command for fact in facts if fact.again] == [told.said[-6], told.said[-4]]
    held = simulate(facts, FRONTIER, pace=AT_ONCE)
    assert held.premature == 0
    assert held.needed_byte_seconds == pytest.approx(120e6 * 0.020 + 60e6 * 60.200, rel=0.001)
    assert held.needed_byte_seconds <= held.held_byte_seconds


def test_what_writing_again_costs_is_what_it_took_the_last_time() -> None:
    """The first time workers had to start; a repair of two of the four outputs is no measure."""
    told = Told(policy=FRONTIER)
    told.chain_job()
    for number, (tasks, task_ms) in enumerate([(4, 9_000), (4, 1_400), (2, 300)]):
        told.say(c.ReportStageSubmitted(attempt(0, number), (), AppShuffle(0), tasks, "map at chain.py:12"))
        told.say(c.ReportStageCompleted(attempt(0, number), shuffle_bytes_written=9_000, task_ms=task_ms))
    costs = Costs()
    costs.hear(facts_of(told.log))
    assert costs.task_ms == {0: 1_400}


def test_commands_alone_will_do_and_measured_tasks_are_what_counts() -> None:
    facts = [(BEGIN_MS + 10 * n, command) for n, command in enumerate(run_twice().said)]
    outcome = simulate(facts, FRONTIER, pace=AT_ONCE, task_ms={AppShuffle(0): 5_000})
    assert outcome.recomputed_task_seconds == 5
    assert outcome.recomputed_bytes == 120_000_000


def test_a_stage_that_takes_all_from_its_cache_reads_nothing_and_misses_nothing() -> None:
    facts = [replace(fact, command=_with_a_cache(fact.command, 0)) for fact in facts_of(run_twice().log)]
    outcome = simulate(facts, FRONTIER, pace=AT_ONCE)
    assert outcome.misses == ()
    read_ms = {life.app_shuffle: life.last_read_ms for life in simulate(facts, OBSERVE).lives}
    assert read_ms == {life.app_shuffle: life.last_read_ms for life in simulate(_before_job(1, facts), OBSERVE).lives}
    assert outcome.needed_byte_seconds <= outcome.held_byte_seconds
    assert _reads(facts) == _reads(_before_job(1, facts))


def test_the_stage_that_fills_a_cache_reads_and_misses() -> None:
    """Its RDDs are persisted like those of the stages after it, which take their blocks; it has fetched."""
    plain = list(facts_of(run_twice().log))
    facts = [replace(fact, command=_with_a_cache(fact.command, 120_000_000)) for fact in plain]
    [miss] = simulate(facts, FRONTIER, pace=AT_ONCE).misses
    assert [miss] == list(simulate(plain, FRONTIER, pace=AT_ONCE).misses)
    assert _reads(facts)["map at chain.py:12"] == _reads(_before_job(1, facts))["map at chain.py:12"] + 1


def joined_with_a_cache(behind: tuple[int, ...], fetched_bytes: int) -> Told:
    """In a chain, what reads app shuffle 0 fills a cache; a second job joins that with a new shuffle, 2."""
    told = Told(policy=OBSERVE)
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    filling = c.ReportStageSubmitted(
        attempt(1), (AppShuffle(0),), AppShuffle(1), 4, cached=True, behind=(AppShuffle(0),)
    )
    told.say(filling, c.ReportStageCompleted(attempt(1), "", 60_000_000, 120_000_000))
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    both, second = (AppShuffle(0), AppShuffle(2)), lineage(2, "map at chain.py:25")
    told.say(c.ReportJobStarted(JobId(1), StageId(5), both, None, (Span(3, 5),), (second,)))
    told.stage(4, "map at chain.py:25", writes=2)
    told.done(4, 60_000_000)
    hidden = tuple(map(AppShuffle, behind))
    told.say(c.ReportStageSubmitted(attempt(5), both, None, 4, "join", cached=True, behind=hidden))
    told.say(c.ReportStageCompleted(attempt(5), shuffle_bytes_read=fetched_bytes))
    told.say(c.ReportJobEnded(JobId(1)), c.EndApplication())
    return told


@pytest.mark.parametrize(
    ("behind", "fetched_bytes", "missed"),
    [
        ((0,), 60_000_000, []),  # just what it reads directly
        ((0,), 60_000_001, [0]),  # a block was computed again
        ((), 60_000_000, [0]),  # as it was told once: everything may lie behind, and it fetched something
    ],
)
def test_a_stage_that_joins_a_cache_with_what_it_fetches_misses_nothing_behind_it(
    behind: tuple[int, ...], fetched_bytes: int, missed: list[int]
) -> None:
    log = joined_with_a_cache(behind, fetched_bytes).log
    check_as_recorded(log)
    facts = list(facts_of(log))
    assert [miss.app_shuffle for miss in simulate(facts, FRONTIER, pace=AT_ONCE).misses] == missed
    observed = simulate(facts)
    read_ms = {life.app_shuffle: life.last_read_ms for life in observed.lives}
    assert (read_ms[AppShuffle(0)] == read_ms[AppShuffle(2)]) == bool(missed)
    assert _reads(facts)["map at chain.py:12"] == 1 + len(missed)
    assert _reads(facts)["map at chain.py:25"] == 1


def _before_job(job: int, facts: list[Fact]) -> list[Fact]:
    def begins(fact: Fact) -> bool:
        return isinstance(fact.command, c.ReportJobStarted) and fact.command.job == job

    return facts[: next(n for n, fact in enumerate(facts) if begins(fact))]


def _reads(facts: list[Fact]) -> dict[str, int]:
    """As policy `history` learns them, by call site."""
    return {kind.call_site: kind.reads for kind in learn(facts).kinds}


def _with_a_cache(command: c.Command | None, fetched_bytes: int) -> c.Command | None:
    """The second job's reader has a persisted RDD, and fetched so much."""
    if isinstance(command, c.ReportStageSubmitted) and command.stage.stage == 4:
        return replace(command, cached=True)
    if isinstance(command, c.ReportStageCompleted) and command.stage.stage == 4:
        return replace(command, shuffle_bytes_read=fetched_bytes)
    return command


@pytest.mark.parametrize("policy", [OBSERVE, FRONTIER, EAGER])
def test_whatever_was_recorded_is_decided_again(policy: Policy) -> None:
    told = run_twice(policy)
    told.carried_out()
    check_as_recorded(told.log)
    check_otherwise(told.log)


def test_the_policy_of_the_record_is_as_recorded() -> None:
    told = deleted_and_missed()
    same = simulate(facts_of(told.log), told.policy)
    assert list(same.log) == told.log


def test_a_jobs_own_policy_gives_way_to_the_simulated_one() -> None:
    told = Told(policy=OBSERVE)
    told.say(
        c.ReportJobStarted(
            JobId(0), StageId(2), (AppShuffle(1),), stages=(Span(0, 2),), policy=OBSERVE,
            lineage=(lineage(0, "a"), lineage(1, "b", reads=(0,))),
        )
    )  # fmt: skip
    told.stage(0, "a", writes=0)
    told.done(0, 10)
    told.stage(1, "b", reads=(0,), writes=1)
    told.done(1, 10)
    assert simulate(facts_of(told.log), FRONTIER, pace=AT_ONCE).deletions == 1


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_fence_that_the_end_overtakes_has_deleted_nothing(answered: int) -> None:
    """The application ends before it is asked for, between fence and deletion, and behind both."""
    told = Told()
    told.whole_chain()
    for outcome in (c.Fenced(120_000_000), c.Freed(120_000_000))[:answered]:
        told.say(c.ReportOutcome(next(iter(told.state.directives)), outcome))
    told.say(c.EndApplication())
    recorded = simulate(facts_of(told.log))
    assert (recorded.deletions, recorded.deleted_bytes) == ((1, 120_000_000) if answered == 2 else (0, 0))


def test_without_looks_reachable_lets_nothing_go_and_says_so() -> None:
    outcome = simulate(facts_of(run_twice().log), Policy(Rule.REACHABLE, observe=False))
    assert (outcome.looks, outcome.deletions) == (0, 0)


def test_a_log_that_is_torn_anywhere_is_read_as_far_as_it_goes() -> None:
    told = looked_at(root("o1", "`a` in chain.py:3", 0), root("o2", "`b` in chain.py:4", 1))
    told.say(c.BeginLook(LookId(2)), c.ReportCut(LookId(2), (), ("o1", "o2")), c.EndApplication())
    for length in range(len(told.log)):
        torn = list(facts_of(told.log[:length]))
        assert len(torn) == len({recorded.because for recorded in told.log[:length]})
        assert simulate(torn, FRONTIER).facts == len(torn)


def test_a_record_of_nothing_comes_to_nothing() -> None:
    outcome: Outcome = simulate([], FRONTIER)
    assert (outcome.facts, outcome.application, outcome.held_byte_seconds) == (0, "", 0)


def test_deep_lineages_are_written_again_too() -> None:
    depth = 80
    chain = tuple(lineage(n, "x", reads=(n - 1,) if n else ()) for n in range(depth))
    first, again = Span(0, depth), Span(depth + 1, 2 * depth + 1)
    wanted = AppShuffle(depth - 2)
    told: list[c.Command] = [
        c.RegisterApplication(APP, Driver()),
        c.ReportJobStarted(JobId(0), StageId(depth), (AppShuffle(depth - 1),), None, (first,), chain),
    ]
    for n in range(depth):
        told.append(c.ReportStageSubmitted(attempt(n), (AppShuffle(n - 1),) if n else (), AppShuffle(n), 4))
        told.append(c.ReportStageCompleted(attempt(n), shuffle_bytes_written=1))
    told += [
        c.ReportJobEnded(JobId(0)),
        c.ReportJobStarted(JobId(1), StageId(again.last), (wanted,), None, (again,)),
        c.ReportStageSubmitted(attempt(again.last), (wanted,), None, 4),
    ]
    outcome = simulate(enumerate(told), FRONTIER, pace=AT_ONCE)
    assert [miss.app_shuffle for miss in outcome.misses] == list(range(depth - 1))
    assert ApplicationId(outcome.application) == APP
