"""Names of keys in etcd.

Responsible for: `<prefix>/<keyspace>/<key>` and back. Refuses to know: requests.
Invariant: the prefix is put on and taken off here and nowhere else.
"""

from __future__ import annotations

from state_backend.errors import Corrupt
from state_backend.limits import check_key
from state_backend.values import Keyspace


class Names:
    """The names under one prefix; the empty prefix is the root."""

    def __init__(self, prefix: str) -> None:
        self._root = f"{prefix}/".encode() if prefix else b""
        self._folders = {keyspace: self._root + f"{keyspace.value}/".encode() for keyspace in Keyspace}

    def encode(self, keyspace: Keyspace, key: str) -> bytes:
        return self._folders[keyspace] + check_key(key)

    def decode(self, keyspace: Keyspace, name: bytes) -> str:
        """Raises `Corrupt` where somebody else's program has put what is no text."""
        try:
            return name[len(self._folders[keyspace]) :].decode()
        except UnicodeDecodeError as error:
            raise Corrupt("etcd", f"the key {name!r} is no text ({error.reason})") from error

    def span(self, keyspace: Keyspace, prefix: str, after: str | None = None) -> tuple[bytes, bytes]:
        """Where the keys with a prefix, greater than `after`, begin, and the first name behind them."""
        begin = self._folders[keyspace] + prefix.encode()
        start = begin if after is None else max(begin, self._folders[keyspace] + after.encode() + b"\0")
        return start, end_of(begin)


def end_of(prefix: bytes) -> bytes:
    """The least name above all that begin with the prefix, as etcd's own clients reckon it."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1])
