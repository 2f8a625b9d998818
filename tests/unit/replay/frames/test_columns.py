"""Every event as a row: what is typed says what the event says, and all of it stands in the JSON."""

from __future__ import annotations

import json
import typing
from pathlib import Path

from coordinator.cli.rows import event_row
from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import Sequence
from replay.frames.batches import batches
from replay.frames.columns import COLUMNS
from tests.golden.golden import example_log
from tests.unit.replay.frames.reading import Row, as_rows, events, problems

PAGE = Path(__file__).parents[4] / "docs" / "frames.md"


def told(*log: Recorded) -> list[Row]:
    return [row for batch in batches("app", log, rows=7) for row in as_rows(batch)]


def golden() -> list[Recorded]:
    return [recorded for segment in example_log() for recorded in segment.records]


def test_every_kind_of_event_is_a_row_with_all_that_it_says() -> None:
    log = golden()
    found = told(*log)
    assert {row["kind"] for row in found} == {kind.__name__ for kind in typing.get_args(e.Event)}
    for recorded, row in zip(log, found, strict=True):
        shown = event_row(recorded)
        assert json.loads(row["event"]) == shown["event"]
        assert [row[name] for name in ("sequence", "time_ms", "because", "kind")] == list(shown.values())[:4]
        assert row["time"] == recorded.time_ms * 1000


def test_typed_columns_say_what_the_event_says() -> None:
    by_kind: dict[str, Row] = {}
    for recorded, row in zip(golden(), told(*golden()), strict=True):
        by_kind.setdefault(row["kind"], {**row, "said": recorded.event})
    started = by_kind["JobStarted"]
    said = started["said"]
    assert (started["job"], started["stage"], started["call_site"]) == (said.job, said.final_stage, said.call_site)
    assert started["stages"] == [{"first": one.first, "last": one.last} for one in said.stages]
    assert (started["reads"], started["policy"]) == (list(said.reads), said.policy.name)
    reader = by_kind["ReaderRegistered"]
    assert (reader["stage"], reader["attempt"]) == (said_of(reader).reader.stage, said_of(reader).reader.attempt)
    learned = by_kind["LineageLearned"]
    lineage = said_of(learned).lineage
    assert (learned["app_shuffle"], learned["tasks"]) == (lineage.app_shuffle, lineage.maps)
    expired = by_kind["GenerationExpired"]
    assert (expired["cause"], expired["hold"]) == (said_of(expired).why.value, said_of(expired).hold.value)
    assert by_kind["RecoveryOpened"]["gone"] == list(said_of(by_kind["RecoveryOpened"]).gone)
    assert by_kind["RecoveryOpened"]["shuffle_id"] == said_of(by_kind["RecoveryOpened"]).missing
    assert by_kind["ApplicationRegistered"]["name"] == said_of(by_kind["ApplicationRegistered"]).driver.name
    assert by_kind["ApplicationEnded"]["cause"] == said_of(by_kind["ApplicationEnded"]).ending.value


def said_of(row: Row) -> typing.Any:
    return row["said"]


def test_every_column_is_filled_by_some_event() -> None:
    found = told(*golden())
    never = [c.name for c in COLUMNS if c.name != "problem" and all(row[c.name] is None for row in found)]
    assert not never


def test_a_made_up_time_is_told_and_a_number_that_fits_nowhere_is_a_problem() -> None:
    far = Recorded(Sequence(1), 10**17, Sequence(1), e.ClientDropped(typing.cast(typing.Any, "c")))
    big = Recorded(Sequence(2), 5, Sequence(2), e.ExecutionEnded(typing.cast(typing.Any, 1 << 63)))
    found = told(far, big, golden()[0])
    assert (found[0]["time"], found[0]["time_ms"]) == (None, 10**17)
    assert len(events(found)) == 2
    assert "event 2 (ExecutionEnded) holds a number" in problems(found)[0]


def test_the_page_names_every_column_with_its_type_and_meaning() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [c.name for c in COLUMNS if f"| `{c.name}` | {c.kind} | {c.meaning} |" not in page]
    assert not missing
