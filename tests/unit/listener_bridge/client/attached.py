"""A bridge with all its neighbours, and a coordinator that lives, dies, is slow and lies at the other end; no Spark."""

from __future__ import annotations

from typing import Any

from shuffle_lifecycle.v1 import service_pb2

from listener_bridge import Attachment, settings
from listener_bridge.bridge import Bridge
from listener_bridge.shuffle_services.api import Freed
from listener_bridge.tap.facts import JobEnded
from tests.support.spark import wait_for
from tests.unit.listener_bridge.fakes import FakeCoordinator, FakeService, FakeTap


class Attached:
    """A bridge with all its neighbours."""

    def __init__(self, *addresses: str, **answers: Any) -> None:
        self.tap = FakeTap()
        self.service = FakeService(**{"forget": Freed(0), **answers})
        self.registration = service_pb2.RegisterApplication(application="app-1")
        self.bridge = Bridge(self.tap, self.service, self.registration, "secret", lambda: addresses)  # type: ignore[arg-type]

    def tell(self, *jobs: int) -> None:
        self.tap.tell(*(JobEnded(0, job, 0, True, None) for job in jobs))

    def wait_answered(self) -> None:
        """All that was told is answered, and none of it will be sent again."""
        wait_for(lambda: self.bridge.reporter.backlog().unanswered == 0, "all answers")


def jobs(coordinator: FakeCoordinator) -> list[int]:
    return [one.report_job_ended.job for one in coordinator.requests if one.HasField("report_job_ended")]


def handle_of(attached: Attached) -> Attachment:
    handle = Attachment(settings.Settings(), "")
    handle._bridge = attached.bridge
    return handle
