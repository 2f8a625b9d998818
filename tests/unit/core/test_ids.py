"""Spans hold the numbers that were put in, in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core import ids
from coordinator.core.ids import Span, add_span, spans_of

SPANS = st.builds(lambda first, more: Span(first, first + more), st.integers(0, 60), st.integers(0, 8))


def looked_through(spans: tuple[Span, ...], new: Span) -> tuple[Span, ...]:
    """What `add_span` is: every span looked at."""
    first, last = new.first, new.last
    apart: list[Span] = []
    for span in spans:
        if span.last + 1 < first or last + 1 < span.first:
            apart.append(span)
        else:
            first, last = min(first, span.first), max(last, span.last)
    return tuple(sorted((*apart, Span(first, last))))


@given(st.lists(SPANS, max_size=30), SPANS)
def test_a_span_is_put_in_as_by_looking_at_all(before: list[Span], new: Span) -> None:
    spans: tuple[Span, ...] = ()
    for one in before:
        added = add_span(spans, one)
        assert added == looked_through(spans, one)
        spans = added
    assert add_span(spans, new) == looked_through(spans, new)


@given(st.lists(st.integers(0, 60), max_size=40))
def test_numbers_in_any_order_are_the_fewest_spans(numbers: list[int]) -> None:
    spans: tuple[Span, ...] = ()
    for number in numbers:
        spans = add_span(spans, Span(number, number))
    assert spans == spans_of(tuple(numbers))


def test_a_number_below_all_others_is_put_in_without_looking_at_them(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Span] = []

    def first(span: Span) -> int:
        looked.append(span)
        return span.first

    spans = tuple(Span(number, number) for number in range(100, 40_000, 2))
    monkeypatch.setattr(ids, "_first", first)
    assert add_span(spans, Span(3, 3)) == (Span(3, 3), *spans)
    assert 0 < len(looked) < 50
