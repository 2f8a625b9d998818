"""Holders are weighed: what each one reaches, and what would go if it alone let go."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, JobId, LookId
from coordinator.core.values import Policy, RootKind, Rule
from replay.holders import Holder, Weigher, holders
from tests.unit.replay.logs import Told

REACHABLE = Policy(Rule.REACHABLE, observe=False)


def root(name: str, why: str, *needs: int, kind: RootKind = RootKind.HANDLE) -> c.ReportedRoot:
    return c.ReportedRoot(name, kind, tuple(map(AppShuffle, needs)), why)


def looked_at(*roots: c.ReportedRoot) -> Told:
    """Two shuffles, 0 of 120 MB and 1 of 60 MB, no job, and a look that found these roots."""
    told = Told(policy=REACHABLE)
    told.whole_chain()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    told.say(c.ReportJobEnded(JobId(0)))
    told.say(c.BeginLook(LookId(1)), c.ReportCut(LookId(1), roots))
    return told


def test_who_alone_holds_most_comes_first() -> None:
    told = looked_at(root("o1", "`a` in chain.py:3", 0, 1), root("o2", "`b` in chain.py:4", 1))
    assert holders(told.log) == (
        Holder(
            "handle",
            "`a` in chain.py:3",
            180_000_000,
            120_000_000,
            (AppShuffle(0), AppShuffle(1)),
            ("map at chain.py:12", "groupBy at chain.py:14"),
        ),
        Holder("handle", "`b` in chain.py:4", 60_000_000, 0, (AppShuffle(1),), ("groupBy at chain.py:14",)),
    )


def test_what_people_call_by_one_name_is_one_holder() -> None:
    told = looked_at(root("o1", "`a` in chain.py:3", 0), root("o7", "`a` in chain.py:3", 0))
    (holder,) = holders(told.log)
    assert (holder.bytes, holder.alone_bytes) == (120_000_000, 120_000_000)


def test_what_is_gone_is_held_by_nobody() -> None:
    told = looked_at(root("o2", "`b` in chain.py:4", 1))
    told.carried_out()
    assert [holder.app_shuffles for holder in holders(told.log)] == [(AppShuffle(1),)]


def test_a_live_job_holds_what_it_will_read() -> None:
    told = Told(policy=REACHABLE)
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    (holder,) = holders(told.log)
    assert (holder.kind, holder.who, holder.app_shuffles) == ("job", "job 0 (count at chain.py:20)", (AppShuffle(0),))


def test_who_held_something_at_the_end_is_known_behind_it_and_holds_nothing_any_more() -> None:
    told = looked_at(root("o1", "`a` in chain.py:3", 1))
    held = holders(told.log)
    told.say(c.EndApplication())
    weigher = Weigher()
    for recorded in told.log:
        weigher.hear(recorded)
    assert (weigher.holders(), weigher.at_end) == ((), held)
