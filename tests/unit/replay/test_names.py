"""Names are remembered as long as something may speak of them, and not as long as the log is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, LookId, Sequence, ShuffleId, Span, StageId
from coordinator.core.values import Deletion, Lineage, RootKind
from replay import names as naming
from replay import points, travel
from replay.explain import Births, UnknownShuffle, explain
from replay.moments import moment
from replay.names import Names
from replay.phrases import phrase
from replay.timeline.collect import Picture
from replay.timeline.numbers import numbers
from tests.unit.replay.logs import Told, attempt

_TABLES = ("jobs", "stages", "lineage", "shuffle_of", "roots", "executions")


def job(number: int) -> Iterator[e.Event]:
    """A job that writes an app shuffle, reads it, and is done; Spark cleans what was deleted."""
    app, shuffle_id, writer, reader = (
        AppShuffle(number),
        ShuffleId(number),
        attempt(2 * number),
        attempt(2 * number + 1),
    )
    stages = (Span(writer.stage, reader.stage),)
    yield e.JobStarted(JobId(number), reader.stage, (app,), stages=stages, call_site=f"count at nightly.py:{number}")
    yield e.LineageLearned(Lineage(app, call_site=f"groupBy at nightly.py:{number}"))
    yield e.CutReported(LookId(number), f"o{number}", RootKind.HANDLE, (app,), why=f"`ranks{number}` in nightly.py")
    yield e.StageSubmitted(writer, writes=app, name=f"groupBy at nightly.py:{number}")
    yield e.GenerationStarted(shuffle_id, app, writer, JobId(number))
    yield e.StageCompleted(writer)
    yield e.GenerationCompleted(shuffle_id, 1_000)
    yield e.StageSubmitted(reader, reads=(app,), name=f"count at nightly.py:{number}")
    yield e.ReaderRegistered(shuffle_id, reader)
    yield e.StageCompleted(reader)
    yield e.JobEnded(JobId(number), True)
    yield e.RootGone(f"o{number}")
    yield e.GenerationDeleted(shuffle_id, Deletion.POLICY)


def heard(*events: e.Event, names: Names | None = None) -> Names:
    names = Names() if names is None else names
    for number, event in enumerate(events, 1):
        names.hear(e.Recorded(Sequence(number), 0, Sequence(number), event))
    return names


def cleaned(number: int) -> Iterator[e.Event]:
    yield from job(number)
    yield e.ShuffleCleaned(AppShuffle(number))


def many(first: int, last: int, names: Names) -> None:
    for number in range(first, last):
        heard(*cleaned(number), names=names)


def test_a_log_of_any_length_is_remembered_in_as_much_as_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "_OVER", 100)
    names = Names()
    many(0, 300, names)
    assert max(len(getattr(names, table)) for table in _TABLES) == 100
    assert not names.running
    assert not names.whose.gone


def test_what_is_alive_is_called_by_its_name_however_long_ago_it_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "_OVER", 10)
    first = list(job(1))
    at = next(number for number, event in enumerate(first) if isinstance(event, e.StageCompleted))
    failed = e.StageCompleted(attempt(2), failure="FetchFailed")
    names = heard(*first[:at], failed)
    many(10, 100, names)
    assert names.stage_of_job(attempt(2)) == "stage 2.0 (groupBy at nightly.py:1) of job 1 (count at nightly.py:1)"
    assert names.root("o1") == "handle `ranks1` in nightly.py"
    heard(*first[at:], names=names)
    many(100, 200, names)
    missed = e.PrematureDeletion(ShuffleId(1), None)
    assert phrase(missed, names).startswith("#1 of app shuffle 1 was deleted too early")
    assert names.shuffle(AppShuffle(1)) == "app shuffle 1 (groupBy at nightly.py:1)", "Spark has not cleaned it"
    assert names.job(JobId(1)) == "job 1"


def test_what_is_over_is_called_by_its_name_while_its_end_is_told() -> None:
    names = heard(*cleaned(1))
    told = [phrase(event, names) for event in cleaned(1)]
    assert "job 1 (count at nightly.py:1) ended" in told
    assert "handle `ranks1` in nightly.py needs nothing any more" in told


def test_a_failed_job_s_stage_that_another_live_job_lists_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "_OVER", 0)
    stages = (Span(StageId(1), StageId(1)),)
    jobs = [e.JobStarted(JobId(number), StageId(1), (), stages=stages) for number in (1, 2)]
    names = heard(*jobs, e.StageSubmitted(attempt(1), name="map at x"), e.JobEnded(JobId(1), False))
    assert names.stage(attempt(1)) == "stage 1.0 (map at x)"
    heard(e.JobEnded(JobId(2), False), names=names)
    assert (names.stage(attempt(1)), names.stages, names.jobs) == ("stage 1.0", {}, {})


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The chain's first job, of which Spark has cleaned all, and nothing is remembered of what is over."""
    monkeypatch.setattr(naming, "_OVER", 0)
    told = Told()
    told.whole_chain()
    told.carried_out()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    for number in range(2):
        event = e.ShuffleCleaned(AppShuffle(number))
        told.log.append(e.Recorded(Sequence(len(told.log) + 1), told.now_ms, Sequence(len(told.log) + 1), event))
    return told


def test_a_moment_and_a_picture_name_what_is_gone(told: Told) -> None:
    found = moment(travel.at(told.log, points.End()))
    assert [one.call_site for one in found.gone] == ["map at chain.py:12"]
    picture = Picture()
    for recorded in told.log:
        picture.hear(recorded)
    assert {"map at chain.py:12", "groupBy at chain.py:14", "job 0 (count at chain.py:20)"} <= set(
        numbers(picture)["texts"]
    )


def test_a_story_names_where_it_was_written_and_a_wrong_one_what_there_is(told: Told) -> None:
    assert explain(told.log, AppShuffle(0)).call_site == "map at chain.py:12"
    with pytest.raises(UnknownShuffle) as wrong:
        explain(told.log, AppShuffle(7))
    assert wrong.value.expected == "one of the app shuffles: 0, 1"
    births = Births(ShuffleId(9))
    for recorded in told.log:
        births.hear(recorded)
    with pytest.raises(UnknownShuffle, match="9"):
        births.app_shuffle()


def test_what_has_changed_is_called_by_the_name_of_either_end(told: Told) -> None:
    before = travel.at(told.log, points.AtEvent(10))
    after = travel.at(told.log, points.End())
    assert "shuffle 0 (map at chain.py:12)" in str(travel.difference(before, after))


@pytest.mark.parametrize(
    ("kind", "why", "told"),
    [
        (RootKind.HANDLE, "`ranks` in nightly.py:3", "handle `ranks` in nightly.py:3"),
        (RootKind.PERSISTED, "cached: ranks", "persisted cached: ranks"),
        (RootKind.PERSISTED, "persisted RDD 3 (map at nightly.py:3)", "persisted RDD 3 (map at nightly.py:3)"),
        (RootKind.PERSISTED, "", "persisted rdd 3"),
    ],
)
def test_a_root_says_its_kind_once(kind: RootKind, why: str, told: str) -> None:
    assert Names().root_of(kind, "rdd 3", why) == told
    cut = e.CutReported(LookId(1), "rdd 3", kind, (), why=why)
    assert phrase(cut, heard(cut)).startswith(told)
