"""Which JVM objects are dead: with PySpark's shapes and py4j's own proxies, without a JVM."""

from __future__ import annotations

import gc
import inspect
import platform
import sysconfig
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.clientserver import JavaClient
from py4j.java_collections import JavaList, JavaMap, JavaSet
from py4j.java_gateway import JavaObject

from listener_bridge.reach import liveness, whose
from listener_bridge.reach.counting import Census, Reading
from listener_bridge.reach.findings import Program
from listener_bridge.reach.handles import Handles, proxies_of, released_of
from listener_bridge.reach.liveness import Dead, Name
from listener_bridge.reach.registry import TIDY_ABOVE, Registry
from tests.unit.listener_bridge.reach.making import Client, Pipelined, Rdd, names

CLASSES = (Rdd, Pipelined)
HERE = Path(__file__).name
NO_NAMES = names()


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def registry() -> Iterator[Registry]:
    registry = Registry(CLASSES, (Rdd,))
    registry.watch()
    yield registry
    registry.unwatch()


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Cycles stay until the test is over, as they do between two collections."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def look(registry: Registry, client: Client, read: Callable[..., Any] = NO_NAMES) -> Program:
    return Handles(proxies_of(client), registry, read).read()


def called(proxy: JavaObject, *methods: str) -> JavaObject:
    """A proxy that py4j has put into cycles with its members."""
    for method in methods:
        getattr(proxy, method)
    return proxy


def test_a_handle_that_a_live_name_holds_is_alive(registry: Registry, client: Client) -> None:
    rdd = Rdd(called(JavaObject("o1", client), "rdd", "id"))
    assert look(registry, client).dead == frozenset()
    assert rdd is not None


def test_a_handle_that_only_a_dead_name_holds_is_dead(registry: Registry, client: Client) -> None:
    rdd = Rdd(called(JavaObject("o1", client), "rdd", "id"))
    assert look(registry, client, names(rdd)).dead == {"o1"}


def test_a_second_reference_keeps_it(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    shelf = [rdd]
    assert look(registry, client, names(rdd)).dead == frozenset()
    assert shelf


def test_a_proxy_held_beside_its_handle_is_alive(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    jrdd = rdd._jrdd
    assert look(registry, client, names(rdd)).dead == frozenset()
    assert look(registry, client, names(rdd, jrdd)).dead == {"o1"}


def test_a_method_of_a_proxy_that_is_held_keeps_it(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    method = rdd._jrdd.count
    assert look(registry, client, names(rdd)).dead == frozenset()
    assert method is not None


def test_a_proxy_that_somebody_knows_weakly_is_alive(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    known = weakref.ref(rdd._jrdd)
    assert look(registry, client, names(rdd)).dead == frozenset()
    assert known() is not None
    del known
    assert look(registry, client, names(rdd)).dead == {"o1"}


def test_somebody_who_holds_the_attributes_keeps_what_is_in_them(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    inside = vars(rdd)
    assert look(registry, client, names(rdd)).dead == frozenset()
    assert inside


@pytest.mark.usefixtures("no_collection")
def test_a_proxy_that_waits_for_the_collector_is_dead(registry: Registry, client: Client) -> None:
    rdd: Rdd | None = Rdd(called(JavaObject("o1", client), "rdd"))
    rdd = None
    assert client.dropped == []  # py4j has not let it go: it is in a cycle with its own member
    assert look(registry, client).dead == {"o1"}
    assert rdd is None


class Waiting(Client):
    """As the client of pinned threads, with nobody who takes from the list."""

    def __init__(self) -> None:
        super().__init__()
        self.finalizer_deque: deque[Any] = deque()

    def garbage_collect_object(self, target_id: str) -> None:
        JavaClient.garbage_collect_object(self, target_id)


def test_an_object_whose_proxy_is_gone_is_dead_before_the_jvm_hears_of_it(registry: Registry) -> None:
    client, other = Waiting(), Waiting()
    other.finalizer_deque = client.finalizer_deque
    gone, theirs, kept = JavaObject("o1", client), JavaObject("o2", other), JavaObject("o3", client)
    looking = Handles(proxies_of(client), registry, NO_NAMES, released=released_of(client))
    assert looking.read().dead == frozenset()
    del gone, theirs
    client.finalizer_deque.append(None)  # the order to end
    assert looking.read().dead == {"o1"}
    client.finalizer_deque.clear()  # the JVM has heard
    assert looking.read().dead == frozenset()
    assert kept is not None


def test_while_the_jvm_waits_for_an_answer_nothing_is_dead_for_being_dropped(registry: Registry) -> None:
    """What a function of the program's returns is named in the answer's text, and its proxy may be gone already."""
    client, arrived, go_on = Waiting(), threading.Event(), threading.Event()

    def _call_proxy() -> None:
        arrived.set()
        assert go_on.wait(30)

    thread = threading.Thread(target=_call_proxy)
    thread.start()
    assert arrived.wait(30)
    JavaObject("o1", client)
    looking = Handles(proxies_of(client), registry, NO_NAMES, released=released_of(client))
    assert looking.read().dead == frozenset()
    go_on.set()
    thread.join()
    assert looking.read().dead == {"o1"}


def test_what_is_gone_is_dead_in_a_python_that_proves_no_more(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "python_implementation", lambda: "PyPy")
    client = Waiting()
    JavaObject("o1", client)
    assert Handles(proxies_of(client), registry, NO_NAMES, released=released_of(client)).read().dead == {"o1"}


def test_a_client_that_tells_the_jvm_at_once_has_no_such_list(client: Client) -> None:
    assert released_of(client)() == frozenset()


@pytest.mark.parametrize("kind", [JavaList, JavaMap, JavaSet])
@pytest.mark.usefixtures("no_collection")
def test_a_collection_that_waits_for_the_collector_is_dead(
    registry: Registry, client: Client, kind: Callable[[str, Client], Any]
) -> None:
    found: Any = kind("o1", client)
    called(found, "size")
    assert look(registry, client).dead == frozenset()
    member = found.size
    found = None
    assert look(registry, client).dead == frozenset()
    del member
    assert client.dropped == []  # py4j has not let it go: it is in cycles with its own members from the start
    assert look(registry, client).dead == {"o1"}


def test_a_handle_that_somebody_knows_weakly_is_alive(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    cache = weakref.WeakValueDictionary({"rdd": rdd})
    assert look(registry, client, names(rdd)).dead == frozenset()
    del cache
    assert look(registry, client, names(rdd)).dead == {"o1"}


class Finalised(Rdd):
    def __del__(self) -> None:
        self._jrdd.count()


def test_a_handle_with_a_finaliser_is_alive(registry: Registry, client: Client) -> None:
    rdd = Finalised(JavaObject("o1", client))
    assert look(registry, client, names(rdd)).dead == frozenset()


def test_a_handle_of_the_program_s_own_class_is_asked_nothing(registry: Registry, client: Client) -> None:
    asked: list[str] = []

    class Asked(Rdd):
        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            return super().__getattribute__(name)

    alive, dead = Asked(JavaObject("o1", client)), Asked(JavaObject("o2", client))
    found = look(registry, client, names(dead))
    assert found.dead == {"o2"}
    assert set(found.names) == {"o1"}
    assert asked == []
    assert alive is not None


def test_prev_of_dead_handles_does_not_count_to_any_depth(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    first = Pipelined(rdd)
    second = Pipelined(first)
    third = Pipelined(second)
    assert look(registry, client, names(rdd, first, second)).dead == frozenset()  # `third` holds them all
    assert look(registry, client, names(rdd, first, second, third)).dead == {"o1"}


@pytest.mark.parametrize("mark", ["is_cached", "is_checkpointed"])
def test_what_a_persisted_handle_was_made_of_is_told_by_its_own_object(
    registry: Registry, client: Client, mark: str
) -> None:
    rdd = Rdd(JavaObject("o1", client))
    made = Pipelined(rdd)
    setattr(made, mark, True)
    assert look(registry, client, names(rdd)).dead == frozenset()  # what `made` is, is not known yet
    made._jrdd_val = JavaObject("o2", client)  # type: ignore[attr-defined]
    assert look(registry, client, names(rdd)).dead == {"o1"}
    setattr(made, mark, False)  # what is made of it from now on is made of `rdd`
    assert look(registry, client, names(rdd)).dead == frozenset()


def test_handles_that_hold_each_other_in_a_ring(registry: Registry, client: Client) -> None:
    one, other = Rdd(JavaObject("o1", client)), Rdd(JavaObject("o2", client))
    one.friend, other.friend = other, one  # type: ignore[attr-defined]
    assert look(registry, client, names(one)).dead == frozenset()
    assert look(registry, client, names(one, other)).dead == {"o1", "o2"}


def test_more_dead_names_than_references_is_doubt(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    assert look(registry, client, names(rdd, rdd)).dead == frozenset()


def test_a_program_that_moves_has_nothing_dead(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    said = Dead({id(rdd): 1}, moved=True)
    assert look(registry, client, lambda *_: said) == Program()


def test_two_readings_that_differ_prove_nothing(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    shelf: list[Rdd] = []

    def names_move(*_: object) -> Dead:
        shelf.append(rdd)  # somebody takes a reference between the readings, each time
        return Dead({id(rdd): 1})

    assert look(registry, client, names_move) == Program()


def test_a_program_that_has_gone_on_behind_the_last_counting_proves_nothing(
    registry: Registry, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead name that a loop binds and unbinds may be there whenever names are read and references are counted."""
    rdd = Rdd(JavaObject("o1", client))
    told: list[Dead] = []

    def are_still(_: object, names: Dead) -> bool:
        told.append(names)
        return len(told) > 3

    monkeypatch.setattr(liveness, "are_still", are_still)
    assert look(registry, client, names(rdd)).dead == frozenset()
    assert look(registry, client, names(rdd)).dead == {"o1"}
    assert told == [Dead({id(rdd): 1})] * 4


def test_a_program_that_comes_to_rest_is_read_again(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", client))
    said = iter([Dead(moved=True), Dead(moved=True)])
    rest = Dead({id(rdd): 1})
    assert look(registry, client, lambda *_: next(said, rest)).dead == {"o1"}


def test_what_grows_while_it_is_read_is_read_again(
    registry: Registry, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rdd = Rdd(JavaObject("o1", client))
    grows, read = [RuntimeError("dictionary changed size during iteration")], Census.read

    def reading(census: Census, *asked: Any) -> Reading | None:
        if grows:
            raise grows.pop()
        return read(census, *asked)

    monkeypatch.setattr(Census, "read", reading)
    assert look(registry, client, names(rdd)).dead == {"o1"}


def test_whatever_goes_wrong_is_said_once_and_ends_no_later_look(
    registry: Registry, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rdd = Rdd(JavaObject("o1", client))
    fails, read = [TypeError("no dictionary"), TypeError("no dictionary")], Census.read

    def reading(census: Census, *asked: Any) -> Reading | None:
        if fails:
            raise fails.pop()
        return read(census, *asked)

    monkeypatch.setattr(Census, "read", reading)
    handles = Handles(proxies_of(client), registry, names(rdd))
    assert [handles.read().dead for _ in range(3)] == [frozenset(), frozenset(), {"o1"}]
    (said,) = caplog.messages
    assert said.startswith("the program's names could not be read")
    assert "no dictionary" in said


def test_a_python_without_exact_counts_has_nothing_dead(
    registry: Registry, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rdd = Rdd(JavaObject("o1", client))
    monkeypatch.setattr(platform, "python_implementation", lambda: "PyPy")
    assert look(registry, client, names(rdd)) == Program()


def test_proxies_of_another_gateway_are_not_ours(registry: Registry, client: Client) -> None:
    rdd = Rdd(JavaObject("o1", Client(port=1)))
    assert look(registry, client, names(rdd)).dead == frozenset()


def test_the_names_people_know(registry: Registry, client: Client) -> None:
    named, contained = Rdd(JavaObject("o1", client)), Rdd(JavaObject("o2", client))
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    shelf = [contained]
    said = names(alive={id(named): (Name("named", "jobs/main.py", 7, "main"), Name("also", __file__, 1, "test"))})
    assert look(registry, client, said).names == {
        "o1": f"`named` in main.py:7, `also` in {HERE}:{line}",
        "o2": f"what was made at {HERE}:{line}, held by an attribute, a container or a library",
    }
    assert shelf


def test_a_name_of_a_session_says_where_that_was_made_which_it_holds(registry: Registry, client: Client) -> None:
    ranks = Rdd(JavaObject("o1", client))
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    said = names(alive={id(ranks): (Name("ranks", "", 1, "<module>"), Name("_7", "", 1, "<module>"))})
    assert look(registry, client, said).names == {"o1": f"`ranks` made at {HERE}:{line}, `_7` made at {HERE}:{line}"}


@pytest.mark.parametrize("file", ["<stdin>", "<ipython-input-3-0a1b>", "/tmp/ipykernel_8/31.py"])
def test_what_people_type_has_made_it_and_not_the_command_that_began_the_shell(
    file: str, registry: Registry, client: Client
) -> None:
    typed = {"Rdd": Rdd, "proxy": JavaObject("o1", client)}
    command = compile("exec(cell, typed)", str(Path(sysconfig.get_path("scripts"), "ipython")), "exec")
    exec(command, {"cell": compile("ranks = Rdd(proxy)", file, "exec"), "typed": typed})
    said = names(alive={id(typed["ranks"]): (Name("ranks", "", 1, "<module>"),)})
    assert look(registry, client, said).names == {"o1": f"`ranks` made at {Path(file).name}:1"}


def test_a_name_says_more_than_none(registry: Registry, client: Client) -> None:
    shelf = [Rdd(JavaObject("o1", client))]
    grown = Pipelined(shelf[0])
    said = names(alive={id(grown): (Name("grown", "main.py", 7, "main"),)})
    assert look(registry, client, said).names == {"o1": "`grown` in main.py:7"}


def test_a_look_keeps_nothing_alive(registry: Registry, client: Client) -> None:
    rdd: Rdd | None = Rdd(JavaObject("o1", client))
    watching = Handles(proxies_of(client), registry, names())
    watching.read()
    before = watching.changed
    rdd = None
    assert watching.changed == before + 1
    assert client.dropped == ["o1"]
    assert rdd is None


# ---- the registry ----


def test_handles_made_before_are_found() -> None:
    before = Rdd(JavaObject("o1", Client()))
    registry = Registry(CLASSES)
    registry.watch()
    try:
        assert any(handle is before for handle, _ in registry.alive())
    finally:
        registry.unwatch()


def test_the_classes_are_left_as_they_were_found() -> None:
    found: list[object] = [Rdd.__init__, Pipelined.__init__, Rdd.toLocalIterator]
    registry = Registry(CLASSES, (Rdd,))
    registry.watch()
    assert list(inspect.signature(Pipelined).parameters) == ["prev"]
    registry.unwatch()
    assert [Rdd.__init__, Pipelined.__init__, Rdd.toLocalIterator] == found


def test_who_wrapped_us_stays_and_we_note_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(CLASSES)
    original = Rdd.__init__
    registry.watch()
    ours = Rdd.__init__

    def theirs(self: Rdd, jrdd: JavaObject) -> None:
        ours(self, jrdd)

    monkeypatch.setattr(Rdd, "__init__", theirs)
    registry.unwatch()
    rdd = Rdd(JavaObject("o1", Client()))
    assert Rdd.__init__ is theirs
    assert all(handle is not rdd for handle, _ in registry.alive())
    monkeypatch.setattr(Rdd, "__init__", original)


def test_an_error_of_the_program_stays_its_own(registry: Registry) -> None:
    with pytest.raises(AttributeError, match="_jrdd"):
        Pipelined("no handle")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="jrdd"):
        Rdd()  # type: ignore[call-arg]


def test_the_dead_are_cleared_away_without_a_look(registry: Registry, client: Client) -> None:
    for _ in range(3 * TIDY_ABOVE):
        Rdd(JavaObject("o1", client))
    assert len(registry._kept) + len(registry._gone) <= 2 * (TIDY_ABOVE + 2)
    assert registry.changed >= 3 * TIDY_ABOVE


def test_a_half_consumed_iterator_keeps_its_handle(registry: Registry, client: Client) -> None:
    rdd: Rdd | None = Rdd(JavaObject("o1", client))
    assert rdd is not None
    iterator = rdd.toLocalIterator()
    assert next(iterator) == 0
    rdd = None
    assert look(registry, client).dead == frozenset()
    assert client.dropped == []
    seen = registry.changed
    del iterator
    assert client.dropped == ["o1"], "as without us: where the program writes no shuffle there is no look"
    assert registry.changed > seen


def test_an_iterator_at_its_end_keeps_nothing(registry: Registry, client: Client) -> None:
    rdd: Rdd | None = Rdd(JavaObject("o1", client))
    assert rdd is not None
    iterator = rdd.toLocalIterator()
    rdd = None
    assert list(iterator) == [0, 1, 2]
    registry.alive()
    assert client.dropped == ["o1"]


# ---- whose code ----


def test_whose_code_it_is() -> None:
    import json

    import py4j.java_gateway

    assert whose.is_own_file(__file__)
    assert whose.is_own_file("relative/job.py")
    for theirs in (json.__file__, py4j.java_gateway.__file__, whose.__file__, "<string>", "<frozen runpy>", ""):
        assert not whose.is_own_file(theirs), theirs
    assert not whose.is_own_file("/somewhere/lib/python3.9/site-packages/pandas/core/frame.py")


def test_of_spark_s_home_only_its_python_is_spark_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    caches = (whose._folders_of_spark_and_ours, whose._folders, whose.is_own_file)
    for cache in caches:
        cache.cache_clear()
    try:
        assert whose.is_own_file(str(tmp_path / "work-dir" / "job.py"))
        assert not whose.is_own_file(str(tmp_path / "python" / "pyspark" / "shell.py"))
    finally:
        for cache in caches:
            cache.cache_clear()
