"""py4j's connections in a program that forks.

Every thread that calls the JVM has a connection of its own, and none of these threads is in a forked child. There
Python drops what they had, and py4j shuts down a connection that is dropped: the parent's end of it, too. The parent's
thread would find that out at its next call, take another connection, and py4j would say so to the root logger. That
sets up logging where the program has not yet: its own `logging.basicConfig` would do nothing any more.

Responsible for: that such a child closes its copies of these connections, and shuts none down.
Refuses to know: whose threads they are, and when a program forks. The forking thread's own goes on as py4j has it.
Invariant: nothing here raises, and the parent's connections are as if there had been no fork. One under way needs
nothing: it lies on its thread's stack, which Python leaves as it is in the child.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Any

_held: dict[int, list[Any]] = {}
"""Forking thread -> the connections of others: dropped by nobody while it forks."""


def hold() -> None:
    """Before a fork."""
    with contextlib.suppress(Exception):
        _held[threading.get_ident()] = _of_other_threads(_client())


def go_on() -> None:
    """After it, in the parent."""
    _held.pop(threading.get_ident(), None)


def close() -> None:
    """After it, in the child: also what others held who were about to fork.

    Descriptors alone: a call that has begun since may hold the lock of what reads one, and never let go of it here.
    """
    for connection in [one for each in _held.values() for one in each]:
        with contextlib.suppress(Exception):
            socket, connection.socket = connection.socket, None  # py4j finds nothing to shut down
            os.close(socket.detach())
    _held.clear()


def _client() -> Any:
    """PySpark keeps one gateway for the life of the process."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(getattr(context, "_gateway", None), "_gateway_client", None)


def _of_other_threads(client: Any) -> list[Any]:
    """py4j's connections of other threads, which wait for a call; none where threads share all of them.

    They do with `PYSPARK_PIN_THREAD=false`.
    """
    if not hasattr(client, "get_thread_connection"):
        return []
    own = client.get_thread_connection()
    return [one for one in tuple(client.deque) if one is not own]
