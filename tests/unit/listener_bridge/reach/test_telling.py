"""A look's findings are told as changes, and a coordinator that missed some comes to hold the same."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shuffle_lifecycle.v1 import service_pb2

from listener_bridge.reach import telling
from listener_bridge.reach.findings import Kind, Root
from listener_bridge.reach.telling import Told


def root(name: str, *needs: int, why: str = "`a`") -> Root:
    return Root(name, Kind.HANDLE, frozenset(needs), why)


class Heard:
    """What a coordinator holds after some reports."""

    def __init__(self) -> None:
        self.roots: dict[str, frozenset[int]] = {}
        self.kinds: dict[str, int] = {}

    def hear(self, report: service_pb2.ReportCut) -> None:
        self.roots.update((said.root, frozenset(said.needs)) for said in report.roots)
        self.kinds.update((said.root, said.kind) for said in report.roots)
        for name in report.gone:
            self.roots.pop(name, None)

    def needs(self) -> set[tuple[int, int]]:
        """What every decision is made of: kinds, and what roots of them need."""
        return {(self.kinds[name], need) for name, needs in self.roots.items() for need in needs}


def test_only_what_changed_is_told() -> None:
    told = Told()
    first = told.report(1, [root("o1", 1, 2), root("o2", 3)]).report_cut
    assert [said.root for said in first.roots] == ["o1", "o2"]
    second = told.report(2, [root("o1", 1, 2), root("o2", 4)]).report_cut
    assert [(said.root, list(said.needs)) for said in second.roots] == [("o2", [4])]
    third = told.report(3, [root("o2", 4)]).report_cut
    assert (list(third.roots), list(third.gone)) == ([], ["o1"])


def test_a_root_that_needs_nothing_is_not_told() -> None:
    told = Told()
    assert not told.report(1, [root("o1")]).report_cut.roots
    told.report(2, [root("o1", 1)])
    assert list(told.report(3, [root("o1")]).report_cut.gone) == ["o1"]


def test_a_root_that_is_called_otherwise_is_told_again() -> None:
    told = Told()
    told.report(1, [root("o1", 1, why="`a`")])
    assert [said.why for said in told.report(2, [root("o1", 1, why="`b`")]).report_cut.roots] == ["`b`"]


def test_nameless_objects_are_told_where_they_need_more() -> None:
    told = Told()
    temporary = [root("o5", 1, why="a PythonRDD"), root("o6", 1, 2, why="a JavaRDD"), root("o7", 2, why="a JavaRDD")]
    report = told.report(1, [*temporary, root("o1", 1)]).report_cut
    assert [said.root for said in report.roots] == ["o1", "o6"]
    assert list(told.report(2, [*temporary, root("o1", 1, 2)]).report_cut.gone) == ["o6"]


def test_who_was_told_stays_told_where_another_would_do() -> None:
    told = Told()
    told.report(1, [root("o5", 1, why="a PythonRDD")])
    again = told.report(2, [root("o3", 1, 2, why="a JavaRDD"), root("o5", 1, why="a PythonRDD")]).report_cut
    assert [said.root for said in again.roots] == ["o3"]
    assert not told.report(3, [root("o3", 1, 2, why="a JavaRDD"), root("o2", 1, 2, why="a JavaRDD")]).report_cut.roots


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.frozensets(st.integers(0, 4)), st.booleans())))
def test_what_is_told_needs_what_was_found(found: dict[str, tuple[frozenset[int], bool]]) -> None:
    roots = [root(name, *needs, why="`a`" if named else "a JavaRDD") for name, (needs, named) in found.items()]
    report = Told().report(1, roots).report_cut
    needed = frozenset().union(*(needs for needs, _ in found.values()))
    assert frozenset(need for said in report.roots for need in said.needs) == needed


FOUND = st.lists(st.dictionaries(st.sampled_from("abcd"), st.frozensets(st.integers(0, 3))), min_size=1, max_size=8)


@given(FOUND, st.data())
def test_whoever_missed_reports_holds_the_truth_after_the_next_one(
    looks: list[dict[str, frozenset[int]]], data: st.DataObject
) -> None:
    told, heard, is_sure = Told(), Heard(), True
    for number, found in enumerate(looks):
        if not is_sure:
            told.missed()
        report = told.report(number, [root(name, *needs) for name, needs in found.items()]).report_cut
        is_sure = data.draw(st.booleans())
        if is_sure:
            heard.hear(report)
            assert heard.roots == {name: needs for name, needs in found.items() if needs}


def needed(found: list[Root]) -> set[tuple[int, int]]:
    return {(telling._KINDS[root.kind], need) for root in found for need in root.needs}


def many(count: int) -> list[Root]:
    return [root(f"o{n}", n, n + 1, why=f"`frames[{n}]` in pagerank.py:41") for n in range(count)]


def test_more_roots_than_a_commit_holds_are_told_together_and_need_the_same() -> None:
    """30,000 made a commit of 2 MB, which was refused each time: nothing more was deleted."""
    told, heard, found = Told(), Heard(), many(30_000)
    report = told.report(1, found).report_cut
    assert report.ByteSize() < 500_000
    heard.hear(report)
    assert heard.needs() == needed(found)
    assert 2_000 < len(heard.roots) < 4_000
    assert [said.why for said in report.roots if said.root == "further handle"] == [
        "16,384 or more further roots (handle)"
    ]


def test_with_many_roots_only_what_changed_is_told() -> None:
    told, heard, found = Told(), Heard(), many(30_000)
    heard.hear(told.report(1, found).report_cut)
    assert not told.report(2, reversed(found)).report_cut.ByteSize() > 10
    found[0] = root("o0", 99_998, 99_999, why=found[0].why)
    again = told.report(3, found).report_cut
    assert [said.root for said in again.roots] == ["o0"]
    heard.hear(again)
    fewer = found[:10]
    heard.hear(told.report(4, fewer).report_cut)
    assert heard.roots == {one.root: one.needs for one in fewer}


def test_what_is_told_together_is_told_of_each_kind() -> None:
    """Guessing rules count some kinds and not others."""
    kinds = itertools.cycle(Kind)
    found = [Root(f"o{n}", next(kinds), frozenset({n}), "`" + "x" * 100) for n in range(12_000)]
    heard = Heard()
    heard.hear(Told().report(1, found).report_cut)
    assert heard.needs() == needed(found)
    assert {name for name in heard.roots if name.startswith(telling.TOGETHER)} == {
        f"further {kind.value}" for kind in Kind
    }


def test_one_root_that_needs_very_much_keeps_its_name() -> None:
    heard = Heard()
    heard.hear(Told().report(1, [root("o1", *range(80_000)), root("o2", 1)]).report_cut)
    assert sorted(heard.roots) == ["o1", "o2"]


KINDS = st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.sampled_from(Kind), st.frozensets(st.integers(0, 5))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(KINDS, min_size=1, max_size=8), st.data())
def test_whoever_missed_reports_knows_what_is_needed_where_little_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, looks: list[dict[str, tuple[Kind, frozenset[int]]]], data: st.DataObject
) -> None:
    monkeypatch.setattr(telling, "NAMED_BYTES", 120)  # two names, as a rule
    told, heard, is_sure = Told(), Heard(), True
    for number, looked in enumerate(looks):
        if not is_sure:
            told.missed()
        found = [Root(name, kind, needs, "`a`") for name, (kind, needs) in looked.items()]
        report = told.report(number, found).report_cut
        is_sure = data.draw(st.booleans())
        if is_sure:
            heard.hear(report)
            assert heard.needs() == needed(found)
            assert len([name for name in heard.roots if not name.startswith(telling.TOGETHER)]) <= 2 + len(Kind)
