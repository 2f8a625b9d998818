"""From the tap's rows to facts: a pure parser.

Responsible for: reading one batch of JSON lines into facts, and proving that the stream has no gap.
Refuses to know: who wrote the lines and what the facts are good for.
Invariant: `seq` counts up by one from row to row; anything else is an error that names both numbers.

JSON lines, because a person can read them in a debugger and because the parser is C: a stage's row of 350 characters
takes about 5 µs here, and a job has a handful of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from listener_bridge.tap import facts
from listener_bridge.tap.facts import Fact, StageFact

Json: TypeAlias = dict[str, Any]


class MalformedRowError(ValueError):
    """A row that is not of the tap's making: the two halves of the tap are of different versions, or text was lost."""


class GapInStreamError(ValueError):
    """Rows are missing between two that follow each other."""


def parse(text: str, expected_seq: int) -> tuple[Fact, ...]:
    """Read a batch whose first row has `expected_seq`; the next batch starts at `expected_seq + len(result)`."""
    found = tuple(_fact(line) for line in text.splitlines())
    for offset, fact in enumerate(found):
        if fact.seq != expected_seq + offset:
            raise GapInStreamError(
                f"the tap's stream has a gap: got row {fact.seq}, expected row {expected_seq + offset}; "
                f"close the tap, open a new one and resync from its snapshot"
            )
    return found


def parse_snapshot(text: str) -> facts.Snapshot:
    row = _object(text)
    return facts.Snapshot(
        marker=row["marker"],
        shuffles=tuple(facts.KnownShuffle(*shuffle) for shuffle in row["shuffles"]),
        running_stages=tuple(_stage(stage) for stage in row["running"]),
        active_jobs=tuple(_active_job(job) for job in row["jobs"]),
        executions=None if row.get("executions") is None else frozenset(row["executions"]),
    )


def result_stage(stages: tuple[StageFact, ...]) -> int | None:
    """The job's final stage: the one that is nobody's parent (of several, which Spark does not make, the newest)."""
    parents = {parent for stage in stages for parent in stage.parent_stage_ids}
    return max((stage.stage_id for stage in stages if stage.stage_id not in parents), default=None)


def _object(line: str) -> Json:
    try:
        row: Json = json.loads(line)
    except ValueError as error:
        raise MalformedRowError(f"a row of the tap is not JSON: {line[:200]!r} ({error}); attach again") from error
    return row


def _fact(line: str) -> Fact:
    row = _object(line)
    try:
        return _READERS[row["e"]](row)
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedRowError(
            f"a row of the tap lacks {error}: {line[:200]!r}; expected one of {sorted(_READERS)} with all its fields"
        ) from error


def _stage(row: Json) -> StageFact:
    return StageFact(
        stage_id=row["id"],
        attempt=row["attempt"],
        num_tasks=row["tasks"],
        writes=_unless_negative(row["writes"]),
        parent_stage_ids=tuple(row["parents"]),
        name=row["name"],
        call_site=row["site"],
        level=facts.Level(row["level"]),
        is_barrier=row["barrier"],
        rdd_ids=tuple(row["rdds"]),
        cached_rdd_ids=tuple(row["cached"]),
        direct_rdd_ids=tuple(row.get("direct", ())),
    )


def _unless_negative(number: int) -> int | None:
    return None if number < 0 else number


def _active_job(row: Json) -> facts.ActiveJob:
    stages = tuple(_stage(stage) for stage in row["stages"])
    about = row["about"]
    return facts.ActiveJob(
        row["job"], stages, result_stage(stages), about["execution"], about["group"], about["properties"]
    )


def _job_started(row: Json) -> facts.JobStarted:
    stages = tuple(_stage(stage) for stage in row["stages"])
    about, final = row["about"], result_stage(stages)
    name = next((stage.name for stage in stages if stage.stage_id == final), "")
    return facts.JobStarted(
        seq=row["seq"],
        job_id=row["job"],
        time_ms=row["time"],
        stages=stages,
        result_stage_id=final,
        execution_id=about["execution"],
        group=about["group"],
        properties=about["properties"],
        call_site=about["callSite"] or name,
        is_of_stream=about["stream"],
        query_id=about["query"],
    )


def _job_ended(row: Json) -> facts.JobEnded:
    return facts.JobEnded(row["seq"], row["job"], row["time"], row["succeeded"], row["reason"])


def _stage_submitted(row: Json) -> facts.StageSubmitted:
    return facts.StageSubmitted(row["seq"], row["time"], _stage(row["stage"]))


def _stage_completed(row: Json) -> facts.StageCompleted:
    return facts.StageCompleted(
        seq=row["seq"],
        time_ms=row["time"],
        stage=_stage(row["stage"]),
        failure=row["failure"],
        shuffle_bytes_written=row["written"],
        shuffle_bytes_read=row["read"],
        output_bytes=row["outBytes"],
        output_records=row["outRecords"],
        task_ms=row["taskMs"],
    )


def _fetch_failed(row: Json) -> facts.FetchFailed:
    return facts.FetchFailed(
        seq=row["seq"],
        stage_id=row["stage"],
        attempt=row["attempt"],
        app_shuffle=row["shuffle"],
        map_index=_unless_negative(row["map"]),
        reduce_id=row["reduce"],
        executor=row["executor"],
    )


def _executor_removed(row: Json) -> facts.ExecutorRemoved:
    return facts.ExecutorRemoved(row["seq"], row["executor"], row["reason"], row["time"])


def _outputs_changed(row: Json) -> facts.OutputsChanged:
    return facts.OutputsChanged(row["seq"], row["shuffle"], row["available"], row["total"])


def _execution_started(row: Json) -> facts.ExecutionStarted:
    return facts.ExecutionStarted(
        row["seq"], row["execution"], row["description"], row["site"], row["time"], row["writes"]
    )


def _execution_ended(row: Json) -> facts.ExecutionEnded:
    return facts.ExecutionEnded(row["seq"], row["execution"], row["failed"], row["time"])


def _generations_mixed(row: Json) -> facts.GenerationsMixed:
    return facts.GenerationsMixed(
        seq=row["seq"],
        app_shuffle=row["shuffle"],
        job_id=row["job"],
        stage_id=row["stage"],
        delivered=row["delivered"],
        partitions=row["partitions"],
        late=row["late"],
        failed=row["failed"],
    )


_READERS: dict[str, Callable[[Json], Fact]] = {
    "jobStarted": _job_started,
    "jobEnded": _job_ended,
    "stageSubmitted": _stage_submitted,
    "stageCompleted": _stage_completed,
    "fetchFailed": _fetch_failed,
    "executorRemoved": _executor_removed,
    "outputs": _outputs_changed,
    "executionStarted": _execution_started,
    "executionEnded": _execution_ended,
    "queryStarted": lambda row: facts.QueryStarted(row["seq"], row["query"], row["time"]),
    "blocksGone": lambda row: facts.BlocksGone(row["seq"], row["executor"], tuple(row["rdds"])),
    "unpersisted": lambda row: facts.RddUnpersisted(row["seq"], row["rdd"]),
    "cleaned": lambda row: facts.ShuffleCleaned(row["seq"], row["shuffle"]),
    "mixed": _generations_mixed,
    "differs": lambda row: facts.ResultsMayDiffer(row["seq"], row["shuffle"]),
    "marker": lambda row: facts.MarkerPassed(row["seq"], row["name"], row["payload"] or ""),
    "dropped": lambda row: facts.EventsDropped(row["seq"], row["count"], row["where"]),
    "applicationEnded": lambda row: facts.ApplicationEnded(row["seq"], row["time"]),
}
