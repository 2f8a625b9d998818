"""The pages answer GET and HEAD, tell what the replica tells, and are not hurt by who asks."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from coordinator.core.commands import EndApplication, RegisterApplication, Request
from coordinator.core.ids import ApplicationId, ClientId
from coordinator.core.values import Driver, Settings
from coordinator.pages import http
from coordinator.pages.http import serving
from coordinator.runtime.clock import Clock
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.server import web
from coordinator.server.interfaces import CannotListen
from state_backend.memory import MemoryBackend
from tests.support.browser import CHROMIUM, document
from tests.unit.replay.logs import APP, Told, deleted_and_missed

Said = tuple[int, dict[str, str], bytes]  # status, headers, body


@dataclass
class Site:
    """A replica with one application, and its pages."""

    replica: Replica
    port: int

    async def ask(self, target: str, method: str = "GET", host: str = "127.0.0.1:1") -> Said:
        return await self.say(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())

    async def say(self, raw: bytes) -> Said:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        answer = await reader.read()
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body


async def tell(replica: Replica, told: Told) -> None:
    for command in told.said:
        request = Request(ClientId(""), 0, command)
        if isinstance(command, RegisterApplication):
            await replica.register(request)
        else:
            await replica.submit(APP, [request])


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Replica(MemoryBackend(), Options(replica="r", reap=False)) as replica:
        await tell(replica, deleted_and_missed())
        async with serving(replica, "127.0.0.1:0") as address:
            yield Site(replica, int(address.rstrip("/").rpartition(":")[2]))


async def test_the_list_leads_to_the_picture_and_that_to_its_numbers(site: Site) -> None:
    status, _, listed = await site.ask("/")
    assert (status, f"href='{APP}/'".encode() in listed) == (200, True)
    status, head, shown = await site.ask(f"/{APP}/")
    assert (status, b'"live": "numbers.json"' in shown) == (200, True)
    assert "script-src 'sha256-" in head["Content-Security-Policy"]
    status, _, told = await site.ask(f"/{APP}/numbers.json")
    found = json.loads(told)
    assert (status, found["name"], found["sequence"], len(found["bars"])) == (200, "chain", 32, 3)


async def test_the_list_tells_where_deletion_has_suspended_itself() -> None:
    async with Replica(MemoryBackend(), Options(replica="r", reap=False)) as replica:
        await tell(replica, deleted_and_missed(Settings(premature_budget=0)))
        async with serving(replica, "127.0.0.1:0") as address:
            _, _, listed = await Site(replica, int(address.rstrip("/").rpartition(":")[2])).ask("/")
    assert b"<td>running, suspended</td>" in listed


async def test_the_list_holds_the_newest_and_says_how_many_more_there_are() -> None:
    """Ids are in no order of time: the newest has the first one."""
    seconds = itertools.count(1_790_000_000)
    clock = Clock(lambda: next(seconds))
    async with Replica(MemoryBackend(), Options(replica="r", reap=False), clock=clock) as replica:
        for number in reversed(range(703)):
            name = f"{number:04}"
            command = RegisterApplication(ApplicationId(name), Driver(name=f"job {name}"))
            await replica.register(Request(ClientId(""), 0, command))
        async with serving(replica, "127.0.0.1:0") as address:
            _, _, listed = await Site(replica, int(address.rstrip("/").rpartition(":")[2])).ask("/")
    told = re.findall(r">job (\d+)<", listed.decode())
    assert told == [f"{number:04}" for number in range(200)]
    assert "503 older ones not shown" in listed.decode()


async def test_what_is_known_is_not_told_again_and_what_is_new_is(site: Site) -> None:
    assert (await site.ask(f"/{APP}/numbers.json?after=32"))[0] == 204
    await site.replica.submit(APP, [Request(ClientId(""), 0, EndApplication())])
    status, _, told = await site.ask(f"/{APP}/numbers.json?after=32")
    assert (status, json.loads(told)["ended"]) == (200, True)


async def test_a_head_has_no_body_and_nothing_can_be_changed(site: Site) -> None:
    status, head, body = await site.ask("/", "HEAD")
    assert (status, body, int(head["Content-Length"]) > 100) == (200, b"", True)
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert (await site.ask("/", method))[0] == 405


async def test_what_is_not_there(site: Site) -> None:
    assert (await site.ask("/nobody/"))[0] == 404
    assert (await site.ask("/nobody/numbers.json"))[0] == 404
    assert (await site.ask("/a/b/c"))[0] == 404
    assert (await site.ask("//%00/../"))[0] == 404
    assert (await site.ask("//["))[0] == 404


async def test_a_page_of_another_site_in_a_browser_here_is_refused(site: Site) -> None:
    assert (await site.ask("/", host="evil.example:80"))[0] == 403
    assert (await site.ask("/", host="localhost:8080"))[0] == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.2:7459", 200), ("LocalHost:7459", 200), ("127.0.0.2", 200), ("evil.example:7459", 403), ("evil", 403)],
)
async def test_pages_are_read_under_the_address_that_they_are_served_at(site: Site, host: str, status: int) -> None:
    """As on a machine whose own name leads to 127.0.1.1."""
    pages = http.Pages(site.replica, "127.0.0.2:7459")
    reply = await pages.answer(web.Question("/", (f"Host: {host}",)))
    assert int(reply.status.split()[0]) == status


async def test_who_sends_no_end_or_too_much_is_hung_up_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_HEAD_S", 0.05)
    reader, slow = await asyncio.open_connection("127.0.0.1", site.port)
    slow.write(b"GET / HTTP/1.1\r\n")
    assert await reader.read() == b""
    slow.close()
    reader, rude = await asyncio.open_connection("127.0.0.1", site.port)
    rude.write(b"GET /" + b"x" * 20_000)
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    rude.close()
    assert (await site.ask("/"))[0] == 200


@pytest.mark.parametrize("fits", [False, True], ids=["writing", "closing"])
async def test_who_reads_nothing_is_hung_up_on(site: Site, monkeypatch: pytest.MonkeyPatch, fits: bool) -> None:
    monkeypatch.setattr(web, "_WRITE_S", 0.05)
    large = web.Reply("200 OK", b"x" * 20_000_000)
    monkeypatch.setattr(http.Pages, "_guarded", lambda *_: asyncio.sleep(0, large))
    if fits:  # the transport takes it all: writing does not wait, closing does
        monkeypatch.setattr(web, "_write", _written_at_once)
    before = asyncio.all_tasks()
    reader, deaf = await asyncio.open_connection("127.0.0.1", site.port, limit=1)
    deaf.write(b"GET / HTTP/1.1\r\n\r\n")
    while not (served := asyncio.all_tasks() - before):  # noqa: ASYNC110 - nothing else tells of the connection
        await asyncio.sleep(0)
    await asyncio.wait(served, timeout=10)
    got = len(await reader.read())
    assert got < 20_000_000
    deaf.close()


async def _written_at_once(writer: asyncio.StreamWriter, reply: web.Reply, *_: object) -> None:
    writer.write(reply.body)


async def test_a_place_of_thousands_of_digits_is_none(site: Site) -> None:
    assert (await site.ask(f"/{APP}/numbers.json?after={'9' * 5_000}"))[0] == 200


async def test_more_than_may_ask_at_once_are_sent_away(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_CONNECTIONS", 1)
    asked, told = asyncio.Event(), asyncio.Event()

    async def late(*_: object) -> web.Reply:
        asked.set()
        await told.wait()
        return web.Reply("200 OK")

    monkeypatch.setattr(http.Pages, "_guarded", late)
    first = asyncio.create_task(site.ask("/"))
    await asked.wait()
    assert (await site.ask("/"))[0] == 503
    told.set()
    assert (await first)[0] == 200


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; what the pages answer is checked above")
async def test_a_browser_draws_the_live_page_and_the_list(site: Site, tmp_path: Path) -> None:
    """Its policy lets its own script run, and that fetches the numbers."""
    url = f"http://127.0.0.1:{site.port}/{APP}/"
    shown = await asyncio.to_thread(document, url, tmp_path)
    assert "shuffles written, 2 there (180 MB)" in shown
    assert "live, as of event 32" in shown


async def test_a_port_that_is_taken_is_told(site: Site) -> None:
    with pytest.raises(CannotListen, match="free port"):
        async with serving(site.replica, f"127.0.0.1:{site.port}"):
            pass
