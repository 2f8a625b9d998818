"""A name that alone keeps much for long is spoken of, once."""

from __future__ import annotations

from listener_bridge.reach.advice import HELD_MIN_S, PAUSE_S, Advisor
from listener_bridge.reach.findings import Kind, Root

SIZES = {0: 40_000_000_000, 1: 5_000_000_000, 2: 1_000}


def name(root: str, why: str, *needs: int, kind: Kind = Kind.HANDLE) -> Root:
    return Root(root, kind, frozenset(needs), why)


def test_the_name_that_keeps_most_is_spoken_of_first_and_once() -> None:
    advisor = Advisor()
    roots = [
        name("o1", "`old` in job.py:3", 0),
        name("o2", "`older` in job.py:2", 1),
        name("o3", "`new` in job.py:9", 2),
    ]
    assert advisor.advise(0.0, roots, SIZES) is None
    line = advisor.advise(HELD_MIN_S, roots, SIZES)
    assert line is not None
    assert line.startswith("`old` in job.py:3 has kept 40.0 GB of shuffle data for 10 minutes")
    assert advisor.advise(HELD_MIN_S + 1, roots, SIZES) is None
    again = advisor.advise(HELD_MIN_S + PAUSE_S, roots, SIZES)
    assert again is not None
    assert again.startswith("`older` in job.py:2 has kept 5.0 GB")
    assert advisor.advise(9 * PAUSE_S, roots, SIZES) is None


def test_what_another_one_holds_too_would_not_go() -> None:
    advisor = Advisor()
    roots = [name("o1", "`a` in job.py:3", 0), name("execution 4", "live plan of execution 4", 0, kind=Kind.PLAN)]
    advisor.advise(0.0, roots, SIZES)
    assert advisor.advise(HELD_MIN_S, roots, SIZES) is None


def test_a_name_that_let_go_in_between_begins_anew() -> None:
    advisor = Advisor()
    roots = [name("o1", "`a` in job.py:3", 0)]
    advisor.advise(0.0, roots, SIZES)
    advisor.advise(HELD_MIN_S / 2, [], SIZES)
    advisor.advise(HELD_MIN_S - 1, roots, SIZES)
    assert advisor.advise(HELD_MIN_S + 1, roots, SIZES) is None


def test_what_is_pinned_would_stay_all_the_same() -> None:
    advisor, asked = Advisor(), list[float]()

    def advise(now_s: float, *pinned: int) -> str | None:
        def pins() -> tuple[int, ...]:
            asked.append(now_s)
            return pinned

        return advisor.advise(now_s, [name("o1", "`a` in job.py:3", 0, 1)], SIZES, pins)

    assert advise(0.0, 0, 1) is None
    assert advise(HELD_MIN_S, 0, 1) is None
    assert advise(HELD_MIN_S + 1) is None
    assert asked == [HELD_MIN_S]
    line = advise(HELD_MIN_S + PAUSE_S, 0)
    assert line is not None
    assert line.startswith("`a` in job.py:3 has kept 5.0 GB")
