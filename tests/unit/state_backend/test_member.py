"""Certificates for etcd that are being replaced: nothing breaks meanwhile, and what is there in the end is taken up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from state_backend.address import TlsFiles
from state_backend.errors import Unavailable
from state_backend.etcd import member as members
from state_backend.etcd.member import Member
from state_backend.etcd.stubs import rpc_pb2, rpc_pb2_grpc

NOBODY = "127.0.0.1:1"
PATIENCE_S = 10


async def test_a_file_that_is_away_for_a_moment_is_taken_up_when_it_is_back(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(name)
    member = Member(NOBODY, TlsFiles(tmp_path / "ca", tmp_path / "cert", tmp_path / "key"))
    asked = member.kv

    async def try_it() -> None:
        with pytest.raises(Unavailable):
            await member.ready(2.0)

    (tmp_path / "key").unlink()
    await try_it()
    assert member.kv is asked, "the certificates that were read still hold"
    (tmp_path / "key").write_text("another key")
    await try_it()
    assert member.kv is not asked
    await member.close()


class Watched(rpc_pb2_grpc.WatchServicer):
    """A watch that says that it is there, and once more when it is told to."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def Watch(self, _: Any, __: Any) -> AsyncIterator[rpc_pb2.WatchResponse]:  # noqa: N802 - the protocol's name
        yield rpc_pb2.WatchResponse(created=True)
        await self.go_on.wait()
        yield rpc_pb2.WatchResponse()


async def test_a_watch_on_a_member_that_stops_outlives_new_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member says that it goes, new connections show the new certificate, and who waits on the old one waits on."""
    monkeypatch.setattr(members, "_channel", lambda endpoint, _: grpc.aio.insecure_channel(endpoint))
    (tmp_path / "ca").write_text("an authority")
    watched, server = Watched(), grpc.aio.server()
    rpc_pb2_grpc.add_WatchServicer_to_server(watched, server)
    member = Member(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}", TlsFiles(tmp_path / "ca", None, None))
    await server.start()
    await member.ready(PATIENCE_S)
    asked, channel, watch = member.kv, member._channel, member.watch.Watch()
    assert (await watch.read()).created

    stopping = asyncio.ensure_future(server.stop(PATIENCE_S))
    await asyncio.wait_for(channel.wait_for_state_change(grpc.ChannelConnectivity.READY), PATIENCE_S)
    del channel
    (tmp_path / "ca").write_text("another authority")
    with suppress(Unavailable):  # nobody listens there now
        await member.ready(PATIENCE_S)
    assert member.kv is not asked

    watched.go_on.set()
    assert await watch.read() == rpc_pb2.WatchResponse()
    assert await watch.read() is grpc.aio.EOF
    await stopping
    await member.close()
