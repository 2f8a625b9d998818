"""Spans, tables laid over one another, and what a draft changes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.ids import AppShuffle, Span, add_span, spans_of, within
from coordinator.core.overlay import Overlay
from coordinator.core.state import Shuffle, changes, copy, empty, lay_over, settle
from coordinator.core.values import Lineage

NUMBERS = st.lists(st.integers(0, 30), max_size=20)


@given(NUMBERS)
def test_spans_hold_exactly_their_numbers(numbers: list[int]) -> None:
    spans = spans_of(tuple(numbers))
    assert {n for span in spans for n in range(span.first, span.last + 1)} == set(numbers)
    assert all(a.last + 1 < b.first for a, b in pairwise(spans))
    assert [within(spans, n) for n in range(32)] == [n in set(numbers) for n in range(32)]


@given(NUMBERS, st.integers(0, 30), st.integers(0, 5))
def test_a_span_put_in_is_joined(numbers: list[int], first: int, length: int) -> None:
    new = Span(first, first + length)
    assert add_span(spans_of(tuple(numbers)), new) == spans_of((*numbers, *range(new.first, new.last + 1)))


CHANGES = st.lists(
    st.tuples(st.sampled_from(["put", "del", "clear"]), st.integers(0, 6), st.integers(0, 9)), max_size=20
)


@given(st.dictionaries(st.integers(0, 6), st.integers(0, 9)), CHANGES)
def test_an_overlay_is_a_table_that_leaves_the_one_below_alone(
    below: dict[int, int], steps: list[tuple[str, int, int]]
) -> None:
    kept, plain = dict(below), dict(below)
    overlay = Overlay(below)
    for what, key, value in steps:
        for table in (overlay, plain):
            if what == "put":
                table[key] = value
            elif what == "del":
                table.pop(key, None)
            elif value == 0:
                table.clear()
    assert below == kept
    assert dict(overlay) == plain
    assert len(overlay) == len(plain)
    assert sorted(overlay.items()) == sorted(plain.items())
    assert [overlay.get(key) for key in range(8)] == [plain.get(key) for key in range(8)]
    assert [key in overlay for key in range(8)] == [key in plain for key in range(8)]
    assert dict(Overlay(overlay)) == plain


def shuffle(number: int) -> Shuffle:
    return Shuffle(Lineage(AppShuffle(number)))


def test_a_draft_says_what_it_changes_and_settles_into_the_state_below() -> None:
    state = empty()
    state.shuffles.update({AppShuffle(1): shuffle(1), AppShuffle(2): shuffle(2), AppShuffle(3): shuffle(3)})
    before = copy(state)
    draft = lay_over(state)
    del draft.shuffles[AppShuffle(1)]
    draft.shuffles[AppShuffle(2)] = shuffle(2)  # the same again is no change
    draft.shuffles[AppShuffle(4)] = shuffle(4)
    draft.shuffles[AppShuffle(5)] = shuffle(5)
    del draft.shuffles[AppShuffle(5)]
    found = [(change.key, change.before, change.after) for change in changes(draft, "shuffles")]
    assert found == [(1, shuffle(1), None), (4, None, shuffle(4))]
    assert state == before
    settle(draft, state)
    assert sorted(state.shuffles) == [2, 3, 4]


def test_walking_over_a_table_while_writing_to_it_sees_it_as_it_was() -> None:
    overlay = Overlay({1: 1, 2: 2})
    for key in overlay:
        overlay[key + 10] = 0
        del overlay[key]
    assert sorted(overlay) == [11, 12]
