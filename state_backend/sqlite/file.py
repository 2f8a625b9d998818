"""The file of a SQLite store: opening it, knowing it for ours, and telling its damage from its absence.

Responsible for: the connection, the schema, the names of what SQLite complains about. Refuses to know: transactions.
Invariant: a file that is not ours, or is newer than we are, is left byte for byte as it was.

Nobody but SQLite opens the file here: to close any descriptor of it lets go of all locks that this process has on it
(POSIX), those of another open store of the same file included, and SQLite does not notice.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from state_backend.errors import Corrupt, NewerStore, NoSpace, NotAStore, OutcomeUnknown, StateBackendError, Unavailable

SCHEMA_VERSION = 1
APPLICATION_ID = 0x53484C43  # "SHLC", at a fixed place in the file's header

_PAGE_BYTES_MIN = 512
_BUSY_TIMEOUT_SECONDS = 5.0
_BUSY_PAUSE_SECONDS = 0.01
_CACHE_KIBIBYTES = 16_384
_IF_LOCKED = "find the process that holds the file (`fuser FILE` names it) and end what it does"
_IF_MOVED = "end this process and start it again, on the file that is to be the store"
_IF_UNREADABLE = "check that the file and its folder can be read and written, and that their disk is sound"

# One row is one version of a key: the state (`ended` is null) and the history (the rest) are one table, and rows are in
# commit order. A row without a value is a removal; it is never current.
_SCHEMA = """
CREATE TABLE version (
    id INTEGER PRIMARY KEY,
    keyspace TEXT NOT NULL,
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    create_revision INTEGER NOT NULL,
    version INTEGER NOT NULL,
    ended INTEGER,
    lease INTEGER,
    checksum INTEGER NOT NULL,
    value BLOB
);
CREATE UNIQUE INDEX version_current ON version (keyspace, key) WHERE ended IS NULL;
CREATE UNIQUE INDEX version_history ON version (keyspace, key, revision);
CREATE INDEX version_revision ON version (revision);
CREATE INDEX version_ended ON version (ended) WHERE ended IS NOT NULL;
CREATE INDEX version_lease ON version (lease) WHERE lease IS NOT NULL AND ended IS NULL;
CREATE TABLE lease (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ttl_seconds REAL NOT NULL,
    expires_seconds REAL NOT NULL
);
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    revision INTEGER NOT NULL,
    compacted_revision INTEGER NOT NULL
);
INSERT INTO store VALUES (1, 1, 0);
"""


def connect(path: Path) -> sqlite3.Connection:
    """Opens or creates the store. Raises `NotAStore`, `NewerStore`, `Corrupt`, `Unavailable`."""
    where = str(path)
    _check_size(path)
    _look_first(path)
    with named_errors(where):
        connection = _open(where)
    try:
        with named_errors(where):
            _check_ours(connection, where)
            _configure(connection)
            _create_schema(connection, where)
    except BaseException:
        connection.close()
        raise
    return connection


def unmoved(path: Path) -> Callable[[], None]:
    """Raises `Unavailable` from when on another file, or none, is where the open one was, or where its log was.

    SQLite goes on with what it has opened, which nobody will find again: what it commits there is lost.
    """
    where = path.absolute()
    opened = [(place, _inode(place)) for place in (where, _log_of(where)) if place.exists()]

    def check() -> None:
        for place, inode in opened:
            wrong = _moved(place, inode)
            if wrong:
                raise Unavailable(str(where), f"{wrong} while it was open", _IF_MOVED)

    return check


def _log_of(path: Path) -> Path:
    """SQLite puts it beside the file itself, also where a link to that was named."""
    itself = path.resolve()
    return itself.with_name(f"{itself.name}-wal")


def _moved(place: Path, inode: int) -> str:
    """What became of a file; what is wrong with the place otherwise SQLite says better."""
    try:
        is_same = _inode(place) == inode
    except FileNotFoundError:
        return f"{place.name} was removed"
    except OSError:
        return ""
    return "" if is_same else f"another file was put in the place of {place.name}"


def _inode(place: Path) -> int:
    return place.stat().st_ino


@contextmanager
def named_errors(where: str, commit_of: str | None = None) -> Iterator[None]:
    """Turns SQLite's complaints into ours; `commit_of` names the write whose commit may have happened."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _name(error, where, commit_of) from error
    except UnicodeDecodeError as error:  # a damaged word in the schema, of which SQLite complains as it is
        raise Corrupt(where, f"what it holds is no text ({error.reason})") from error


def _name(error: sqlite3.DatabaseError, where: str, commit_of: str | None) -> StateBackendError:
    told = str(error)
    # Then the text follows, which may hold any word; Python 3.10 says nothing at all of what it cannot decode.
    if not told or told.startswith("Could not decode to UTF-8"):
        return Corrupt(where, "a word that it holds is no text")
    if "not a database" in told:
        return NotAStore(where, "its content is not SQLite's")
    if "malformed" in told or "corrupt" in told:
        return Corrupt(where, told)
    if "full" in told:
        return NoSpace(where, told)
    if commit_of is not None and "locked" not in told:
        return OutcomeUnknown(commit_of, told)
    return Unavailable(where, told, _IF_LOCKED if "locked" in told else _IF_UNREADABLE)


def _check_size(path: Path) -> None:
    """SQLite takes a file of a few bytes for an empty one, and would write over it."""
    size = path.stat().st_size if path.is_file() else 0
    if 0 < size < _PAGE_BYTES_MIN:
        raise NotAStore(str(path), f"it has {size} bytes, and SQLite's smallest has {_PAGE_BYTES_MIN}")


def _look_first(path: Path) -> None:
    """Where a program has left commits beside the file, the last to close it would work them in, whoever's it is."""
    beside = _log_of(path)
    if not (path.is_file() and beside.is_file() and beside.stat().st_size):
        return
    with named_errors(str(path)), closing(_open(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        _check_ours(connection, str(path))


def _open(where: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        where,
        timeout=_BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        uri=uri,
    )


def _check_ours(connection: sqlite3.Connection, where: str) -> None:
    """Whether it is empty is asked first: who makes it a store meanwhile gives it tables and our id in one commit."""
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    application_id = _pragma(connection, "application_id")
    if application_id == 0 and empty:
        return
    if application_id != APPLICATION_ID:
        raise NotAStore(where, f"a SQLite file with application id {application_id:#x}")
    version = _pragma(connection, "user_version")
    if version > SCHEMA_VERSION:
        raise NewerStore(where, version, SCHEMA_VERSION)


def _configure(connection: sqlite3.Connection) -> None:
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
    connection.execute("PRAGMA temp_store = MEMORY")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for whoever else makes the same new file a store: it refuses at once."""
    until_seconds = time.monotonic() + _BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until_seconds:
                raise
        time.sleep(_BUSY_PAUSE_SECONDS)


def _create_schema(connection: sqlite3.Connection, where: str) -> None:
    """Once, whoever is first; a second process that waited finds it made."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _pragma(connection, "user_version") == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    _check_ours(connection, where)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
