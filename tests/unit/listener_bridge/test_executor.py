"""Directives carried out: once, told again, at their place."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from listener_bridge import outcomes
from listener_bridge.ahead import KEPT_MAX, Ahead
from listener_bridge.executor import Executor
from listener_bridge.newest import CLEANED_MAX
from listener_bridge.reporter import Reporter
from listener_bridge.shuffle_services.api import Busy, Cannot, Failed, Fenced, Freed, Held, Locator, NotHeld, Superseded
from listener_bridge.tap.facts import Fact, JobEnded, MarkerPassed, Snapshot
from tests.support.spark import wait_for
from tests.unit.listener_bridge.fakes import LOCATOR, FakeService, delete, fence

FENCED = Fenced(LOCATOR, 500, "fenced-1-0")
MARK = MarkerPassed(1, "fenced-1-0", "")
NAMED = 'locator { service: "fake" payload: "app/1/0" }'


class Hands:
    """An executor with what it works on."""

    def __init__(self, **answers: Any) -> None:
        self.service = FakeService(**{"forget": Freed(0), **answers})
        self.reporter = Reporter()
        self.executor = Executor(self.service, lambda: None, self.reporter)
        self.reporter.connected(1_000)

    def do(self, *directives: Any) -> Hands:
        for directive in directives:
            self.executor.submit(directive)
        self.executor.start()
        return self

    def told(self, count: int = 1) -> list[str]:
        """What was reported, when so much was."""
        wait_for(lambda: self.reporter.backlog().unanswered >= count, f"{count} requests")
        batch = self.reporter.take(100, 1_000_000, 0, lambda: False).requests
        for request in batch:
            request.ClearField("number")
        return [text_format.MessageToString(request, as_one_line=True) for request in batch]


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Busy(("stage 1.0 reads it",)), 'busy { who: "stage 1.0 reads it" }'),
        (Cannot("no"), 'cannot { why: "no" }'),
        (Superseded("a later one"), 'superseded { by: "a later one" }'),
        (RuntimeError("gone"), 'failed { error: "the shuffle service raised RuntimeError: gone" }'),
    ],
)
def test_a_fence_that_was_not_carried_out(outcome: Any, told: str) -> None:
    assert Hands(fence=outcome).do(fence(1)).told() == [f"report_outcome {{ directive: 1 {told} }}"]


@pytest.mark.parametrize(
    ("outcome", "gone"),
    [(FENCED, [1]), (Superseded("nothing"), [1]), (Busy(("a stage",)), [])],
)
def test_a_fence_that_leaves_nothing_says_so(outcome: Any, gone: list[int]) -> None:
    hands = Hands(fence=outcome)
    heard: list[int] = []
    hands.executor.on_gone = heard.append
    hands.do(fence(1))
    hands.reporter.facts([MARK])
    hands.told()
    assert heard == gone


@pytest.mark.parametrize("marker_first", [True, False])
def test_19b_fenced_is_told_at_its_marker(marker_first: bool) -> None:
    hands = Hands(fence=FENCED)
    stream: list[Fact] = [JobEnded(0, 1, 0, True, None), MARK, JobEnded(2, 2, 0, True, None)]
    if marker_first:
        hands.service.before = lambda _: hands.reporter.facts(stream)
        hands.do(fence(1))
    else:
        hands.do(fence(1))
        wait_for(lambda: hands.executor.counts.fenced, "the fence")
        hands.reporter.facts(stream)
    assert hands.told(3) == [
        "report_job_ended { job: 1 succeeded: true }",
        f"report_outcome {{ directive: 1 fenced {{ bytes: 500 {NAMED} }} }}",
        "report_job_ended { job: 2 succeeded: true }",
    ]


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Freed(500), "freed { bytes: 500 }"),
        (Superseded("2"), 'superseded { by: "2" }'),
        (Failed("disk"), 'failed { error: "disk" }'),
    ],
)
def test_23_deletions(outcome: Any, told: str) -> None:
    assert Hands(free=outcome).do(delete(2)).told() == [f"report_outcome {{ directive: 2 {told} }}"]


def test_a_deletion_that_names_no_generation_touches_nothing() -> None:
    hands = Hands().do(delete(2, None))
    assert "names no generation" in hands.told()[0]
    assert hands.service.calls == []


def test_22_a_directive_that_comes_again_gets_the_first_outcome() -> None:
    hands = Hands(free=Freed(500)).do(delete(2))
    [first] = hands.told()
    hands.executor.submit(delete(2))  # on its way still: not said twice
    assert hands.reporter.backlog().unanswered == 1
    hands.reporter.begin_again()  # what was on its way is lost
    hands.executor.submit(delete(2))
    hands.reporter.settle("x", Snapshot("m", (), (), ()))
    hands.executor.submit(delete(2))
    assert hands.told(3)[-1] == first
    assert [call for call in hands.service.calls if call[0] == "free"] == [("free", LOCATOR)]


def test_23_a_failure_that_is_asked_for_again_before_its_acknowledgement_is_tried_again() -> None:
    hands = Hands(free=Failed("disk")).do(delete(2))
    hands.told()
    hands.reporter.connected(1_000)  # the session broke; the coordinator has the failure, and asks once more
    hands.executor.submit(delete(2))
    hands.service.answers["free"] = Freed(9)
    hands.executor.acknowledged(2)
    wait_for(lambda: hands.executor.counts.deleted, "the second try")


def test_an_outcome_that_fell_into_a_gap_is_told_before_the_truth() -> None:
    hands = Hands(fence=Busy(("stage 1.0",)))
    hands.reporter.outcomes = hands.executor.outcomes
    hands.reporter._outbox.open_gap(1)
    hands.do(fence(1))
    wait_for(lambda: hands.executor.counts.busy, "the outcome")
    hands.executor.submit(fence(1))
    hands.reporter.settle("snapshot", Snapshot("m", (), (), ()))
    assert [line.split(" ")[0] for line in hands.told(3)] == ["report_gap", "report_outcome", "resync"]


def test_the_directives_of_a_lost_log_mean_nothing_to_the_new_one() -> None:
    hands = Hands(fence=FENCED, free=Freed(1))
    hands.executor.generation_known(1, 40)
    hands.do(delete(1))
    hands.told()
    hands.executor.begin_again()
    hands.executor.submit(fence(1, shuffle_id=3))
    wait_for(lambda: hands.executor.counts.fenced, "the fence")


def test_a_directive_that_comes_again_while_its_outcome_takes_its_place_adds_nothing() -> None:
    """One request under two numbers would leave a hole, and no coordinator would take what follows it."""
    hands = Hands(fence=FENCED)
    settle = hands.reporter.settle

    def late(*what: Any) -> None:
        hands.executor.submit(fence(1))
        assert hands.executor.outcomes() == []
        assert hands.reporter.backlog().unanswered == 0, "and nothing stands before its marker"
        settle(*what)

    hands.reporter.settle = late  # type: ignore[method-assign, assignment]
    hands.do(fence(1))
    hands.reporter.facts([MARK, JobEnded(2, 2, 0, True, None)])
    wait_for(lambda: hands.reporter.backlog().unanswered == 2, "the outcome and the fact")
    requests = hands.reporter.take(100, 1_000_000, 0, lambda: False).requests
    assert [request.number for request in requests] == [1, 2]
    assert [request.WhichOneof("command") for request in requests] == ["report_outcome", "report_job_ended"]
    wait_for(hands.executor.outcomes, "the outcome, kept for who asks again")


def test_an_acknowledged_outcome_is_forgotten() -> None:
    hands = Hands(free=Freed(500)).do(delete(2))
    hands.told()
    hands.executor.acknowledged(2)
    assert hands.executor.outcomes() == []


@pytest.mark.parametrize(
    ("outcome", "directive"),
    [(Busy(("a stage",)), fence(2)), (Cannot("no"), fence(2)), (Freed(500), delete(2)), (Superseded("3"), delete(2))],
)
def test_22_a_directive_that_was_on_its_way_when_its_outcome_was_acknowledged_is_not_carried_out_again(
    outcome: Any, directive: Any
) -> None:
    """A new session tells all that are outstanding, and carries the outcomes of some of them at the same time."""
    hands = Hands(fence=outcome, free=outcome).do(directive)
    hands.told()
    hands.executor.acknowledged(2)
    hands.executor.submit(directive)
    hands.executor.submit(fence(3, app_shuffle=7))
    hands.told(2)
    assert len(hands.service.calls) == 2, "the first one, and the next one"


def test_23_what_was_busy_and_is_asked_for_again_is_tried_again() -> None:
    """Also where it comes again before its acknowledgement, which another session may bring."""
    hands = Hands(invalidate=Busy(("a stage",))).do(invalidate(3, LOCATOR))
    hands.told()
    hands.executor.submit(invalidate(3, LOCATOR))
    hands.executor.acknowledged(3)
    wait_for(lambda: hands.executor.counts.busy == 2, "the second try")
    wait_for(hands.executor.outcomes, "its outcome")
    hands.executor.acknowledged(3)
    hands.executor.submit(invalidate(3, LOCATOR))
    wait_for(lambda: hands.executor.counts.busy == 3, "the third")


def test_an_outcome_that_no_message_can_hold_is_a_failure_and_holds_up_nothing() -> None:
    hands = Hands(fence=Cannot("no text: \ud800"))
    hands.service.before = lambda _: hands.reporter.facts([MARK, JobEnded(2, 2, 0, True, None)])
    assert hands.do(fence(1)).told(2) == [
        'report_outcome { directive: 1 failed { error: "UnicodeEncodeError" } }',
        "report_job_ended { job: 2 succeeded: true }",
    ]


def test_22_a_fence_of_an_older_generation_is_superseded() -> None:
    hands = Hands(fence=FENCED)
    hands.executor.generation_known(1, 5)
    assert hands.do(fence(1, shuffle_id=4)).told() == [
        'report_outcome { directive: 1 superseded { by: "generation 5 of app shuffle 1" } }'
    ]
    assert hands.service.calls == []


def invalidate(directive: int, locator: Locator | None, newest: int = 1) -> Any:
    said = delete(directive, locator)
    said.newest_shuffle_id = newest
    said.kind = common_pb2.DIRECTIVE_KIND_INVALIDATE
    return said


def asked_to_write(app_shuffle: int) -> Any:
    asked = service_pb2.GetShuffleId(app_shuffle=app_shuffle, stage=common_pb2.StageAttempt(stage=9), write=True)
    return service_pb2.NumberedRequest(get_shuffle_id=asked)


def test_an_invalidation_frees_what_it_names() -> None:
    named = Hands(invalidate=FENCED, free=Freed(7)).do(invalidate(3, LOCATOR))
    assert named.told() == ["report_outcome { directive: 3 freed { bytes: 7 } }"]


def test_29_an_invalidation_without_a_name_frees_what_is_there() -> None:
    unnamed = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Freed(7))
    gone: list[int] = []
    unnamed.executor.on_gone = gone.append
    assert unnamed.do(invalidate(3, None)).told() == ["report_outcome { directive: 3 freed { bytes: 7 } }"]
    assert gone == [1]
    used = Hands(holds=Held(LOCATOR), invalidate=Busy(("stage 1.0 reads it",))).do(invalidate(3, None))
    assert used.told() == ['report_outcome { directive: 3 busy { who: "stage 1.0 reads it" } }']
    nothing = Hands(holds=NotHeld("nothing"), fence=Superseded("nothing")).do(invalidate(3, None))
    assert nothing.told() == ["report_outcome { directive: 3 freed { } }"]
    unknown = Hands(holds=RuntimeError("gone")).do(invalidate(3, None))
    assert 'failed { error: "the shuffle service raised RuntimeError: gone" }' in unknown.told()[0]


def test_an_invalidation_whose_deletion_has_failed_deletes_what_it_has_fenced() -> None:
    """Spark has forgotten the outputs by then: whoever asks what is there hears of nothing."""
    hands = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Failed("silent"))
    assert hands.do(invalidate(3, None)).told() == ['report_outcome { directive: 3 failed { error: "silent" } }']
    hands.service.answers.update(holds=NotHeld("nothing"), free=Freed(7))
    hands.executor.acknowledged(3)
    hands.executor.submit(invalidate(3, None))
    assert hands.told(2)[-1] == "report_outcome { directive: 3 freed { bytes: 7 } }"
    assert hands.executor._invalidating._unfreed == {}


def test_an_invalidation_without_a_name_and_without_outputs_fences_what_may_be_there_all_the_same() -> None:
    """Files of tasks that were killed, or blocks of a half-written shuffle: a fence has them go, or says who writes."""
    there = Hands(holds=NotHeld("nothing"), fence=FENCED, free=Freed(7))
    gone: list[int] = []
    there.executor.on_gone = gone.append
    assert there.do(invalidate(3, None)).told() == ["report_outcome { directive: 3 freed { bytes: 7 } }"]
    assert gone == [1]
    written = Hands(holds=NotHeld("nothing"), fence=Busy(("stage 1.0 writes it",))).do(invalidate(3, None))
    assert written.told() == ['report_outcome { directive: 3 busy { who: "stage 1.0 writes it" } }']
    nothing = Hands(holds=NotHeld("nothing"), fence=Superseded("nothing")).do(invalidate(3, None))
    nothing.told()
    assert nothing.service.calls == [("holds", 1), ("fence", 1)]


@pytest.mark.parametrize(
    "over", [lambda hands: hands.executor.begin_again(), lambda hands: hands.executor.shuffle_cleaned(1)]
)
def test_what_it_has_fenced_is_forgotten_with_the_log_and_with_the_shuffle(over: Any) -> None:
    hands = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Failed("silent")).do(invalidate(3, None))
    hands.told()
    assert hands.executor._invalidating._unfreed == {3: (1, LOCATOR)}
    over(hands)
    assert hands.executor._invalidating._unfreed == {}


def test_an_invalidation_without_a_name_leaves_a_later_generation_alone() -> None:
    known = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Freed(7))
    known.executor.generation_known(1, 5)
    assert 'superseded { by: "generation 5 of app shuffle 1" }' in known.do(invalidate(3, None)).told()[0]
    assert known.service.calls == []
    said = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Freed(7)).do(invalidate(3, None, newest=6))
    assert 'superseded { by: "generation 6 of app shuffle 1" }' in said.told()[0]
    assert said.service.calls == []
    not_said = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Freed(7)).do(invalidate(3, None, newest=0))
    assert "whose generation nobody named" in not_said.told()[0]
    assert not_said.service.calls == []
    perhaps = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Freed(7))
    perhaps.reporter.tell(asked_to_write(2))  # of another shuffle: no matter
    perhaps.reporter.tell(asked_to_write(1))
    assert "was not told its generation yet" in perhaps.do(invalidate(3, None)).told(3)[-1]
    assert perhaps.service.calls == []


def test_unknown_kinds_are_refused() -> None:
    said = fence(1)
    said.kind = 77  # type: ignore[assignment]
    assert "directives of kind 77 are not known" in Hands().do(said).told()[0]


def fence_to_delete(directive: int) -> Any:
    said = fence(directive)
    said.delete_follows = True
    return said


@pytest.mark.parametrize(
    ("outcome", "told"), [(Freed(500), "freed { bytes: 500 }"), (Failed("busy"), 'failed { error: "busy" }')]
)
def test_data_whose_deletion_is_announced_go_with_the_fence_and_once(outcome: Any, told: str) -> None:
    hands = Hands(fence=FENCED, free=outcome).do(fence_to_delete(1))
    wait_for(lambda: ("free", LOCATOR) in hands.service.calls, "the data")
    assert hands.executor.counts.deleted == 0  # the fence alone is told
    hands.executor.submit(delete(2))
    hands.reporter.facts([MARK])
    assert hands.told(2)[-1] == f"report_outcome {{ directive: 2 {told} }}"
    assert hands.service.calls == [("fence", 1), ("free", LOCATOR)]
    hands.executor.submit(delete(3))
    wait_for(lambda: hands.service.calls[2:] == [("free", LOCATOR)], "what is asked for once more")


@pytest.mark.parametrize("said", [fence(1), fence_to_delete(1)])
def test_data_stay_where_no_deletion_is_announced_or_nothing_was_fenced(said: Any) -> None:
    hands = Hands(fence=Busy(("task 3",)) if said.delete_follows else FENCED).do(said)
    hands.reporter.facts([MARK])
    hands.told()
    hands.executor.submit(fence(2))  # behind whatever the first one has left to do
    wait_for(lambda: hands.service.calls[-1:] == [("fence", 1)] and len(hands.service.calls) > 1, "the second fence")
    assert hands.service.calls == [("fence", 1), ("fence", 1)]


def test_fences_that_wait_go_before_data() -> None:
    hands = Hands(fence=FENCED, free=Freed(500)).do(fence_to_delete(1), fence_to_delete(2))
    wait_for(lambda: len(hands.service.calls) == 3, "both fences, and the data once")
    assert hands.service.calls == [("fence", 1), ("fence", 1), ("free", LOCATOR)]


def test_a_deletion_that_overtakes_is_carried_out_and_nothing_is_left_to_do() -> None:
    hands = Hands(fence=FENCED, free=Freed(500)).do(fence_to_delete(1), delete(2), delete(3))
    wait_for(lambda: len(hands.service.calls) == 3, "all three")
    hands.executor.submit(fence(4))  # behind what the first one has announced
    wait_for(lambda: hands.service.calls[-1:] == [("fence", 1)], "the last fence")
    assert hands.service.calls == [("fence", 1), ("free", LOCATOR), ("free", LOCATOR), ("fence", 1)]


def test_what_was_done_ahead_is_told_when_it_stops() -> None:
    hands = Hands(fence=FENCED, free=Freed(500)).do(fence_to_delete(1))
    wait_for(lambda: hands.executor.ahead.has_done(LOCATOR), "the data")
    hands.reporter.facts([MARK])
    hands.told()
    hands.executor._stopped = "detached"
    hands.executor.submit(delete(2))
    hands.executor.submit(delete(3))
    assert hands.told(3) == [
        "report_outcome { directive: 2 freed { bytes: 500 } }",
        'report_outcome { directive: 3 revoked { why: "detached" } }',
    ]


def test_what_went_ahead_counts_as_there_until_it_is_told() -> None:
    hands = Hands(fence=FENCED, free=Freed(500)).do(fence_to_delete(1))
    wait_for(lambda: hands.executor.ahead.untold_bytes() == 500, "the data")
    hands.executor.submit(delete(2))
    wait_for(lambda: hands.executor.counts.deleted, "its deletion")
    assert hands.executor.ahead.untold_bytes() == 0


@pytest.mark.parametrize("forget", [lambda e: e.shuffle_cleaned(1), lambda e: e.begin_again()])
def test_what_nobody_will_ask_for_is_not_kept(forget: Any) -> None:
    hands = Hands(fence=FENCED, free=Freed(500)).do(fence_to_delete(1))
    wait_for(lambda: hands.executor.ahead.untold_bytes() == 500, "the data")
    forget(hands.executor)
    assert hands.executor.ahead.untold_bytes() == 0


def test_what_was_fenced_goes_although_the_log_is_lost_that_announced_it() -> None:
    """Nobody else would have it freed: the next log knows of no generation there."""
    hands = Hands(fence=FENCED, free=Freed(500))
    hands.service.before = lambda _: hands.executor.begin_again() if hands.service.calls else None  # in the second one
    hands.do(fence_to_delete(1), fence(2))
    wait_for(lambda: ("free", LOCATOR) in hands.service.calls, "the data")
    hands.executor.stop("over", 10)
    assert hands.service.calls == [("fence", 1), ("fence", 1), ("free", LOCATOR)]
    assert hands.executor.ahead._announced == {}


def test_what_the_next_log_announces_again_is_told_to_it() -> None:
    ahead = Ahead()
    ahead.announce(LOCATOR, 1)
    ahead.forget_all()
    ahead.announce(LOCATOR, 1)
    ahead.keep(LOCATOR, Freed(500))
    assert ahead.take(LOCATOR) == Freed(500)


def cleaned_within(hands: Hands, verb: str) -> Hands:
    """Spark lets app shuffle 1 go while the service is asked for this."""
    hands.service.before = lambda asked: hands.executor.shuffle_cleaned(1) if asked == verb else None
    return hands


def test_what_spark_lets_go_during_its_fence_goes_and_is_kept_for_nobody() -> None:
    hands = cleaned_within(Hands(fence=FENCED, free=Freed(500)), "fence").do(fence_to_delete(1))
    wait_for(lambda: ("free", LOCATOR) in hands.service.calls, "the data")
    hands.executor.stop("over", 10)
    assert hands.executor.ahead.untold_bytes() == 0
    assert list(hands.executor._to_forget) == [LOCATOR]


def test_what_spark_lets_go_while_it_is_invalidated_is_not_kept_to_be_freed_again() -> None:
    hands = Hands(holds=Held(LOCATOR), invalidate=FENCED, free=Failed("silent"))
    cleaned_within(hands, "free").do(invalidate(3, None)).told()
    assert hands.executor._invalidating._unfreed == {}


def test_of_what_spark_has_let_go_no_generation_is_kept() -> None:
    hands = Hands(fence=FENCED)
    hands.executor.shuffle_cleaned(1)
    hands.executor.submit(fence(1, shuffle_id=4))
    hands.executor.generation_known(1, 5)
    assert hands.executor._newest._known == {}
    for app_shuffle in range(2, 2 + CLEANED_MAX):
        hands.executor.shuffle_cleaned(app_shuffle)
    assert len(hands.executor._newest._cleaned) == CLEANED_MAX


def test_of_many_that_wait_the_last_are_left_out_as_if_they_had_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator tells them again. What they say of later generations is not heard either."""
    monkeypatch.setattr(outcomes, "WAITING_MAX", 2)
    hands = Hands(fence=Busy(("a stage",)))
    for directive in (1, 2, 3, 1):
        hands.executor.submit(fence(directive, app_shuffle=directive))
    assert hands.executor._newest._known == {1: 1, 2: 1}
    hands.do()
    assert len(hands.told(2)) == 2
    hands.executor.acknowledged(1)
    hands.executor.submit(fence(3, app_shuffle=3))
    assert hands.told(3) == ['report_outcome { directive: 3 busy { who: "a stage" } }']


def test_of_what_nobody_asks_for_only_so_much_is_kept() -> None:
    ahead = Ahead()
    for number in range(KEPT_MAX + 1):
        ahead.announce(Locator("fake", str(number)), number)
        ahead.keep(Locator("fake", str(number)), Freed(1))
    assert ahead.untold_bytes() == KEPT_MAX
    assert ahead.take(Locator("fake", "0")) is None
    assert ahead.take(Locator("fake", "1")) == Freed(1)


def test_data_stay_when_it_stops_in_mid_fence() -> None:
    hands = Hands(fence=FENCED)

    def stop(_: str) -> None:
        hands.executor._stopped = "detached"

    hands.service.before = stop
    hands.do(fence_to_delete(1))
    wait_for(lambda: hands.executor.counts.fenced, "the fence")
    hands.executor.stop("detached", 5)
    assert hands.service.calls == [("fence", 1)]


def test_24_what_is_freed_is_forgotten_when_older_tasks_have_ended() -> None:
    hands = Hands(free=Freed(1), forget=Busy(("task 3",)))
    hands.do(delete(2)).told()
    hands.executor.tasks_ended()
    wait_for(lambda: ("forget", LOCATOR) in hands.service.calls, "the first try")
    hands.service.answers["forget"] = Freed(0)

    def tried_again() -> bool:
        hands.executor.tasks_ended()
        return not hands.executor._to_forget

    wait_for(tried_again, "the second one")


def test_24_what_the_last_task_held_up_goes_though_none_follows_it() -> None:
    """Tasks end close together: the last one within the pause after what the one before it asked for."""
    hands = Hands(free=Freed(1), forget=Busy(("task 3",)))
    hands.do(delete(2)).told()
    hands.executor.tasks_ended()
    wait_for(lambda: ("forget", LOCATOR) in hands.service.calls, "the first try")
    hands.service.answers["forget"] = Freed(0)
    hands.executor.tasks_ended()
    wait_for(lambda: not hands.executor._to_forget, "the second one")


def test_24_under_a_long_task_one_is_asked_about_and_not_all() -> None:
    """A task older than the first fence is older than all that followed: to ask about each would cost seconds."""
    first, *others = [Locator("fake", f"app/{number}/0") for number in range(1, 5)]
    hands = Hands(free=Freed(1), forget=Busy(("task 3",)))
    hands.do(*(delete(n, locator) for n, locator in enumerate((first, *others), 1))).told(4)
    hands.executor.stop("over", 10.0)
    hands.executor._stopped = ""
    hands.executor._forget_some()
    assert [what for verb, what in hands.service.calls if verb == "forget"] == [first]
    hands.service.answers["forget"] = Freed(0)
    hands.executor._forget_some()
    assert [what for verb, what in hands.service.calls if verb == "forget"] == [first, first, *others]


def test_what_waits_when_it_stops_is_revoked() -> None:
    hands = Hands(fence=FENCED)
    hands.executor.submit(fence(1))
    hands.executor._stopped = "detached"
    assert hands.do().told() == ['report_outcome { directive: 1 revoked { why: "detached" } }']
    hands.executor.stop("detached", 5)
    assert not hands.executor._thread.is_alive()
    assert hands.service.calls == []


def test_a_snapshot_that_nobody_could_take_holds_nothing_up() -> None:
    hands = Hands().do()
    hands.executor.want_snapshot()
    hands.reporter.facts([MARK, JobEnded(2, 2, 0, True, None)])
    assert hands.told() == ["report_job_ended { job: 2 succeeded: true }"]


def test_what_cannot_be_fenced_is_told_while_it_is_written() -> None:
    hands = Hands(keeps="no servers are left").do()
    hands.executor.generation_known(7, 3)
    assert hands.told() == ['report_kept { app_shuffle: 7 why: "no servers are left" }']
    assert hands.service.calls == [("keeps", 7)]


def test_what_can_be_fenced_is_not_told() -> None:
    hands = Hands(keeps="", fence=Cannot("no")).do()
    hands.executor.generation_known(7, 3)
    hands.executor.submit(fence(1))
    assert hands.told() == ['report_outcome { directive: 1 cannot { why: "no" } }']
    assert hands.service.calls == [("keeps", 7), ("fence", 1)]


def test_a_service_that_can_always_fence_is_not_asked() -> None:
    hands = Hands(fence=Cannot("no")).do()
    hands.executor.generation_known(7, 3)
    hands.executor.submit(fence(1))
    assert hands.told() == ['report_outcome { directive: 1 cannot { why: "no" } }']
    assert hands.service.calls == [("fence", 1)]
