"""A tracked table is a dict to whoever writes to it, and what it notes leads back to what was."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.tracked import Replaced, Tracked

WRITES: dict[str, Any] = {
    "set": lambda table, key, value: table.__setitem__(key, value),
    "del": lambda table, key, value: table.__delitem__(key) if key in table else None,
    "pop": lambda table, key, value: table.pop(key, None),
    "popitem": lambda table, key, value: table.popitem() if table else None,
    "setdefault": lambda table, key, value: table.setdefault(key, value),
    "update": lambda table, key, value: table.update({key: value, key + 1: value}),
    "or": lambda table, key, value: table.__ior__({key: value}),
    "clear": lambda table, key, value: table.clear(),
}
ALL = st.lists(st.tuples(st.sampled_from(sorted(WRITES)), st.integers(0, 4), st.integers(1, 9)), max_size=12)


@given(st.dictionaries(st.integers(0, 4), st.integers(1, 9)), ALL)
def test_every_way_of_writing_is_noted(was: dict[int, int], writes: list[tuple[str, int, int]]) -> None:
    replaced: Replaced = {}
    plain, table = dict(was), Tracked("t", was, replaced)
    for way, key, value in writes:
        expected, given_back = WRITES[way](plain, key, value), WRITES[way](table, key, value)
        assert given_back is table if way == "or" else given_back == expected
        assert table == plain
    put_back = dict(table)
    for (name, key), before in replaced.items():
        assert name == "t"
        put_back.pop(key, None)
        if before is not None:
            put_back[key] = before
    assert put_back == was


def test_what_is_not_there_cannot_be_taken_away() -> None:
    table: Tracked[int, int] = Tracked("t", {}, {})
    for way in (lambda: table.pop(1), lambda: table.__delitem__(1), table.popitem):
        try:
            way()
        except KeyError:
            continue
        raise AssertionError("a key that is not there was taken away")
    assert not table.replaced
