"""Requests on their way: numbers, repeats, losses."""

from __future__ import annotations

from shuffle_lifecycle.v1 import service_pb2

from listener_bridge.outbox import Outbox
from listener_bridge.words import Request

BYTES = 1_000_000


def ended(job: int) -> Request:
    return Request(report_job_ended=service_pb2.ReportJobEnded(job=job, succeeded=True))


def shown(batch: list[Request]) -> list[tuple[int, int]]:
    """(number, job) of each."""
    return [(request.number, request.report_job_ended.job) for request in batch]


def test_numbers_are_consecutive_in_the_order_of_leaving() -> None:
    box = Outbox()
    box.add([ended(10), ended(11)])
    assert shown(box.next_batch(1, BYTES)) == [(1, 10)]
    box.add([ended(12)])
    assert shown(box.next_batch(9, BYTES)) == [(2, 11), (3, 12)]
    assert shown(box.next_batch(9, BYTES)) == []


def test_answers_confirm_up_to_the_first_that_is_missing() -> None:
    box = Outbox()
    box.add(ended(job) for job in range(5))
    box.next_batch(9, BYTES)
    assert shown(box.answer(2, 3)) == [(2, 1), (3, 2)]
    assert (box.confirmed, len(box)) == (0, 3)
    assert shown(box.answer(1, 1)) == [(1, 0)]
    assert (box.confirmed, len(box)) == (3, 2)
    assert shown(box.answer(1, 4)) == [(4, 3)]
    assert (box.confirmed, len(box)) == (4, 1)


def test_answers_to_what_was_never_asked_change_nothing() -> None:
    box = Outbox()
    box.add([ended(1)])
    box.next_batch(9, BYTES)
    assert box.answer(7, 9) == []
    assert box.answer(0, 0) == []
    assert box.answer(5, 2) == []
    assert (box.confirmed, len(box)) == (0, 1)


def test_a_new_connection_gets_what_was_not_answered_and_then_the_rest() -> None:
    box = Outbox()
    box.add(ended(job) for job in range(1, 5))
    box.next_batch(3, BYTES)
    box.answer(2, 2)
    box.rewind()
    assert shown(box.next_batch(1, BYTES)) == [(1, 1)]
    assert shown(box.next_batch(9, BYTES)) == [(3, 3), (4, 4)]
    box.rewind()
    assert shown(box.next_batch(9, BYTES)) == [(1, 1), (3, 3), (4, 4)]


def test_no_more_leaves_than_may_be_unanswered() -> None:
    box = Outbox(unanswered_max=2)
    box.add(ended(job) for job in range(1, 5))
    assert shown(box.next_batch(9, BYTES)) == [(1, 1), (2, 2)]
    assert not box.can_send
    box.answer(1, 1)
    assert shown(box.next_batch(9, BYTES)) == [(3, 3)]


def test_what_is_sent_again_keeps_to_what_the_new_connection_takes() -> None:
    """A coordinator that takes less than the one before refused all of it, in every session."""
    box = Outbox()
    box.add(ended(job) for job in range(1, 8))
    box.next_batch(6, BYTES)
    box.answer(2, 2)
    box.rewind(unanswered_max=3)
    assert shown(box.next_batch(9, BYTES)) == [(1, 1), (3, 3)]
    assert not box.can_send
    box.answer(1, 1)
    assert shown(box.next_batch(9, BYTES)) == [(4, 4), (5, 5)]
    box.answer(3, 5)
    assert shown(box.next_batch(9, BYTES)) == [(6, 6), (7, 7)]


def test_a_batch_keeps_to_its_bytes() -> None:
    box = Outbox()
    box.add(ended(job) for job in range(1, 4))
    size = ended(1).ByteSize() + 8
    assert shown(box.next_batch(9, 2 * size)) == [(1, 1), (2, 2)]


def test_16_an_overflow_drops_what_waits_and_all_that_follows_until_the_truth_is_told() -> None:
    box = Outbox(waiting_max=3)
    box.add([ended(1)])
    box.next_batch(9, BYTES)
    box.add(ended(job) for job in range(2, 7))
    assert (box.is_open_gap, box.dropped) == (True, 5)
    assert shown(box.next_batch(9, BYTES)) == []
    box.close_gap([ended(100), ended(101)])
    box.add([ended(7)])
    assert (box.is_open_gap, box.dropped) == (False, 0)
    assert shown(box.next_batch(9, BYTES)) == [(2, 100), (3, 101), (4, 7)]


def test_what_was_sent_survives_an_overflow() -> None:
    box = Outbox(waiting_max=1)
    box.add([ended(1)])
    box.next_batch(9, BYTES)
    box.add([ended(2), ended(3)])
    box.rewind()
    assert shown(box.next_batch(9, BYTES)) == [(1, 1)]


def test_a_request_that_no_message_can_hold_is_a_gap() -> None:
    box = Outbox()
    box.add([ended(1), Request(report_job_ended=service_pb2.ReportJobEnded(job=2, failure="x" * 500)), ended(3)])
    assert shown(box.next_batch(9, 100)) == [(1, 1)]
    assert shown(box.next_batch(9, 100)) == []
    assert (box.is_open_gap, box.dropped) == (True, 2)


def test_what_was_refused_is_confirmed_and_not_taken() -> None:
    box = Outbox()
    box.add(ended(job) for job in range(1, 5))
    box.next_batch(9, BYTES)
    box.answer(1, 2)
    box.answer(3, 3, is_refusal=True)
    assert (box.confirmed, box.taken) == (3, 2)
    box.answer(4, 4)
    assert (box.confirmed, box.taken) == (4, 4)
    box.begin_again()
    assert (box.confirmed, box.taken) == (0, 0)


def test_a_new_client_begins_at_one_with_a_gap() -> None:
    box = Outbox()
    box.add(ended(job) for job in range(1, 5))
    box.next_batch(2, BYTES)
    box.answer(1, 1)
    box.begin_again()
    assert (box.confirmed, box.is_open_gap, box.dropped) == (0, True, 3)
    box.close_gap([ended(9)])
    assert shown(box.next_batch(9, BYTES)) == [(1, 9)]


def test_it_knows_what_is_on_its_way() -> None:
    box, waiting, sent = Outbox(), ended(1), ended(1)
    box.add([sent])
    box.next_batch(9, BYTES)
    box.add([waiting])
    assert (box.holds(sent), box.holds(waiting), box.holds(ended(1))) == (True, True, False)
    box.answer(1, 1)
    assert not box.holds(sent)
