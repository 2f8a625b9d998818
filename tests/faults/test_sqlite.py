"""A replica over a SQLite file on a disk that fills up, and what a crash leaves of the last record.

Its invariant: a full disk is felt by real writes of a real process (its limit on the size of files), and a torn record
is a real file that was cut.
"""

from __future__ import annotations

import resource
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import checker, fold, history, store
from tests.faults.cluster import Server, lone_server
from tests.faults.run import SETTINGS, Drivers
from tests.faults.test_lives import until

pytestmark = pytest.mark.faults

WAL_FRAME_BYTES = 4096 + 24
FULL_BYTES = 1 << 20  # far more than any history or log of a test


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with lone_server(tmp_path, f"sqlite://{tmp_path}/store.db", SETTINGS) as server:
        yield server


@pytest.fixture
def drivers(tmp_path: Path, server: Server) -> Iterator[Drivers]:
    drivers = Drivers(tmp_path, [server.advertise], seed=1, each=3, pace_s=0.05)
    try:
        drivers.start()
        until(lambda: freed(tmp_path) > 10, "ten deletions")
        yield drivers
    finally:
        drivers.kill()


def freed(folder: Path, since_s: float = 0.0) -> int:
    actions = history.read(folder.glob("*.jsonl"))
    return sum(action.what == "freed" and action.begun_s > since_s for action in actions)


def refused(folder: Path, server: Server, since_s: float = 0.0) -> int:
    """Appends that the store did not make."""
    actions = history.read(folder.glob(f"replica-{server.name}-*.jsonl"))
    return sum(action.outcome != "ok" and action.ended_s is not None and action.begun_s > since_s for action in actions)


def answered(folder: Path, since_s: float) -> int:
    """Requests that were answered after that moment."""
    actions = history.read(folder.glob("drivers-*.jsonl"))
    return sum("number" in a.told and a.outcome == "ok" and (a.ended_s or 0.0) > since_s for a in actions)


def test_a_full_disk_is_waited_out(tmp_path: Path, server: Server, drivers: Drivers) -> None:
    assert server.process is not None
    until(lambda: (tmp_path / "store.db-wal").stat().st_size > FULL_BYTES, "a file that is larger than any may be")
    limit(server.process.pid, FULL_BYTES)
    until(lambda: refused(tmp_path, server) > 3, "appends that are refused")
    full_s = time.monotonic()
    until(lambda: refused(tmp_path, server, full_s) > 3, "more of them")
    assert answered(tmp_path, full_s) == 0
    assert server.process.poll() is None, "it goes on, and says so"
    limit(server.process.pid, resource.RLIM_INFINITY)
    room_s = time.monotonic()
    until(lambda: freed(tmp_path, room_s) > 10, "ten more deletions")
    assert drivers.rest() == []
    actions = history.read(tmp_path.glob("*.jsonl"))
    drivers.end()
    server.kill()
    assert checker.check(store.of_sqlite(tmp_path / "store.db"), actions).wrong == ()


def test_what_a_crash_leaves_of_the_last_record_is_whole_or_not_there(
    tmp_path: Path, server: Server, drivers: Drivers
) -> None:
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    drivers.kill()
    wal = (tmp_path / "store.db-wal").read_bytes()
    whole = len(events(tmp_path, "whole", wal))
    assert whole > 20
    ends = [len(wal) - cut for cut in (1, 25, WAL_FRAME_BYTES - 1, WAL_FRAME_BYTES, 5 * WAL_FRAME_BYTES // 2)]
    found = [len(events(tmp_path, f"cut-{end}", wal[:end])) for end in ends]
    assert all(0 < count <= whole for count in found)
    flipped = bytearray(wal)
    flipped[-WAL_FRAME_BYTES // 2] ^= 0xFF
    assert 0 < len(events(tmp_path, "flipped", bytes(flipped))) <= whole
    assert serves(tmp_path / f"cut-{ends[-1]}")


def events(folder: Path, name: str, wal: bytes) -> list[fold.Stored]:
    """The segments that are read where the file's log ends so; nothing of them may be wrong."""
    (folder / name).mkdir()
    shutil.copy(folder / "store.db", folder / name / "store.db")
    (folder / name / "store.db-wal").write_bytes(wal)
    logs = fold.read_logs(store.of_sqlite(folder / name / "store.db"))
    assert [wrong for log in logs.values() for wrong in log.wrong] == []
    return [segment for log in logs.values() for segment in log.segments]


def serves(folder: Path) -> bool:
    """Whether a replica begins on what is left, and drivers can delete there."""
    with lone_server(folder, f"sqlite://{folder}/store.db", SETTINGS) as server:
        drivers = Drivers(folder, [server.advertise], seed=2, each=1, pace_s=0.05)
        try:
            drivers.start()
            return until(lambda: freed(folder) > 0, "a deletion")
        finally:
            drivers.kill()


def limit(process: int, size: int) -> None:
    """No file of the process may grow beyond this."""
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
