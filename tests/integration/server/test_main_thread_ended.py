"""A program whose main thread has ended may go on in others: a coordinator inside it starts and works as before."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from state_backend.sqlite.backend import open_sqlite
from state_backend.values import Keyspace

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from coordinator.app import start_replica
from coordinator.runtime.options import Options
from examples import other_engine

def take_executors_work():
    try:
        with ThreadPoolExecutor(1) as one:
            return one.submit(bool, 1).result()
    except RuntimeError:
        return False

def go_on():
    while take_executors_work():
        time.sleep(0.01)
    replica = start_replica(sys.argv[1], options=Options("late", snapshot_every_events=1))
    other_engine.main(replica.address, print)
    replica.stop()

threading.Thread(target=go_on).start()
"""


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 3),
    reason="CPython starts no thread there once the main one has ended (gh-113964)",
)
def test_a_coordinator_starts_and_writes_its_snapshots_after_the_main_thread_has_ended(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, f"sqlite://{tmp_path / 'store.db'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout
    assert asyncio.run(_snapshots(tmp_path / "store.db"))


async def _snapshots(file: Path) -> list[str]:
    async with await open_sqlite(file) as store:
        return list((await store.scan_keys(Keyspace.SNAPSHOTS)).keys)
