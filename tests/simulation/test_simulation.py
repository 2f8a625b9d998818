"""Schedules that must hold, failing ones that become short, and checkers that must fail."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.core.events import RequestsAnswered
from coordinator.core.ids import Span
from coordinator.wire.codec import Segment, encode_segment
from coordinator.wire.records import Head, decode, encode
from state_backend.memory import MemoryBackend
from state_backend.values import Keyspace, Revision
from tests.planted.planting import named
from tests.simulation import checks, facts, run, schedule, virtual
from tests.simulation.draw import drawn
from tests.simulation.shrink import RUNS_MAX, kind_of, shortest
from tests.simulation.stories import FOUND
from tests.simulation.story import Entry, Setting, Story, parsed
from tests.simulation.world import World, registered

ROOT = Path(__file__).parent.parent.parent

#: The first seeds; a part of the test run by itself does thousands from there on (tools/parts.py).
SOME = 150


@pytest.fixture(autouse=True)
def quiet() -> None:
    run.quiet()


def told(figures: run.Figures, runs_max: int = RUNS_MAX) -> str:
    """The first failure, short, with the command that repeats it."""
    return run.tell_failure(run.run_seed(figures.failed[0][0]), runs_max) if figures.failed else ""


def test_a_fault_that_is_never_met_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--count", "1", "--processes", "1", "--every-fault"]) == 1
    assert "never met, so nothing was tested by it: " in capsys.readouterr().out


def test_some_schedules_of_faults_break_nothing() -> None:
    """The first seeds, until one fails: what planted bugs are held against."""
    figures = run.run_until_failure(range(SOME))
    assert not figures.failed, told(figures, runs_max=40)


def test_what_schedules_have_found_stays_mended() -> None:
    outcomes = {name: schedule.run(parsed(text)) for name, text in FOUND.items()}
    assert not {name: outcome.wrongs for name, outcome in outcomes.items() if outcome.wrongs}


def test_the_same_seed_is_the_same_schedule() -> None:
    for seed in (7, 8, 9):
        assert run.run_seed(seed) == run.run_seed(seed)


def test_a_wait_for_nothing_is_an_error_and_not_a_hang() -> None:
    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(virtual.Stuck):
        virtual.run(forever())


def test_an_hour_takes_a_moment() -> None:
    async def told() -> float:
        began_s = asyncio.get_running_loop().time()
        await asyncio.sleep(3_600)
        return asyncio.get_running_loop().time() - began_s

    began_s = time.monotonic()
    assert virtual.run(told()) == 3_600
    assert time.monotonic() - began_s < 60


# ---- stories ---------------------------------------------------------------------------------------------------------


def test_a_story_reads_back_from_its_text() -> None:
    for seed in range(200):
        story = drawn(seed)
        assert parsed(str(story)) == story
        assert len(story.told().splitlines()) == len(story.entries) + 1


def test_a_word_that_no_story_knows_is_named() -> None:
    with pytest.raises(ValueError, match="'jump' is no verb of a story"):
        parsed("plain; jump 0")


def test_a_failing_schedule_becomes_short_and_its_command_repeats_it() -> None:
    """On a planted bug: the story that is left is short, fails in the same way, and so does its printed command."""
    with pytest.MonkeyPatch.context() as patch:
        named("take-unknown-for-done").plant(patch)
        failed = next(outcome for seed in range(SOME) if (outcome := run.run_seed(seed)).wrongs)
        found = shortest(failed.story, schedule.run)
        assert found.wrongs
        assert kind_of(found) == kind_of(failed)
        assert len(found.story.entries) <= min(8, len(failed.story.entries)), found.story.told()
        for place in range(len(found.story.entries)):
            shorter = schedule.run(found.story.without((place,)))
            assert not shorter.wrongs or kind_of(shorter) != kind_of(found), "it can be shorter"
    assert schedule.run(found.story).wrongs == [], "without the bug the same story holds"
    again = [
        sys.executable,
        "-m",
        "tests.simulation.run",
        "--plant",
        "take-unknown-for-done",
        "--story",
        str(found.story),
    ]
    repeated = subprocess.run(again, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert repeated.returncode == 1, repeated.stderr
    assert found.wrongs[0] in repeated.stdout


def test_what_holds_is_not_made_shorter() -> None:
    story = Story(Setting(), (Entry("make", (0, 0)), Entry("go", (0, 6))))
    assert shortest(story, schedule.run).story == story


# ---- the book and the plain checks say the same ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_book_says_what_the_whole_store_says(seed: int) -> None:
    """Every schedule's store, read once more from the beginning by means that share nothing with the book."""

    async def story() -> None:
        played = schedule.Schedule(drawn(seed))
        assert (await played.run()).wrongs == []
        for application, account in played.store.book.accounts.items():
            log = await checks.read_log(MemoryBackend(played.store), application)
            assert checks.fold_log(log) == account.state
            acknowledged = {client: set(numbers) for client, numbers in account.answered.items()}
            assert await checks.wrongs(MemoryBackend(played.store), application, acknowledged) == []

    virtual.run(story())


# ---- checkers that must fail -----------------------------------------------------------------------------------------


async def told_twice() -> MemoryBackend:
    """A store with two jobs in it."""
    async with World() as world:
        replica = (await world.start(reap=False)).replica
        number = await registered(replica)
        for job in range(2):
            await replica.submit(facts.APP, number(facts.whole(job)))
        return world.reader()


async def wrongs_of(store: MemoryBackend, *acknowledged: int) -> str:
    return "; ".join(await checks.wrongs(store, facts.APP, {facts.DRIVER: set(acknowledged)}))


def test_a_good_store_has_nothing_wrong() -> None:
    async def story() -> None:
        assert await wrongs_of(await told_twice(), *range(1, 15)) == ""

    virtual.run(story())


def test_a_lost_acknowledgement_is_noticed() -> None:
    async def story() -> None:
        assert "acknowledged requests" in await wrongs_of(await told_twice(), 15)

    virtual.run(story())


def test_a_gap_a_fork_and_a_wrong_head_are_noticed() -> None:
    async def story() -> None:
        store = await told_twice()
        entries = (await store.scan_all(Keyspace.EVENTS)).entries
        await store.delete(Keyspace.EVENTS, entries[1].key)
        assert "is followed by" in await wrongs_of(store)
        store = await told_twice()
        log = await checks.read_log(store, facts.APP)
        twice = replace(log[-1], commit_id=log[-2].commit_id)
        await store.put(Keyspace.EVENTS, entries[-1].key, encode_segment(twice))
        assert "is in the log 2 times" in await wrongs_of(store)
        head = (await store.get(Keyspace.HEADS, facts.APP)).entry
        assert head is not None
        behind = replace(decode(Head, head.value, "head"), next_sequence=log[-1].records[0].sequence)
        await store.put(Keyspace.HEADS, facts.APP, encode(behind))
        assert "the head says" in await wrongs_of(store)

    virtual.run(story())


def test_a_request_that_was_answered_twice_is_noticed() -> None:
    async def story() -> None:
        store = await told_twice()
        log = await checks.read_log(store, facts.APP)
        entry = (await store.scan_all(Keyspace.EVENTS)).entries[-1]
        await store.put(Keyspace.EVENTS, entry.key, encode_segment(_answering_again(log[-1])))
        assert "was answered 2 times" in await wrongs_of(store)

    virtual.run(story())


def _answering_again(segment: Segment) -> Segment:
    *others, last = segment.records
    assert isinstance(last.event, RequestsAnswered)
    event = replace(last.event, answered=(Span(1, 1),))
    return replace(segment, records=(*others, replace(last, event=event)))


def test_what_was_let_go_and_not_deleted_is_noticed() -> None:
    async def story() -> None:
        state = checks.fold_log(await checks.read_log(await told_twice(), facts.APP))
        assert "directives are left" in "; ".join(checks.unfinished(state))

    virtual.run(story())


def test_records_that_are_not_what_the_log_says_are_noticed() -> None:
    async def story() -> None:
        store = await told_twice()
        key = (await store.scan_keys(Keyspace.LIVE)).keys[0]
        await store.mv(Keyspace.LIVE, Keyspace.FENCED, key, (await _revision(store, key)))
        assert "records are" in await wrongs_of(store)
        await store.put(Keyspace.LOST, facts.APP, b"1-2")
        assert "tombstones are" in await wrongs_of(store)

    virtual.run(story())


async def _revision(store: MemoryBackend, key: str) -> Revision:
    entry = (await store.get(Keyspace.LIVE, key)).entry
    assert entry is not None
    return entry.revision
