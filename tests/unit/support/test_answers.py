"""A call that is interrupted leaves an answer; the next call gets its own. By py4j's client, and a JVM that counts."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.clientserver import JavaClient, JavaParameters, PythonParameters
from py4j.java_gateway import GatewayProperty

from tests.support import answers


class Interrupted(BaseException):
    """As pytest-timeout's, it is no `Exception`."""


class Jvm:
    """Says to each call how many there were. The first one is interrupted before it has its answer."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.was_interrupted = threading.Event()
        self.interrupts_no_more = threading.Event()
        self.calls = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self.listening.accept()[0]
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile() as commands:
            while commands.readline():
                self.calls += 1
                if self.calls == 1:
                    self._interrupt()
                try:
                    connection.sendall(f"!ys{self.calls}\n".encode())
                except OSError:  # nobody waits for it
                    return

    def _interrupt(self) -> None:
        """A signal that comes just before the caller waits is not looked at before there is an answer."""
        while not self.was_interrupted.is_set():
            os.kill(os.getpid(), signal.SIGUSR1)
            self.was_interrupted.wait(0.05)
        self.interrupts_no_more.set()


@pytest.fixture
def jvm() -> Iterator[Jvm]:
    found = Jvm()
    yield found
    found.listening.close()


@pytest.fixture
def client(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = JavaClient(JavaParameters(port=jvm.port), PythonParameters(), GatewayProperty(True, None))
    context = SimpleNamespace(_gateway=SimpleNamespace(_gateway_client=made))
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(SparkContext=context))
    return made


@pytest.fixture
def interrupting(jvm: Jvm) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        if not jvm.was_interrupted.is_set():
            jvm.was_interrupted.set()
            raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    jvm.interrupts_no_more.wait(10)  # a signal that nobody handles ends the process
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("interrupting")
def test_who_was_interrupted_gets_the_next_answer_and_not_the_last(client: Any) -> None:
    with pytest.raises(Interrupted) as kept:  # whose frames keep the connection, as those of a failed test do
        client.send_command("one\n")
    answers.leave()
    assert client.send_command("two\n") == "ys2"
    assert kept.value is not None


def test_where_there_is_no_jvm_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    answers.leave()
    assert "pyspark" not in sys.modules
