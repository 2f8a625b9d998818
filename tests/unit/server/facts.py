"""What a driver tells in the tests of the server: one job, whose map stage 4 writes app shuffle 0 for stage 5."""

from __future__ import annotations

from collections.abc import Iterable

from shuffle_lifecycle.v1 import service_pb2 as pb

LINEAGE = {"app_shuffle": 0, "level": 1, "maps": 2, "call_site": "map at job.py:3"}
JOB = pb.ReportJobStarted(job=1, final_stage=5, reads=[0], stages=[{"first": 4, "last": 5}], lineage=[LINEAGE])
WRITES = pb.ReportStageSubmitted(stage={"stage": 4}, writes=0, tasks=2)
WRITTEN = pb.ReportStageCompleted(stage={"stage": 4}, shuffle_bytes_written=100)


def ask(app_shuffle: int = 0, stage: int = 5) -> pb.GetShuffleId:
    return pb.GetShuffleId(app_shuffle=app_shuffle, stage={"stage": stage})


def story(first: int = 1) -> list[pb.NumberedRequest]:
    """The job starts and its map stage runs to its end: app shuffle 0 can be read."""
    return [
        pb.NumberedRequest(number=first, report_job_started=JOB),
        pb.NumberedRequest(number=first + 1, report_stage_submitted=WRITES),
        pb.NumberedRequest(number=first + 2, report_stage_completed=WRITTEN),
    ]


def asks(numbers: Iterable[int], stage: int = 5) -> list[pb.NumberedRequest]:
    return [pb.NumberedRequest(number=number, get_shuffle_id=ask(stage=stage)) for number in numbers]


def batch(requests: list[pb.NumberedRequest], confirmed: int = 0) -> pb.SessionRequest:
    return pb.SessionRequest(batch=pb.Batch(requests=requests, confirmed=confirmed))
