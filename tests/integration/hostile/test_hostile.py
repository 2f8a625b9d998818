"""A hostile client at a real coordinator: it stays up, within its memory, and serves another client meanwhile.

Scenario 44, bytes that are no message on every method, readers that do not read, streams that are opened and left,
connections that say nothing, and messages that grow when they are unpacked. What was refused is found in `audit`,
counted. The bounds on memory are generous: what they catch is growth with what a stranger sends, not its last megabyte.
"""

from __future__ import annotations

import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shuffle_lifecycle.v1 import service_pb2 as pb
from shuffle_lifecycle.v1 import service_pb2_grpc

from tests.integration.cli.processes import Serving, serving, shufflectl
from tests.support.spark import wait_for
from tests.unit.server import facts
from tests.unit.server.fakes import APP, PROOF

SERVICE = pb.DESCRIPTOR.services_by_name["ShuffleLifecycle"]
METHODS = [f"/{SERVICE.full_name}/{method.name}" for method in SERVICE.methods] + [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
]
#: What a stranger may be answered; anything else is a mistake of ours.
ANSWERS = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,  # a stream that goes on; we have heard enough of it
}
STRANGERS = 200
REFUSALS = 600
EXAMPLES = int(os.environ.get("EXAMPLES", "150"))  #: More by hand: EXAMPLES=20000.
GROWTH_BYTES_MAX = 96 * 1024 * 1024
ANSWER_S = 10.0
#: Packed it is small enough to be let in.
UNPACKED_BYTES = 128 * 1024 * 1024


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite://{tmp_path_factory.mktemp('hostile')}/store.db"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, store: str) -> Iterator[Serving]:
    """One for all of it: what one attack leaves behind, the next one meets."""
    with serving(tmp_path_factory.mktemp("server"), store) as server:
        yield server


@pytest.fixture(scope="module")
def victim(server: Serving) -> Iterator[Victim]:
    with Victim(server.address) as victim:
        yield victim


def resident(server: Serving) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss)


def peak(server: Serving) -> int:
    """The most that it ever held, where the system tells; else what it holds now."""
    try:
        told = Path(f"/proc/{server.process.pid}/status").read_text()
    except OSError:
        return resident(server)
    return int(re.search(r"VmHWM:\s+(\d+) kB", told)[1]) * 1024  # type: ignore[index]


class Victim:
    """An application whose driver goes on working: a session of its own, and one call after the other."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self.stub: Any = service_pb2_grpc.ShuffleLifecycleStub(self._channel)
        self.token = ""
        self.answered = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def caller(self, token: str = "") -> pb.Caller:
        return pb.Caller(application=APP, token=token or self.token)

    def events(self) -> int:
        return int(self.stub.GetApplication(pb.GetApplicationRequest(caller=self.caller()), timeout=ANSWER_S).sequence)

    def __enter__(self) -> Victim:
        register = pb.RegisterApplicationCall(command={"application": APP, "driver": {"name": "victim"}}, proof=PROOF)
        self.token = self.stub.RegisterApplication(register).token
        self.stub.Submit(pb.SubmitCall(caller=self.caller(), requests=facts.story()))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.rest()
        self._channel.close()

    def rest(self) -> None:
        """It has worked enough."""
        self._stop.set()
        self._thread.join(ANSWER_S)

    @contextmanager
    def served(self) -> Iterator[None]:
        """It is, all the while, and afterwards."""
        before = self.answered
        yield
        self.stub.GetShuffleId(pb.GetShuffleIdCall(caller=self.caller(), command=facts.ask()), timeout=ANSWER_S)
        wait_for(lambda: self.answered > before or not self._thread.is_alive(), "one more answer", ANSWER_S)
        assert self._thread.is_alive(), "the victim was refused"

    def _work(self) -> None:
        while not self._stop.wait(0.01):
            asked = pb.GetShuffleIdCall(caller=self.caller(), command=facts.ask())
            self.stub.GetShuffleId(asked, timeout=ANSWER_S)  # raises, and so ends, where it is not served
            self.answered += 1


# --- scenario 44 ------------------------------------------------------------------------------------------------------


def test_44_nothing_of_another_application_is_read_or_changed(server: Serving, victim: Victim) -> None:
    with grpc.insecure_channel(server.address) as channel, victim.served():
        stub: Any = service_pb2_grpc.ShuffleLifecycleStub(channel)
        register = pb.RegisterApplicationCall(command={"application": "thief", "driver": {}}, proof=PROOF)
        thief = stub.RegisterApplication(register).token
        freed = pb.NumberedRequest(report_outcome={"directive": 1, "freed": {}})
        stolen = victim.caller(token=thief)
        tries: list[Callable[[], Any]] = [
            lambda: stub.Submit(pb.SubmitCall(caller=stolen, requests=[freed])),
            lambda: stub.SetPin(pb.SetPinCall(caller=stolen, command={"app_shuffle": 0})),
            lambda: stub.EndApplication(pb.EndApplicationCall(caller=stolen, command={})),
            lambda: stub.ListEvents(pb.ListEventsRequest(caller=stolen)),
            lambda: next(stub.TailEvents(pb.TailEventsRequest(caller=stolen))),
            lambda: next(stub.Session(iter([hello(thief)]))),
            lambda: stub.RegisterApplication(pb.RegisterApplicationCall(command={"application": APP, "driver": {}})),
        ]
        before = victim.events()
        for attempt in tries:
            with pytest.raises(grpc.RpcError) as refused:
                attempt()
            assert code_of(refused.value) is grpc.StatusCode.PERMISSION_DENIED
    told = {record.WhichOneof("event") for record in events(victim, before)}
    assert told <= {"reader_registered"}, "the victim's own question, and nothing of the thief's"


def code_of(error: Any) -> grpc.StatusCode:
    """gRPC's types do not tell that its errors are calls."""
    code: grpc.StatusCode = error.code()
    return code


def hello(token: str) -> pb.SessionRequest:
    return pb.SessionRequest(hello=pb.Hello(application=APP, client="driver", token=token))


def events(victim: Victim, after: int) -> list[Any]:
    return list(victim.stub.ListEvents(pb.ListEventsRequest(caller=victim.caller(), after=after)).records)


# --- bytes ------------------------------------------------------------------------------------------------------------


def mutated(valid: bytes) -> st.SearchStrategy[bytes]:
    """A message with some of its bytes changed, cut or doubled."""
    place, byte = st.integers(0, max(0, len(valid) - 1)), st.binary(min_size=0, max_size=4)
    return st.builds(lambda at, new, until: valid[:at] + new + valid[at + until :], place, byte, st.integers(0, 8))


VALID = [
    pb.SubmitCall(caller={"application": APP, "token": "t"}, requests=facts.story()).SerializeToString(),
    pb.SessionRequest(
        hello={"application": APP, "client": "c", "register": {"application": APP, "driver": {"name": "x"}}}
    ).SerializeToString(),
    pb.GetShuffleIdCall(caller={"application": APP}, command=facts.ask()).SerializeToString(),
]
NOISE = st.one_of(st.binary(max_size=200), *(mutated(valid) for valid in VALID))


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(method=st.sampled_from(METHODS), messages=st.lists(NOISE, min_size=1, max_size=3))
def test_bytes_of_any_kind_are_answered_in_words(
    server: Serving, victim: Victim, method: str, messages: list[bytes]
) -> None:
    sent = messages if method.endswith("/Session") else messages[:1]
    with grpc.insecure_channel(server.address, _OWN_CHANNEL) as channel:
        line: Any = channel.stream_stream(method)
        call = line(iter(sent), timeout=1.0)
        try:
            next(call, None)
            call.cancel()
        except grpc.RpcError:
            allowed = ANSWERS if SERVICE.full_name in method else ANSWERS | _NOT_OURS
            assert call.code() in allowed, (method, call.code(), call.details())


@pytest.fixture(scope="module")
def registered(server: Serving) -> str:
    """The token of an application whose driver is hostile itself."""
    with grpc.insecure_channel(server.address) as channel:
        stub: Any = service_pb2_grpc.ShuffleLifecycleStub(channel)
        register = pb.RegisterApplicationCall(command={"application": INSIDER, "driver": {}}, proof=PROOF)
        return str(stub.RegisterApplication(register).token)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_driver_that_talks_nonsense_of_its_own_application_is_answered_in_words(
    server: Serving, victim: Victim, registered: str, data: st.DataObject
) -> None:
    command = data.draw(st.sampled_from(COMMANDS))
    caller = pb.Caller(application=INSIDER, token=registered)
    request = pb.NumberedRequest.FromString(data.draw(nonsense(command)))
    try:
        reply = victim.stub.Submit(pb.SubmitCall(caller=caller, requests=[request]), timeout=ANSWER_S)
        assert len(reply.answers) == 1
    except grpc.RpcError as error:
        refused: Any = error
        assert refused.code() in ANSWERS, (request, refused.code(), refused.details())


INSIDER = "insider"
COMMANDS = [
    field
    for field in pb.NumberedRequest.DESCRIPTOR.fields
    if field.message_type is not None and field.name != "end_application"
]
_NUMBERS = st.one_of(st.integers(0, 3), st.sampled_from([2**31, 2**32 - 1]), st.integers(0, 2**32 - 1))


def nonsense(command: Any) -> st.SearchStrategy[bytes]:
    """A request with this command, any of whose fields may hold anything that its type allows."""

    def build(content: Any) -> bytes:
        return bytes(pb.NumberedRequest(**{command.name: content}).SerializeToString())

    return _message(command.message_type, 3).map(build)


def _message(kind: Any, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    fields = {field.name: _field(field, depth) for field in kind.fields if depth or field.message_type is None}
    return st.fixed_dictionaries({}, optional=fields)


def _field(field: Any, depth: int) -> st.SearchStrategy[Any]:
    value: st.SearchStrategy[Any]
    if field.message_type is not None:
        value = _message(field.message_type, depth - 1)
    elif field.enum_type is not None:
        value = st.sampled_from([one.number for one in field.enum_type.values])
    else:
        value = {
            field.CPPTYPE_STRING: st.binary(max_size=9) if field.type == field.TYPE_BYTES else st.text(max_size=9),
            field.CPPTYPE_BOOL: st.booleans(),
        }.get(field.cpp_type, _NUMBERS)
    is_repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    return st.lists(value, max_size=3) if is_repeated else value


_OWN_CHANNEL = [("grpc.use_local_subchannel_pool", 1)]
#: How gRPC's own services, health and reflection, answer bytes that are no message.
_NOT_OURS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


def test_a_message_that_grows_when_it_is_unpacked_is_refused_before_it_has_grown(
    server: Serving, victim: Victim
) -> None:
    before = resident(server)
    with grpc.insecure_channel(server.address, _OWN_CHANNEL) as channel, victim.served():
        call: Any = channel.unary_unary(METHODS[0].replace("Session", "SetPin"))
        with pytest.raises(grpc.RpcError) as refused:
            call(bytes(UNPACKED_BYTES), compression=grpc.Compression.Gzip, timeout=ANSWER_S)
        assert code_of(refused.value) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert peak(server) - before < GROWTH_BYTES_MAX


# --- silence ----------------------------------------------------------------------------------------------------------


def test_connections_that_say_nothing_and_streams_that_are_left_open_harm_nobody(
    server: Serving, victim: Victim
) -> None:
    host, _, port = server.address.rpartition(":")
    before = resident(server)
    with ExitStack() as opened, victim.served():
        for number in range(STRANGERS):
            connection = opened.enter_context(socket.create_connection((host, int(port)), ANSWER_S))
            if number % 2:
                connection.sendall(PREFACE)  # and then nothing: a peer that has died, as far as anybody can tell
        for number in range(STRANGERS):
            if number % 20 == 0:
                channel = opened.enter_context(grpc.insecure_channel(server.address, _OWN_CHANNEL))
            opened.callback(service_pb2_grpc.ShuffleLifecycleStub(channel).Session(_never_ending([])).cancel)
        registered = hello(victim.token)
        for _ in range(20):  # each sends the one before it away
            opened.callback(service_pb2_grpc.ShuffleLifecycleStub(channel).Session(_never_ending([registered])).cancel)
        assert resident(server) - before < GROWTH_BYTES_MAX


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"


def _never_ending(messages: list[Any]) -> Iterator[Any]:
    yield from messages
    _END.wait()


_END = threading.Event()


def test_readers_that_do_not_read_are_not_read_for(server: Serving, victim: Victim) -> None:
    """Followers of a log, and a driver that asks and asks and takes no answer."""
    before = resident(server)
    with ExitStack() as opened, victim.served():
        channel = opened.enter_context(grpc.insecure_channel(server.address, _OWN_CHANNEL))
        stub: Any = service_pb2_grpc.ShuffleLifecycleStub(channel)
        for _ in range(50):
            opened.callback(stub.TailEvents(pb.TailEventsRequest(caller=victim.caller())).cancel)
        deaf = stub.Session(_asking(victim.token))
        opened.callback(deaf.cancel)
        for job in range(100, 140):  # something to be followed
            told = pb.ReportJobStarted(job=job, final_stage=job, call_site="x" * 50_000)
            victim.stub.Submit(pb.SubmitCall(caller=victim.caller(), requests=[{"report_job_started": told}]))
        assert resident(server) - before < GROWTH_BYTES_MAX


def _asking(token: str) -> Iterator[pb.SessionRequest]:
    yield pb.SessionRequest(hello=pb.Hello(application=APP, client="deaf", token=token))
    register = pb.NumberedRequest(number=1, register_client={"client": "deaf"})
    yield facts.batch([register])
    for first in range(2, 4_000, 250):
        yield facts.batch(facts.asks(range(first, first + 250)))
    _END.wait()


# --- being refused ----------------------------------------------------------------------------------------------------


def test_nobody_fills_the_store_by_being_refused_and_the_audit_says_who_was(
    server: Serving, victim: Victim, store: str, tmp_path: Path
) -> None:
    """The last one: the coordinator ends as it does on any other day."""
    before = resident(server)
    with grpc.insecure_channel(server.address) as channel, victim.served():
        stub: Any = service_pb2_grpc.ShuffleLifecycleStub(channel)
        raw: Any = channel.unary_unary(f"/{SERVICE.full_name}/SetPin")
        for number in range(REFUSALS):
            caller = pb.Caller(application=f"unknown-{number}", token=f"guess-{number}")
            guess = pb.GetApplicationRequest(caller=victim.caller(f"guess-{number}"))
            tries = (
                lambda: stub.GetApplication(guess),  # noqa: B023 - called at once
                lambda: stub.GetApplication(pb.GetApplicationRequest(caller=caller)),  # noqa: B023
                lambda: raw(b"\xff"),
            )
            with pytest.raises(grpc.RpcError):
                tries[number % 3]()
        assert resident(server) - before < GROWTH_BYTES_MAX
    print(f"resident {resident(server) >> 20} MB, at most {peak(server) >> 20}; {victim.answered} answers meanwhile")
    _END.set()
    victim.rest()
    ended = server.end()
    assert (ended.code, "Traceback" in ended.err) == (0, False), ended.err
    records = shufflectl(tmp_path, "audit", "--store", store, "-o", "json").data
    counted: Counter[str] = Counter()
    for record in records:
        counted[record["kind"]] += record["count"]
    assert min(counted[kind] for kind in ("wrong token", "unknown application", "malformed")) >= REFUSALS // 3
    assert len(records) < 40, "one a peer, kind and minute"
