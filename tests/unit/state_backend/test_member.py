"""Certificates for etcd that are being replaced: nothing breaks meanwhile, and what is there in the end is taken up."""

from __future__ import annotations

from pathlib import Path

import pytest

from state_backend.address import TlsFiles
from state_backend.errors import Unavailable
from state_backend.etcd.member import Member

NOBODY = "127.0.0.1:1"


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
