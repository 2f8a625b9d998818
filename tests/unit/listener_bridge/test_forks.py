"""A driver that forks: its children end as they would without the plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FORKS = 60
#: gRPC's threads are at work in this process, and its children only end.
PROGRAM = f"""
import collections, json, os, threading, time
import listener_bridge
from listener_bridge import forks
import grpc
from coordinator.app import start_replica
from shuffle_lifecycle.v1 import service_pb2, service_pb2_grpc

replica = start_replica("memory:")
stub = service_pb2_grpc.ShuffleLifecycleStub(grpc.insecure_channel(replica.address))

def ask():
    while True:
        stub.ListReplicas(service_pb2.ListReplicasRequest())

threading.Thread(target=ask, daemon=True).start()
ends = collections.Counter()
for _ in range({FORKS}):
    child = os.fork()
    if child == 0:
        time.sleep(0.05)
        os._exit(0)
    ends[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] += 1
print(json.dumps([ends, forks.are_dangerous(), os.environ.get(forks.SWITCH)]), flush=True)
os._exit(0)
"""
#: Another thread attaches while this one forks.
ATTACHING = """
import os, threading
import listener_bridge
from listener_bridge import plugin

held, over = threading.Event(), threading.Event()

def attach():
    with plugin._LOCK:
        held.set()
        over.wait()

threading.Thread(target=attach, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if plugin._LOCK.acquire(blocking=False) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
over.set()
"""
#: Another thread has called the JVM, and this one forks: what that one's connection has for a JVM is asked.
CONNECTED = """
import os, socket, sys, threading, types
from py4j.clientserver import ClientServerConnection, JavaClient, JavaParameters, PythonParameters
from pyspark import SparkContext
from listener_bridge import plugin

here, jvm = socket.socketpair()
pool = types.SimpleNamespace(pool=None)
client = JavaClient(JavaParameters(), PythonParameters(), pool)
SparkContext._gateway = types.SimpleNamespace(_gateway_client=client)
called, over = threading.Event(), threading.Event()

def call():
    connection = ClientServerConnection(client.java_parameters, client.python_parameters, pool, client)
    connection.socket, connection.stream = here, here.makefile("rb")
    client.set_thread_connection(connection)
    client.deque.append(connection)
    del connection
    called.set()
    over.wait()

thread = threading.Thread(target=call, daemon=True)
thread.start()
called.wait(30)
del here
plugin._RUNNING.update(dict.fromkeys(sys.argv[1:]))
if os.fork() == 0:
    os._exit(0)
os.wait()
plugin._RUNNING.clear()
jvm.setblocking(False)
try:
    print("shut down" if jvm.recv(1) == b"" else "called")
except BlockingIOError:
    print("open", flush=True)
jvm.setblocking(True)
over.set()
thread.join()
print("closed" if jvm.recv(1) == b"" else "called")
"""


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/proto", "PYTHONWARNINGS": "ignore", **environment}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], env=given, capture_output=True, text=True, timeout=100, check=True
    )


def test_forked_children_live() -> None:
    done = run(PROGRAM)
    assert json.loads(done.stdout.splitlines()[-1]) == [{"0": FORKS}, False, None]
    assert "fork() handlers" not in done.stderr


@pytest.mark.parametrize(
    ("first", "chosen", "dangerous"),
    [("import os", "", False), ("import grpc", "", True), ("import grpc", "0", False), ("import os", "1", True)],
)
def test_what_the_program_has_chosen_stays_and_is_known(first: str, chosen: str, dangerous: bool) -> None:
    program = f"{first}; from listener_bridge import forks; print(forks.are_dangerous())"
    assert run(program, **({"GRPC_ENABLE_FORK_SUPPORT": chosen} if chosen else {})).stdout.strip() == str(dangerous)


def test_a_child_that_was_forked_while_another_thread_attached_can_attach() -> None:
    assert run(ATTACHING).stdout.strip() == "0"


@pytest.mark.parametrize(("attached", "told"), [((), "shut down"), (("a bridge",), "open")])
def test_a_child_closes_no_connection_of_another_thread_for_its_parent(attached: tuple[str, ...], told: str) -> None:
    """Without the plugin py4j does, and what the program's own threads find then is not ours to change."""
    assert run(CONNECTED, *attached).stdout.split("\n")[:2] == [told, "closed"]
