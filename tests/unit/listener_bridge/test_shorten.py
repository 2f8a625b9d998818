"""Texts that are too long are cut, and nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from shuffle_lifecycle.v1 import service_pb2

from coordinator.wire.bounds import Bounds, check_registration
from listener_bridge import parts
from listener_bridge.outbox import Outbox
from listener_bridge.settings import Settings
from listener_bridge.shorten import CUT, TEXT_MAX
from listener_bridge.shuffle_services.api import Capability
from listener_bridge.words import Request

LONG = "ä" * 100_000
CAN = Capability("native", True, can_complete_generation_after_loss=True, forget_is_separate=True)


def sent(**command: Any) -> Request:
    outbox = Outbox()
    outbox.add([Request(**command)])
    (request,) = outbox.next_batch(10, 10_000_000)
    return request


def test_a_long_text_is_cut_wherever_it_stands() -> None:
    job = {"job": 1, "call_site": LONG, "lineage": [{"app_shuffle": 1, "call_site": LONG}], "reads": [1, 2]}
    resync = sent(resync={"jobs": [job], "stages": [{"stage": {"stage": 1}, "name": LONG}]}).resync
    told = [resync.jobs[0].call_site, resync.jobs[0].lineage[0].call_site, resync.stages[0].name]
    assert told == [LONG[:TEXT_MAX] + CUT] * 3
    assert (resync.jobs[0].job, list(resync.jobs[0].reads)) == (1, [1, 2])


def test_texts_of_a_list_are_cut() -> None:
    outcome = sent(report_outcome={"directive": 1, "busy": {"who": ["one", LONG]}}).report_outcome
    assert list(outcome.busy.who) == ["one", LONG[:TEXT_MAX] + CUT]


def test_what_is_cut_is_what_a_coordinator_takes() -> None:
    Bounds().check(sent(report_job_ended={"job": 1, "failure": LONG}))


def test_what_is_short_is_left_as_it_is() -> None:
    locator = {"service": "native", "payload": b"x" * 100_000}
    outcome = service_pb2.ReportOutcome(directive=1, fenced={"locator": locator})
    assert sent(report_outcome=outcome).report_outcome == outcome


def test_the_name_of_an_application_is_cut_to_what_a_registration_may_hold() -> None:
    context = SimpleNamespace(
        _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(applicationAttemptId=Nothing)),
        applicationId="local-1",
        sparkUser=lambda: "ann",
        master="local[2]",
        appName="\U0001f600" * 100_000,
    )
    spark: Any = SimpleNamespace(sparkContext=context, version="4.3.0")
    registration = service_pb2.RegisterApplication(driver=parts._driver(spark, Settings(), CAN))
    Bounds().check(registration)
    check_registration(registration)
    assert registration.driver.name == "\U0001f600" * TEXT_MAX + CUT


class Nothing:
    """Scala's None."""

    def isDefined(self) -> bool:  # noqa: N802 - Scala's name
        return False
