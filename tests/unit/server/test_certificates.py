"""A handshake is whole, whatever was shown before."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from coordinator.server.certificates import CertificateFiles, Certificates
from tests.support.certificates import Authority


def shake(server: ssl.SSLContext, client: ssl.SSLContext, session: ssl.SSLSession | None) -> ssl.SSLObject:
    """Both ends in memory, until both are content; the client's end."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(down, up, server_hostname="127.0.0.1", session=session)
    theirs = server.wrap_bio(up, down, server_side=True)
    waiting = [ours, theirs]
    while waiting:
        end = waiting.pop(0)
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(end)
    theirs.write(b".")
    assert ours.read(1) == b"."  # a ticket comes with the first bytes
    return ours


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_no_session_is_taken_up_again_unverified(tmp_path: Path, version: ssl.TLSVersion) -> None:
    authority = Authority(tmp_path / "authority")
    server, mine = authority.issue("server"), authority.issue("driver")
    context = Certificates(CertificateFiles(server.cert, server.key, authority.ca)).context()
    client = ssl.create_default_context(cafile=str(mine.ca))
    client.load_cert_chain(mine.cert, mine.key)
    client.maximum_version = version
    first = shake(context, client, None)
    assert not shake(context, client, first.session).session_reused
