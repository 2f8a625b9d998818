"""Versions of keys as rows.

Responsible for: the statements. Refuses to know: threads, transactions around them, who waits.
Invariant: an entry leaves here only when its checksum is right; a row that is damaged is named, and the others are
still read.

Reading at revision R finds the rows with `revision <= R` that had not ended by then; the present is `ended IS NULL`.
"""

from __future__ import annotations

import sqlite3
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby

from state_backend.errors import Corrupt
from state_backend.transaction import Effect
from state_backend.values import Change, Commit, Entry, Keyspace, Removed, Revision, Stamp, Written

#: A value that a damaged bit has turned into text is still these bytes, or fails its checksum.
_ROW = "key, CAST(value AS BLOB), revision, create_revision, version, checksum"
_CURRENT = "FROM version WHERE keyspace = ? AND key = ? AND ended IS NULL"
_RANGE = "keyspace = ? AND key >= ? AND key < ?"
_SURROGATES = range(0xD800, 0xE000)

_Row = tuple[str, bytes | None, int, int, int, int]


class Records:
    """The rows of one connection. Every call expects to be inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self._connection = connection
        self._where = where

    # ---- reading ----------------------------------------------------------------------------------------------------

    def revisions(self) -> tuple[Revision, Revision]:
        """The present revision and the one up to which history is gone."""
        row = self._connection.execute("SELECT revision, compacted_revision FROM store").fetchone()
        if row is None:
            raise Corrupt(self._where, "the table of revisions is empty")
        revision, compacted = row
        if not (isinstance(revision, int) and isinstance(compacted, int) and 0 <= compacted <= revision):
            # who believed it would look for a present that can be read, for ever
            told = f"it says that it is at revision {revision!r} and has forgotten all up to {compacted!r}"
            raise Corrupt(self._where, told)
        return Revision(revision), Revision(compacted)

    def entry(self, keyspace: Keyspace, key: str) -> Entry | None:
        """The present entry under the key; None where there is none. Raises `Corrupt`."""
        row = self._connection.execute(f"SELECT {_ROW} {_CURRENT}", (keyspace.value, key)).fetchone()
        return None if row is None else self._checked(keyspace, row)

    def stamp(self, keyspace: Keyspace, key: str) -> Stamp | None:
        """The stamp of the present entry. Its value is not read: a damaged one can still be compared and replaced."""
        query = f"SELECT revision, create_revision, version {_CURRENT}"
        row = self._connection.execute(query, (keyspace.value, key)).fetchone()
        return None if row is None else Stamp(Revision(row[0]), Revision(row[1]), row[2])

    def value(self, keyspace: Keyspace, key: str) -> bytes:
        """The value of an entry that is there. Raises `Corrupt`."""
        entry = self.entry(keyspace, key)
        assert entry is not None, "a move is planned only after its compare held"
        return entry.value

    def entries(
        self, keyspace: Keyspace, prefix: str, after: str | None, limit: int, at: Revision | None
    ) -> list[Entry]:
        """At most `limit` entries behind `after` as of a revision, in key order. Raises `Corrupt` if one is damaged."""
        rows = self._range(_ROW, keyspace, prefix, after, limit, at)
        return [self._checked(keyspace, row) for row in rows]

    def keys(self, keyspace: Keyspace, prefix: str, after: str | None, limit: int, at: Revision | None) -> list[str]:
        """At most `limit` keys behind `after` as of a revision, in key order; also those of damaged entries."""
        return [row[0] for row in self._range("key", keyspace, prefix, after, limit, at)]

    def commits(self, keyspace: Keyspace, prefix: str, from_revision: Revision, limit: int) -> Iterator[Commit]:
        """The first `limit` changes, and the rest of the commit that the last of them belongs to."""
        within = f"FROM version INDEXED BY version_revision WHERE revision >= ? AND {_RANGE}"
        bounds = (keyspace.value, prefix, prefix_end(prefix))
        last = self._connection.execute(
            f"SELECT revision {within} ORDER BY revision LIMIT 1 OFFSET ?", (from_revision, *bounds, limit - 1)
        ).fetchone()
        through = sys.maxsize if last is None else last[0]
        rows = self._connection.execute(
            f"SELECT {_ROW} {within} AND revision <= ? ORDER BY revision, key", (from_revision, *bounds, through)
        )
        for revision, changed in groupby(rows, key=lambda row: row[2]):
            yield Commit(Revision(revision), tuple(self._change(keyspace, row) for row in changed))

    def _range(
        self, columns: str, keyspace: Keyspace, prefix: str, after: str | None, limit: int, at: Revision | None
    ) -> sqlite3.Cursor:
        # No key has a zero in it, so that text is the next one after `after`; one bound, for the index to start at.
        start = prefix if after is None else max(prefix, after + "\0")
        bounds = (keyspace.value, start, prefix_end(prefix))
        tail = "ORDER BY key LIMIT ?"
        if at is None:
            query = f"SELECT {columns} FROM version INDEXED BY version_current WHERE {_RANGE} AND ended IS NULL {tail}"
            return self._connection.execute(query, (*bounds, limit))
        past = f"{_RANGE} AND revision <= ? AND ifnull(ended, ?) > ?"
        query = f"SELECT {columns} FROM version INDEXED BY version_history WHERE {past} {tail}"
        return self._connection.execute(query, (*bounds, at, sys.maxsize, at, limit))

    def _change(self, keyspace: Keyspace, row: _Row) -> Change:
        if row[1] is None and not row[4]:  # an entry's version is 1 or more: that would be a damaged one
            return Removed(keyspace, row[0], Revision(row[2]))
        return Written(keyspace, self._checked(keyspace, row))

    def _checked(self, keyspace: Keyspace, row: _Row) -> Entry:
        key, value, revision, create_revision, version, checksum = row
        if value is None or checksum != _checksum(keyspace, key, value, revision, create_revision, version):
            raise Corrupt(self._where, f"the record {keyspace.value}/{key} of revision {revision} fails its checksum")
        return Entry(key, value, Revision(revision), Revision(create_revision), version)

    # ---- writing ----------------------------------------------------------------------------------------------------

    def write(self, effects: Sequence[Effect], revision: Revision) -> None:
        """Ends the versions that were current and appends the new ones."""
        ended = [(revision, effect.keyspace.value, effect.key) for effect in effects]
        query = "UPDATE version SET ended = ? WHERE keyspace = ? AND key = ? AND ended IS NULL"
        self._connection.executemany(query, ended)
        query = (
            "INSERT INTO version (keyspace, key, revision, create_revision, version, ended, lease, checksum, value)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        self._connection.executemany(query, [_new_row(effect, revision) for effect in effects])

    def set_revision(self, revision: Revision) -> None:
        self._connection.execute("UPDATE store SET revision = ?", (revision,))

    def compact(self, revision: Revision) -> None:
        """Forgets what had ended before this revision. What is forgotten stays so, and what is to come is not.

        The commit of this revision is still told, as etcd tells it: its removals, too, are rows that end there.
        """
        present, compacted = self.revisions()
        upto = max(compacted, min(revision, present) - 1)
        self._connection.execute("DELETE FROM version WHERE ended <= ?", (upto,))
        self._connection.execute("UPDATE store SET compacted_revision = ?", (upto,))

    # ---- leases -----------------------------------------------------------------------------------------------------

    def grant(self, ttl_seconds: float, now_seconds: float) -> int:
        """A new lease, which ends `ttl_seconds` from now (wall clock, seconds) unless it is renewed; gives its id."""
        query = "INSERT INTO lease (ttl_seconds, expires_seconds) VALUES (?, ?)"
        granted = self._connection.execute(query, (ttl_seconds, now_seconds + ttl_seconds)).lastrowid
        assert granted is not None
        return granted

    def renew(self, lease: int, now_seconds: float) -> bool:
        """Gives the lease its whole time again; gives whether there is such a lease."""
        query = "UPDATE lease SET expires_seconds = ? + ttl_seconds WHERE id = ?"
        return self._connection.execute(query, (now_seconds, lease)).rowcount == 1

    def has_lease(self, lease: int) -> bool:
        return self._connection.execute("SELECT 1 FROM lease WHERE id = ?", (lease,)).fetchone() is not None

    def expired_leases(self, now_seconds: float) -> list[int]:
        """The leases whose time is over by this clock (wall clock, seconds).

        So is that of a lease with far more time left than it can have: the clock was set back since it was renewed. A
        step back of less than its whole time is left alone: its holder renews it before long.
        """
        query = "SELECT id FROM lease WHERE ? >= expires_seconds OR expires_seconds - ? > 2 * ttl_seconds"
        return [row[0] for row in self._connection.execute(query, (now_seconds, now_seconds))]

    def end_lease(self, lease: int) -> list[Effect]:
        """Forgets the lease, and gives the removals of its keys for the caller to commit; a damaged key stays."""
        self._connection.execute("DELETE FROM lease WHERE id = ?", (lease,))
        names = "CAST(keyspace AS BLOB), CAST(key AS BLOB)"
        query = f"SELECT {names} FROM version WHERE lease = ? AND ended IS NULL ORDER BY keyspace, key"
        return [removal for row in self._connection.execute(query, (lease,)) if (removal := _removal(*row)) is not None]


def prefix_end(prefix: str) -> str:
    """The least text above all keys with the prefix, in the order of code points."""
    for length in range(len(prefix), 0, -1):
        following = ord(prefix[length - 1]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= sys.maxunicode:
            return prefix[: length - 1] + chr(following)
    return chr(sys.maxunicode)


def _removal(keyspace: bytes, key: bytes) -> Effect | None:
    """None: such a key there cannot be."""
    try:
        return Effect(Keyspace(keyspace.decode()), key.decode(), None)
    except ValueError:
        return None


def _new_row(effect: Effect, revision: Revision) -> tuple[object, ...]:
    space, key, entry = effect.keyspace, effect.key, effect.entry
    if entry is None:
        return space.value, key, revision, 0, 0, revision, None, 0, None
    checksum = _checksum(space, key, entry.value, revision, entry.create_revision, entry.version)
    return space.value, key, revision, entry.create_revision, entry.version, None, effect.lease, checksum, entry.value


def _checksum(keyspace: Keyspace, key: str, value: bytes, revision: int, create_revision: int, version: int) -> int:
    named = f"{keyspace.value}/{key} {revision} {create_revision} {version} ".encode()
    return zlib.crc32(value, zlib.crc32(named))
