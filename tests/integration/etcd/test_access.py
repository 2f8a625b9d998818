"""Who may ask, and over what: users, tokens that run out, certificates.

Its invariant: a refusal names its reason, and never the password.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from state_backend.address import Credentials, EtcdAddress, TlsFiles, parse_address
from state_backend.api import Keyspace, Revision
from state_backend.errors import Denied, Unavailable
from state_backend.etcd.backend import open_etcd
from state_backend.etcd.cluster import Deadlines
from state_backend.open import open_backend
from state_backend.testing.watching import keys, take
from tests.support.certificates import Authority
from tests.support.etcd import Cluster, Tls, running_etcd

pytestmark = pytest.mark.etcd

LIVE = Keyspace.LIVE
BRISK = Deadlines(connect_seconds=1.0, request_seconds=2.0, give_up_seconds=2.0)
TOKEN_SECONDS = 1


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Cluster]:
    """A store with users, whose tokens run out after a second without use."""
    with running_etcd(tmp_path, arguments=("--auth-token-ttl", str(TOKEN_SECONDS))) as cluster:
        guard(cluster)
        yield cluster


def guard(cluster: Cluster) -> None:
    cluster.etcdctl("user", "add", "root:top-secret")
    cluster.etcdctl("user", "grant-role", "root", "root")
    cluster.etcdctl("user", "add", "ann:her-secret")
    cluster.etcdctl("role", "add", "ours")
    cluster.etcdctl("role", "grant-permission", "ours", "--prefix=true", "readwrite", "ours/")
    cluster.etcdctl("user", "grant-role", "ann", "ours")
    cluster.etcdctl("auth", "enable")


def as_ann(cluster: Cluster, prefix: str = "ours", password: str = "her-secret") -> EtcdAddress:
    return EtcdAddress(cluster.endpoints, prefix, Credentials("ann", password))


async def test_a_user_reads_writes_watches_and_locks(guarded: Cluster) -> None:
    async with await open_etcd(as_ann(guarded), BRISK) as backend:
        put = await backend.put(LIVE, "a", b"1")
        async with backend.watch(LIVE, "", put) as watch:
            assert keys(await take(watch, 1)) == ["a"]
        async with backend.lock(LIVE, "a", 5):
            await backend.mv(LIVE, Keyspace.EXPIRED, "a", put)


async def test_an_address_carries_the_user(guarded: Cluster) -> None:
    async with await open_backend(f"etcd://ann:her-secret@{guarded.endpoints[0]}/ours") as backend:
        await backend.put(LIVE, "a", b"1")


@pytest.mark.parametrize("password", ["wrong", ""])
async def test_a_wrong_password_is_denied(guarded: Cluster, password: str) -> None:
    with pytest.raises(Denied) as raised:
        await open_etcd(as_ann(guarded, password=password), BRISK)
    assert "check user" in str(raised.value)


async def test_without_a_user_it_is_denied(guarded: Cluster) -> None:
    with pytest.raises(Denied):
        await open_etcd(EtcdAddress(guarded.endpoints, "ours"), BRISK)


async def test_another_prefix_is_denied(guarded: Cluster) -> None:
    with pytest.raises(Denied):
        await open_etcd(as_ann(guarded, prefix="theirs"), BRISK)


async def test_a_token_that_ran_out_is_renewed(guarded: Cluster) -> None:
    async with await open_etcd(as_ann(guarded), BRISK) as backend:
        put = await backend.put(LIVE, "a", b"1")
        await asyncio.to_thread(guarded.members[0].kill)  # simple tokens live in the member's memory only
        await asyncio.to_thread(guarded.members[0].start)
        async with backend.watch(LIVE, "", put) as watch:
            assert keys(await take(watch, 1)) == ["a"]
        await backend.put(LIVE, "b", b"2")


async def test_who_came_before_authentication_was_switched_on_signs_in_then(tmp_path: Path) -> None:
    with running_etcd(tmp_path) as cluster:
        async with await open_etcd(as_ann(cluster), BRISK) as backend:
            put = await backend.put(LIVE, "a", b"1")
            await asyncio.to_thread(guard, cluster)
            assert await backend.put(LIVE, "a", b"2") > put


async def test_a_user_where_nobody_is_asked_is_no_error(tmp_path: Path) -> None:
    with running_etcd(tmp_path) as cluster:
        async with await open_etcd(as_ann(cluster), BRISK) as backend:
            await backend.put(LIVE, "a", b"1")


# ---- certificates ----------------------------------------------------------------------------------------------------


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def sealed(tmp_path: Path, authority: Authority) -> Iterator[Cluster]:
    with running_etcd(tmp_path / "etcd", tls=authority.issue("etcd")) as cluster:
        yield cluster


async def test_certificates_from_an_address(sealed: Cluster, authority: Authority) -> None:
    files = authority.issue("ann")
    address = f"etcd://{sealed.endpoints[0]}/ours?ca={files.ca}&cert={files.cert}&key={files.key}"
    async with await open_backend(address) as backend:
        put = await backend.put(LIVE, "a", b"1")
        async with backend.watch(LIVE, "", Revision(put)) as watch:
            assert keys(await take(watch, 1)) == ["a"]


async def test_certificates_that_were_replaced_are_shown_next(
    sealed: Cluster, authority: Authority, tmp_path: Path
) -> None:
    ours, theirs = authority.issue("ann"), Authority(tmp_path / "another").issue("ann")
    folder = tmp_path / "mounted"
    folder.mkdir()

    def mount(files: Tls) -> TlsFiles:
        for name in ("cert", "key"):
            shutil.copy(getattr(files, name), folder / f"{name}.new")
            (folder / f"{name}.new").replace(folder / name)
        return TlsFiles(ours.ca, folder / "cert", folder / "key")

    async with await open_etcd(EtcdAddress(sealed.endpoints, tls=mount(ours)), BRISK) as backend:
        mount(theirs)
        await asyncio.to_thread(sealed.members[0].kill)
        await asyncio.to_thread(sealed.members[0].start)
        with pytest.raises(Unavailable):
            await backend.get(LIVE, "a")
        mount(ours)
        await backend.put(LIVE, "a", b"1")


async def test_without_tls_a_sealed_store_is_unavailable(sealed: Cluster) -> None:
    with pytest.raises(Unavailable, match="asks for TLS"):
        await open_etcd(EtcdAddress(sealed.endpoints), BRISK)


async def test_another_authority_is_not_trusted(sealed: Cluster, tmp_path: Path) -> None:
    files = Authority(tmp_path / "another").issue("ann")
    with pytest.raises(Unavailable, match="etcd's certificate is not signed by what `ca` names"):
        await open_etcd(EtcdAddress(sealed.endpoints, tls=TlsFiles(files.ca, files.cert, files.key)), BRISK)


async def test_without_a_certificate_of_our_own_it_is_unavailable(sealed: Cluster, authority: Authority) -> None:
    with pytest.raises(Unavailable, match="does not take our certificate, or asks for one"):
        await open_etcd(EtcdAddress(sealed.endpoints, tls=TlsFiles(authority.ca)), BRISK)


async def test_files_that_do_not_belong_together_are_told(sealed: Cluster, authority: Authority) -> None:
    ours, theirs = authority.issue("ann"), authority.issue("ben")
    with pytest.raises(Unavailable, match="do not belong together"):
        await open_etcd(EtcdAddress(sealed.endpoints, tls=TlsFiles(ours.ca, ours.cert, theirs.key)), BRISK)


@pytest.mark.parametrize("ends", ["has run out", "of another name"])
async def test_what_is_wrong_with_etcd_s_certificate_is_told(tmp_path: Path, authority: Authority, ends: str) -> None:
    theirs = authority.issue("etcd", old=True) if ends == "has run out" else authority.issue("etcd", host="10.0.0.7")
    ours = authority.issue("ann")
    with running_etcd(tmp_path / "etcd", tls=theirs) as cluster, pytest.raises(Unavailable, match=ends):
        await open_etcd(EtcdAddress(cluster.endpoints, tls=TlsFiles(ours.ca, ours.cert, ours.key)), BRISK)


async def test_where_nobody_listens_is_told() -> None:
    with pytest.raises(Unavailable, match="nobody listens there"):
        await open_etcd(EtcdAddress(("127.0.0.1:1",)), BRISK)


def test_no_message_and_no_repr_tells_the_password() -> None:
    address = parse_address("etcd://ann:her-secret@127.0.0.1:2379/ours")
    assert isinstance(address, EtcdAddress)
    assert "her-secret" not in repr(replace(address, prefix="other"))
