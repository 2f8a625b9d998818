"""Calls under way, noted by a wrapper around a client that has no JVM."""

from __future__ import annotations

import gc
import itertools
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from py4j.protocol import escape_new_line

from listener_bridge.reach import calls as calls_module
from listener_bridge.reach import naming, whose
from listener_bridge.reach.calls import OUR_THREADS, PROPERTY, Calls
from listener_bridge.reach.regions import Regions
from listener_bridge.reach.slots import Past
from listener_bridge.reach.stacks import current_frames
from listener_bridge.tap.facts import JobStarted
from tests.unit.listener_bridge.reach.making import Client

FIT = "c\no7\nfit\nro8\ne\n"
MARK = "c\no1\nsetLocalProperty\nsspark.shuffleLifecycle.thread\ns{}\ne\n"


GIVEN = "c\no3\nsetLocalProperties\nro4\ne\n"


class Thing:
    """Something of the program's."""


class Slow(Client):
    """A client whose answers are held back. `inside`: what a call back from the JVM does meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived, self.answer = threading.Event(), threading.Event()
        self.fails: type[BaseException] | None = None
        self.late_s = 0.0

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> str:
        self.said.append(command)
        if "\nfit\n" in command or "\nsql\n" in command:
            self.arrived.set()
            assert self.answer.wait(30)
        until_s = time.monotonic() + self.late_s
        while time.monotonic() < until_s:
            pass
        if self.fails is not None:
            raise self.fails
        return "yv"


@pytest.fixture(autouse=True)
def unknown_files() -> Iterator[None]:
    """Whose a file is was asked of nobody before, and is of nobody after."""
    naming.kind_of_file.cache_clear()
    yield
    naming.kind_of_file.cache_clear()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Slow:
    monkeypatch.setattr(calls_module, "_THREADS", itertools.count(1))
    return Slow()


@pytest.fixture
def calls(client: Slow) -> Iterator[Calls]:
    calls = Calls(client, "o1", is_pinned=True)
    calls.watch()
    yield calls
    client.answer.set()
    calls.unwatch()


@contextmanager
def fitting(client: Slow, name: str = "theirs", command: str = FIT) -> Iterator[None]:
    """A thread whose `fit` is under way, or another command."""
    thread = threading.Thread(target=lambda: client.send_command(command), name=name)
    thread.start()
    assert client.arrived.wait(30)
    try:
        yield
    finally:
        client.answer.set()
        thread.join()


def test_a_call_is_under_way_until_it_returns(calls: Calls, client: Slow) -> None:
    with fitting(client):
        (call,) = calls.under_way()
        assert (call.thread, call.target, call.method) == ("t1", "o7", "fit")
        assert abs(call.started_ms - time.time() * 1000) < 30_000
    assert calls.under_way() == ()


@pytest.mark.parametrize(
    ("text", "in_steps"),
    [
        ("BEGIN\n  FOR r AS SELECT k FROM t DO\n    SET a = r.k;\n  END FOR;\nEND", True),
        ("begin for select 1 do select 2; end\n-- of it\n  /* **/for; end", True),
        ("BEGIN DECLARE c CURSOR FOR SELECT k FROM t; OPEN c; END", True),
        ("BEGIN\n  DECLARE EXIT HANDLER FOR SQLEXCEPTION\n  BEGIN SELECT 1; END;\n  SELECT 2;\nEND", False),
        ("SELECT substring(s FROM 1 FOR 2) FROM t WHERE kind = 'weekend format'", False),
    ],
)
def test_a_script_that_reads_a_result_bit_by_bit_is_one(calls: Calls, client: Slow, text: str, in_steps: bool) -> None:
    with fitting(client, command=f"c\no7\nsql\ns{escape_new_line(text)}\nro8\ne\n"):
        (call,) = calls.under_way()
    assert (call.method, call.in_steps) == ("sql", in_steps)


def test_objects_that_are_given_back_are_no_calls(calls: Calls, client: Slow) -> None:
    """py4j gives back each that the program has dropped, in a thread of its own, for which no line speaks."""
    client.late_s = 0.002
    assert client.send_command("m\nd\no7\ne\n") == "yv"
    assert (client.said, calls._slots) == (["m\nd\no7\ne\n"], {})


def test_answers_and_errors_are_the_clients(calls: Calls, client: Slow) -> None:
    assert client.send_command("r\nu\norg\ne\n") == "yv"
    client.fails = ConnectionError
    with pytest.raises(ConnectionError):
        client.send_command("c\no2\ncount\ne\n")
    assert calls.under_way() == ()


def test_a_thread_is_marked_once_with_its_first_call(calls: Calls, client: Slow) -> None:
    client.send_command("r\nu\norg\ne\n")
    client.send_command("c\no2\ncount\ne\n")
    client.send_command("c\no2\ncount\ne\n")
    assert client.said == ["r\nu\norg\ne\n", MARK.format("t1"), "c\no2\ncount\ne\n", "c\no2\ncount\ne\n"]


def test_a_thread_that_is_given_other_properties_is_marked_again_by_their_name(calls: Calls, client: Slow) -> None:
    client.send_command(GIVEN)
    client.send_command("c\no2\ncount\ne\n")
    assert client.said == [MARK.format("t1"), GIVEN, MARK.format("p-o4"), "c\no2\ncount\ne\n"]


def test_a_thread_that_is_given_none_is_marked_as_itself_again(calls: Calls, client: Slow) -> None:
    given = "c\no3\nsetLocalProperties\nn\ne\n"
    client.send_command(given)
    client.send_command("c\no2\ncount\ne\n")
    assert client.said == [MARK.format("t1"), given, MARK.format("t2"), "c\no2\ncount\ne\n"]


def test_jobs_of_threads_that_share_their_properties_are_of_all_of_them(calls: Calls, client: Slow) -> None:
    """The mark of who set it last is on the jobs of all: it must not hide whose call is under way."""

    def fit() -> None:
        client.send_command(GIVEN)
        client.send_command(FIT)

    thread = threading.Thread(target=fit)
    thread.start()
    assert client.arrived.wait(30)
    client.late_s = 0.01
    client.send_command(GIVEN)
    began_ms = time.time() * 1000
    client.send_command("c\no2\ncount\ne\n")
    last = [said for said in client.said if said.startswith(MARK.split("{}")[0])][-1].split("\n")[4][1:]
    (fitting,) = calls.under_way()
    assert calls.of_thread(last, began_ms + 5, 2.0) == (fitting,)
    assert calls.of_thread(last, fitting.started_ms - 1000, 2.0) == (fitting,), "the clock was set back"
    client.answer.set()
    thread.join()
    assert calls.of_thread(last, began_ms + 5, 2.0) == ()


def test_without_pinned_threads_nobody_is_marked(client: Slow) -> None:
    calls = Calls(client, "o1", is_pinned=False)
    calls.watch()
    client.send_command("c\no3\nsetLocalProperties\nro4\ne\n")
    client.send_command("c\no2\ncount\ne\n")
    assert not [said for said in client.said if PROPERTY_SET in said]
    calls.unwatch()


PROPERTY_SET = "\nsetLocalProperty\n"


def test_a_thread_that_makes_its_first_call_while_others_are_read_is_not_forgotten(
    calls: Calls, client: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[threading.Thread] = []

    def frames_before_it_began() -> object:
        found = current_frames()
        began.append(threading.Thread(target=lambda: client.send_command(FIT)))
        began[0].start()
        assert client.arrived.wait(30)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(calls_module, "other_frames", frames_before_it_began)
        calls.under_way()
    assert [call.method for call in calls.under_way()] == ["fit"]
    client.answer.set()
    began[0].join()


def test_our_own_threads_are_left_out(calls: Calls, client: Slow) -> None:
    with fitting(client, name=f"{OUR_THREADS}-tap"):
        assert calls.under_way() == ()
    assert client.said == [FIT]


def test_a_call_of_before_is_known_while_it_lasts(client: Slow) -> None:
    calls = Calls(client, "o1", is_pinned=True)
    with fitting(client):
        calls.watch()
        (call,) = calls.under_way()
        assert (call.method, call.started_ms) == ("", 0.0)
    assert calls.under_way() == ()
    calls.unwatch()


def test_a_call_back_from_the_jvm_is_nested(calls: Calls, client: Slow) -> None:
    seen: list[tuple[str, ...]] = []

    class CallsBack(Client):
        def send_command(self, command: str, retry: bool = True, binary: bool = False) -> str:
            if "\nouter\n" in command:
                self.send_command("c\no2\ninner\ne\n")
            elif "\ninner\n" in command:
                seen.append(tuple(call.method for call in nested.under_way()))
            return "yv"

    back = CallsBack()
    nested = Calls(back, "o1", is_pinned=False)
    nested.watch()
    back.send_command("c\no2\nouter\ne\n")
    assert seen == [("outer", "inner")]
    assert nested.under_way() == ()


def test_a_note_that_an_interrupt_left_behind_is_no_call(calls: Calls, client: Slow) -> None:
    client.send_command("c\no2\ncount\ne\n")
    (slot,) = calls._slots.values()
    slot.under_way = (99, time.time(), FIT, None)
    assert calls.under_way() == ()


def test_whose_job_it_is(calls: Calls, client: Slow) -> None:
    with fitting(client):
        (call,) = calls.under_way()
        now_ms = time.time() * 1000
        assert calls.of_thread("t1", now_ms, 2.0) == (call,)
        assert calls.of_thread("t1", call.started_ms - 1000, 2.0) is None  # from before: nobody knows
        assert calls.of_thread("t2", now_ms, 2.0) is None
        assert calls.of_thread(None, now_ms, 2.0) is None
        started_ms = call.started_ms
        while time.time() * 1000 < started_ms + 5:
            threading.Event().wait(0.001)
    assert calls.of_thread("t1", started_ms + 3, 0.0) == ()  # that call has returned


def test_a_call_keeps_its_jobs_when_the_clock_is_set_back_to_an_earlier_call_of_its_thread(
    calls: Calls, client: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fitting(client):
        (call,) = calls.under_way()
        (slot,) = calls._slots.values()
        began_s = call.started_ms / 1000
        slot.past.append(Past(began_s - 3700, began_s - 3500, "fit", "job.py:1"))
        monkeypatch.setattr(time, "time", lambda: began_s - 3590)  # an hour back, ten seconds after it began
        assert calls.of_thread("t1", (began_s - 3592) * 1000, 2.0) == (call,)


def test_nothing_of_the_program_stays_with_who_looked(calls: Calls, client: Slow) -> None:
    held: list[weakref.ref[Thing]] = []

    def program() -> None:
        thing = Thing()
        held.append(weakref.ref(thing))
        client.send_command(FIT)

    regions = Regions(calls)
    gc.collect()
    gc.disable()
    try:
        thread = threading.Thread(target=program)
        thread.start()
        assert client.arrived.wait(30)
        assert len(calls.under_way()) == 1
        regions.hear(JobStarted(0, 0, int(time.time() * 1000), (), None, None, None, {PROPERTY: "t1"}))
        assert len(regions.read()) == 1
        client.answer.set()
        thread.join()
        assert held[0]() is None
    finally:
        gc.enable()


def test_threads_that_have_ended_are_forgotten(client: Slow) -> None:
    calls = Calls(client, "o1", is_pinned=False)
    calls.watch()
    for _ in range(100):
        thread = threading.Thread(target=lambda: client.send_command("c\no2\ncount\ne\n"))
        thread.start()
        thread.join()
    calls.under_way()
    assert len(calls._slots) <= 1
    calls.unwatch()


def test_the_client_is_left_as_it_was_found(client: Slow) -> None:
    calls = Calls(client, "o1", is_pinned=True)
    calls.watch()
    calls.unwatch()
    assert "send_command" not in vars(client)
    client.send_command("c\no2\ncount\ne\n")
    assert client.said == ["c\no2\ncount\ne\n"]


def test_who_wrapped_us_stays(client: Slow) -> None:
    calls = Calls(client, "o1", is_pinned=True)
    calls.watch()
    ours = client.send_command
    theirs = lambda *arguments, **named: ours(*arguments, **named)  # noqa: E731
    client.send_command = theirs  # type: ignore[method-assign]
    calls.unwatch()
    assert client.send_command is theirs


COUNT = "c\no2\ncount\ne\n"
SCRIPT = "/home/ann/etl.py"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[..., threading.Thread]:
    """Runs a script of the program's in a thread of its own; all else, this file too, is libraries'."""
    monkeypatch.setattr(whose, "is_own_file", lambda name: name == SCRIPT)

    def started(text: str, client: Slow, name: str = "theirs") -> threading.Thread:
        code = compile(text, SCRIPT, "exec")
        known = {"call": client.send_command, "FIT": FIT, "COUNT": COUNT, "GIVEN": GIVEN}
        thread = threading.Thread(target=lambda: exec(code, known), name=name)
        thread.start()
        return thread

    return started


def test_a_call_has_the_line_it_was_made_from(
    calls: Calls, client: Slow, program: Callable[..., threading.Thread]
) -> None:
    thread = program("x = 1\ncall(FIT)", client)
    assert client.arrived.wait(30)
    at_ms = time.time() * 1000
    line = "send_command at /home/ann/etl.py:2"
    assert calls.line_of("t1", None, at_ms) == line
    assert calls.line_of(None, "fit", at_ms) == line
    assert calls.line_of("t1", None, at_ms - 60_000) == "", "it had not begun"
    assert (calls.line_of("t9", None, at_ms), calls.line_of(None, "count", at_ms)) == ("", "")
    while time.time() * 1000 < at_ms + 2:  # shorter ones are forgotten
        pass
    client.answer.set()
    thread.join()
    assert calls.line_of("t1", None, at_ms) == line, "it has returned"
    assert calls.line_of(None, "fit", at_ms) == line
    assert calls.line_of("t1", None, at_ms + 60_000) == ""


def test_of_a_threads_calls_each_has_its_own_line(
    calls: Calls, client: Slow, program: Callable[..., threading.Thread]
) -> None:
    client.late_s = 0.01  # each one is remembered
    program("call(COUNT)\ncall(COUNT)", client).join()
    (slot,) = [slot for slot in calls._slots.values() if slot.thread == "t1"]
    first, second = [past for past in slot.past if past.method == "count"]
    assert calls.line_of("t1", None, first.ended * 1000 - 5).endswith("etl.py:1")
    assert calls.line_of("t1", None, second.started * 1000).endswith("etl.py:2")
    assert calls.line_of("t1", None, second.ended * 1000).endswith("etl.py:2")


def test_a_jobs_call_is_the_one_that_was_under_way_in_its_millisecond(calls: Calls, client: Slow) -> None:
    """Spark cuts its time down to whole milliseconds; the call that follows soon is not the job's."""
    client.send_command(COUNT)
    (slot,) = calls._slots.values()
    slot.past.clear()
    slot.past.extend(
        [Past(1.0000, 1.0040, "count", "count at etl.py:1"), Past(1.0045, 1.0100, "head", "head at etl.py:2")]
    )
    lines = [calls.line_of("t1", None, at_ms) for at_ms in (999, 1000, 1003, 1005, 1010, 1011)]
    assert lines == ["", "count at etl.py:1", "count at etl.py:1", "head at etl.py:2", "head at etl.py:2", ""]


def test_a_thread_that_gets_anothers_identity_is_known(calls: Calls, client: Slow) -> None:
    """The other one has ended, and is found to have when the new one is there."""
    client.send_command(COUNT)
    (old,) = calls._slots.values()
    with fitting(client):
        new = next(slot for slot in calls._slots.values() if slot is not old)
        old.ident = new.ident
        calls._end(old)
        assert [call.method for call in calls.under_way()] == ["fit"]


@pytest.mark.parametrize(("waiting", "line"), [(1, "fit at /home/ann/etl.py:2"), (2, "")])
def test_a_pools_thread_works_for_the_only_one_that_waits_in_pyspark(
    calls: Calls, client: Slow, monkeypatch: pytest.MonkeyPatch, waiting: int, line: str
) -> None:
    monkeypatch.setattr(whose, "is_own_file", lambda name: name.startswith("/home/ann"))
    over, client.late_s = threading.Event(), 0.01
    tuning: dict[str, object] = {"wait": over.wait}
    exec(compile("def fit():\n    wait()", f"{Path(str(pyspark.__file__)).parent}/ml/tuning.py", "exec"), tuning)
    codes = [compile("\n" * number + "fit()", SCRIPT, "exec") for number in range(1, waiting + 1)]
    threads = [threading.Thread(target=exec, args=(code, dict(tuning))) for code in codes]
    for thread in threads:
        thread.start()
    while not all("fit" in names_in(thread) for thread in threads):
        pass
    pool = threading.Thread(target=client.send_command, args=(COUNT,))
    pool.start()
    pool.join()
    assert calls.line_of("t1", None, last_ms(calls, "t1")) == line
    over.set()
    for thread in threads:
        thread.join()


def last_ms(calls: Calls, thread: str) -> float:
    """When the last call of a thread that is remembered began, a millisecond later."""
    slots = (*calls._slots.values(), *calls._over)
    return max(slot.past[-1].started for slot in slots if slot.thread == thread) * 1000 + 1


def names_in(thread: threading.Thread) -> list[str]:
    """Functions that a thread stands in."""
    frame = current_frames().get(thread.ident or 0)
    return [each.f_code.co_name for each, _ in traceback.walk_stack(frame)] if frame is not None else []


def test_of_threads_that_the_jvm_has_called_alone(
    calls: Calls, client: Slow, program: Callable[..., threading.Thread]
) -> None:
    client.late_s = 0.01
    program("def wait_for_commands():\n  call(COUNT)\nwait_for_commands()", client).join()
    program("call(COUNT)", client).join()
    at_ms = last_ms(calls, "t2")
    assert calls.line_of("t2", None, at_ms, called_back=True) == ""
    assert calls.line_of("t2", None, at_ms) != ""
    (called,) = [slot for slot in (*calls._slots.values(), *calls._over) if slot.is_called_back]
    assert calls.line_of("t1", None, called.past[-1].started * 1000, called_back=True).endswith("etl.py:2")


def test_a_thread_that_has_ended_has_its_lines_still(
    calls: Calls, client: Slow, program: Callable[..., threading.Thread]
) -> None:
    client.late_s = 0.01
    for thread in ("t1", "t2", "t3"):  # each may get the identity of the one before it
        program("call(COUNT)", client).join()
        at_ms = last_ms(calls, thread)
        assert calls.under_way() == ()
        assert calls.line_of(thread, None, at_ms) == "send_command at /home/ann/etl.py:1"
        assert calls.line_of(None, "count", at_ms) == "send_command at /home/ann/etl.py:1"


def test_two_lines_that_call_one_method_leave_it_open(
    calls: Calls, client: Slow, program: Callable[..., threading.Thread]
) -> None:
    threads = [program("call(FIT)", client), program("\ncall(FIT)", client)]
    while len(calls.under_way()) < 2:
        pass
    at_ms = time.time() * 1000
    assert calls.line_of(None, "fit", at_ms) == ""
    assert {calls.line_of(thread, None, at_ms)[-8:] for thread in ("t1", "t2")} == {"etl.py:1", "etl.py:2"}
    client.answer.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(("below", "line"), [("", "send_command at /home/ann/etl.py:2"), ("\n", "")])
def test_a_line_of_threads_that_share_their_properties_is_told_where_it_is_the_same(
    calls: Calls, client: Slow, program: Callable[..., threading.Thread], below: str, line: str
) -> None:
    threads = [program(f"call(GIVEN)\n{space}call(FIT)", client) for space in ("", below)]
    while sum(call.method == "fit" for call in calls.under_way()) < 2:
        pass
    assert calls.line_of("p-o4", None, time.time() * 1000) == line
    client.answer.set()
    for thread in threads:
        thread.join()


def test_for_our_own_slow_calls_nobody_looks_where_threads_stand(
    calls: Calls, client: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def own_line() -> str:
        asked.append(threading.current_thread().name)
        return "a line"

    monkeypatch.setattr(calls_module, "own_line", own_line)
    client.late_s = 0.01
    for name in (f"{OUR_THREADS}-tap", "theirs"):
        thread = threading.Thread(target=client.send_command, args=(COUNT,), name=name)
        thread.start()
        thread.join()
    assert set(asked) == {"theirs"}
    assert last_ms(calls, "t1") > 0, "it is remembered all the same"


def test_our_own_calls_have_no_line(calls: Calls, client: Slow, program: Callable[..., threading.Thread]) -> None:
    thread = program("call(FIT)", client, name=f"{OUR_THREADS}-tap")
    assert client.arrived.wait(30)
    assert calls.line_of("t1", None, time.time() * 1000) == ""
    client.answer.set()
    thread.join()
