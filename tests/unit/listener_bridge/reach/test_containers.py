"""Handles that no name holds, but what a name holds: dead with it, alive with anything else that could lead there."""

from __future__ import annotations

import abc
import gc
import sys
import threading
import types
import typing
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from py4j.java_gateway import JavaObject

from listener_bridge.reach import liveness, ways
from listener_bridge.reach.containers import has_plain_keys, inside, is_container, under
from listener_bridge.reach.findings import Program
from listener_bridge.reach.handles import Handles, proxies_of
from listener_bridge.reach.liveness import Name
from listener_bridge.reach.registry import Registry
from listener_bridge.reach.ways import leading, names_of
from tests.unit.listener_bridge.reach.making import Client, Pipelined, Rdd, names


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def registry() -> Iterator[Registry]:
    registry = Registry((Rdd, Pipelined))
    registry.watch()
    yield registry
    registry.unwatch()


class Box:
    def __init__(self, inner: object) -> None:
        self.inner = inner


@dataclass
class Result:
    train: object
    test: object


class Pair(typing.NamedTuple):
    first: object
    second: object


class Generic(abc.ABC, typing.Generic[typing.TypeVar("T")]):  # type: ignore[misc]
    def __init__(self, inner: object) -> None:
        self.inner = inner


class Holding(typing.Protocol):
    inner: object


class Protocolled(Holding):
    def __init__(self, inner: object) -> None:
        self.inner = inner


class Named(dict[str, object]):
    """A dictionary with attributes."""


def named(rdd: Rdd) -> Named:
    box = Named(k=1)
    box.inner = [rdd]  # type: ignore[attr-defined]
    return box


HOLDERS: dict[str, Callable[[Rdd], object]] = {
    "list": lambda rdd: [rdd],
    "twice": lambda rdd: [rdd, rdd],
    "tuple": lambda rdd: (rdd, 1),
    "dict": lambda rdd: {"k": rdd},
    "key": lambda rdd: {rdd: 1},
    "set": lambda rdd: {rdd},
    "frozenset": lambda rdd: frozenset([rdd]),
    "deque": lambda rdd: deque([rdd]),
    "defaultdict": lambda rdd: defaultdict(list, k=[rdd]),
    "ordered": lambda rdd: OrderedDict(k=rdd),
    "namespace": lambda rdd: types.SimpleNamespace(k=rdd),
    "nested": lambda rdd: [({"k": [rdd]},)],
    "object": Box,
    "dataclass": lambda rdd: Result(rdd, [rdd]),
    "named tuple": lambda rdd: Pair(rdd, None),
    "generic": Generic,
    "protocol": Protocolled,
    "subclass": named,
    "object in a list": lambda rdd: [Box(Box(rdd))],
}


JOB = Name("job", "/x/etl.py", 3, "<module>")


def looked(registry: Registry, client: Client, read: Callable[..., Any]) -> Program:
    return Handles(proxies_of(client), registry, read).read()


@pytest.mark.parametrize("kind", HOLDERS)
def test_what_a_dead_name_holds_is_dead_with_what_is_in_it(kind: str, registry: Registry, client: Client) -> None:
    box = HOLDERS[kind](Rdd(JavaObject("o1", client)))
    assert looked(registry, client, names(box, held=lambda: (box,))).dead == {"o1"}


@pytest.mark.parametrize("kind", HOLDERS)
def test_what_a_live_name_holds_is_alive_with_what_is_in_it(kind: str, registry: Registry, client: Client) -> None:
    box = HOLDERS[kind](Rdd(JavaObject("o1", client)))
    assert looked(registry, client, names(held=lambda: (box,))).dead == frozenset()


@pytest.mark.parametrize("kind", HOLDERS)
def test_another_who_has_it_keeps_it(kind: str, registry: Registry, client: Client) -> None:
    box = HOLDERS[kind](Rdd(JavaObject("o1", client)))
    keeper = [box]
    assert looked(registry, client, names(box, held=lambda: (box,))).dead == frozenset()
    assert keeper


@pytest.mark.parametrize("kind", HOLDERS)
def test_another_who_has_what_is_in_it_keeps_that(kind: str, registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    box = HOLDERS[kind](rdd)
    assert looked(registry, client, names(box, held=lambda: (box,))).dead == frozenset()
    assert looked(registry, client, names(box, rdd, held=lambda: (box,))).dead == {"o1"}


@pytest.mark.parametrize("kind", HOLDERS)
def test_a_look_keeps_nothing_of_it(kind: str, registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    reference = weakref.ref(rdd)
    box: object = HOLDERS[kind](rdd)
    looked(registry, client, names(box, held=lambda: (box,)))
    del rdd
    box = None
    assert reference() is None


def test_somebody_who_has_the_attributes_keeps_what_is_in_them(registry: Registry, client: Client) -> None:
    box = Box(Rdd(JavaObject("o1", client)))
    attributes = vars(box)
    assert looked(registry, client, names(box, held=lambda: (box,))).dead == frozenset()
    assert attributes


def test_a_live_container_beside_a_dead_one_keeps_what_both_hold(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    dead, alive = [rdd], [rdd]
    del rdd
    assert looked(registry, client, names(dead, held=lambda: (dead, alive))).dead == frozenset()
    assert looked(registry, client, names(dead, alive, held=lambda: (dead, alive))).dead == {"o1"}


def test_one_within_a_live_one_is_alive(registry: Registry, client: Client) -> None:
    inner = [Rdd(JavaObject("o1", client))]
    outer = [inner]
    assert looked(registry, client, names(inner, held=lambda: (inner, outer))).dead == frozenset()


def test_containers_that_hold_each_other_in_a_ring(registry: Registry, client: Client) -> None:
    first, second = Box(Rdd(JavaObject("o1", client))), Box(None)
    first.other, second.inner = second, first  # type: ignore[attr-defined]
    assert looked(registry, client, names(first, held=lambda: (first, second))).dead == frozenset()
    assert looked(registry, client, names(first, second, held=lambda: (first, second))).dead == {"o1"}


def test_what_somebody_knows_weakly_is_alive(registry: Registry, client: Client) -> None:
    box = Box(Rdd(JavaObject("o1", client)))
    known = weakref.ref(box)
    assert looked(registry, client, names(box, held=lambda: (box,))).dead == frozenset()
    assert known() is box


@pytest.mark.parametrize("kind", ["handle", "box"])
def test_what_somebody_has_met_weakly_since_it_was_counted_is_alive(
    kind: str, registry: Registry, client: Client
) -> None:
    rdd = Rdd(JavaObject("o1", client))
    box = rdd if kind == "handle" else Box(rdd)
    del rdd
    known, met, countings = [weakref.ref(box)], list[object](), iter(range(2))

    def counts(objects: list[Any], names: liveness.Dead) -> list[int] | None:
        found = liveness.counts(objects, liveness.Dead())
        met.extend(known.pop()() for _ in range(next(countings)))
        return found

    read = names(box, held=lambda: (box,))
    assert Handles(proxies_of(client), registry, read, counts).read().dead == frozenset()
    assert met == [box]


@pytest.mark.parametrize("kind", ["handle", "box"])
def test_what_has_a_live_name_is_alive_where_the_dead_one_was_gone_when_it_was_counted(
    kind: str, registry: Registry, client: Client
) -> None:
    rdd = Rdd(JavaObject("o1", client))
    box = rdd if kind == "handle" else Box(rdd)
    del rdd
    read = names(box, alive={id(box): (JOB,)}, held=lambda: (box,))
    assert looked(registry, client, read).dead == frozenset()


class Closing(Box):
    def __del__(self) -> None:
        self.inner.use()  # type: ignore[attr-defined]


class Slotted:
    __slots__ = ("inner",)

    def __init__(self, inner: object) -> None:
        self.inner = inner


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(name)


class Asking(metaclass=Meta):
    inner: object


class Hiding:
    """Its attributes are not where they seem to be."""

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise AssertionError("code of the program's runs")


def answering(rdd: Rdd) -> Asking:
    box = Asking()
    box.inner = rdd
    return box


@pytest.mark.parametrize(
    "make", [Closing, Slotted, answering, lambda rdd: (one for one in [rdd]), lambda rdd: lambda: rdd]
)
def test_what_is_not_looked_into_keeps_what_it_holds(
    make: Callable[[Rdd], object], registry: Registry, client: Client
) -> None:
    box = make(Rdd(JavaObject("o1", client)))
    assert looked(registry, client, names(box, held=lambda: (box,))).dead == frozenset()
    if isinstance(box, Closing):
        box.inner = types.SimpleNamespace(use=lambda: None)


def test_nothing_of_the_programs_runs() -> None:
    assert not is_container(Hiding)
    assert inside(Hiding()) == []


class Calling(Slotted):
    """It calls something else its attributes."""

    __dict__ = Slotted.__dict__["inner"]


def test_one_that_cannot_be_read_holds_nothing_that_is_known() -> None:
    rdd = Rdd(JavaObject("o1", Client()))
    box, empty = Calling([rdd]), Calling(1)
    del empty.inner
    assert inside(empty) == []
    assert id(rdd) not in names_of(leading([empty, box], {id(rdd)}), {id(rdd)}, {id(box): (JOB,)})


class HidingList(list[Any]):
    """As `Hiding`, and a container."""

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise AssertionError("code of the program's runs")


def test_attributes_that_are_elsewhere_are_not_told_apart() -> None:
    boxes = [HidingList([1]), Calling([1]), Pair(1, 2)]
    assert [has_plain_keys(box) for box in boxes] == [False, False, False]
    assert [under(box, ["inner", "first"]) for box in boxes] == [[], [], []]


class Asked:
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("code of the program's runs")


def test_what_stands_for_a_module_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lazily", Asked())
    assert not is_container(type("Lazy", (), {"__module__": "lazily"}))


def test_library_classes_are_not_looked_into() -> None:
    assert not is_container(type(gc))
    assert not is_container(pytest.Item)
    assert not is_container(type(JavaObject))


def test_what_leads_nowhere_is_let_go() -> None:
    rdd = Rdd(JavaObject("o1", Client()))
    nowhere, somewhere = [[1], {"k": 2}], {"k": [rdd]}
    assert leading([nowhere, somewhere], {id(rdd)}) in ([somewhere, [rdd]], [[rdd], somewhere])


def test_a_class_that_was_looked_into_goes_with_its_last_name() -> None:
    class Local:
        held = Box(None)

        def __init__(self) -> None:
            self.inner = Box(None)

    held, kind = weakref.ref(Local.held), weakref.ref(Local)
    assert inside(Local()), "it was looked into"
    del Local
    gc.collect()
    assert (held(), kind()) == (None, None)


def test_what_is_too_large_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "REFERENCES_MAX", 4)
    rdd = Rdd(JavaObject("o1", Client()))
    large = [rdd, 1, 2, 3, 4]
    assert leading([large], {id(rdd)}) == []
    assert leading([[rdd, 1, 2]], {id(rdd)}) == [[rdd, 1, 2]]


CHANGES: dict[type, list[Callable[[Any], object]]] = {
    deque: [lambda one: one.append(2), lambda one: one.pop()],
    set: [lambda one: one.add(2), lambda one: one.discard(2)],
    dict: [lambda one: one.setdefault(2), lambda one: one.pop(2)],
    Box: [lambda one: vars(one).setdefault("other"), lambda one: vars(one).pop("other")],
}


@pytest.mark.parametrize("box", [deque([1]), {1}, {"k": 1}, Box(1)], ids=lambda box: type(box).__name__)
def test_others_may_change_it_while_it_is_read(box: object) -> None:
    changes, is_enough = CHANGES[type(box)], threading.Event()
    other = threading.Thread(
        target=lambda: deque((change(box) for _ in iter(is_enough.is_set, True) for change in changes), maxlen=0)
    )
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    other.start()
    try:
        assert all(inside(box) for _ in range(150_000))  # it is never empty, and what cannot be read has nothing inside
    finally:
        is_enough.set()
        sys.setswitchinterval(often)
        other.join()


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (lambda rdd: [0, rdd], "job[1]"),
        (lambda rdd: {"k": rdd}, "job['k']"),
        (lambda rdd: {Box(1): rdd}, "job[…]"),
        (Box, "job.inner"),
        (lambda rdd: Box([{2: (rdd,)}]), "job.inner[0][2][0]"),
        (lambda rdd: [[rdd], rdd], "job[1]"),
        (named, "job.inner[0]"),
        (lambda rdd: deque([rdd]), "job[…]"),
        (lambda rdd: {rdd}, "job[…]"),
    ],
)
def test_what_is_in_a_named_container_is_called_by_the_way_to_it(make: Callable[[object], object], way: str) -> None:
    rdd = Rdd(JavaObject("o1", Client()))
    box = make(rdd)
    boxes = leading([box], {id(rdd)})
    (name,) = names_of(boxes, {id(rdd)}, {id(box): (Name("self", "/x/etl.py", 9, "Job.run"), JOB)})[id(rdd)]
    assert (name.name, name.line) == (way, 3)


class Key(str):
    """One that would answer with code of its own."""

    __slots__ = ()

    def __repr__(self) -> str:
        raise AssertionError("code of the program's runs")

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        raise AssertionError("code of the program's runs")


def with_attribute(key: Any) -> Callable[[object], object]:
    def made(rdd: object) -> object:
        box = Box(1)
        vars(box)[key] = rdd
        return box

    return made


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (lambda rdd: {10**5000: rdd}, "job[…]"),
        (lambda rdd: {"s3://bucket/file?token=" + 40 * "x": rdd}, "job[…]"),
        (lambda rdd: {Key("k"): rdd}, "job[…]"),
        (with_attribute(Key("k")), "job.…"),
        (with_attribute(7), "job.…"),
        (with_attribute("a`\n"), "job.…"),
    ],
)
def test_what_is_no_short_name_or_number_is_not_told(make: Callable[[object], object], way: str) -> None:
    rdd = Rdd(JavaObject("o1", Client()))
    box = make(rdd)
    (name,) = names_of(leading([box], {id(rdd)}), {id(rdd)}, {id(box): (JOB,)})[id(rdd)]
    assert name.name == way


def test_of_several_ways_always_the_same_is_told() -> None:
    """Whatever else leads to handles at that look."""
    rdd, other = Rdd(JavaObject("o1", Client())), Rdd(JavaObject("o2", Client()))
    boxes = {name: [rdd] for name in "abcdefgh"}
    others = [[other] for _ in range(100)]
    known = {id(box): (replace(JOB, name=name),) for name, box in boxes.items()}
    told = {
        names_of(leading([*boxes.values(), *others[:count]], {id(rdd), id(other)}), {id(rdd)}, known)[id(rdd)][0].name
        for count in range(100)
    }
    assert told == {"a[0]"}


def test_what_no_live_name_leads_to_is_called_nothing() -> None:
    rdd = Rdd(JavaObject("o1", Client()))
    assert names_of(leading([[rdd]], {id(rdd)}), {id(rdd)}, {}) == {}


def test_a_ring_has_ways_of_a_bounded_length() -> None:
    rdd = Rdd(JavaObject("o1", Client()))
    box: object = rdd
    for _ in range(50):
        box = Box(box)
    found = names_of(leading([box], {id(rdd)}), {id(rdd)}, {id(box): (JOB,)})
    assert max(len(name.name) for (name,) in found.values()) <= ways.CALLED_MAX
    assert id(rdd) not in found


def test_holders_tell_the_way(registry: Registry, client: Client) -> None:
    job = Box([Rdd(JavaObject("o1", client))])
    read = names(alive={id(job): (JOB,)}, held=lambda: (job,))
    assert looked(registry, client, read).names == {"o1": "`job.inner[0]` in etl.py:3"}
