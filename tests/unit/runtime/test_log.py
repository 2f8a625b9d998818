"""The log: every prefix is a state, snapshots are shortcuts, and damage is named and left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from shuffle_lifecycle.v1 import events_pb2
from structlog.testing import capture_logs

from coordinator.core.commands import EndApplication, Request
from coordinator.core.digest import digest
from coordinator.core.evolve import fold
from coordinator.core.ids import Sequence
from coordinator.core.state import State, copy, empty, rows
from coordinator.runtime import journal, loading, places, tail
from coordinator.runtime.aside import at_once
from coordinator.runtime.errors import Archived, DamagedLog, Draining, NewerLog, UnknownApplication
from coordinator.runtime.replica import Replica
from coordinator.runtime.snapshot import Snapshots
from coordinator.runtime.verifying import Verdict, verify
from coordinator.wire.codec import record_to_message, segment_to_message
from coordinator.wire.records import Head, decode, encode
from coordinator.wire.sealing import seal, unseal
from coordinator.wire.snapshots import VERSION, decode_snapshot, encode_snapshot
from state_backend.api import StateBackend
from state_backend.errors import Corrupt
from state_backend.memory import MemoryBackend, MemoryStore
from state_backend.values import Entry, KeyPage, Keyspace, Page, Put, Revision
from tests.simulation import checks, facts, virtual
from tests.simulation.world import OPTIONS, Distant, World, registered
from tests.support.damaged import Damaged

OFTEN = replace(OPTIONS, snapshot_every_events=20)


async def tell_jobs(world: World, jobs: int) -> None:
    """A replica tells so many jobs and stops."""
    replica = (await world.start(reap=False)).replica
    number = await registered(replica)
    for job in range(jobs):
        await replica.submit(facts.APP, number(facts.whole(job)))
    await asyncio.sleep(1)
    await replica.stop()


def test_the_load_of_every_prefix_is_the_state_that_was_live_there() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            lives = [await replica.view(facts.APP)]
            for command in [*facts.whole(0), *facts.whole(1), EndApplication()]:
                await replica.submit(facts.APP, number([command]))
                lives.append(await replica.view(facts.APP))
            log = await checks.read_log(world.reader(), facts.APP)
            for live in lives:
                prefix = [segment for segment in log if segment.first_sequence < live.meta.next_sequence]
                assert checks.fold_log(prefix) == live
            fresh = (await world.start(reap=False)).replica
            assert await fresh.view(facts.APP) == lives[-1]

    virtual.run(story())


def test_a_mistake_in_a_snapshot_is_told_and_tried_after_more_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for its task: it would be told when that is collected, and tried with every commit meanwhile."""
    tried: list[int] = []

    async def mistaken(_: Snapshots, state: State) -> int | None:
        tried.append(state.meta.next_sequence - 1)
        raise ZeroDivisionError("a mistake")

    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 12)

    monkeypatch.setattr(Snapshots, "write", mistaken)
    with capture_logs() as told:
        virtual.run(story())
    assert len(tried) >= 2
    assert all(later - earlier >= OFTEN.snapshot_every_events for earlier, later in pairwise(tried))
    said = [one for one in told if one["event"] == "a defect in a snapshot"]
    assert len(said) == len(tried)


def test_small_segments_are_read_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver whose replica has died waits for each page of its log."""
    pages: list[int] = []
    scan = Distant.scan

    async def counted(self: Distant, keyspace: Keyspace, *more: Any, **named: Any) -> Page:
        page = await scan(self, keyspace, *more, **named)
        if keyspace is Keyspace.EVENTS:
            pages.append(len(page.entries))
        return page

    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False, snapshot_every_events=1_000_000)).replica
            number = await registered(replica)
            for job in range(40):
                for command in facts.whole(job):
                    await replica.submit(facts.APP, number([command]))
            monkeypatch.setattr(Distant, "scan", counted)
            fresh = (await world.start(reap=False)).replica
            assert await fresh.view(facts.APP) == await replica.view(facts.APP)

    virtual.run(story())
    assert sum(pages) > 200
    assert [pages[0], len(pages)] == [journal.PAGE_SEGMENTS, 2]


def test_a_page_of_large_segments_stays_within_its_bytes() -> None:
    large = Entry("a", bytes(journal.SEGMENT_BYTES_MAX), Revision(1), Revision(1), 1)
    small = Entry("b", bytes(1_000), Revision(1), Revision(1), 1)
    assert journal._next_limit(512, Page((small, large), Revision(1), True)) == journal.PAGE_SEGMENTS
    assert journal._next_limit(512, Page((small,), Revision(1), True)) == 4_096


def test_a_snapshot_and_the_tail_are_the_whole_log() -> None:
    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 12)
            store = world.reader()
            head = await read_head(store)
            assert head.last_snapshot > head.previous_snapshot > 0
            kept = {places.snapshot_of(key) for key in (await store.scan_keys(Keyspace.SNAPSHOTS)).keys}
            assert kept == {head.last_snapshot, head.previous_snapshot}
            for entry in (await store.scan_all(Keyspace.EVENTS)).entries:
                if places.begins_by(entry.key, head.last_snapshot // 2):
                    await store.delete(Keyspace.EVENTS, entry.key)  # a fold of the whole log would fail now
            whole = (await world.start(reap=False)).replica
            number = facts.Numbers()
            number.last = 12 * 7
            await whole.submit(facts.APP, number(facts.writes(99)))
            assert [s.life.value for s in (await whole.view(facts.APP)).generations.values()].count("readable") == 1

    virtual.run(story())


def test_a_snapshot_is_never_larger_than_what_has_happened_since_the_last_one() -> None:
    async def story() -> None:
        async with World(options=OFTEN) as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            places_of_snapshots = [0]
            for job in range(100):
                await replica.submit(facts.APP, number(facts.writes(job)))
                await asyncio.sleep(1)
                last = (await read_head(world.reader())).last_snapshot
                held = rows(await replica.view(facts.APP))
                if last != places_of_snapshots[-1]:
                    assert last - places_of_snapshots[-1] >= held - 10, "less has happened than was written"
                    places_of_snapshots.append(last)
            assert len(places_of_snapshots) > 3
            assert places_of_snapshots[1] <= OFTEN.snapshot_every_events + 10

    virtual.run(story())


def test_a_snapshot_equals_the_replay_of_its_events() -> None:
    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 5)
            log = await checks.read_log(world.reader(), facts.APP)
            fresh = (await world.start(reap=False)).replica
            assert await fresh.view(facts.APP) == checks.fold_log(log)

    virtual.run(story())


def test_a_damaged_snapshot_is_passed_over() -> None:
    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 5)
            store = world.reader()
            head = await read_head(store)
            await store.put(Keyspace.SNAPSHOTS, places.snapshot_part(facts.APP, head.last_snapshot, 0), b"torn")
            fresh = (await world.start(reap=False)).replica
            assert await fresh.view(facts.APP) == checks.fold_log(await checks.read_log(store, facts.APP))

    virtual.run(story())


async def places_of_damage(store: MemoryBackend) -> dict[str, str]:
    head = await read_head(store)
    segments = (await store.scan_all(Keyspace.EVENTS)).entries
    return {
        "newest snapshot": f"snapshots/{places.snapshot_part(facts.APP, head.last_snapshot, 0)}",
        "snapshot before": f"snapshots/{places.snapshot_part(facts.APP, head.previous_snapshot, 0)}",
        "last segment": f"events/{segments[-1].key}",
        "head": f"heads/{facts.APP}",
    }


@pytest.mark.parametrize("which", ["newest snapshot", "snapshot before"])
def test_a_snapshot_that_the_store_itself_finds_damaged_is_passed_over(which: str) -> None:
    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 5)
            whole = checks.fold_log(await checks.read_log(world.reader(), facts.APP))
            damaged = Damaged(world.store, (await places_of_damage(world.reader()))[which])
            async with Replica(damaged, replace(OFTEN, reap=False), virtual.clock()) as replica:
                assert await replica.view(facts.APP) == whole
            problems = (await verified(damaged)).problems
            assert [damaged.damaged in problem for problem in problems] == [True]

    virtual.run(story())


@pytest.mark.parametrize("which", ["last segment", "head"])
def test_a_log_that_the_store_itself_finds_damaged_is_named_and_no_store_is_away(which: str) -> None:
    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 5)
            damaged = Damaged(world.store, (await places_of_damage(world.reader()))[which])
            async with Replica(damaged, replace(OFTEN, reap=False), virtual.clock()) as replica:
                with pytest.raises(DamagedLog, match=damaged.damaged):
                    await replica.view(facts.APP)

    virtual.run(story())


@pytest.mark.parametrize("finds", ["the store", "who reads it"])
def test_who_follows_a_log_hears_of_damage_to_what_is_appended(finds: str) -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 1)
            store = world.reader()
            following = places.segment(facts.APP, (await read_head(store)).next_sequence)
            damaged = Damaged(world.store, f"events/{following}" if finds == "the store" else "")
            async with Replica(damaged, replace(OPTIONS, reap=False), virtual.clock()) as replica:
                looking = asyncio.create_task(collected(replica))
                await asyncio.sleep(1)  # it waits for what comes
                await store.put(Keyspace.EVENTS, following, b"no segment")
                with pytest.raises(DamagedLog, match=following):
                    await asyncio.wait_for(looking, 10)

    virtual.run(story())


async def collected(replica: Replica) -> list[int]:
    return [recorded.sequence async for recorded in replica.follow(facts.APP, 3)]


def test_where_a_stretch_begins_is_looked_for_and_damage_to_a_key_is_named() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 3)
            running = await world.start(reap=False)

            async def foreign(*_: object, **__: object) -> KeyPage:
                raise Corrupt("a store", "a key that is none of ours")

            running.backend.scan_keys = foreign  # type: ignore[method-assign]
            with pytest.raises(DamagedLog, match="a key that is none of ours"):
                await running.replica.events(facts.APP, 5)
            del running.backend.scan_keys

    virtual.run(story())


def test_a_damaged_segment_or_record_is_a_problem_of_its_own_application() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 1)
            live = (await world.reader().scan_all(Keyspace.LIVE)).entries[0]
            segment = (await places_of_damage(world.reader()))["last segment"]
            for place in (segment, f"live/{live.key}"):
                problems = (await verified(Damaged(world.store, place))).problems
                assert [place in problem for problem in problems] == [True]

    virtual.run(story())


async def verified(store: StateBackend) -> Verdict:
    log = journal.Journal(store, facts.APP, "reader", journal.CommitIds("reader"), virtual.clock())
    return await verify(store, log, Snapshots(store, facts.APP, at_once))


@pytest.mark.parametrize("both", [False, True])
def test_a_snapshot_that_is_whole_and_of_another_state_is_passed_over(both: bool) -> None:
    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 5)
            store = world.reader()
            head = await read_head(store)
            await forge(store, head.last_snapshot)
            if both:
                await forge(store, head.previous_snapshot)
            fresh = (await world.start(reap=False)).replica
            assert await fresh.view(facts.APP) == checks.fold_log(await checks.read_log(store, facts.APP))

    with capture_logs() as told:
        virtual.run(story())
    passed_over = [line["error"] for line in told if line["event"] == "snapshot passed over"]
    assert ["the digest written with it" in error for error in passed_over] == [True] * (1 + both)


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1], ids=["earlier", "later"])
def test_snapshots_that_other_rules_have_folded_are_passed_over(version: int) -> None:
    """As while a release is rolled out, or back, to which events mean something else: each folds the log by its own."""

    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 5)
            store = world.reader()
            head = await read_head(store)
            assert (await verified(store)).snapshots == 2
            for sequence in (head.last_snapshot, head.previous_snapshot):
                await write_by_others(store, sequence, version)
            fresh = (await world.start(reap=False)).replica
            assert await fresh.view(facts.APP) == checks.fold_log(await checks.read_log(store, facts.APP))
            verdict = await verified(store)
            assert (verdict.problems, verdict.snapshots) == ((), 0)

    with capture_logs() as told:
        virtual.run(story())
    passed_over = [(line["log_level"], line["why"]) for line in told if line["event"] == "snapshot passed over"]
    assert [(level, "folded by rules of version" in why) for level, why in passed_over] == [("info", True)] * 2


def test_the_first_commit_after_an_upgrade_to_other_rules_writes_a_snapshot_by_them() -> None:
    """Else an application in which little happens would be folded from its first event whenever it is loaded."""

    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 12)
            store = world.reader()
            before = await read_head(store)
            for sequence in (before.last_snapshot, before.previous_snapshot):
                await write_by_others(store, sequence, VERSION - 1)
            fresh = (await world.start(reap=False)).replica
            number = facts.Numbers()
            number.last = 12 * 7
            for job in (97, 98, 99):
                await fresh.submit(facts.APP, number(facts.writes(job)[:1]))
                await asyncio.sleep(1)
            after = await read_head(store)
            assert after.previous_snapshot == before.last_snapshot, "one snapshot, and no more"
            assert before.next_sequence <= after.last_snapshot < before.next_sequence + 5
            assert (await Snapshots(store, facts.APP, at_once).read(after)) is not None

    virtual.run(story())


def test_the_first_commit_after_a_damaged_snapshot_writes_one_and_the_next_ones_none() -> None:
    """Else what was damaged would be folded again from the one before it, or from the first event, at each load."""

    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_jobs(world, 12)
            store = world.reader()
            before = await read_head(store)
            await store.put(Keyspace.SNAPSHOTS, places.snapshot_part(facts.APP, before.last_snapshot, 0), b"torn")
            number = facts.Numbers()
            number.last = 12 * 7
            heads = [before]
            for job in (96, 97, 98, 99):  # each time by a replica that loads it anew
                fresh = (await world.start(reap=False)).replica
                await fresh.submit(facts.APP, number(facts.writes(job)[:1]))
                await asyncio.sleep(1)
                await fresh.stop()
                heads.append(await read_head(store))
            assert heads[1].previous_snapshot == before.last_snapshot
            assert {head.last_snapshot for head in heads[1:]} == {heads[1].last_snapshot}

    virtual.run(story())


async def write_by_others(store: MemoryBackend, sequence: Sequence, version: int) -> None:
    """Has a snapshot be of a release that keeps no clients, and is right by its own digest."""
    key = places.snapshot_part(facts.APP, sequence, 0)
    reading = await store.get(Keyspace.SNAPSHOTS, key)
    assert reading.entry is not None
    snapshot = decode_snapshot([reading.entry.value], key)
    snapshot.state.clients.clear()
    [value] = encode_snapshot(replace(snapshot, digest=digest(snapshot.state)))
    part = unseal(events_pb2.SnapshotPart, value, key)
    part.version = version
    await store.put(Keyspace.SNAPSHOTS, key, seal(part))


async def forge(store: MemoryBackend, sequence: Sequence) -> None:
    """Takes a client out of a snapshot and seals it again: nothing but its digest can tell."""
    key = places.snapshot_part(facts.APP, sequence, 0)
    reading = await store.get(Keyspace.SNAPSHOTS, key)
    assert reading.entry is not None
    snapshot = decode_snapshot([reading.entry.value], key)
    assert snapshot.digest == digest(snapshot.state)
    snapshot.state.clients.clear()
    [part] = encode_snapshot(snapshot)
    await store.put(Keyspace.SNAPSHOTS, key, part)


def flip(value: bytes) -> bytes:
    return value[:20] + bytes([value[20] ^ 0xFF]) + value[21:]


def tear(value: bytes) -> bytes:
    return value[: len(value) // 2]


@pytest.mark.parametrize("damage", [flip, tear])
@pytest.mark.parametrize("which", [2, -1], ids=["in the middle", "at the end"])
def test_a_damaged_segment_is_named_left_alone_and_stops_nobody_else(
    damage: Callable[[bytes], bytes], which: int
) -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 3)
            store = world.reader()
            entry = (await store.scan_all(Keyspace.EVENTS)).entries[which]
            await store.put(Keyspace.EVENTS, entry.key, damage(entry.value))
            before = (await store.scan_all(Keyspace.EVENTS)).entries
            replica = (await world.start(reap=False)).replica
            with pytest.raises(DamagedLog, match=entry.key):
                await replica.submit(facts.APP, facts.Numbers()(facts.writes(9)))
            assert (await store.scan_all(Keyspace.EVENTS)).entries == before
            other = facts.APP.__class__("another")
            number = await registered(replica, other)
            await replica.submit(other, number(facts.writes(0)))
            await store.put(Keyspace.EVENTS, entry.key, entry.value)
            assert (await replica.view(facts.APP)).meta.application == facts.APP

    virtual.run(story())


def test_a_missing_segment_is_a_gap_and_a_missing_end_is_noticed() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 3)
            store = world.reader()
            for which, fact in ((2, "comes event"), (-1, "its head says")):
                entry = (await store.scan_all(Keyspace.EVENTS)).entries[which]
                await store.delete(Keyspace.EVENTS, entry.key)
                replica = (await world.start(reap=False)).replica
                with pytest.raises(DamagedLog, match=fact):
                    await replica.view(facts.APP)
                await store.put(Keyspace.EVENTS, entry.key, entry.value)

    virtual.run(story())


def test_a_segment_of_a_newer_release_is_refused_and_left_alone() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 1)
            store = world.reader()
            last = (await checks.read_log(store, facts.APP))[-1]
            message = segment_to_message(last)
            message.version = 99
            key = places.segment(facts.APP, last.first_sequence)
            await store.put(Keyspace.EVENTS, key, seal(message))
            replica = (await world.start(reap=False)).replica
            with pytest.raises(NewerLog, match="99"):
                await replica.view(facts.APP)

    virtual.run(story())


def test_a_newer_head_is_refused_and_a_damaged_one_is_named() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 1)
            store = world.reader()
            head = await read_head(store)
            await store.put(Keyspace.HEADS, facts.APP, encode(replace(head, version=99)))
            with pytest.raises(NewerLog):
                await (await world.start(reap=False)).replica.view(facts.APP)
            await store.put(Keyspace.HEADS, facts.APP, b"torn")
            with pytest.raises(DamagedLog, match="heads/"):
                await (await world.start(reap=False)).replica.view(facts.APP)

    virtual.run(story())


def test_events_begin_where_they_are_asked_for() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            for job in range(30):
                await replica.submit(facts.APP, number(facts.whole(job)))
            every = [r for s in await checks.read_log(world.reader(), facts.APP) for r in s.records]
            assert await replica.events(facts.APP, 0, 10_000) == every
            for after in (0, 1, 7, 100, len(every) - 1, len(every), len(every) + 5):
                assert await replica.events(facts.APP, after, 5) == every[after : after + 5]
            with pytest.raises(UnknownApplication):
                await replica.events(facts.APP.__class__("nobody"))

    virtual.run(story())


def test_events_that_left_the_store_are_said_to_be_in_the_archive() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 2)
            store = world.reader()
            head = await read_head(store)
            await store.put(Keyspace.HEADS, facts.APP, encode(replace(head, archived_below=Sequence(10))))
            replica = (await world.start(reap=False)).replica
            with pytest.raises(Archived):
                await replica.events(facts.APP, 3)
            assert (await replica.events(facts.APP, 12, 1))[0].sequence == 13

    virtual.run(story())


@pytest.mark.parametrize("gaps", [None, 2], ids=["a steady watch", "a watch that is compacted"])
def test_who_follows_sees_every_event_once(gaps: int | None) -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 2)
            running = await world.start(reap=False)
            running.backend._faults = replace(running.backend._faults, watch_commits=gaps)
            seen = []

            async def look() -> None:
                async for recorded in running.replica.follow(facts.APP, 3):
                    seen.append(recorded.sequence)  # noqa: PERF401 - it never ends

            looking = asyncio.create_task(look())
            number = facts.Numbers()
            number.last = 14
            writer = (await world.start(reap=False)).replica
            for job in range(2, 12):
                await writer.submit(facts.APP, number(facts.whole(job)))
                await asyncio.sleep(0.01)
            await asyncio.sleep(1)
            looking.cancel()
            last = (await writer.view(facts.APP)).meta.next_sequence - 1
            assert seen == list(range(4, last + 1))

    virtual.run(story())


@pytest.mark.parametrize("late", [False, True], ids=["while it ends", "when it is over"])
def test_who_follows_comes_to_the_end_of_what_is_over(late: bool) -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 2)
            replica = (await world.start(reap=False)).replica
            if late:
                await replica.submit(facts.APP, [Request(facts.DRIVER, 0, EndApplication())])
            seen: list[int] = []

            async def look() -> None:
                async for recorded in replica.follow(facts.APP, 3):
                    seen.append(recorded.sequence)  # noqa: PERF401 - what came is told where it hangs

            looking = asyncio.create_task(look())
            await asyncio.sleep(1)
            if not late:
                await replica.submit(facts.APP, [Request(facts.DRIVER, 0, EndApplication())])
            await asyncio.wait_for(looking, 10)
            last = (await replica.view(facts.APP)).meta.next_sequence - 1
            assert seen == list(range(4, last + 1))

    virtual.run(story())


def test_who_follows_is_sent_elsewhere_when_the_replica_stops() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 2)
            replica = (await world.start(reap=False)).replica
            waits = asyncio.Event()

            async def look() -> None:
                last = (await replica.view(facts.APP)).meta.next_sequence - 1
                async for recorded in replica.follow(facts.APP, 3):
                    if recorded.sequence == last:
                        waits.set()

            looking = asyncio.create_task(look())
            await waits.wait()
            await asyncio.sleep(1)  # it waits for what comes
            await replica.stop()
            with pytest.raises(Draining):
                await asyncio.wait_for(looking, 10)
            with pytest.raises(Draining):
                await anext(aiter(replica.follow(facts.APP, 3)))

    virtual.run(story())


def test_folding_from_the_middle_is_folding_from_the_beginning() -> None:
    async def story() -> None:
        async with World() as world:
            await tell_jobs(world, 3)
            log = await checks.read_log(world.reader(), facts.APP)
            whole = checks.fold_log(log)
            for cut in range(len(log)):
                half = copy(checks.fold_log(log[:cut]))
                assert fold(half, (r for s in log[cut:] for r in s.records)) == whole
            assert checks.fold_log([]) == empty()

    virtual.run(story())


async def read_head(store: MemoryBackend) -> Head:
    entry = (await store.get(Keyspace.HEADS, facts.APP)).entry
    assert entry is not None
    return decode(Head, entry.value, "head")


async def tell_one_by_one(world: World, jobs: int) -> None:
    """A replica tells so many jobs, a commit each command, and stops."""
    replica = (await world.start(reap=False)).replica
    number = await registered(replica)
    for job in range(jobs):
        for command in facts.whole(job):
            await replica.submit(facts.APP, number([command]))
    await replica.stop()


class Hurried(MemoryBackend):
    """Somebody else commits after every page, and the store forgets all but the last six commits."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.scans = 0

    async def scan(self, *more: Any, **named: Any) -> Page:
        self.scans += 1
        assert self.scans < 200, "it begins anew for ever"
        page = await super().scan(*more, **named)
        revision = await self.put(Keyspace.AUDIT, "other", b"")
        self.store.compact(Revision(revision - 6))
        return page


@pytest.mark.parametrize("most", [None, 1 << 30])
def test_a_log_that_takes_longer_to_read_than_the_history_is_read_all_the_same(
    most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PAGE_SEGMENTS", 8)
    monkeypatch.setattr(journal, "PAGE_BYTES", 0)  # no page is larger than the first

    async def story() -> None:
        async with World(options=OFTEN) as world:
            await tell_one_by_one(world, 30)
            every = [r for s in await checks.read_log(world.reader(), facts.APP) for r in s.records]
            store = Hurried(world.store)
            log = journal.Journal(store, facts.APP, "reader", journal.CommitIds("reader"), virtual.clock())
            assert await tail.events(log, 0, 10_000, most) == every
            assert store.scans > 20
            store.scans = 0
            found = await verified(store)
            assert (found.problems, found.events, found.snapshots) == ((), len(every), 2)

    virtual.run(story())


def test_an_application_is_loaded_although_that_takes_longer_than_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "PAGE_SEGMENTS", 8)
    monkeypatch.setattr(journal, "PAGE_BYTES", 0)

    async def story() -> None:
        async with World(options=replace(OPTIONS, snapshot_every_events=100_000)) as world:
            await tell_one_by_one(world, 30)
            whole = checks.fold_log(await checks.read_log(world.reader(), facts.APP))
            store = Hurried(world.store)
            log = journal.Journal(store, facts.APP, "reader", journal.CommitIds("reader"), virtual.clock())
            assert (await loading.load(log, Snapshots(store, facts.APP, at_once))).state == whole
            assert store.scans > 20

    virtual.run(story())


def test_a_stretch_ends_where_its_bytes_do_and_holds_two_events_at_least() -> None:
    async def story() -> None:
        async with World() as world:
            replica = (await world.start(reap=False)).replica
            number = await registered(replica)
            for shuffle in range(6):
                await replica.submit(facts.APP, number([*facts.writes(shuffle)]))
            whole = await replica.events(facts.APP, 0, 100)
            sizes = [record_to_message(recorded).ByteSize() for recorded in whole]
            most = sum(sizes[:4])
            assert await replica.events(facts.APP, 0, 100, most) == whole[:5]
            assert await replica.events(facts.APP, 0, 100, 1) == whole[:2]
            assert await replica.events(facts.APP, 0, 3, most) == whole[:3]

    virtual.run(story())


async def test_of_old_snapshots_every_part_goes_however_many_there_are() -> None:
    """A state at its limits has some hundreds: what a look left behind came to more with every snapshot."""
    store, parts = MemoryBackend(), 250
    for sequence in (10, 20, 30, 40):
        keys = [places.snapshot_part(facts.APP, sequence, part) for part in range(parts)]
        for some in (keys[:100], keys[100:200], keys[200:]):
            await store.put_txn((), [Put(Keyspace.SNAPSHOTS, key, b"") for key in some])
    now = Head(Sequence(50), last_snapshot=Sequence(40), previous_snapshot=Sequence(20), snapshot_parts=parts)
    await Snapshots(store, facts.APP, at_once).prune(now)
    left = [places.snapshot_of(key) for key in (await store.scan_keys(Keyspace.SNAPSHOTS, limit=2_000)).keys]
    assert {sequence: left.count(sequence) for sequence in left} == {20: parts, 40: parts}
