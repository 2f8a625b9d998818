"""How full disks are: what is measured, and what of it is told."""

from __future__ import annotations

import itertools
import queue
import threading
from pathlib import Path

import pytest

from listener_bridge import disks
from listener_bridge.disks import Telling, Usage, Watch, Watermarks, measure

MARKS = Watermarks(85, 75)


def at(percent: float, disk: str = "/x") -> Usage:
    return Usage(disk, int(10 * percent), 1_000 - int(10 * percent))


def told(telling: Telling, percent: float, now_s: float = 0.0) -> bool:
    return telling.due([at(percent)], now_s) != []


def test_a_disk_is_measured_once_whatever_it_holds(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    found = measure([str(tmp_path / "one"), str(tmp_path), str(tmp_path / "gone")])
    assert [usage.disk for usage in found] == [str(tmp_path / "one")]
    assert found[0].free_bytes > 0
    assert 0 < found[0].percent < 100


def test_the_first_is_told_and_what_has_not_changed_is_not() -> None:
    telling = Telling(MARKS)
    assert told(telling, 50)
    assert not told(telling, 50, 1_000)
    assert not told(telling, 51.9, 1_000)
    assert told(telling, 52, 1_000)


def test_changes_wait_for_the_pause_and_watermarks_for_nothing() -> None:
    telling = Telling(MARKS)
    assert told(telling, 70)
    assert not told(telling, 80, disks.PAUSE_S / 2)
    assert told(telling, 85, disks.PAUSE_S / 2)
    assert not told(telling, 84, disks.PAUSE_S / 2)  # full until it is below the low one
    assert told(telling, 74, disks.PAUSE_S / 2)
    assert not told(telling, 76, disks.PAUSE_S / 2)  # not full until it is above the high one


def test_a_disk_above_the_low_watermark_is_told_again() -> None:
    telling = Telling(MARKS)
    assert told(telling, 76)
    assert not told(telling, 76, disks.AGAIN_S - 1)
    assert told(telling, 76, disks.AGAIN_S)


def test_what_is_forced_or_forgotten_is_told() -> None:
    telling = Telling(MARKS)
    assert told(telling, 50)
    assert telling.due([at(50)], 0, is_forced=True) == [at(50)]
    telling.forget()
    assert told(telling, 50)


def test_a_disk_that_is_not_there_any_more_is_told_once_as_holding_nothing() -> None:
    telling = Telling(MARKS)
    assert telling.due([at(90), at(50, "/y")], 0) == [at(90), at(50, "/y")]
    assert telling.due([at(50, "/y")], 0) == [Usage("/x", 0, 0)]
    assert telling.due([at(50, "/y")], 0) == []
    assert telling.due([at(90), at(50, "/y")], 0) == [at(90)]


def test_what_is_gone_and_not_told_counts_as_there_evenly() -> None:
    measured = [Usage("/a", 100, 50), Usage("/b", 10, 5)]
    assert disks.with_untold(measured, 20) == [Usage("/a", 110, 40), Usage("/b", 20, 0)]
    assert disks.with_untold([], 20) == []


@pytest.mark.parametrize("untold_bytes", [(0, 20), (20, 0)], ids=["goes meanwhile", "told meanwhile"])
def test_what_changes_while_a_disk_is_measured_counts_as_gone(
    untold_bytes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: queue.SimpleQueue[Usage] = queue.SimpleQueue()
    asked = itertools.cycle(untold_bytes)
    monkeypatch.setattr(disks, "measure", lambda _: [Usage("/a", 100, 50)])
    watch = Watch(["/a"], Watermarks(100, 100))
    watch.tell, watch.untold_bytes = heard.put, lambda: next(asked)
    watch.start()
    assert heard.get(timeout=20) == Usage("/a", 100, 50)
    watch.stop(5)


def test_a_watch_tells_at_first_and_after_each_deletion(tmp_path: Path) -> None:
    heard, changed = [], threading.Condition()
    deletions = [0]

    def hear(usage: Usage) -> None:
        with changed:
            heard.append(usage.disk)
            changed.notify_all()

    watch = Watch([str(tmp_path)], Watermarks(100, 100))
    watch.tell, watch.deletions = hear, lambda: deletions[0]
    watch.start()
    with changed:
        assert changed.wait_for(lambda: len(heard) == 1, 20)
        deletions[0] = 1
        assert changed.wait_for(lambda: len(heard) == 1 + disks.AFTER_A_DELETION, 20)
    watch.begin_again()
    with changed:
        assert changed.wait_for(lambda: len(heard) == 2 + disks.AFTER_A_DELETION, 20)
    watch.stop(5)
    assert set(heard) == {str(tmp_path)}
    assert not [thread for thread in threading.enumerate() if thread.name == "shuffle-lifecycle-disks"]
