"""A replica on a SQLite file: what was acknowledged is there after the process is gone."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from coordinator.core.commands import Fenced, Freed, ReportOutcome
from coordinator.core.rejections import Accepted
from coordinator.core.state import Directive
from coordinator.core.values import Deletion, DirectiveKind
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from listener_bridge.reach.telling import Told, begin
from listener_bridge.tap.facts import JobStarted
from listener_bridge.translate import Translator
from state_backend.errors import NewerStore
from state_backend.sqlite.backend import open_sqlite
from tests.simulation import checks, facts
from tests.simulation.world import registered
from tests.unit.listener_bridge.fakes import stage
from tests.unit.runtime import test_large as large


async def test_21_a_replica_started_again_on_the_same_file_takes_the_fence_up_again(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path / "store.db") as store, Replica(store, Options("before")) as replica:
        number = await registered(replica)
        await replica.submit(facts.APP, number(facts.whole(0)))
        fence = await _directive(replica)
        assert fence.kind is DirectiveKind.FENCE
    async with await open_sqlite(tmp_path / "store.db") as store, Replica(store, Options("after")) as replica:
        assert await _directive(replica) == fence
        await replica.submit(facts.APP, number([ReportOutcome(fence.directive, Fenced(1_000))]))
        delete = await _directive(replica)
        await replica.submit(facts.APP, number([ReportOutcome(delete.directive, Freed(1_000))]))
        state = await replica.view(facts.APP)
        assert state.shuffles[facts.asks(0).app_shuffle].cause is Deletion.POLICY
        assert await checks.wrongs(store, facts.APP, {facts.DRIVER: set(range(1, number.last + 1))}) == []


async def test_two_replicas_on_one_file_agree(tmp_path: Path) -> None:
    one_store, two_store = [await open_sqlite(tmp_path / "store.db") for _ in range(2)]
    async with one_store, two_store, Replica(one_store, Options("r1")) as one, Replica(two_store, Options("r2")) as two:
        number = await registered(one)
        batches = [number(facts.writes(job)) for job in range(10)]
        await asyncio.gather(*((one, two)[n % 2].submit(facts.APP, batch) for n, batch in enumerate(batches)))
        assert await one.view(facts.APP) == await two.view(facts.APP)
        assert await checks.wrongs(one_store, facts.APP, {facts.DRIVER: set(range(1, number.last + 1))}) == []


async def test_what_a_large_application_tells_is_taken_and_there_after_a_restart(tmp_path: Path) -> None:
    told, translator = Told(), Translator()
    translator.tells_ahead = True
    stages = (*(stage(n, writes=n, name=large.CALL_SITE) for n in range(10_000)), stage(10_000, parents=(9_999,)))
    requests = translator.requests_of([JobStarted(0, 1, 0, stages, 10_000, None, None)])
    requests += [begin(1), told.report(1, large.found(40_000))]
    async with await open_sqlite(tmp_path / "store.db") as store, Replica(store, Options("before")) as replica:
        await registered(replica)
        assert await large.submitted(replica, 1, requests) == [Accepted()] * len(requests)
        before = await replica.view(facts.APP)
    async with await open_sqlite(tmp_path / "store.db") as store, Replica(store, Options("after")) as replica:
        assert await replica.view(facts.APP) == before
        assert await checks.wrongs(store, facts.APP, {facts.DRIVER: set(range(1, len(requests) + 1))}) == []
    assert len(before.shuffles) == 10_000
    assert {need for root in before.roots.values() for need in root.needs} == set(range(40_000))


async def test_a_session_hears_of_another_process_commits(tmp_path: Path) -> None:
    one_store, two_store = [await open_sqlite(tmp_path / "store.db") for _ in range(2)]
    async with one_store, two_store, Replica(one_store, Options("r1")) as one, Replica(two_store, Options("r2")) as two:
        number = await registered(one)
        async with await one.open_session(facts.APP, facts.DRIVER) as session:
            await two.submit(facts.APP, number(facts.whole(0)))
            message = await asyncio.wait_for(session.__anext__(), 5)
            assert isinstance(message, Directive)


async def test_a_sign_of_life_that_fails_its_checksum_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with await open_sqlite(path) as store, Replica(store, Options("before")) as replica:
        await registered(replica)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE version SET value = x'00' WHERE keyspace = 'sessions' AND ended IS NULL")
    connection.commit()
    connection.close()
    async with await open_sqlite(path) as store, Replica(store, Options("r1")) as replica:
        assert await replica.signs([facts.APP]) == {}
        async with await replica.open_session(facts.APP, facts.DRIVER):
            signs = await replica.signs([facts.APP])
        assert (signs[facts.APP].client, signs[facts.APP].replica) == (facts.DRIVER, "r1")


async def test_snapshots_are_encoded_aside_and_read_again(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path / "store.db") as store:
        options = Options("before", snapshot_every_events=50)
        async with Replica(store, options, aside=asyncio.to_thread) as replica:
            number = await registered(replica)
            for job in range(30):
                await replica.submit(facts.APP, number(facts.whole(job)))
            live = await replica.view(facts.APP)
        async with Replica(store, Options("after")) as replica:
            assert await replica.view(facts.APP) == live


async def test_a_store_of_a_newer_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await open_sqlite(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NewerStore, match="99"):
        await open_sqlite(path)
    assert path.read_bytes() == before


async def _directive(replica: Replica) -> Directive:
    async with await replica.open_session(facts.APP, facts.DRIVER) as session:
        message = await asyncio.wait_for(session.__anext__(), 5)
        assert isinstance(message, Directive)
        return message
