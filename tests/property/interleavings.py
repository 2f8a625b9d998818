"""A small world, gone through whole: every order in which program, scheduler, facts, looks and directives may come.

Responsible for the world's moves, for telling states apart, and for what is asserted in each: nothing missed that was
not lost, no invariant breaks, and from wherever one is all comes to rest and is let go. Refuses to know how Spark and
the core do what they do. Invariant: what is found holds for every interleaving of the world, not for a sample of them.

Where `test_machine` draws long stories of large worlds, here they are short, and none is left out. What is wrong is
told with the moves that lead there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core import invariants
from coordinator.core.decide import carry_out
from coordinator.core.desk import Desk
from coordinator.core.ids import ApplicationId, AppShuffle, Sequence
from coordinator.core.lifecycle import Life
from coordinator.core.state import TABLES, State, copy, empty, settle
from coordinator.core.values import Capabilities, Driver, Hold, Level, Policy, Rule, Settings
from tests.property.spark import Spark

NOW_MS = 1_000
#: What rests though nobody needs it: it was missed once, or too much was.
_LASTING = (Hold.MISSED, Hold.SUSPENDED)


@dataclass(frozen=True, slots=True)
class World:
    """What there is, and how often each thing may happen."""

    reads: tuple[tuple[int, ...], ...]  #: What each app shuffle is made from.
    jobs: int
    looks: int = 1
    losses: int = 0
    cancels: int = 0
    facts: int = 2  #: So many may wait for the core at once.
    completes: bool = True  #: Its shuffle service can complete a generation.


@dataclass(frozen=True, slots=True)
class Node:
    """One state of everything. ``way``: how it was come to, the last move first."""

    spark: Spark
    state: State
    left: World
    way: tuple[Any, ...] = ()

    def key(self) -> tuple[object, ...]:
        """Equal where all that follows is equal."""
        tables = tuple(frozenset(getattr(self.state, name).items()) for name in TABLES)
        return replace(self.state.meta, next_sequence=Sequence(0)), tables, repr(self.spark), self.left

    def going(self) -> Node:
        """The same, to go its own way."""
        return Node(_copied(self.spark), copy(self.state), self.left, self.way)

    def do(self, command: c.Command) -> None:
        """The core hears of something."""
        desk = Desk.over(self.state, NOW_MS)
        carry_out(desk, command)
        missed = [r.event for r in desk.log if isinstance(r.event, (e.PrematureDeletion, e.RecoveryOpened))]
        assert self.spark.lost_something or not missed, f"missed, and nothing was lost: {missed}"
        settle(desk.state, self.state)

    def deliver(self, most: int = 1_000) -> None:
        """Facts reach the core, in order."""
        for _ in range(min(most, len(self.spark.told))):
            self.do(self.spark.told.pop(0))

    def carry_out(self, number: Any) -> None:
        """The driver carries a directive out; the outcome is a fact like others."""
        self.spark.told.append(c.ReportOutcome(number, self.spark.carry_out(self.state.directives[number])))


def _copied(spark: Spark) -> Spark:
    return replace(
        spark,
        shuffles={key: replace(one) for key, one in spark.shuffles.items()},
        held=set(spark.held),
        jobs={key: replace(one) for key, one in spark.jobs.items()},
        running=dict(spark.running),
        data=set(spark.data),
        told=list(spark.told),
        roots=dict(spark.roots),
        cleaned=set(spark.cleaned),
        ever=set(spark.ever),
    )


# --- moves ------------------------------------------------------------------------------------------------------------


Choices = Callable[[Node], Iterable[Any]]
Act = Callable[[Node, Any], object]


def _outstanding(node: Node) -> list[Any]:
    """Directives that are not carried out yet."""
    done = {told.directive for told in node.spark.told if isinstance(told, c.ReportOutcome)}
    return sorted(set(node.state.directives) - done)


def _can_be_lost(node: Node) -> list[AppShuffle]:
    written = {running.writes for running in node.spark.running.values()}
    return [key for key, one in sorted(node.spark.shuffles.items()) if one.available and key not in written]


#: Each move: among what can be chosen, and what then happens. The first one alone is the core's.
MOVES: dict[str, tuple[Choices, Act]] = {
    "deliver": (lambda node: node.spark.told[:1], lambda node, _: node.deliver(1)),
    "submit": (lambda node: range(len(node.spark.runnable())), lambda n, at: n.spark.submit(*n.spark.runnable()[at])),
    "complete": (lambda node: sorted(node.spark.running), lambda n, key: n.spark.complete(n.spark.running[key])),
    "end": (
        lambda node: [key for key, job in sorted(node.spark.jobs.items()) if job.done],
        lambda node, key: node.spark.end_job(node.spark.jobs[key], succeeded=True),
    ),
    "let go": (lambda node: sorted(node.spark.held), lambda node, one: node.spark.held.discard(one)),
    "end a look": (lambda node: [] if node.spark.looking is None else [0], lambda node, _: node.spark.end_look()),
    "carry out": (_outstanding, lambda node, number: node.carry_out(number)),
}

#: Those that may happen so many times, by the field of `World` that counts them.
COUNTED: dict[str, tuple[Choices, Act]] = {
    "jobs": (lambda node: sorted(node.spark.held), lambda node, one: node.spark.start_job(one, map_stage=False)),
    "looks": (lambda node: [0] if node.spark.looking is None else [], lambda node, _: node.spark.begin_look()),
    "losses": (_can_be_lost, lambda node, one: node.spark.lose(one, 1, reported=True)),
    "cancels": (
        lambda node: [key for key, job in sorted(node.spark.jobs.items()) if not job.done],
        lambda node, key: node.spark.end_job(node.spark.jobs[key], succeeded=False),
    ),
}


def following(node: Node) -> Iterator[Node]:
    """Every state that one move leads to."""
    is_full = len(node.spark.told) >= node.left.facts
    for name, (choices, act) in MOVES.items():
        if name == "deliver" or not is_full:
            yield from (_moved(node, node.left, name, one, act) for one in choices(node))
    for name, (choices, act) in COUNTED.items():
        count = getattr(node.left, name)
        if count and not is_full:
            fewer: Any = {name: count - 1}
            left = replace(node.left, **fewer)
            yield from (_moved(node, left, name, one, act) for one in choices(node))


def _moved(node: Node, left: World, name: str, one: Any, act: Act) -> Node:
    moved = replace(node.going(), left=left, way=((name, one), node.way))
    with _telling(moved):
        act(moved, one)
        found = invariants.check(moved.state)
        assert not found, found
    return moved


@contextmanager
def _telling(node: Node) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{error}\nafter {', then '.join(_names(node.way))}") from error


def _names(way: tuple[Any, ...]) -> list[str]:
    names: list[str] = []
    while way:
        (name, one), way = way
        names.append(f"{name} {one}")
    return names[::-1]


# --- the end ----------------------------------------------------------------------------------------------------------


def come_to_rest(node: Node) -> None:
    """From here on all goes well: whatever was begun ends, and what nobody holds any more is let go."""
    going = node.going()
    with _telling(going):
        _work_to_the_end(going)
        going.spark.held.clear()
        for _ in range(3):  # what one look lets go may have held another one up, which the next look speaks about
            _look(going)
            _delete(going)
        _check_rest(going.state)


def _work_to_the_end(node: Node) -> None:
    spark = node.spark
    node.deliver()
    while spark.jobs:
        if spark.running:
            spark.complete(next(iter(spark.running.values())))
        elif runnable := spark.runnable():
            spark.submit(*runnable[0])
        else:
            spark.end_job(next(iter(spark.jobs.values())), succeeded=True)
        node.deliver()


def _look(node: Node) -> None:
    if node.spark.looking is None:
        node.spark.begin_look()
    node.spark.end_look()
    node.deliver()


def _delete(node: Node) -> None:
    for _ in range(20):
        for number in _outstanding(node):
            node.carry_out(number)
        node.deliver()
    assert not node.state.directives, "a directive is asked for again and again"


def _check_rest(state: State) -> None:
    assert not state.attempts
    assert not state.jobs
    assert not [recovery for recovery in state.recoveries.values() if recovery.open]
    left = [g for g in state.generations.values() if g.life is not Life.EXPIRED or g.hold not in _LASTING]
    assert not left, f"never let go: {left}"


# --- all of it --------------------------------------------------------------------------------------------------------


def explore(world: World, most: int = 1_000_000) -> int:
    """Goes through all of it, and says how many states it has; raises at the first that is wrong."""
    first = _beginning(world)
    seen, waiting = {first.key()}, deque([first])
    while waiting:
        node = waiting.popleft()
        come_to_rest(node)
        for one in following(node):
            key = one.key()
            if key not in seen:
                seen.add(key)
                waiting.append(one)
        assert len(seen) <= most, f"more than {most} states; expected a world that can be gone through"
    return len(seen)


def _beginning(world: World) -> Node:
    """The program has made all of it, and holds all of it."""
    node = Node(Spark(), empty(), world)
    able = Capabilities(completes_after_loss=world.completes)
    policy = Policy(Rule.REACHABLE, observe=False)
    node.do(c.RegisterApplication(ApplicationId("app"), Driver(), able, policy, Settings()))
    for reads in world.reads:
        node.spark.make(tuple(map(AppShuffle, reads)), Level.DETERMINATE)
    return node
