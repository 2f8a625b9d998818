"""Addresses to listen on, and to be reached at, by their text.

Responsible for what such an address looks like. Refuses to know who listens, and who may reach it. Invariant: what is
accepted here has a port that exists.
"""

from __future__ import annotations

_LAST_PORT = 65_535
A_BIND = f"HOST:PORT such as 127.0.0.1:7457, the port from 0 (any that is free) to {_LAST_PORT}"
A_PLACE = f"HOST:PORT such as replica-1:7457, the port from 1 to {_LAST_PORT}, where drivers reach it"


def is_bind(text: str) -> bool:
    """Whether it is one: a host and a port, or a socket in the file system."""
    if text.startswith("unix:"):
        return True
    host, colon, port = text.rpartition(":")
    is_host = ":" not in host or (host.startswith("[") and host.endswith("]"))
    return bool(colon) and is_host and port.isascii() and port.isdigit() and int(port[:6]) <= _LAST_PORT


def is_place(text: str) -> bool:
    """Whether others reach somebody there: at one host, and at a port that is known."""
    if text.startswith("unix:"):
        return True
    host, _, port = text.rpartition(":")
    return is_bind(text) and host.isprintable() and bool(host) and " " not in host and int(port) > 0
