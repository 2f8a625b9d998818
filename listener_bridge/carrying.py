"""What people chose by hand for an application: one that runs, or was closed and whose driver goes on as a new one.

Responsible for: asking which policy and which pins it has, or had at its end, and what of that the new one is told.
Refuses to know: why it was closed, and when the new one begins.
Invariant: nothing is raised; whoever is not told within `LIMIT_S` goes on as it registered at first.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from shuffle_lifecycle.v1 import common_pb2, service_pb2, service_pb2_grpc

from listener_bridge import words
from listener_bridge.channels import Opener
from listener_bridge.words import Request

LIMIT_S = 5.0

log = logging.getLogger("shuffle_lifecycle")


@dataclass(frozen=True, slots=True)
class Choices:
    """What people chose for one application: its policy, and the app shuffles that they pinned."""

    application: str
    policy: common_pb2.Policy
    pins: tuple[int, ...]  #: App shuffles: Spark's own numbers, which the new application has too.

    def pinned(self) -> list[Request]:
        """The requests that pin them again. An app shuffle of which nothing is there any more stays unpinned."""
        return [words.kept(app_shuffle, f"pinned in application {self.application}") for app_shuffle in self.pins]

    def __str__(self) -> str:
        pins = f"{len(self.pins)} pin{'' if len(self.pins) == 1 else 's'}"
        return f"with its policy and {pins}, without what was chosen for job groups"


def choices_of(open_channel: Opener, address: str, application: str, token: str) -> Choices | None:
    """The choices for an application, as they are, or were at its end. None: the coordinator does not say."""
    asked = service_pb2.GetApplicationRequest(caller=service_pb2.Caller(application=application, token=token))
    try:
        with open_channel(address) as channel:
            told = service_pb2_grpc.ShuffleLifecycleStub(channel).GetApplication(asked, timeout=LIMIT_S)
    except Exception as error:  # noqa: BLE001 - the driver goes on without, whatever it is
        log.debug("what was chosen for application %s is not known: %s", application, error)
        return None
    return Choices(application, told.policy, tuple(told.pins)) if told.HasField("policy") else None
