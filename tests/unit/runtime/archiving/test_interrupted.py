"""Archiving, and taking out, broken off at any step: nothing is ever missing.

Responsible for faults of the store and of the archive, one step after the other. Refuses to know replicas. Invariant:
after the fault, and after the next look, store and archive read as one log.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from coordinator.archive.api import Archive
from coordinator.archive.folder import Folder
from coordinator.runtime.housekeeping import LOCK
from coordinator.runtime.retention import take_out
from state_backend.api import StateBackend
from state_backend.errors import StateBackendError
from state_backend.testing.faults import AnswerLost, Fault, Faults, FaultyBackend, Late, Overtaken, Refused, RequestLost
from state_backend.values import Keyspace
from tests.simulation import virtual
from tests.simulation.world import World
from tests.unit.runtime.archiving.archived import Failing, assert_whole, head, look, opened, told


@pytest.mark.parametrize("fault", [Refused(), AnswerLost(), RequestLost(), Late(2), Overtaken()], ids=repr)
@pytest.mark.parametrize("ended", [False, True], ids=["archiving", "taking out"])
def test_whatever_the_store_does_at_any_step_is_harmless(tmp_path: Path, fault: Fault, ended: bool) -> None:
    """The fault meets one transaction after the other, and from then on everything, as after a crash."""

    async def story(step: int) -> bool:
        archive = Folder(tmp_path / f"{step}")
        async with World() as world:
            log = await told(world, ended)
            later: dict[int, Fault] = {n: Refused() for n in range(step + 1, step + 500)}
            faulty = FaultyBackend(world.reader(), Faults({step: fault, **later}))
            reached = not await _tried(do(world, archive, ended, faulty))
            await faulty.apply_late()
            await assert_whole(world, archive, log)
            await do(world, archive, ended)
            await do(world, archive, ended)
            await assert_whole(world, archive, log)
            assert bool((await world.reader().scan_keys(Keyspace.HEADS)).keys) is not ended
            return reached

    steps = 0
    while virtual.run(story(steps)):
        steps += 1
    assert steps > 3


async def _tried(work: Any) -> bool:
    """Whether it came to its end. One that waits for the store to come back would wait for ever: it has crashed."""
    try:
        await asyncio.wait_for(work, 10)
    except (StateBackendError, asyncio.TimeoutError):
        return False
    return True


async def do(world: World, archive: Archive, ended: bool, backend: StateBackend | None = None) -> None:
    if not ended:
        await look(world, archive, backend)
        return
    async with world.reader() as locks, locks.lock(Keyspace.SESSIONS, LOCK, 60) as lock:
        store = backend or locks
        await take_out(store, lock, opened(store, archive))


@pytest.mark.parametrize("done", [False, True], ids=["not done", "done and not answered"])
def test_whatever_the_archive_does_at_any_step_is_harmless(tmp_path: Path, done: bool) -> None:
    async def story(step: int) -> bool:
        folder = tmp_path / f"{step}"
        async with World() as world:
            log = await told(world)
            failing = Failing(folder, step, done)
            await look(world, failing)  # it is told to the replica's log, and tried again
            await assert_whole(world, Folder(folder), log)
            await look(world, Folder(folder))
            await assert_whole(world, Folder(folder), log)
            assert (await head(world)).archived_below == (await head(world)).previous_snapshot + 1
            return failing._left < 0

    steps = 0
    while virtual.run(story(steps)):
        steps += 1
    assert steps > 5
