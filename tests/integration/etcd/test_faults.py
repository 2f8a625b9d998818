"""Members that die, freeze and forget, under a client that must tell the truth about it.

Its invariant: what is waited for is a condition of the store or of a process, never a time.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from state_backend.address import EtcdAddress
from state_backend.api import Absent, Keyspace, Present, Put, Revision, RevisionIs, StateBackend
from state_backend.errors import Compacted, Conflict, LockLost, NoSpace, OutcomeUnknown, SetBack, Unavailable
from state_backend.etcd.backend import EtcdBackend, open_etcd
from state_backend.etcd.cluster import Deadlines, Metadata
from state_backend.etcd.member import Member
from state_backend.etcd.watch import _Stream
from state_backend.testing.watching import keys, take
from tests.support.etcd import PATIENT, Cluster, free_ports, running_etcd

pytestmark = pytest.mark.etcd

LIVE, HEADS = Keyspace.LIVE, Keyspace.HEADS
BRISK = Deadlines(connect_seconds=1.0, request_seconds=1.0, give_up_seconds=3.0)


@pytest.fixture
def single(tmp_path: Path) -> Iterator[Cluster]:
    with running_etcd(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Cluster]:
    with running_etcd(tmp_path, size=3) as cluster:
        yield cluster


@pytest.fixture
async def one(single: Cluster) -> AsyncIterator[EtcdBackend]:
    async with await open_etcd(EtcdAddress(single.endpoints, "one"), BRISK) as backend:
        yield backend


@pytest.fixture
async def patient(single: Cluster) -> AsyncIterator[EtcdBackend]:
    """Of a store that answers, however long its disk takes: what is said of a write is never that nobody knows."""
    async with await open_etcd(EtcdAddress(single.endpoints, "one"), PATIENT) as backend:
        yield backend


@pytest.fixture
async def steady(trio: Cluster) -> AsyncIterator[EtcdBackend]:
    """The same of three members."""
    async with await open_etcd(EtcdAddress(trio.endpoints, "three"), PATIENT) as backend:
        yield backend


@pytest.fixture
async def three(trio: Cluster) -> AsyncIterator[EtcdBackend]:
    async with await open_etcd(EtcdAddress(trio.endpoints, "three"), BRISK) as backend:
        yield backend


async def settle(backend: StateBackend, key: str, head: Revision) -> None:
    """What a replica does after an unknown outcome: the same again, until it succeeds or the compare fails."""
    while True:
        try:
            await backend.put_txn((RevisionIs(HEADS, key, head),), (Put(HEADS, key, b"settled"),))
            return
        except (OutcomeUnknown, Unavailable):
            continue
        except Conflict:
            return


async def test_where_nobody_listens_the_error_names_the_port(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with pytest.raises(Unavailable, match=str(port)):
        await open_etcd(EtcdAddress((f"127.0.0.1:{port}",)), Deadlines(0.5, 0.5, 0.5))


async def test_a_dead_endpoint_in_the_list_is_passed_over(single: Cluster) -> None:
    (port,) = free_ports(1)
    async with await open_etcd(EtcdAddress((f"127.0.0.1:{port}", *single.endpoints)), BRISK) as backend:
        revision = await backend.put(LIVE, "a", b"1")
        entry = (await backend.get(LIVE, "a")).entry
        assert entry is not None
        assert (entry.value, entry.revision) == (b"1", revision)


async def test_a_write_to_a_dead_store_did_not_happen(single: Cluster, one: EtcdBackend, patient: EtcdBackend) -> None:
    before = await patient.put(LIVE, "a", b"1")
    single.members[0].kill()
    with pytest.raises((Unavailable, OutcomeUnknown)):
        await one.put(LIVE, "a", b"2")
    with pytest.raises(Unavailable):  # now the connection is known to be gone
        await one.put(LIVE, "a", b"3")
    await asyncio.to_thread(single.members[0].start)
    entry = (await one.get(LIVE, "a")).entry
    assert entry is not None
    assert (entry.value, entry.revision) == (b"1", before)


async def test_a_write_to_a_frozen_store_is_unknown_and_may_still_happen(
    single: Cluster, one: EtcdBackend, patient: EtcdBackend
) -> None:
    before = await patient.put(HEADS, "a", b"before")
    single.members[0].freeze()
    try:
        with pytest.raises(OutcomeUnknown, match="submit it again"):
            await one.put_txn((RevisionIs(HEADS, "a", before),), (Put(HEADS, "a", b"unknown"),))
    finally:
        single.members[0].thaw()
    await settle(one, "a", before)
    entry = (await one.get(HEADS, "a")).entry
    assert entry is not None
    assert entry.value in (b"unknown", b"settled")
    assert entry.version == 2, "it happened exactly once"


async def test_a_read_from_a_frozen_store_is_unavailable(single: Cluster, one: EtcdBackend) -> None:
    single.members[0].freeze()
    try:
        with pytest.raises(Unavailable):
            await one.get(LIVE, "a")
    finally:
        single.members[0].thaw()


async def test_reads_go_on_when_the_member_in_use_dies(trio: Cluster, three: EtcdBackend, steady: EtcdBackend) -> None:
    await steady.put(LIVE, "a", b"1")
    trio.members[0].kill()
    entry = (await three.get(LIVE, "a")).entry
    assert entry is not None
    assert entry.value == b"1"


async def test_an_append_happens_once_through_a_change_of_leaders(
    trio: Cluster, three: EtcdBackend, steady: EtcdBackend
) -> None:
    head = await steady.put(HEADS, "a", b"0")
    for _ in range(20):
        head = await steady.put_txn((RevisionIs(HEADS, "a", head),), (Put(HEADS, "a", b"1"),))
    leader = await asyncio.to_thread(trio.leader)
    leader.kill()
    await settle(three, "a", head)
    entry = (await three.get(HEADS, "a")).entry
    assert entry is not None
    assert entry.version == 22


async def test_a_watch_misses_nothing_when_leader_and_members_change(
    trio: Cluster, three: EtcdBackend, steady: EtcdBackend
) -> None:
    start = await steady.put(LIVE, "start", b"")
    watch = three.watch(LIVE, "", Revision(start + 1))
    for number, member in enumerate(trio.members):
        await settled_put(three, f"{number}/before")
        assert keys(await take(watch, 1)) == [f"{number}/before"]
        member.kill()
        await settled_put(three, f"{number}/without")
        await asyncio.to_thread(member.start)
        await settled_put(three, f"{number}/after")
        assert keys(await take(watch, 2)) == [f"{number}/without", f"{number}/after"]
    await watch.close()


async def settled_put(backend: StateBackend, key: str) -> None:
    """Written exactly once, whatever happens on the way."""
    while True:
        try:
            await backend.put_txn((Absent(LIVE, key),), (Put(LIVE, key, b""),))
            return
        except (OutcomeUnknown, Unavailable):
            continue
        except Conflict:
            return


async def test_a_watch_resumes_after_its_only_member_was_away(
    single: Cluster, one: EtcdBackend, patient: EtcdBackend
) -> None:
    start = await patient.put(LIVE, "start", b"")
    watch = one.watch(LIVE, "", start)
    assert keys(await take(watch, 1)) == ["start"]
    reading = asyncio.ensure_future(take(watch, 1))
    single.members[0].kill()
    await asyncio.to_thread(single.members[0].start)
    await settled_put(one, "later")
    assert keys(await reading) == ["later"]
    await watch.close()


async def test_a_watch_whose_stream_breaks_while_it_opens_opens_another(
    patient: EtcdBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[_Stream] = []
    begin = _Stream.__init__

    def breaking(stream: _Stream, member: Member, metadata: Metadata) -> None:
        begin(stream, member, metadata)
        if not opened:
            asyncio.get_running_loop().call_soon(stream._call.cancel)
        opened.append(stream)

    monkeypatch.setattr(_Stream, "__init__", breaking)
    written = await patient.put(LIVE, "a", b"1")
    async with patient.watch(LIVE, "", written) as watch:
        assert keys(await take(watch, 1)) == ["a"]
    assert len(opened) == 2


async def test_a_watch_that_was_away_during_a_compaction_says_so(single: Cluster, patient: EtcdBackend) -> None:
    start = await patient.put(LIVE, "a", b"")
    for number in range(5):
        last = await patient.put(LIVE, "a", str(number).encode())
    watch = patient.watch(LIVE, "", start)
    assert len(await take(watch, 2)) == 2  # the rest is under way to us and may be lost with the connection
    late = patient.watch(LIVE, "", start)
    single.etcdctl("compact", str(last))
    with pytest.raises(Compacted):
        await take(late, 1)
    await watch.close()


async def test_a_watch_of_a_store_that_was_set_back_says_so(
    tmp_path: Path, single: Cluster, patient: EtcdBackend
) -> None:
    """It would be deaf until the store has come as far again, and then begin in the middle."""
    (member,) = single.members
    await patient.put(LIVE, "a", b"")
    member.kill()
    shutil.copytree(member.folder, tmp_path / "copy")
    member.start()
    for number in range(5):
        last = await patient.put(LIVE, "a", str(number).encode())
    async with patient.watch(LIVE, "", last) as watch:
        await take(watch, 1)
        member.kill()
        shutil.rmtree(member.folder)
        shutil.copytree(tmp_path / "copy", member.folder)
        member.start()
        with pytest.raises(SetBack) as told:
            await take(watch, 1)
    present = (await patient.get(LIVE, "a")).revision
    assert present < last
    assert str(told.value).startswith(f"the store was at revision {last} and is at {present} now, set back")
    async with patient.watch(LIVE, "", Revision(present + 1)) as watch:
        written = await patient.put(LIVE, "a", b"again")
        assert [commit.revision for commit in await take(watch, 1)] == [written]


async def test_a_lock_is_lost_loudly_when_the_store_is_away(single: Cluster, one: EtcdBackend) -> None:
    async def hold() -> None:
        async with one.lock(HEADS, "a", 1.0):
            single.members[0].freeze()
            await asyncio.Event().wait()

    try:
        with pytest.raises(LockLost):
            await asyncio.wait_for(hold(), 15)
    finally:
        single.members[0].thaw()


async def test_the_keys_of_a_client_that_died_go_with_its_lease(single: Cluster, patient: EtcdBackend) -> None:
    async with await open_etcd(EtcdAddress(single.endpoints, "one"), PATIENT) as dying:
        lease = await dying.grant(1)
        put = await dying.put(Keyspace.REPLICAS, "r", b"here", lease.id)
    watch = patient.watch(Keyspace.REPLICAS, "", Revision(put + 1))
    assert keys(await take(watch, 1)) == ["-r"]
    await watch.close()
    with pytest.raises(Conflict):
        await patient.put_txn((Present(Keyspace.REPLICAS, "r"),), (Put(HEADS, "x", b""),))


async def test_a_minority_neither_reads_nor_writes(trio: Cluster, three: EtcdBackend, steady: EtcdBackend) -> None:
    await steady.put(LIVE, "a", b"1")
    for member in trio.members[:2]:
        member.kill()
    with pytest.raises(Unavailable):
        await three.get(LIVE, "a")
    with pytest.raises((Unavailable, OutcomeUnknown)):
        await three.put(LIVE, "a", b"2")


async def test_a_quiet_watch_does_not_fall_behind_a_compaction(
    single: Cluster, one: EtcdBackend, patient: EtcdBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("state_backend.etcd.watch.IDLE_SECONDS", 0.05)
    start = await patient.put(LIVE, "quiet", b"")
    watch = one.watch(LIVE, "quiet", Revision(start + 1))
    reading = asyncio.ensure_future(take(watch, 1))
    for number in range(10):
        last = await patient.put(LIVE, "busy", str(number).encode())
    while watch.revision < last:  # noqa: ASYNC110 - the watch is told how far the store is, but tells nobody
        await asyncio.sleep(0.01)
    single.etcdctl("compact", str(last))
    single.members[0].kill()
    await asyncio.to_thread(single.members[0].start)
    await settled_put(one, "quiet/later")
    assert keys(await reading) == ["quiet/later"]
    await watch.close()


# ---- a quota that is used up -----------------------------------------------------------------------------------------

WRITERS = 32


async def fill(backend: StateBackend, head: str) -> tuple[Revision, NoSpace | OutcomeUnknown]:
    """Writes values with a compare until one is refused; the last revision that was acknowledged, and the refusal."""
    revision = await backend.put(HEADS, head, b"0")
    for number in range(1_000):
        writes = (Put(HEADS, head, b"%d" % number), Put(LIVE, f"{head}/{number}", bytes(20_000)))
        try:
            revision = await backend.put_txn((RevisionIs(HEADS, head, revision),), writes)
        except (NoSpace, OutcomeUnknown) as refused:
            return revision, refused
    raise AssertionError("twenty megabytes fit into a quota of two")


async def test_a_write_that_crosses_the_quota_is_not_said_to_have_failed(tmp_path: Path) -> None:
    """etcd applies what was proposed before the quota was used up, and answers that there is no space."""
    with running_etcd(tmp_path, arguments=("--quota-backend-bytes", "2000000")) as cluster:
        async with await open_etcd(EtcdAddress(cluster.endpoints, "full")) as backend:
            heads = [f"head-{number}" for number in range(WRITERS)]
            found = await asyncio.gather(*(fill(backend, head) for head in heads))
            for head, (revision, refused) in zip(heads, found, strict=True):
                entry = (await backend.get(HEADS, head)).entry
                assert entry is not None
                assert isinstance(refused, OutcomeUnknown) or entry.revision == revision, refused
            entry = (await backend.get(HEADS, heads[0])).entry
            assert entry is not None
            with pytest.raises(NoSpace):
                await backend.put_txn((RevisionIs(HEADS, heads[0], entry.revision),), (Put(HEADS, heads[0], b"more"),))
            with pytest.raises(OutcomeUnknown):
                await backend.put(HEADS, heads[0], b"without a compare nobody can tell")
