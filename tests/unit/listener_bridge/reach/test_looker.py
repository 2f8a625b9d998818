"""A look stands between its two marks, is taken while there is a candidate, and a failed one reports nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from listener_bridge.allowance import MUCH_BYTES
from listener_bridge.reach.findings import Found, Kind, Root
from listener_bridge.reach.looker import Looker
from listener_bridge.reach.pace import IDLE_MIN_S, QUIET_S
from listener_bridge.tap.facts import (
    Fact,
    KnownShuffle,
    Level,
    MarkerPassed,
    ShuffleCleaned,
    Snapshot,
    StageCompleted,
    StageFact,
)
from listener_bridge.words import Request

HELD = Root("o1", Kind.HANDLE, frozenset({0}), "`a`")
LIMIT_S = 10.0


class Eyes:
    """A sight that says what it is told to say, once it is asked."""

    def __init__(self, *found: tuple[Root, ...] | str) -> None:
        self.found = [Found(each) if isinstance(each, tuple) else Found((), each) for each in found]
        self.reads = 0
        self.dropped = 0
        self.heard: list[Fact] = []
        self.is_closed = False
        self.on_read: Callable[[], None] = lambda: None

    def warm(self) -> None:
        pass

    def read(self) -> Found:
        self.on_read()
        self.reads += 1
        return self.found[min(self.reads, len(self.found)) - 1]

    def changes(self) -> int:
        return self.dropped

    def line_of(self, thread: str | None, method: str | None, at_ms: float, called_back: bool = False) -> str:
        return ""

    def hear(self, fact: Fact) -> None:
        self.heard.append(fact)

    def resync(self, present: Snapshot) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True


class Stream:
    """The listener's queue: a mark comes by as soon as it is posted, unless it is held back."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.reports: list[Request] = []
        self.is_held = False
        self.changed = threading.Condition()
        self.looker: Looker | None = None

    def mark(self, name: str) -> None:
        with self.changed:
            self.told.append(name)
            self.changed.notify_all()
        if not self.is_held:
            self.pass_by(name)

    def pass_by(self, name: str) -> None:
        assert self.looker is not None
        self.looker.hear([MarkerPassed(0, name, "")])

    def settle(self, _: object, request: Request, mark: str) -> None:
        with self.changed:
            self.reports.append(request)
            self.told.append(f"{request.WhichOneof('command')} at {mark}")
            self.changed.notify_all()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(is_so, LIMIT_S), self.told


def present(*app_shuffles: int) -> Snapshot:
    return Snapshot("snapshot-1", tuple(KnownShuffle(shuffle, 2, 2) for shuffle in app_shuffles), (), ())


def looking(eyes: Eyes, collect: Callable[[], None] = lambda: None) -> tuple[Looker, Stream]:
    stream = Stream()
    looker = Looker(eyes, stream.mark, stream.settle, lambda: 0, collect=collect)
    stream.looker = looker
    return looker, stream


def test_a_report_is_settled_before_its_mark_is_posted() -> None:
    looker, stream = looking(Eyes((HELD,)))
    looker.start(present(0))
    stream.wait_for(lambda: len(stream.told) >= 4)
    looker.stop(LIMIT_S)
    assert stream.told[:4] == [
        "begin_look at look-1-begins",
        "look-1-begins",
        "report_cut at look-1-ends",
        "look-1-ends",
    ]
    assert [said.root for said in stream.reports[1].report_cut.roots] == ["o1"]


def test_nothing_is_read_before_the_first_mark_has_passed() -> None:
    eyes = Eyes((HELD,))
    looker, stream = looking(eyes)
    stream.is_held = True
    looker.start(present(0))
    stream.wait_for(lambda: "look-1-begins" in stream.told)
    looker.hear([MarkerPassed(0, "fence-7", "")])
    assert eyes.reads == 0
    stream.is_held = False
    stream.pass_by("look-1-begins")
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    looker.stop(LIMIT_S)
    assert eyes.is_closed


def test_a_look_that_failed_reports_nothing_and_the_next_one_does() -> None:
    looker, stream = looking(Eyes("the walk took too long", (HELD,)))
    looker.start(present(0))
    stream.wait_for(lambda: "look-2-ends" in stream.told)
    looker.stop(LIMIT_S)
    assert "look-1-ends" not in stream.told
    assert looker.looks >= 1


def test_without_a_candidate_nothing_is_looked_at() -> None:
    eyes = Eyes((HELD,))
    looker, stream = looking(eyes)
    looker.start(present(0))
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    looker.hear([ShuffleCleaned(1, 0)])
    assert looker.candidates.bytes == {}
    looker.stop(LIMIT_S)
    other, quiet = looking(eyes)
    other.start(present())
    other.stop(LIMIT_S)
    assert quiet.told == []


def test_a_sight_that_cannot_hear_ends_the_looks_and_not_the_listening() -> None:
    eyes = Eyes((HELD,))
    looker, stream = looking(eyes)

    def fail(_: Fact) -> None:
        raise RuntimeError("planted")

    eyes.hear = fail  # type: ignore[method-assign, assignment]
    looker.hear([ShuffleCleaned(1, 0)])
    looker.start(present(0))
    looker._thread.join(LIMIT_S)
    looker.hear([ShuffleCleaned(2, 0)])
    looker.stop(LIMIT_S)
    assert stream.told == []


def test_a_sight_that_cannot_take_in_what_there_is_ends_the_looks_and_not_who_tells_it() -> None:
    """It is told by whoever took the snapshot for the coordinator: after a gap nothing expires until that has it."""
    eyes = Eyes((HELD,))
    looker, stream = looking(eyes)

    def fail(_: Snapshot) -> None:
        raise RuntimeError("planted")

    eyes.resync = fail  # type: ignore[method-assign, assignment]
    looker.start(present(0))
    looker._thread.join(LIMIT_S)
    looker.resync(present(0))
    looker.stop(LIMIT_S)
    assert stream.told == []


def test_a_sight_that_raises_ends_the_looks_and_not_the_bridge() -> None:
    eyes = Eyes((HELD,))

    def fail() -> None:
        raise RuntimeError("planted")

    eyes.on_read = fail
    looker, stream = looking(eyes)
    looker.start(present(0))
    looker._thread.join(LIMIT_S)
    assert not looker._thread.is_alive()
    looker.hear([ShuffleCleaned(1, 0)])
    looker.stop(LIMIT_S)
    assert stream.told == ["begin_look at look-1-begins", "look-1-begins"]


def test_a_look_costs_what_it_took_of_a_processor_here_and_in_the_jvm() -> None:
    eyes = Eyes((HELD,))
    eyes.found = [Found((HELD,), jvm_s=30.0)]
    looker, stream = looking(eyes)
    looker.start(present(0))
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    looker.stop(LIMIT_S)
    assert 30.0 < looker.looking_s < 31.0


def second_look(*found: tuple[Root, ...], fact: Fact | None = None) -> Stream:
    """What two looks tell that find these roots; the second one is called for by a handle's death."""
    eyes = Eyes(*found)
    looker, stream = looking(eyes)
    looker.start(present(0))
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    if fact is not None:
        looker.hear([fact])
    read = threading.Event()
    eyes.on_read = read.set
    eyes.dropped += 1
    assert read.wait(LIMIT_S)
    looker.stop(LIMIT_S)
    return stream


def test_a_look_that_finds_nothing_new_where_nothing_has_come_is_silent() -> None:
    stream = second_look((HELD,), (HELD,))
    assert stream.told[4:5] == ["look-2-begins"]
    assert len(stream.reports) == 2


def test_what_a_look_finds_where_nothing_has_come_is_told_from_the_place_of_the_last_beginning() -> None:
    stream = second_look((HELD,), ())
    assert stream.told[4:] == ["look-2-begins", "report_cut at look-2-ends", "look-2-ends"]
    assert stream.reports[-1].report_cut.look == 1
    assert list(stream.reports[-1].report_cut.gone) == ["o1"]


def test_a_fact_has_the_next_look_begin_behind_it_and_tell_its_end() -> None:
    stream = second_look((HELD,), (HELD,), fact=ShuffleCleaned(1, 7))
    assert stream.told[4:] == [
        "begin_look at look-2-begins",
        "look-2-begins",
        "report_cut at look-2-ends",
        "look-2-ends",
    ]
    assert stream.reports[-1].report_cut.look == 2


def test_after_reports_were_lost_the_next_look_begins_anew() -> None:
    """A gap may stand behind the place where the look began that noticed it: nothing can be let go from there."""
    missed = [0]
    eyes = Eyes((HELD,))
    stream = Stream()
    looker = stream.looker = Looker(eyes, stream.mark, stream.settle, lambda: missed[0])
    eyes.on_read = lambda: missed.__setitem__(0, 1)
    looker.start(present(0))
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    eyes.dropped += 1
    stream.wait_for(lambda: "look-2-ends" in stream.told)
    looker.stop(LIMIT_S)
    assert "begin_look at look-2-begins" in stream.told
    assert stream.reports[-1].report_cut.look == 2


def test_what_was_told_of_a_look_whose_beginning_may_be_lost_is_told_again() -> None:
    """A coordinator that has not heard of the beginning leaves the report out, though that came behind the gap."""
    missed = [0]
    eyes = Eyes((HELD,))
    stream = Stream()
    looker = stream.looker = Looker(eyes, stream.mark, stream.settle, lambda: missed[0])
    eyes.on_read = lambda: missed.__setitem__(0, 1)  # the beginning was lost, and the gap is closed again
    looker.start(present(0))
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    looker.hear([ended(0, MUCH_BYTES)])
    stream.wait_for(lambda: "look-2-ends" in stream.told)
    looker.hear([ended(0, MUCH_BYTES)])
    stream.wait_for(lambda: "look-3-ends" in stream.told)
    looker.stop(LIMIT_S)
    cuts = [report.report_cut for report in stream.reports if report.HasField("report_cut")]
    assert [[root.root for root in cut.roots] for cut in cuts] == [["o1"], ["o1"], []]


def ended(app_shuffle: int, written_bytes: int) -> StageCompleted:
    stage = StageFact(1, 0, 4, app_shuffle, (), "", "", Level.DETERMINATE, False, (), ())
    return StageCompleted(0, 0, stage, None, written_bytes, 0, 0, 0)


def test_a_program_that_lets_go_of_hardly_anything_all_the_time_is_looked_at_again_once_it_is_quiet() -> None:
    eyes = Eyes((HELD,))
    looker, stream = looking(eyes)
    looker.hear([ended(n, 100) for n in range(2_000)])
    looker.start()
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    for n in range(1_000):  # 2 s of a processor, of which so small ones may take half a percent
        looker.gone(n)
    called_s = time.monotonic()
    looker.hear([ended(2_000, 100)])
    stream.wait_for(lambda: "look-2-begins" in stream.told)
    assert time.monotonic() - called_s >= QUIET_S
    looker.hear([ended(2_001, MUCH_BYTES)])
    stream.wait_for(lambda: "look-3-begins" in stream.told)
    looker.stop(LIMIT_S)


def test_what_dies_while_one_looks_calls_for_another_look() -> None:
    """The idle ones that follow would come ever later."""
    eyes = Eyes((HELD,))
    looker, stream = looking(eyes)
    first = threading.Event()

    def drop() -> None:
        if not first.is_set():
            first.set()
            eyes.dropped += 1

    eyes.on_read = drop
    looker.start(present(0))
    stream.wait_for(lambda: "look-1-ends" in stream.told)
    called_s = time.monotonic()
    stream.wait_for(lambda: "look-2-begins" in stream.told)
    assert time.monotonic() - called_s < IDLE_MIN_S
    looker.stop(LIMIT_S)


def test_where_something_without_a_name_holds_much_cycles_are_collected() -> None:
    """What went by it calls for a look."""
    nameless = Root("o2", Kind.OBJECT, frozenset({7}), "org.apache.spark.rdd.MapPartitionsRDD")
    eyes = Eyes((HELD, nameless))
    collected: list[int] = []

    def collect() -> None:
        collected.append(eyes.reads)
        eyes.found, eyes.dropped = [Found((HELD,))], 1

    looker, stream = looking(eyes, collect)
    looker.hear([ended(7, MUCH_BYTES)])
    looker.start(present(0))
    stream.wait_for(lambda: any("o2" in report.report_cut.gone for report in stream.reports))
    looker.stop(LIMIT_S)
    assert len(collected) == 1


def test_where_names_hold_all_nothing_is_collected() -> None:
    eyes = Eyes((HELD,))
    collected: list[int] = []
    looker, stream = looking(eyes, lambda: collected.append(eyes.reads))
    looker.hear([ended(0, MUCH_BYTES)])
    looker.start()
    for look in range(2, 5):
        eyes.dropped += 1
        stream.wait_for(lambda look=look: f"look-{look}-begins" in stream.told)  # type: ignore[misc]
    looker.stop(LIMIT_S)
    assert collected == []
