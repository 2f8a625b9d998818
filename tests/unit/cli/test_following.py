"""`shufflectl events --follow` with several coordinators: who follows hears every event once, whoever goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.cli import dialing
from coordinator.cli.exits import Exit, Failure
from coordinator.cli.history import to_the_end
from coordinator.cli.sources.server import ServerSource
from coordinator.cli.sources.store import StoreSource
from coordinator.core import commands as c
from coordinator.core.commands import Request
from coordinator.core.events import ApplicationEnded, GenerationExpired, Recorded
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.values import Ending
from coordinator.runtime.errors import SetBack
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.open import open_backend
from tests.unit.cli.calling import Shufflectl, store
from tests.unit.replay.logs import deleted_and_missed
from tests.unit.server import facts
from tests.unit.server.fakes import APP, TOKEN, FakeCoordinator, Running, register, running

_PATIENCE_S = 20.0


async def test_who_follows_goes_on_at_the_next_coordinator() -> None:
    coordinator = FakeCoordinator()
    log = coordinator.logs.setdefault(APP, [])
    async with running(coordinator) as second:
        async with running(coordinator) as first:
            await register(first)
            source = ServerSource([first.server.address, second.server.address], TOKEN, 5.0)
            following = source.follow(APP)
            heard = [await asyncio.wait_for(anext(following), _PATIENCE_S) for _ in log]
        await _tell_of_a_job(second)
        while len(heard) < len(log):
            heard.append(await asyncio.wait_for(anext(following), _PATIENCE_S))
        await source.close()
    assert heard == log


async def test_who_follows_hears_at_the_next_coordinator_that_the_log_is_another_one() -> None:
    """The store was set back while nobody served."""
    coordinator, later = FakeCoordinator(), FakeCoordinator()
    async with running(later) as second:
        await register(second)
        async with running(coordinator) as first:
            await register(first)
            source = ServerSource([first.server.address, second.server.address], TOKEN, 5.0)
            await _tell_of_a_job(first)
            following = source.follow(APP)
            for _ in coordinator.logs[APP]:
                await asyncio.wait_for(anext(following), _PATIENCE_S)
        later.logs[APP] = [replace(recorded, time_ms=recorded.time_ms + 1) for recorded in coordinator.logs[APP]]
        with pytest.raises(SetBack, match=f"up to event {len(coordinator.logs[APP])}"):
            await asyncio.wait_for(anext(following), _PATIENCE_S)
        await source.close()


@asynccontextmanager
async def line_to(address: str, is_whole: asyncio.Event) -> AsyncIterator[str]:
    """The address of a way there that swallows everything while it is not whole, as one to a machine that is gone."""
    host, _, port = address.rpartition(":")
    relays: list[asyncio.Task[None]] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while passed := await reader.read(65_536):
                await is_whole.wait()
                writer.write(passed)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(port))
        relays.extend(map(asyncio.ensure_future, (relay(reader, back), relay(there, writer))))

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for one in relays:
            one.cancel()


async def test_who_follows_goes_on_where_the_line_is_dead_and_nobody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sooner = [(key, value // 20 if key.endswith("_ms") else value) for key, value in dialing._OPTIONS]
    monkeypatch.setattr(dialing, "_OPTIONS", sooner)
    coordinator, is_whole = FakeCoordinator(), asyncio.Event()
    log = coordinator.logs.setdefault(APP, [])
    is_whole.set()
    async with running(coordinator) as first, running(coordinator) as second:
        await register(first)
        async with line_to(first.server.address, is_whole) as line:
            source = ServerSource([line, second.server.address], TOKEN, 5.0)
            following = source.follow(APP)
            heard = [await asyncio.wait_for(anext(following), _PATIENCE_S) for _ in log]
            is_whole.clear()
            await _tell_of_a_job(second)
            while len(heard) < len(log):
                heard.append(await asyncio.wait_for(anext(following), _PATIENCE_S))
            await source.close()
    assert heard == log


class Elsewhere(FakeCoordinator):
    """Its store is set back beneath whoever follows."""

    async def follow(self, application: ApplicationId, after: int = 0) -> AsyncIterator[Recorded]:
        for recorded in await self.events(application, after):
            yield recorded
        raise SetBack(application, len(self.logs[application]))


async def test_who_follows_a_log_that_is_set_back_hears_so_and_nothing_of_another_one() -> None:
    async with running(Elsewhere()) as only:
        await register(only)
        source = ServerSource([only.server.address], TOKEN, 5.0)
        following = source.follow(APP)
        for _ in only.coordinator.logs[APP]:
            await asyncio.wait_for(anext(following), _PATIENCE_S)
        with pytest.raises(grpc.aio.AioRpcError, match="the store holds another one now"):
            await asyncio.wait_for(anext(following), 3.0)
        await source.close()


class HangingUp(FakeCoordinator):
    """Says when it has hung up on who does not read."""

    def __init__(self) -> None:
        super().__init__()
        self.hung_up = asyncio.Event()

    async def audit(self, peer: str, kind: str, detail: str) -> None:
        await super().audit(peer, kind, detail)
        if "nothing was read" in detail:
            self.hung_up.set()


async def test_who_was_hung_up_on_for_reading_slowly_goes_on_from_there() -> None:
    """As where a pager reads the output, which goes on when somebody turns the page."""
    coordinator = HangingUp()
    async with running(coordinator, write_within_s=0.2) as only:
        await register(only)
        for number in range(1, 301):
            job = {"job": number, "final_stage": 6, "call_site": "x" * 60_000}
            await only.stub.Submit(pb.SubmitCall(caller=only.caller(), requests=[{"report_job_started": job}]))
        log = coordinator.logs[APP]
        source = ServerSource([only.server.address], TOKEN, 5.0)
        following = source.follow(APP)
        heard = [await asyncio.wait_for(anext(following), _PATIENCE_S)]
        await asyncio.wait_for(coordinator.hung_up.wait(), _PATIENCE_S)
        heard += [await asyncio.wait_for(anext(following), _PATIENCE_S) for _ in log[1:]]
        await source.close()
    assert heard == log


def test_who_follows_so_many_events_hears_no_more(shufflectl: Shufflectl, tmp_path: Path) -> None:
    """The application goes on: without the limit it would be followed for ever."""
    address = store(tmp_path / "store.db", deleted_and_missed())
    called = shufflectl("events", "--store", address, "-", "--follow", "--after", "2", "--limit", "3")
    assert (called.code, [line.split()[0] for line in called.out.splitlines()]) == (Exit.OK, ["3", "4", "5"])


async def test_who_follows_the_only_coordinator_hears_that_it_is_gone() -> None:
    async with running() as only:
        await register(only)
        source = ServerSource([only.server.address], TOKEN, 5.0)
        following = source.follow(APP)
        for _ in only.coordinator.logs[APP]:
            await asyncio.wait_for(anext(following), _PATIENCE_S)
    with pytest.raises(Failure) as gone:
        await asyncio.wait_for(anext(following), _PATIENCE_S)
    assert (gone.value.exit_code, "no coordinator answers" in str(gone.value)) == (Exit.UNAVAILABLE, True)


@pytest.mark.parametrize("after", [0, 3, 1_000])
def test_who_follows_an_application_that_has_ended_comes_to_the_end(
    shufflectl: Shufflectl, tmp_path: Path, after: int
) -> None:
    told = deleted_and_missed()
    told.say(c.EndApplication(Ending.ENDED))
    here = ("--store", store(tmp_path / "store.db", told), "-", "--after", after)
    heard = [line.split()[0] for line in shufflectl("events", "--follow", *here).out.splitlines()]
    assert heard == [str(recorded.sequence) for recorded in told.log if recorded.sequence > after]


def test_who_follows_from_the_middle_hears_things_called_as_before_it(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = deleted_and_missed()
    told.say(c.EndApplication(Ending.ENDED))
    asked = ("events", "--store", store(tmp_path / "store.db", told), "-")
    all_of_it = shufflectl(*asked).out.splitlines()[1:]
    (expired,) = (recorded.sequence for recorded in told.log if isinstance(recorded.event, GenerationExpired))
    heard = shufflectl(*asked, "--follow", "--after", expired - 1).out.splitlines()
    assert "#1 of app shuffle 0 expired" in heard[0]
    assert [" ".join(line.split()) for line in heard] == [" ".join(line.split()) for line in all_of_it[expired - 1 :]]


async def test_who_follows_hears_the_end_and_no_more() -> None:
    told = deleted_and_missed()
    first, *others = (Request(ClientId(""), 0, command) for command in told.said)
    async with await open_backend("memory:") as backend, Replica(backend, Options(replica="w", reap=False)) as replica:
        await replica.register(first)
        await replica.submit(told.application, others)
        following = to_the_end(StoreSource(backend, "memory:", None), told.application, 0)
        heard = [await asyncio.wait_for(anext(following), _PATIENCE_S) for _ in told.log]
        await replica.submit(told.application, [Request(ClientId(""), 0, c.EndApplication(Ending.ENDED))])
        heard += await asyncio.wait_for(_rest(following), _PATIENCE_S)
        assert heard == await replica.events(told.application)
        assert ApplicationEnded in map(type, (recorded.event for recorded in heard))


async def _tell_of_a_job(run: Running) -> None:
    job = pb.NumberedRequest(report_job_started={"job": 1, "final_stage": 6, "lineage": [facts.LINEAGE]})
    await run.stub.Submit(pb.SubmitCall(caller=run.caller(), requests=[job]))


async def _rest(following: AsyncIterator[Recorded]) -> list[Recorded]:
    return [recorded async for recorded in following]
