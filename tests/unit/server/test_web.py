"""The small HTTP listener: whoever comes costs little, and nobody keeps it from stopping."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from coordinator.server import web
from coordinator.server.certificates import CertificateFiles, Certificates
from coordinator.server.web import Listener, Question, Reply
from tests.support.certificates import Authority

ASK = b"GET / HTTP/1.1\r\n\r\n"
SOON_S = 5.0  # much less than a peer is waited for


async def nothing(_: Question) -> Reply:
    return Reply("200 OK", b"nothing\n")


@asynccontextmanager
async def listening(listener: Listener, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    await listener.start("127.0.0.1:0", tls)
    try:
        yield int(listener.address.rpartition(":")[2])
    finally:
        await asyncio.wait_for(listener.stop(), SOON_S)


async def ask(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASK)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    issued = Authority(tmp_path / "authority").issue("server")
    return Certificates(CertificateFiles(issued.cert, issued.key)).context()


async def test_who_says_nothing_does_not_keep_it_from_stopping() -> None:
    async with listening(Listener(nothing)) as port:
        reader, silent = await asyncio.open_connection("127.0.0.1", port)
        assert b"200 OK" in await ask(port)
    assert await reader.read() == b""
    silent.close()


async def test_who_does_not_read_does_not_either() -> None:
    async def much(_: Question) -> Reply:
        return Reply("200 OK", b"x" * 20_000_000)

    async with listening(Listener(much)) as port:
        reader, deaf = await asyncio.open_connection("127.0.0.1", port, limit=1)
        deaf.write(ASK)
        assert await reader.readexactly(1) == b"H"
    with suppress(ConnectionResetError):
        assert len(await reader.read()) < 20_000_000
    deaf.close()


async def test_nor_does_a_peer_with_certificates(tls: ssl.SSLContext) -> None:
    """It shakes hands, and says nothing."""
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    async with listening(Listener(nothing), tls) as port:
        reader, silent = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    silent.transport.abort()


async def test_a_handshake_ends_or_the_connection_does(tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_HEAD_S", 0.05)
    async with listening(Listener(nothing), tls) as port:
        reader, silent = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), SOON_S) == b""
        silent.close()


async def test_who_is_being_hung_up_on_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer waits to be read; another one is sent away for it."""
    monkeypatch.setattr(web, "_CONNECTIONS", 1)
    closing = asyncio.Event()

    async def close(writer: asyncio.StreamWriter, seconds: float) -> None:
        if seconds != web._SENT_AWAY_S:
            closing.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(web, "_close", close)
    async with listening(Listener(nothing)) as port:
        _, deaf = await asyncio.open_connection("127.0.0.1", port)
        deaf.write(ASK)
        await closing.wait()
        assert b"503 Service Unavailable" in await ask(port)
        deaf.close()


@pytest.mark.parametrize("error", [OSError("the disk"), TimeoutError("the store"), KeyError("a defect")])
async def test_what_cannot_be_answered_is_said(error: Exception) -> None:
    async def failing(_: Question) -> Reply:
        raise error

    async with listening(Listener(failing)) as port:
        answer = await ask(port)
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert b"log says why" in answer
