"""Every state that a directive's number can be in by everything that can be done with it."""

from __future__ import annotations

import pytest
from shuffle_lifecycle.v1 import common_pb2

from listener_bridge import outcomes, words
from listener_bridge.outcomes import Outcomes
from listener_bridge.shuffle_services.api import Cannot, Failed, Freed, FreeOutcome, Superseded
from listener_bridge.words import Directive, Request

DELETE, INVALIDATE = common_pb2.DIRECTIVE_KIND_DELETE, common_pb2.DIRECTIVE_KIND_INVALIDATE
FREED, FAILED = Freed(500), Failed("the disk")


def directive(number: int = 1, kind: common_pb2.DirectiveKind = DELETE) -> Directive:
    return Directive(directive=number, kind=kind, app_shuffle=7, shuffle_id=9)


def told(outcome: FreeOutcome, number: int = 1) -> Request:
    return words.outcome(number, outcome)


def known(*steps: str) -> tuple[Outcomes, Directive]:
    """A book in which one directive has gone through these steps."""
    book, asked = Outcomes(), directive()
    for step in steps:
        if step == "asked":
            assert book.ask(asked)
        elif step == "settling":
            assert book.begin_settling(asked, told(FREED))
        elif step == "settled":
            book.end_settling(asked)
        else:
            assert book.acknowledge(asked.directive) is None
    return book, asked


NEVER, ASKED = (), ("asked",)
SETTLING, SETTLED = (*ASKED, "settling"), (*ASKED, "settling", "settled")
OVER = (*SETTLED, "acknowledged")


@pytest.mark.parametrize(
    ("steps", "is_asked", "can_be_told", "is_carried_out_when_asked_again"),
    [
        (NEVER, False, False, True),
        (ASKED, True, False, False),
        (SETTLING, False, False, False),
        (SETTLED, False, True, False),
        (OVER, False, False, False),
    ],
)
def test_what_is_so_in_every_state(
    steps: tuple[str, ...], is_asked: bool, can_be_told: bool, is_carried_out_when_asked_again: bool
) -> None:
    book, asked = known(*steps)
    assert book.is_asked(asked) is is_asked
    assert book.came_of(1) == (told(FREED) if can_be_told else None)
    assert book.unacknowledged() == ([told(FREED)] if can_be_told else [])
    assert book.ask(directive()) is is_carried_out_when_asked_again


@pytest.mark.parametrize("steps", [NEVER, SETTLING, SETTLED, OVER])
def test_an_outcome_of_what_nobody_asks_for_is_not_kept(steps: tuple[str, ...]) -> None:
    book, asked = known(*steps)
    before = book.unacknowledged()
    assert not book.begin_settling(asked, told(Freed(1)))
    assert book.unacknowledged() == before


@pytest.mark.parametrize("steps", [NEVER, ASKED, OVER])
def test_an_acknowledgement_of_what_has_no_outcome_changes_nothing(steps: tuple[str, ...]) -> None:
    book, asked = known(*steps)
    was_asked = book.is_asked(asked)
    assert book.acknowledge(1) is None
    assert book.is_asked(asked) is was_asked


@pytest.mark.parametrize(
    ("kind", "outcome", "is_meant_again"),
    [
        (DELETE, FREED, False),
        (DELETE, Superseded("10"), False),
        (DELETE, Cannot("no"), True),
        (DELETE, FAILED, True),
        (INVALIDATE, FREED, False),
        (INVALIDATE, Cannot("no"), False),
        (INVALIDATE, FAILED, True),
        (common_pb2.DIRECTIVE_KIND_FENCE, FAILED, False),
    ],
)
@pytest.mark.parametrize("comes", ["before the acknowledgement", "after it"])
def test_one_that_comes_again_is_meant_where_it_has_failed(
    kind: common_pb2.DirectiveKind, outcome: FreeOutcome, is_meant_again: bool, comes: str
) -> None:
    """Asked for while its failure was on its way, nobody asks a third time."""
    book, first, again = Outcomes(), directive(kind=kind), directive(kind=kind)
    book.ask(first)
    book.begin_settling(first, told(outcome))
    book.end_settling(first)
    if comes == "after it":
        assert book.acknowledge(1) is None
        assert book.ask(again) is is_meant_again
    else:
        assert not book.ask(again)
        assert book.acknowledge(1) is (again if is_meant_again else None)
    assert book.is_asked(again) is is_meant_again


def test_there_is_room_for_so_many_and_for_those_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "WAITING_MAX", 2)
    book = Outcomes()
    for number in (1, 2):
        assert book.has_room_for(directive(number))
        book.ask(directive(number))
    assert [book.has_room_for(directive(number)) for number in (1, 2, 3)] == [True, True, False]


def test_of_what_is_over_the_oldest_is_forgotten_and_may_be_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "OVER_MAX", 2)
    book = Outcomes()
    for number in (1, 2, 3):
        one = directive(number)
        book.ask(one)
        book.begin_settling(one, told(FREED, number))
        book.acknowledge(number)
    assert [book.ask(directive(number)) for number in (1, 2, 3)] == [True, False, False]


@pytest.mark.parametrize("steps", [ASKED, SETTLED, OVER])
def test_of_a_lost_log_nothing_is_known(steps: tuple[str, ...]) -> None:
    book, asked = known(*steps)
    book.clear()
    assert not book.is_asked(asked)
    assert book.unacknowledged() == []
    assert book.ask(directive())
