"""Answers of the JVM that nobody has read.

A test that runs out of time is interrupted while it waits for the JVM, and what it waited for is the first thing that
the same connection says to the next one: each call from there on would get the answer to the one before it.

Responsible for: that a thread's next call gets its own answer. Refuses to know: who was interrupted, and why.
Invariant: whatever runs in the JVM runs on; where there is no JVM, nothing happens.
"""

from __future__ import annotations

import sys
from typing import Any


def leave() -> None:
    """This thread's next call has a connection of its own."""
    client = _client()
    connection = client.get_thread_connection() if hasattr(client, "get_thread_connection") else None
    if connection is not None:
        connection.close()


def _client() -> Any:
    """PySpark keeps one gateway for the life of the process."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(getattr(context, "_gateway", None), "_gateway_client", None)
