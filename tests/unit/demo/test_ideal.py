"""An app shuffle is needed until Spark has ended the last stage that read it, whenever that was recorded."""

from __future__ import annotations

import json
from pathlib import Path

from coordinator.demo.ideal import needed_until, stage_times
from tests.unit.replay.logs import BEGIN_MS, Told, attempt


def test_what_was_read_is_needed_until_its_reader_ended_in_spark() -> None:
    told = Told()
    told.whole_chain()
    times = {attempt(0): (0.0, 4_000.0), attempt(1): (4_000.0, 7_000.0)}
    assert needed_until(told.log, times) == {0: 7.0, 1: 7.0}  # nobody has read the other: until it was complete
    assert told.now_ms > BEGIN_MS  # the times of the log's commits, which are not looked at


def test_a_reader_of_which_spark_tells_no_end_needs_nothing() -> None:
    told = Told()
    told.whole_chain()
    assert needed_until(told.log, {attempt(0): (0.0, 4_000.0)}) == {0: 4.0}


def test_times_are_read_from_sparks_own_log(tmp_path: Path) -> None:
    stage = {"Stage ID": 3, "Stage Attempt ID": 1, "Submission Time": 1_000, "Completion Time": 2_500}
    told = [{"Event": "SparkListenerStageSubmitted", "Stage Info": {"Stage ID": 3}}]
    told += [{"Event": "SparkListenerStageCompleted", "Stage Info": stage}]
    (tmp_path / "local-1").write_text("".join(json.dumps(event) + "\n" for event in told))
    assert stage_times(tmp_path) == {attempt(3, 1): (1_000.0, 2_500.0)}
