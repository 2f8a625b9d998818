"""The checker must fail: for each thing that it proves, a log or a history in which it is not so."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from shuffle_lifecycle.v1 import common_pb2, events_pb2

from tests.faults.checker import check
from tests.faults.history import Action

APP = "app"


def stage(number: int, attempt: int = 0) -> common_pb2.StageAttempt:
    return common_pb2.StageAttempt(stage=number, attempt=attempt)


def answered(*numbers: int, client: str = "driver-1") -> events_pb2.RequestsAnswered:
    spans = [common_pb2.Span(first=number, last=number) for number in numbers]
    return events_pb2.RequestsAnswered(client=client, answered=spans)


EVENTS: Any = events_pb2.Record.DESCRIPTOR.oneofs_by_name["event"]
NAMES = {field.message_type.name: field.name for field in EVENTS.fields}
SPAN = common_pb2.Span(first=0, last=1)

#: A whole life: written, read, let go, deleted. Each commit is one tuple.
STORY: tuple[tuple[Any, ...], ...] = (
    (events_pb2.ApplicationRegistered(application=APP), events_pb2.ClientRegistered(client="driver-1")),
    (
        events_pb2.JobStarted(job=0, final_stage=1, reads=[0], stages=[SPAN]),
        events_pb2.StageSubmitted(stage=stage(0), writes=0, tasks=4),
        events_pb2.GenerationStarted(shuffle_id=1, app_shuffle=0, writer=stage(0)),
        answered(1, 2),
    ),
    (
        events_pb2.StageCompleted(stage=stage(0), shuffle_bytes_written=1_000),
        events_pb2.GenerationCompleted(shuffle_id=1, bytes=1_000),
        answered(3),
    ),
    (
        events_pb2.StageSubmitted(stage=stage(1), reads=[0], tasks=4),
        events_pb2.ReaderRegistered(shuffle_id=1, reader=stage(1)),
        answered(4, 5),
    ),
    (
        events_pb2.StageCompleted(stage=stage(1), output_bytes=10),
        events_pb2.JobEnded(job=0, succeeded=True),
        events_pb2.GenerationExpired(shuffle_id=1),
        events_pb2.FenceRequested(directive=1, shuffle_id=1),
        answered(6, 7),
    ),
    (
        events_pb2.GenerationFenced(directive=1, shuffle_id=1, bytes=1_000),
        events_pb2.DeleteRequested(directive=2, shuffle_id=1),
        answered(8),
    ),
    (
        events_pb2.GenerationDeleted(shuffle_id=1, cause=common_pb2.DELETION_POLICY, bytes=1_000, directive=2),
        answered(9),
    ),
)

HISTORY = (
    Action(APP, "report_job_started", 1.0, 1.1, "ok", {"client": "driver-1", "number": 1, "job": 0}),
    Action(APP, "report_stage_submitted", 1.0, 1.1, "ok", {"client": "driver-1", "number": 2, "stage": "0.0"}),
    Action(APP, "report_stage_completed", 2.0, 2.1, "ok", {"client": "driver-1", "number": 3, "stage": "0.0"}),
    Action(APP, "report_stage_submitted", 3.0, 3.1, "ok", {"client": "driver-1", "number": 4, "stage": "1.0"}),
    Action(
        APP,
        "get_shuffle_id",
        3.0,
        3.1,
        "ok",
        {"client": "driver-1", "number": 5, "answer": "ready", "answered_id": 1, "tries": 1},
    ),
    Action(APP, "read", 3.2, 3.3, "ok", {"app_shuffle": 0, "shuffle_id": 1, "stage": "1.0", "count": 1}),
    Action(APP, "report_stage_completed", 4.0, 4.1, "ok", {"client": "driver-1", "number": 6, "stage": "1.0"}),
    Action(APP, "report_job_ended", 4.0, 4.1, "ok", {"client": "driver-1", "number": 7, "job": 0}),
    Action(APP, "fenced", 4.5, 4.5, "ok", {"app_shuffle": 0, "count": 1}),
    Action(APP, "freed", 5.0, 5.0, "ok", {"app_shuffle": 0, "count": 1}),
)


def sealed(message: Any) -> bytes:
    content: bytes = message.SerializeToString()
    return content + struct.pack("<BI", 0x7D, zlib.crc32(content))


def stored(commits: Iterable[tuple[Any, ...]], **changes: Any) -> dict[str, bytes]:
    """The store's bytes of these commits. `commit_3`: a name for the one with that index; `version_3`: what it says."""
    found: dict[str, bytes] = {}
    sequence, name = 1, ""
    for number, events in enumerate(commits):
        name = changes.get(f"commit_{number}", f"r/{number}")
        records = [
            events_pb2.Record(
                sequence=at, time_ms=1_000 + at, because=at, **{NAMES[type(event).DESCRIPTOR.name]: event}
            )
            for at, event in enumerate(events, sequence)
        ]
        version = changes.get(f"version_{number}", 1)
        segment = events_pb2.Segment(first_sequence=sequence, commit_id=name.encode(), version=version, records=records)
        found[f"events/{APP}/{sequence:020}"] = sealed(segment)
        sequence += len(records)
    found[f"heads/{APP}"] = sealed(events_pb2.Head(next_sequence=sequence, commit_id=name.encode()))
    return found


def wrongs(
    commits: Iterable[tuple[Any, ...]] = STORY, actions: Iterable[Action] = HISTORY, **changes: Any
) -> list[str]:
    return [each.removeprefix(f"{APP}: ") for each in check(stored(commits, **changes), list(actions)).wrong]


def told(kind: str, commits: Iterable[tuple[Any, ...]] = STORY, actions: Iterable[Action] = HISTORY) -> bool:
    """Whether it says so, and nothing that has nothing to do with it."""
    found = wrongs(commits, actions)
    return bool(found) and any(each.startswith(f"{kind}:") for each in found)


def instead(at: int, *events: Any) -> tuple[tuple[Any, ...], ...]:
    return (*STORY[:at], events, *STORY[at + 1 :])


def changed(at: int, **changes: Any) -> tuple[Action, ...]:
    """The history with one action told otherwise."""
    action = HISTORY[at]
    fields = {key: changes.pop(key) for key in ("begun_s", "ended_s", "outcome", "what") if key in changes}
    return (*HISTORY[:at], replace(action, told={**action.told, **changes}, **fields), *HISTORY[at + 1 :])


def test_a_story_in_which_nothing_is_wrong() -> None:
    assert wrongs() == []
    counts = check(stored(STORY), list(HISTORY)).counts
    assert (counts["applications"], counts["requests ok"], counts["answers judged"], counts["fences"]) == (1, 7, 1, 2)


# ---- the log ---------------------------------------------------------------------------------------------------------


def test_a_forked_log_one_commit_twice() -> None:
    assert any(each.startswith("fork: commit 'r/2'") for each in wrongs(commit_2="r/2", commit_4="r/2"))


def test_a_forked_log_the_head_names_another_commit() -> None:
    store = stored(STORY)
    store[f"heads/{APP}"] = sealed(events_pb2.Head(next_sequence=23, commit_id=b"somebody else's"))
    assert any("fork: the head says" in each for each in check(store, []).wrong)


def test_a_forked_log_a_segment_over_another_one() -> None:
    """Two replicas appended at the same place, and one of them was believed."""
    store = stored(STORY)
    third = sorted(store)[2]
    store[f"{third[:-1]}{int(third[-1]) + 1}"] = store[third]
    assert any("fork: the segment at" in each for each in check(store, []).wrong)


def test_an_event_that_is_missing_is_found() -> None:
    store = stored(STORY)
    del store[sorted(store)[3]]
    assert any("gap: event" in each for each in check(store, []).wrong)


def test_a_torn_segment_is_found() -> None:
    store = stored(STORY)
    last = max(key for key in store if key.startswith("events/"))
    store[last] = store[last][:-3]
    assert any("is torn" in each for each in check(store, []).wrong)


def test_an_id_that_is_used_again_is_found() -> None:
    again = events_pb2.GenerationStarted(shuffle_id=1, app_shuffle=1, writer=stage(2))
    assert told("ids", (*STORY, (again, answered(10))))


# ---- what was acknowledged -------------------------------------------------------------------------------------------


def test_an_acknowledged_request_that_is_missing() -> None:
    late = Action(APP, "set_pin", 6.0, 6.1, "ok", {"client": "driver-1", "number": 12})
    assert told("acknowledged", actions=(*HISTORY, late))


def test_an_accepted_fact_of_which_there_is_no_event() -> None:
    assert told("acknowledged", instead(2, events_pb2.GenerationCompleted(shuffle_id=1), answered(3)))


def test_an_application_that_is_lost_altogether() -> None:
    assert any(each.startswith("acknowledged: application") for each in check({}, list(HISTORY)).wrong)


def test_a_request_that_was_answered_twice() -> None:
    assert told("fork", (*STORY, (events_pb2.PinSet(), answered(4))))


def test_an_unknown_outcome_may_be_either() -> None:
    unknown = Action(APP, "set_pin", 6.0, None, "unknown", {"client": "driver-1", "number": 12})
    assert wrongs(actions=(*HISTORY, unknown)) == []


def test_what_was_answered_before_stands_behind() -> None:
    late = Action(APP, "report_job_started", 9.0, 9.1, "ok", {"client": "driver-1", "number": 1, "job": 0})
    assert told("order", actions=(*HISTORY[1:], late))


# ---- readers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle_id", [2, 7])
def test_a_reader_that_was_told_an_id_that_is_not(shuffle_id: int) -> None:
    assert told("answer", actions=changed(4, answered_id=shuffle_id))


def test_a_reader_that_was_told_what_was_gone() -> None:
    """Told in the log's last commit, when its generation had long been deleted."""
    late = (*STORY, (events_pb2.PinSet(), answered(10)))
    asked = Action(
        APP,
        "get_shuffle_id",
        9.0,
        9.1,
        "ok",
        {"client": "driver-1", "number": 10, "answer": "ready", "answered_id": 1, "tries": 1},
    )
    assert told("answer", late, (*HISTORY, asked))


def test_a_reader_that_was_told_to_wait_for_what_was_there() -> None:
    assert told("answer", actions=changed(4, answer="not_ready"))


def test_a_retry_may_be_told_what_was_so_later() -> None:
    """Not by the commit that first answered it: the present truth, before it came back."""
    early = (*STORY[:1], (*STORY[1][:-1], answered(1, 2, 5)), *STORY[2:3], (*STORY[3][:-1], answered(4)), *STORY[4:])
    assert not any(each.startswith("answer") for each in wrongs(early, changed(4, tries=2, begun_s=1.0)))
    assert any(each.startswith("answer") for each in wrongs(early, changed(4, tries=1, begun_s=1.0)))


def test_a_fence_under_a_registered_reader() -> None:
    early = instead(
        3,
        *STORY[3][:-1],
        events_pb2.GenerationExpired(shuffle_id=1),
        events_pb2.FenceRequested(directive=1, shuffle_id=1),
        answered(4, 5),
    )
    assert told("reader", early)


def test_a_deletion_without_a_fence() -> None:
    assert told("reader", instead(5, answered(8)))


def test_data_that_were_freed_while_they_were_read() -> None:
    assert told("reader", actions=changed(5, ended_s=6.0))


def test_data_that_were_not_there() -> None:
    assert told("reader", actions=changed(5, outcome="failed"))


# ---- recoveries and fences -------------------------------------------------------------------------------------------


def opened(recovery: int, at: int) -> events_pb2.RecoveryOpened:
    return events_pb2.RecoveryOpened(recovery=recovery, missing=1, stage=stage(at), gone=[1])


def test_two_recoveries_for_one_loss() -> None:
    assert told("recovery", (*STORY, (opened(1, 3), answered(10)), (opened(2, 4), answered(11))))


def test_two_readers_that_were_told_of_different_recoveries() -> None:
    asked = [
        Action(
            APP,
            "get_shuffle_id",
            9.0 + number,
            9.1 + number,
            "ok",
            {"client": "driver-1", "number": 10 + number, "answer": "recover", "missing": 1, "recovery": 1 + number},
        )
        for number in range(2)
    ]
    assert told("recovery", (*STORY, (opened(1, 3), answered(10, 11))), (*HISTORY, *asked))


def test_a_recovery_of_what_was_there() -> None:
    there = (*STORY[:4], (opened(1, 1), answered(6)))
    asked = Action(
        APP,
        "report_missing",
        3.5,
        3.6,
        "ok",
        {"client": "driver-1", "number": 6, "answer": "recover", "missing": 1, "recovery": 1, "tries": 1},
    )
    assert told("answer", there, (*HISTORY[:6], asked))


def test_an_unfinished_fence() -> None:
    assert told("fence", STORY[:5], HISTORY[:8])


def test_a_refused_fence_is_explained() -> None:
    refused = events_pb2.FenceRefused(directive=1, shuffle_id=1, keep=True)
    assert wrongs((*STORY[:5], (refused, answered(8))), HISTORY[:8]) == []


# ---- the store, and the reaper ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outcome", "commit"), [("ok", "r/99"), ("failed", "r/3")])
def test_a_store_that_said_what_was_not_so(outcome: Any, commit: str) -> None:
    append = Action("r0", "append", 1.0, 1.1, outcome, {"commit": commit})
    assert any(each.startswith("store:") for each in wrongs(actions=(*HISTORY, append)))


def test_an_unknown_append_that_was_sent_again() -> None:
    appends = [Action("r0", "append", 1.0, 1.1, outcome, {"commit": "r/3"}) for outcome in ("unknown", "failed")]
    assert wrongs(actions=(*HISTORY, *appends)) == []


def test_an_application_that_was_given_up_for_no_silence_of_its_own() -> None:
    lost = (*STORY, (events_pb2.ApplicationEnded(ending=common_pb2.ENDING_LOST),))
    assert told("reaped", lost)
    killed = Action("nemesis", "KILL_DRIVERS", 6.0, 6.0, "ok", {"silenced": [APP]})
    assert wrongs(lost, (*HISTORY, killed)) == []


def test_what_was_written_before_anybody_listened_is_adopted() -> None:
    adopted = events_pb2.GenerationAdopted(shuffle_id=2, app_shuffle=1, available=4, total=4)
    read = events_pb2.ReaderRegistered(shuffle_id=2, reader=stage(3))
    asked = Action(
        APP,
        "get_shuffle_id",
        9.0,
        9.1,
        "ok",
        {"client": "driver-1", "number": 10, "app_shuffle": 1, "answer": "ready", "answered_id": 2, "tries": 1},
    )
    assert wrongs((*STORY, (adopted, read, answered(10))), (*HISTORY, asked)) == []


# ---- releases --------------------------------------------------------------------------------------------------------

#: The last commit has what only the newer release knows.
NEWER_STORY = (*STORY, (events_pb2.ExecutorLost(executor="executor-1"),))
NEWER = Action("r0", "release", 0.1, 0.1, "ok", {"reads": 2})
OLDER = Action("r2", "release", 0.2, 0.2, "ok", {"reads": 1})
ACCEPTED = Action(APP, "report_executor_lost", 9.0, 9.9, "ok", {"executor": "executor-1"})


def heard(at_s: float, **reads: int) -> Action:
    return Action("r0", "heard", at_s, at_s, "ok", {"reads": reads})


def appended(who: str = "r0", commit: str = "r/7", at_s: float = 9.0) -> Action:
    return Action(who, "append", at_s, at_s + 0.1, "ok", {"commit": commit})


def of_two_releases(*actions: Action, version: int = 2) -> list[str]:
    ordered = sorted((*HISTORY, NEWER, OLDER, *actions), key=lambda action: action.begun_s)
    return wrongs(NEWER_STORY, ordered, version_7=version)


def test_what_all_can_read_of_whom_the_store_has_told_may_be_written() -> None:
    assert of_two_releases(heard(0.3, r0=2, r1=2), appended(), ACCEPTED) == []


def test_a_segment_that_an_older_replica_cannot_read() -> None:
    (found,) = of_two_releases(heard(0.3, r0=2, r1=2), heard(8.0, r0=2, r2=1), appended())
    assert found.startswith("release: the append of 'r/7' by r0 has version 2; 1.0 s before, the store told it")


def test_a_segment_of_somebody_who_knows_nobody_yet() -> None:
    assert len(of_two_releases(appended())) == 1


def test_what_was_drafted_a_moment_before_its_writer_heard() -> None:
    assert of_two_releases(heard(0.3, r0=2, r1=2), heard(8.9, r0=2, r2=1), appended()) == []


def test_who_starts_again_has_heard_of_nobody() -> None:
    again = replace(NEWER, begun_s=8.0, ended_s=8.0)
    assert len(of_two_releases(heard(0.3, r0=2, r1=2), again, appended())) == 1


def test_a_segment_that_says_less_than_what_is_in_it() -> None:
    (found,) = of_two_releases(heard(0.3, r0=2, r1=2), appended(), version=1)
    assert found.endswith("says version 1, and what is in it needs 2")


def test_an_older_replica_that_goes_on_with_what_it_cannot_read() -> None:
    later = appended(who="r2", commit="r/8", at_s=9.5)
    story = (*NEWER_STORY, (answered(10),))
    actions = (*HISTORY, NEWER, OLDER, heard(0.3, r0=2, r1=2), appended(), later)
    (found,) = wrongs(story, sorted(actions, key=lambda action: action.begun_s), version_7=2)
    assert found == "release: the append of 'r/8' by r2, which reads 1, follows a segment of version 2"


def test_a_report_that_was_accepted_and_is_nowhere() -> None:
    other = replace(ACCEPTED, told={"executor": "executor-2"})
    (found,) = of_two_releases(heard(0.3, r0=2, r1=2), appended(), other)
    assert found.startswith(f"release: {APP} lost executor-2, which was accepted")
