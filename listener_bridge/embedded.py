"""The coordinator inside the driver's own process: what `attach` starts where nobody names an address.

Responsible for: starting one replica over a SQLite file, once, where that file lies by default, and that its warnings
and errors are seen in the driver's log.
Refuses to know: the session; the bridge reaches this coordinator as it reaches any other, through gRPC.
Invariant: the only module of the driver part that imports the coordinator; without it, everything else still works.

The file: `spark.shuffleLifecycle.store`, else `$XDG_STATE_HOME/shuffle-lifecycle/coordinator.db`, with
`~/.local/state` for an unset variable, and the machine's folder for temporary files where that cannot be written or
other machines share it: SQLite serves the processes of one machine.
All drivers of a user share it, so that `shufflectl apps` finds them all; SQLite takes turns between processes.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from listener_bridge.mounts import shared_as
from listener_bridge.seldom import Seldom, and_more

log = logging.getLogger("shuffle_lifecycle")

FILE = "coordinator.db"
_SOCKET = "socket-"
_SOCKETS = 1_000  #: Names for them; three digits.
_SOCKET_PATH_MAX_BYTES = 103  #: macOS's; Linux has four more (unix(7), unix(4)).
_SHORT_PLACES = ("/tmp", "/var/tmp", "/dev/shm")
_NO_SOCKET = frozenset("%#?,")  #: In its path: gRPC reads an address, where these have a meaning.
FOLDER = "shuffle-lifecycle"


def default_store() -> str:
    """The address of the default file; its folder is made."""
    from state_backend.address import file_address

    temporary = _temporary()
    own = Path(temporary) / f"{FOLDER}-{_user()}" if temporary else None
    for folder, is_safe in ((_state_folder(), _is_writable), (own, _is_ours)):
        if folder is not None and not shared_as(folder) and is_safe(folder):
            return file_address((folder / FILE).absolute())
    raise OSError(
        f"neither {_state_folder() or 'a home folder'} nor {own or 'a folder for temporary files'} will do for the "
        "coordinator's file; expected a folder of this machine's own that this user alone can write: "
        "set spark.shuffleLifecycle.store=sqlite:///a/folder/coordinator.db, or name coordinators by address"
    )


def _state_folder() -> Path | None:
    """Where this user's programs keep what outlives them; None in a container that knows no such user."""
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / FOLDER
    except RuntimeError:
        return None


def _temporary() -> str:
    """The folder for temporary files; empty where none can be written, as in a container that is read-only."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return ""


class Embedded:
    """The coordinator of this attachment, started when it is first asked for. Raises what is wrong with the store."""

    def __init__(self, store: str, history: str = "", archive: str = "", retention_s: float = 0.0) -> None:
        from coordinator.archive.open import open_archive
        from state_backend.address import parse_address

        parse_address(store)
        if archive:
            open_archive(archive)  # which makes nothing yet
        self.store = store
        self.history = history
        self.archive = archive
        self.retention_s = retention_s
        self._lock = threading.Lock()
        self._running: Any = None
        self._stopped = False
        self._folder: _SocketFolder | None = None

    @property
    def shown(self) -> str:
        """The store as people may see it: without a password."""
        from state_backend.address import masked

        return masked(self.store)

    def addresses(self) -> tuple[str, ...]:
        """Where it is reached. Raises what has kept it from starting."""
        with self._lock:
            if self._running is None and not self._stopped:
                self._running = self._start()
            if self._stopped:
                self._let_go(None)
            return (self._running.address,) if self._running is not None else ()

    def stop(self, timeout_s: float) -> None:
        """Drain and stop, for at most `timeout_s` seconds. What is just starting is stopped by who starts it."""
        until_s = time.monotonic() + timeout_s
        self._stopped = True
        if self._lock.acquire(timeout=timeout_s):
            try:
                self._let_go(until_s - time.monotonic())
            finally:
                self._lock.release()

    def _let_go(self, timeout_s: float | None) -> None:
        running, self._running = self._running, None
        if running is not None:  # in this thread: at the interpreter's end Python 3.12 starts no other one
            running.stop() if timeout_s is None else running.stop(max(0.0, timeout_s))
        if self._folder is not None:
            self._folder.remove()

    def _start(self) -> Any:
        from coordinator.app import replica_name, start_replica
        from coordinator.runtime.options import Options
        from coordinator.server.options import ServerOptions
        from coordinator.wire.lessons import read_lessons

        _log_through_logging()
        _warn_of_other_machines(self.store)
        server = ServerOptions(lessons=read_lessons(Path(self.history))) if self.history else None
        options = Options(replica=replica_name(), retention_s=self.retention_s)
        return start_replica(self.store, self._bind(), options, server, self.archive)

    def _bind(self) -> str:
        """A socket that only this user can open; a loopback port where there is no place for one."""
        if self._folder is None and os.name != "nt":
            self._folder = _short_folder()
        return f"unix:{self._folder.path}/{self._folder.next_socket()}" if self._folder is not None else "127.0.0.1:0"


class _SocketFolder:
    """A folder of its own, this user's alone, gone with the process that made it: a child that it forks leaves it."""

    _sockets = 0

    def __init__(self, place: str) -> None:
        self.path = tempfile.mkdtemp(prefix=f"{FOLDER}-", dir=place)
        self._made_by = os.getpid()
        _LEFT[self.path] = self

    def next_socket(self) -> str:
        """A name for each start: gRPC takes its socket away as it stops, also where another one has come in its place.

        A start that was given up, as while a disk hangs, stops when it comes to its end, beside the one after it.
        """
        self._sockets += 1
        return f"{_SOCKET}{self._sockets % _SOCKETS:03}"

    def remove(self) -> None:
        """May be repeated."""
        if os.getpid() == self._made_by:
            shutil.rmtree(self.path, ignore_errors=True)
            _LEFT.pop(self.path, None)


_LEFT: dict[str, _SocketFolder] = {}


@atexit.register
def _remove_what_is_left() -> None:
    for path in sorted(_LEFT):  # each takes itself out
        _LEFT[path].remove()


def _short_folder() -> _SocketFolder | None:
    """Its own, this user's alone. The path of a socket has a limit, and a container's folder is often long."""
    for place in filter(_may_hold_sockets, (_temporary(), *_SHORT_PLACES)):
        try:
            return _SocketFolder(place)
        except OSError:
            continue
    return None


def _may_hold_sockets(place: str) -> bool:
    length = len(os.fsencode(place)) + len(f"/{FOLDER}-12345678/{_SOCKET}000")
    return bool(place) and length <= _SOCKET_PATH_MAX_BYTES and _NO_SOCKET.isdisjoint(place)


class _Passing(logging.Handler):
    """Passes the coordinator's warnings and errors on to the driver's log, each as one line, and not again and again.

    A disk that is full, or a file that somebody has locked, is met by everything that is tried again every second.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._seldom = Seldom()

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        left_out = self._seldom.left_out(_kind_of(said), time.monotonic())
        if left_out is None:
            return
        error = record.exc_info[1] if record.exc_info else None
        told = [said, *([f"({type(error).__name__}: {error})"] if error is not None else []), and_more(left_out)]
        log.log(record.levelno, "coordinator: %s", " ".join(" ".join(told).split()))
        if error is not None:
            log.debug("coordinator: where it failed", exc_info=record.exc_info)


def _kind_of(said: str) -> str:
    """The words before the first value."""
    return "".join(itertools.takewhile(lambda sign: not sign.isdigit(), said.split("' ", 1)[0]))[:80]


def _log_through_logging() -> None:
    """What the coordinator warns of joins the driver's log; rendered as the program says, where it has said so."""
    from coordinator import logs

    for package in ("coordinator", "state_backend"):
        root = logging.getLogger(package)
        for handler in [known for known in root.handlers if isinstance(known, _Passing)]:
            root.removeHandler(handler)
        root.addHandler(_Passing())
        root.propagate = False  # or a program that shows all logs would show these twice
    logs.through_logging()


def _warn_of_other_machines(store: str) -> None:
    """However the file was named: `sqlite:log.db` lies where the program runs, which may be a home of many machines."""
    from state_backend.address import parse_address

    path = getattr(parse_address(store), "path", None)
    if path is not None and (shared := shared_as(path)):
        log.warning(
            "%s lies on %s, which other machines share: SQLite is safe there only while one machine uses the file; "
            "expected a disk of this machine: set spark.shuffleLifecycle.store, or name coordinators by address",
            path,
            shared,
        )


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _is_ours(folder: Path) -> bool:
    """Nobody else's to write: a folder for temporary files is everybody's, and another may have made this one."""
    if not _is_writable(folder) or os.name == "nt":
        return _is_writable(folder)
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
