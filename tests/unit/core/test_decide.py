"""Numbers, repeats, confirmations, back-pressure, and what a commit records of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core import commands as c
from coordinator.core import decide, numbering
from coordinator.core import events as e
from coordinator.core.desk import Desk
from coordinator.core.ids import NO_SHUFFLE, ApplicationId, AppShuffle, ClientId, JobId, ShuffleId, Span, StageId
from coordinator.core.rejections import Accepted, AlreadyConfirmed, NotReady, Ready, Reason, Recover, Rejection
from coordinator.core.values import CLIENT_IDLE_MS, Driver, Ending, Outputs, Refused, Settings
from tests.property.witness import Witness
from tests.scenarios.story import EAGER, REACHABLE, Story, attempt_of, shuffle

X, Y = ClientId("x"), ClientId("y")


def told(policy: Any = EAGER) -> Story:
    """Clients x and y are registered; A1 and B1 are readable, C1 is being written."""
    story = Story(policy)
    story.do(c.RegisterClient(X))
    story.do(c.RegisterClient(Y))
    story.job("s0>A, s1>B, s2>C, s3:A,B,C!")
    story.run("s0", "s1")
    story.submit("s2")
    return story


def ask(number: int, letter: str = "A", name: str = "s3", confirmed: int = 0, client: ClientId = X) -> c.Request:
    return c.Request(client, number, c.GetShuffleId(shuffle(letter), attempt_of(name)), confirmed)


def answered(log: list[e.Recorded]) -> list[e.RequestsAnswered]:
    return [recorded.event for recorded in log if isinstance(recorded.event, e.RequestsAnswered)]


def test_repeats_are_one_event_with_a_count() -> None:
    story = told()
    answers, log = story.witness.answer([ask(n) for n in range(1, 1_001)], 2_000)
    assert len(set(map(str, answers))) == 1
    assert [type(recorded.event).__name__ for recorded in log] == ["ReaderRegistered", "RequestsAnswered"]
    assert answered(log) == [e.RequestsAnswered(X, (Span(1, 1_000),), 0, repeats=999)]
    _, log = story.witness.answer([ask(n) for n in range(1_001, 1_101)], 2_000)
    assert answered(log) == [e.RequestsAnswered(X, (Span(1_001, 1_100),), 0, repeats=100)]


def test_tasks_that_miss_two_inputs_in_turn_join_their_recovery_once_for_each() -> None:
    story = told()
    story.submit("s3")
    story.complete("s3")
    story.delete_all()
    story.job("s10>A, s11>B, s12:A,B!")
    answers, log = story.witness.answer([ask(n, "AB"[n % 2], "s12") for n in range(1, 1_001)], 2_000)
    assert {story.answered(answer) for answer in answers} == {
        "recover A1: recovery 1 of AB",
        "recover B1: recovery 1 of AB",
    }
    joined = [r.event.missing for r in log if isinstance(r.event, e.RecoveryJoined)]
    assert joined == [ShuffleId(1), ShuffleId(2)]  # who misses B1 first opens the recovery, and joins it with the rest
    (counted,) = answered(log)
    assert (counted.repeats, sum(one.count for one in counted.refused)) == (997, 1_000)


def test_refusals_are_counted_by_kind_and_shuffle() -> None:
    story = told()
    requests = [ask(n, letter) for n, letter in enumerate("CCZCZY", start=1)]
    answers, log = story.witness.answer(requests, 2_000)
    assert [type(answer).__name__ for answer in answers] == [
        "NotReady",
        "NotReady",
        "Rejection",
        "NotReady",
        "Rejection",
        "Rejection",
    ]
    (event,) = answered(log)
    assert event.refused == (
        Refused("not found", shuffle("Y"), 1),
        Refused("not found", shuffle("Z"), 2),
        Refused("not ready", shuffle("C"), 3),
    )


def test_a_refusal_of_no_shuffle_in_particular_is_counted_under_none() -> None:
    story = told()
    story.do(c.EndApplication(Ending.ENDED))
    _, log = story.witness.answer([ask(1), ask(2, "B")], 2_000)
    assert answered(log)[0].refused == (Refused("failed precondition", NO_SHUFFLE, 2),)


def test_a_recovery_asked_for_by_a_thousand_tasks_is_joined_once_a_commit() -> None:
    story = told()
    story.lose(A=0)
    _, log = story.witness.answer([ask(n) for n in range(1, 1_001)], 2_000)
    assert [type(recorded.event).__name__ for recorded in log] == ["RecoveryOpened", "RequestsAnswered"]
    assert answered(log)[0].refused == (Refused("recover", shuffle("A"), 1_000),)
    _, log = story.witness.answer([ask(n) for n in range(1_001, 2_001)], 2_000)
    assert [type(recorded.event).__name__ for recorded in log] == ["RecoveryJoined", "RequestsAnswered"]


def test_who_sends_again_what_a_recovery_answered_joins_it_no_second_time() -> None:
    story = told()
    story.lose(A=0)
    first, log = story.witness.answer([ask(1)], 2_000)
    assert [type(recorded.event).__name__ for recorded in log] == ["RecoveryOpened", "RequestsAnswered"]
    assert story.witness.answer([ask(1)], 2_000) == (first, [])


def test_another_event_between_two_repeats_makes_them_no_repeats() -> None:
    story = told()
    requests = [ask(1), ask(2), c.Request(X, 3, c.ReportOutputs((Outputs(shuffle("A"), 3, 10),))), ask(4)]
    answers, _ = story.witness.answer(requests, 2_000)
    assert [type(answer) for answer in answers] == [Ready, Ready, Accepted, NotReady]


def test_the_same_number_twice_in_a_commit_is_carried_out_once() -> None:
    story = told()
    end = c.Request(X, 1, c.ReportJobEnded(JobId(0)))
    answers, log = story.witness.answer([end, end, end], 2_000)
    assert answers == [Accepted()] * 3
    assert [type(recorded.event).__name__ for recorded in log][:1] == ["JobEnded"]
    assert sum(isinstance(recorded.event, e.JobEnded) for recorded in log) == 1
    answers, log = story.witness.answer([end], 3_000)
    assert (answers, log) == ([Accepted()], [])


def test_below_the_confirmed_mark_nothing_is_carried_out() -> None:
    story = told()
    story.witness.answer([ask(1), ask(2), ask(3)], 2_000)
    _, log = story.witness.answer([ask(4, confirmed=2)], 2_000)
    assert answered(log) == [e.RequestsAnswered(X, (Span(4, 4),), 2, repeats=1)]
    assert story.state.clients[X].answered == (Span(3, 4),)
    answers, log = story.witness.answer([ask(1), ask(2), ask(3)], 2_000)
    assert answers[:2] == [AlreadyConfirmed(1, 2), AlreadyConfirmed(2, 2)]
    assert isinstance(answers[2], Ready)
    assert log == []


def test_nobody_confirms_more_than_was_answered() -> None:
    story = told()
    story.witness.answer([ask(1, confirmed=99)], 2_000)
    assert story.state.clients[X].confirmed == 0
    story.witness.answer([ask(2, confirmed=99)], 2_000)
    assert story.state.clients[X].confirmed == 1
    answers, _ = story.witness.answer([ask(3)], 2_000)
    assert isinstance(answers[0], Ready)


def test_numbers_that_come_late_are_carried_out() -> None:
    story = told()
    story.witness.answer([ask(5), ask(3)], 2_000)
    assert story.state.clients[X].answered == (Span(3, 3), Span(5, 5))
    story.witness.answer([ask(4), ask(1), ask(2)], 2_000)
    assert story.state.clients[X].answered == (Span(1, 5),)


def test_back_pressure_ends_when_answers_are_confirmed() -> None:
    story = told()
    story.witness.answer([ask(n) for n in range(1, 4_097)], 2_000)
    answers, log = story.witness.answer([ask(4_097)], 2_000)
    assert isinstance(answers[0], Rejection)
    assert answers[0].reason is Reason.FAILED_PRECONDITION
    counted = Refused("failed precondition", NO_SHUFFLE)
    assert [r.event for r in log] == [e.RequestsAnswered(X, (), confirmed=0, refused=(counted,))]
    assert story.state.clients[X].answered == (Span(1, 4_096),)
    answers, _ = story.witness.answer([ask(4_097, confirmed=4_000)], 2_000)
    assert isinstance(answers[0], Ready)
    assert story.state.clients[X].unconfirmed == 97


def test_back_pressure_within_one_commit() -> None:
    story = told()
    answers, log = story.witness.answer([ask(n) for n in range(1, 4_200)], 2_000)
    assert [isinstance(answer, Ready) for answer in answers] == [True] * 4_096 + [False] * 103
    answered = log[-1].event
    assert isinstance(answered, e.RequestsAnswered)
    assert [(one.answer, one.count) for one in answered.refused] == [("failed precondition", 103)]
    assert story.state.clients[X].unconfirmed == 4_096


def test_who_confirms_some_may_ask_as_many_more_in_that_commit() -> None:
    story = told()
    story.witness.answer([ask(n) for n in range(1, 4_097)], 2_000)
    answers, _ = story.witness.answer([ask(n, confirmed=10) for n in range(4_097, 4_117)], 2_000)
    assert [isinstance(answer, Ready) for answer in answers] == [True] * 10 + [False] * 10


def test_a_client_that_is_not_registered_or_was_dropped() -> None:
    story = told()
    story.witness.answer([c.Request(Y, 1, c.DropClient(X))], 2_000)
    answers, log = story.witness.answer([ask(1)], 2_000)
    assert isinstance(answers[0], Rejection)
    assert answers[0].reason is Reason.FAILED_PRECONDITION
    assert log == []
    story.witness.answer([c.Request(X, 1, c.RegisterClient(X)), ask(2)], 2_000)
    assert story.state.clients[X].answered == (Span(1, 2),)


INTRODUCTIONS: dict[str, c.Command] = {
    "another client": c.RegisterClient(ClientId("z")),
    "the application": c.RegisterApplication(ApplicationId("app"), Driver()),
}


@pytest.mark.parametrize("whose", INTRODUCTIONS)
def test_who_registers_something_else_is_as_unknown_as_before(whose: str) -> None:
    """Of a client that is not there no number is kept: what it asks would be carried out again with each retry."""
    story, stranger = told(), ClientId("stranger")
    facts = (c.ReportJobStarted(JobId(9), StageId(90)), c.ReportJobEnded(JobId(9)))
    commands: tuple[c.Command, ...] = (INTRODUCTIONS[whose], *facts)
    requests = [c.Request(stranger, number, command) for number, command in enumerate(commands, start=1)]
    for _ in range(2):
        answers, log = story.witness.answer(requests, 2_000)
        assert [answer.reason for answer in answers[1:] if isinstance(answer, Rejection)] == [
            Reason.FAILED_PRECONDITION,
            Reason.FAILED_PRECONDITION,
        ]
        assert [r.event for r in log if isinstance(r.event, (e.JobStarted, e.JobEnded))] == []


def test_who_was_refused_its_registration_is_unknown_in_its_commit() -> None:
    story, stranger = told(), ClientId("stranger")
    desk = Desk.over(story.state, 2_000)
    numbering.refuse(desk, c.Request(stranger, 1, c.RegisterClient(stranger)), Rejection(Reason.EXHAUSTED, "", "", ""))
    assert isinstance(numbering.answer(desk, ask(2, client=stranger)), Rejection)


@pytest.mark.parametrize(("number", "times"), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 0), (6, 1)])
def test_who_is_held_back_is_counted_unless_its_number_was_answered(number: int, times: int) -> None:
    """Numbers 1 to 3 and 5 were answered, and the client has the answers up to 2."""
    story = told()
    story.witness.answer([ask(1), ask(2), ask(5)], 2_000)
    story.witness.answer([ask(3, confirmed=2)], 2_000)
    desk = Desk.over(story.state, 2_000)
    refusal = Rejection(Reason.EXHAUSTED, "too many at once", "", "")
    assert numbering.refuse(desk, ask(number), refusal) == refusal
    assert desk.tallies[X].refused.total() == times


@pytest.mark.parametrize("client", [X, ClientId("stranger")])
def test_who_numbers_nothing_and_is_held_back_is_not_counted(client: ClientId) -> None:
    desk = Desk.over(told().state, 2_000)
    refusal = Rejection(Reason.EXHAUSTED, "too many at once", "", "")
    assert numbering.refuse(desk, ask(0, client=client), refusal) == refusal
    assert desk.tallies == {}


def test_who_registers_may_ask_in_the_same_commit_and_each_number_is_kept() -> None:
    story, newcomer = told(), ClientId("newcomer")
    register = c.RegisterApplication(ApplicationId("app"), Driver())
    requests = [
        c.Request(newcomer, 1, register),
        c.Request(newcomer, 2, c.RegisterClient(newcomer)),
        ask(3, client=newcomer),
    ]
    first, _ = story.witness.answer(requests, 2_000)
    assert first == [Accepted(), Accepted(), Ready(ShuffleId(1))]
    assert story.witness.answer(requests, 2_000) == (first, [])


def test_who_has_asked_nothing_for_an_hour_is_forgotten_when_another_one_registers() -> None:
    story, z = told(), ClientId("z")
    story.witness.answer([ask(1)], 2_000)
    began_ms = story.state.clients[X].seen_ms
    _, log = story.witness.answer([c.Request(z, 1, c.RegisterClient(z))], began_ms + CLIENT_IDLE_MS)
    assert [recorded.event for recorded in log[:-1]] == [e.ClientDropped(Y), e.ClientRegistered(z)]
    late = [ask(2), c.Request(Y, 1, c.RegisterClient(Y))]
    _, log = story.witness.answer(late, began_ms + 3 * CLIENT_IDLE_MS)
    kinds = e.ClientDropped, e.ClientRegistered
    assert [r.event for r in log if isinstance(r.event, kinds)] == [e.ClientDropped(z), e.ClientRegistered(Y)]
    assert story.state.clients[X].answered == (Span(1, 2),)


def test_several_are_forgotten_in_one_order_whoever_decides() -> None:
    """The witness turns all tables around, as they may be on another replica."""
    story, z = told(), ClientId("z")
    _, log = story.witness.answer([c.Request(z, 1, c.RegisterClient(z))], 2_000 + 3 * CLIENT_IDLE_MS)
    assert [recorded.event for recorded in log[:2]] == [e.ClientDropped(X), e.ClientDropped(Y)]


def test_two_clients_have_numbers_of_their_own() -> None:
    story = told()
    _, log = story.witness.answer([ask(1), ask(1, client=Y), ask(2)], 2_000)
    assert [event.client for event in answered(log)] == [X, Y]


def test_a_refused_wish_is_refused_again() -> None:
    story = told()
    pin = c.Request(X, 1, c.SetPin(shuffle("Z")))
    first, _ = story.witness.answer([pin], 2_000)
    again, log = story.witness.answer([pin], 2_000)
    assert isinstance(first[0], Rejection)
    assert (again, log) == (first, [])


def test_a_wish_that_was_refused_is_not_granted_under_its_number_and_is_said_not_to_be() -> None:
    story = told()
    pin = c.Request(X, 1, c.SetPin(shuffle("Z"), "mine"))
    story.witness.answer([pin, ask(2)], 2_000)
    story.job("s8>Z, s9:Z!")
    again, log = story.witness.answer([pin], 2_000)
    assert isinstance(again[0], Rejection)
    assert again[0].reason is Reason.FAILED_PRECONDITION
    assert again[0].fact.startswith("request 1 of x was refused")
    assert again[0].app_shuffle == shuffle("Z"), "without one a session takes it for a refusal of its client, and ends"
    assert log == []
    assert story.witness.answer([c.Request(X, 3, pin.command)], 2_000)[0] == [Accepted()]
    assert story.state.shuffles[shuffle("Z")].pin == "mine"
    assert (story.state.clients[X].answered, story.state.clients[X].refused) == ((Span(1, 3),), (Span(1, 1),))
    story.witness.answer([ask(4, confirmed=3)], 2_000)
    assert story.state.clients[X].refused == ()


def test_a_resync_that_was_refused_is_about_itself_and_not_its_client() -> None:
    """A session would end with the other, and send it again in the next one, for ever."""
    story = told()
    outputs = tuple(Outputs(AppShuffle(number), 10, 10) for number in range(100, 130))
    resync = c.Request(X, 1, c.Resync((), (), (), outputs))
    for _ in range(2):
        answers, _ = story.witness.answer([resync], 2_000)
        assert isinstance(answers[0], Rejection)
        assert (answers[0].reason, answers[0].app_shuffle) == (Reason.INVALID, None)
        assert "of which more than 24 differ" in answers[0].fact
    story.do(c.ReportGap(1, "outbox"))
    story.do(c.ReportOutputs(outputs[:20]))
    answers, log = story.witness.answer([resync], 2_000)
    assert isinstance(answers[0], Rejection)
    assert (answers[0].reason, answers[0].app_shuffle) == (Reason.INVALID, None)
    assert answers[0].fact.startswith("request 1 of x was refused")
    assert log == []


def test_a_wish_that_was_refused_is_refused_again_within_its_commit() -> None:
    story = told()
    pin = c.Request(X, 1, c.SetPin(shuffle("Z"), "mine"))
    answers, log = story.witness.answer([pin, pin], 2_000)
    assert isinstance(answers[0], Rejection)
    assert answers[0] == answers[1]
    assert [recorded.event for recorded in log] == [
        e.RequestsAnswered(X, (Span(1, 1),), 0, 0, (Refused("not found", shuffle("Z"), 1),), (Span(1, 1),))
    ]


def test_a_fact_is_accepted_again_after_the_end_if_it_was_recorded_before_it() -> None:
    story = told()
    before, after = (c.Request(X, n, c.ReportExecutorLost(str(n))) for n in (1, 2))
    story.witness.answer([before], 2_000)
    story.do(c.EndApplication(Ending.ENDED))
    first, _ = story.witness.answer([after], 2_000)
    assert isinstance(first[0], Rejection)
    assert story.witness.answer([before, after], 2_000) == ([Accepted(), *first], [])


def test_a_question_that_is_sent_again_during_a_fence_counts() -> None:
    story = told(EAGER)
    asked = ask(1, "C", "s9")
    story.witness.answer([asked], 2_000)
    story.complete("s2")
    story.run("s3")
    story.end()
    assert story.life("C1") == "fencing"
    again, log = story.witness.answer([asked], 2_000)
    assert isinstance(again[0], NotReady)
    assert [type(recorded.event).__name__ for recorded in log] == ["ReaderRegistered"]
    assert story.witness.answer([asked], 2_000)[1] == []


def test_a_question_that_is_sent_again_and_would_be_denied_is_told_so_and_denies_nothing() -> None:
    story = Story(EAGER, settings=Settings(recoveries_per_shuffle=0))
    story.do(c.RegisterClient(X))
    story.job("s0>A, s1:A!")
    story.run("s0")
    first, _ = story.witness.answer([ask(1, name="s1")], 2_000)
    assert isinstance(first[0], Ready)
    story.lose(A=0)
    again, log = story.witness.answer([ask(1, name="s1")], 2_000)
    assert isinstance(again[0], Rejection)
    assert (again[0].reason, log) == (Reason.EXHAUSTED, [])
    _, log = story.witness.answer([ask(2, name="s1")], 2_000)
    assert [type(r.event).__name__ for r in log] == ["RecoveryDenied", "DeletionSuspended", "RequestsAnswered"]


def test_further_tasks_that_miss_the_same_are_counted_and_join_once_a_commit() -> None:
    story = Story(EAGER)
    story.do(c.RegisterClient(X))
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.submit("s1")
    story.lose(A=0)
    missed = [c.ReportMissing(shuffle("A"), ShuffleId(1), attempt_of("s1"), f"task {task}") for task in range(4)]
    first, log = story.witness.answer([c.Request(X, number, one) for number, one in enumerate(missed, 1)], 2_000)
    assert [type(r.event).__name__ for r in log] == ["RecoveryOpened", "RequestsAnswered"]
    assert log[-1].event == e.RequestsAnswered(X, (Span(1, 4),), 0, 3, (Refused("recover", shuffle("A"), 4),))
    again, log = story.witness.answer([c.Request(X, number, one) for number, one in enumerate(missed, 5)], 2_000)
    assert [type(r.event).__name__ for r in log] == ["RecoveryJoined", "RequestsAnswered"]
    assert {*first, *again} == {first[0]}
    assert isinstance(first[0], Recover)


def test_a_granted_wish_is_not_granted_again() -> None:
    story = told()
    pin = c.Request(X, 1, c.SetPin(shuffle("A"), "mine"))
    story.witness.answer([pin, c.Request(X, 2, c.RemovePin(shuffle("A")))], 2_000)
    answers, log = story.witness.answer([pin], 2_000)
    assert (answers, log) == ([Accepted()], [])
    assert story.state.shuffles[shuffle("A")].pin is None


def test_a_retry_of_a_question_gets_the_truth_of_the_moment() -> None:
    story = told(REACHABLE)
    first, _ = story.witness.answer([ask(1, "C")], 2_000)
    assert isinstance(first[0], NotReady)
    story.complete("s2")
    again, log = story.witness.answer([ask(1, "C")], 2_000)
    assert isinstance(again[0], Ready)
    assert [type(recorded.event).__name__ for recorded in log] == ["ReaderRegistered"]


def test_also_where_nobody_had_heard_of_it_before() -> None:
    story = told(REACHABLE)
    first, _ = story.witness.answer([ask(1, "D", "s9")], 2_000)
    assert isinstance(first[0], Rejection)
    story.job("s8>D, s9:D!")
    story.run("s8")
    again, _ = story.witness.answer([ask(1, "D", "s9")], 2_000)
    assert isinstance(again[0], Ready)


def test_unnumbered_requests_leave_no_mark() -> None:
    story = told()
    _, log = story.witness.answer([ask(0), ask(0)], 2_000)
    assert [type(recorded.event).__name__ for recorded in log] == ["ReaderRegistered"]


def test_decide_gives_events_and_leaves_the_state() -> None:
    story = told()
    decision = decide.decide(story.state, c.GetShuffleId(shuffle("A"), attempt_of("s3")), 5_000)
    assert [type(event).__name__ for event in decision.events] == ["ReaderRegistered"]
    assert not story.state.generations[1].readers


def test_event_time_never_runs_backwards() -> None:
    story = told()
    story.at(5)
    story.submit("s3")
    assert {recorded.time_ms for recorded in story.log} == {1_000}


def test_registration_is_once_and_ends_once() -> None:
    witness = Witness()
    register = c.RegisterApplication(ApplicationId("app"), Driver(), token_hash="t")
    assert witness.do(c.Tick(), 1)[0] == witness.do(c.GetShuffleId(shuffle("A"), attempt_of("s0")), 1)[0]
    assert witness.do(register, 1)[0] == Accepted()
    assert witness.do(register, 1) == (Accepted(), [])
    other = witness.do(c.RegisterApplication(ApplicationId("app"), Driver(), token_hash="u"), 1)[0]
    assert isinstance(other, Rejection)
    assert other.reason is Reason.ALREADY_EXISTS
    witness.do(c.EndApplication(Ending.LOST), 1)
    over = witness.do(c.SetPin(shuffle("A")), 1)[0]
    assert isinstance(over, Rejection)
    assert (over.reason, over.fact) == (Reason.FAILED_PRECONDITION, "application app was lost")


NUMBERS = st.lists(st.tuples(st.integers(1, 12), st.sampled_from("ABC"), st.integers(0, 12)), max_size=30)


@given(NUMBERS, st.integers(1, 7))
def test_however_requests_are_cut_into_commits_each_is_carried_out_once(
    asked: list[tuple[int, str, int]], size: int
) -> None:
    """Pins are told apart by their events: each number pins once, and nothing at or below the mark does."""
    story = told()
    done: set[int] = set()
    for begin in range(0, len(asked), size):
        requests = [
            c.Request(X, n, c.SetPin(shuffle(letter), str(n)), m) for n, letter, m in asked[begin : begin + size]
        ]
        answers, log = story.witness.answer(requests, 2_000)
        pinned = [int(recorded.event.why) for recorded in log if isinstance(recorded.event, e.PinSet)]
        assert len(pinned) == len(set(pinned))
        assert done.isdisjoint(pinned)
        done |= set(pinned)
        for request, answer in zip(requests, answers, strict=True):
            assert isinstance(answer, (Accepted, AlreadyConfirmed))
            if isinstance(answer, AlreadyConfirmed):
                assert request.number <= answer.confirmed


@pytest.mark.parametrize("where", [0, 1])
def test_a_lost_compare_costs_the_draft_only(where: int) -> None:
    story = told()
    desk = Desk.over(story.state, 2_000)
    numbering.answer_all(desk, [ask(1), ask(2)][: where + 1])
    numbering.close_commit(desk)
    assert X in story.state.clients
    assert story.state.clients[X].answered == ()
    assert not story.state.generations[1].readers
