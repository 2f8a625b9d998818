"""Another engine's scheduler on the coordinator's protocol, in plain gRPC.

A query of three stages and two shuffles, whose data lie in an object store; a second query that wants the first shuffle
back. Needs `grpcio` and `grpcio-reflection`, and nothing of ours: the coordinator's reflection tells the messages.

    python examples/other_engine.py HOST:PORT [APPLICATION]

Each run is an application of its own: a second one on the same store needs another name than `nightly`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SERVICE = "shuffle_lifecycle.v1.ShuffleLifecycle"
DEADLINE_SECONDS = 10.0
#: What to do where a call fails; the coordinator itself says what was wrong.
NEXT = {
    grpc.StatusCode.UNAVAILABLE: "Start a coordinator there: `shufflectl serve --store sqlite:shuffles.db`.",
    grpc.StatusCode.UNIMPLEMENTED: "Who answers there is no coordinator: see what `shufflectl serve` says.",
    grpc.StatusCode.PERMISSION_DENIED: "Each run is an application of its own: name another one behind the address.",
}
STORE = {"service": "objects", "payload": "czM6Ly9zaHVmZmxlL25pZ2h0bHkvMS8="}  # s3://shuffle/nightly/1/


class Coordinator:
    """A client that says what it asks and what it is told. Each of its requests has the next number."""

    def __init__(self, address: str, application: str, say: Callable[[str], None]) -> None:
        self._channel = grpc.insecure_channel(address)
        pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(self._channel))
        self._methods = pool.FindServiceByName(SERVICE).methods_by_name
        self._caller: dict[str, Any] = {"application": application}
        self._say = say

    def register(self, client: str, **command: Any) -> None:
        """The application, and this client in it: a retry with the same number gets the first answer."""
        self._caller["token"] = self._call("RegisterApplication", command)["token"]
        self._call("Submit", [{"number": 1, "register_client": {"client": client}}])
        self._caller.update(client=client, number=0)

    def tell(self, method: str, **command: Any) -> dict[str, Any]:
        """One numbered request."""
        self._next()
        return self._call(method, command)

    def done(self, directive: int, **outcome: Any) -> None:
        """What became of a directive. It has no method of its own, so it goes as a batch of one."""
        self._next()
        told = {"directive": directive, **outcome}
        self._call("Submit", [{"number": self._caller["number"], "report_outcome": told}])

    def directives(self) -> list[dict[str, Any]]:
        """What waits for this engine. In a Session they come by themselves."""
        found: list[dict[str, Any]] = self._call("ListDirectives").get("directives", [])
        return found

    def close(self) -> None:
        self._channel.close()

    def _next(self) -> None:
        self._caller.update(number=self._caller["number"] + 1, confirmed=self._caller["number"])

    def _call(self, method: str, asked: Any = None) -> dict[str, Any]:
        about = self._methods[method]
        request, reply = map(message_factory.GetMessageClass, (about.input_type, about.output_type))
        body = {"caller": self._caller}
        if asked is not None:
            body["requests" if method == "Submit" else "command"] = asked
        send = self._channel.unary_unary(f"/{SERVICE}/{method}", request.SerializeToString, reply.FromString)
        answer = send(json_format.ParseDict(body, request()), timeout=DEADLINE_SECONDS)
        told: dict[str, Any] = json_format.MessageToDict(answer, preserving_proto_field_name=True)
        self._say(f"{method} {json.dumps(asked) if asked is not None else ''}".rstrip())
        self._say("    -> " + json.dumps({**told, "token": "…"} if "token" in told else told, ensure_ascii=False))
        return told


def two_queries(coordinator: Coordinator, application: str, say: Callable[[str], None]) -> None:
    """The two queries. Nothing is computed here: a real engine runs tasks where this one says so."""
    say("# The engine says what its storage can do, and how eager to be.")
    coordinator.register(
        "scheduler",
        application=application,
        driver={"service": "objects"},
        capabilities={"deletes": True, "completes_after_loss": False},
        policy={"rule": "RULE_FRONTIER", "observe": False},
    )
    say("# A query: stage 0 writes shuffle 0, stage 1 reads it and writes shuffle 1, stage 2 reads that.")
    lineage = [{"app_shuffle": 0, "maps": 2}, {"app_shuffle": 1, "reads": [0], "maps": 2}]
    stages = [{"first": 0, "last": 2}]
    coordinator.tell("ReportJobStarted", job=0, final_stage=2, reads=[1], stages=stages, lineage=lineage)
    say("# Before the map tasks push: under which id? It is never given out twice, so it can be the object's key.")
    coordinator.tell("GetShuffleId", app_shuffle=0, stage={"stage": 0}, write=True)
    coordinator.tell("ReportStageSubmitted", stage={"stage": 0}, writes=0, tasks=2)
    coordinator.tell("ReportStageCompleted", stage={"stage": 0}, shuffle_bytes_written=1000)
    say("# Before the reduce tasks pull: from which id?")
    coordinator.tell("GetShuffleId", app_shuffle=0, stage={"stage": 1})
    coordinator.tell("ReportStageSubmitted", stage={"stage": 1}, reads=[0], writes=1, tasks=2)
    coordinator.tell("ReportStageCompleted", stage={"stage": 1}, shuffle_bytes_read=1000, shuffle_bytes_written=800)
    say("# Stage 1 has all it wanted. First nobody new may read shuffle 0, then its objects go.")
    [fence] = coordinator.directives()
    coordinator.done(int(fence["directive"]), fenced={"bytes": 1000, "locator": STORE})
    [delete] = coordinator.directives()
    coordinator.done(int(delete["directive"]), freed={"bytes": 1000})
    say("# Another query wants it after all. Two stages ask: one recovery, told to both.")
    coordinator.tell("ReportJobStarted", job=1, final_stage=6, reads=[0], stages=[{"first": 4, "last": 6}])
    coordinator.tell("GetShuffleId", app_shuffle=0, stage={"stage": 5})
    coordinator.tell("GetShuffleId", app_shuffle=0, stage={"stage": 6})
    coordinator.tell("ReportStageSubmitted", stage={"stage": 4}, writes=0, tasks=2)
    coordinator.tell("GetShuffleId", app_shuffle=0, stage={"stage": 5})
    coordinator.tell("ReportStageCompleted", stage={"stage": 4}, shuffle_bytes_written=1000)
    coordinator.tell("GetShuffleId", app_shuffle=0, stage={"stage": 5})


def main(address: str, say: Callable[[str], None] = print, application: str = "nightly") -> None:
    """Both queries against the coordinator at this address. Ends with a sentence where that cannot be."""
    try:
        coordinator = Coordinator(address, application, say)
        try:
            two_queries(coordinator, application, say)
        finally:
            coordinator.close()
    except grpc.RpcError as error:
        sys.exit(f"{address}: {error.details()} {NEXT.get(error.code(), '')}".rstrip())


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: {sys.argv[0]} HOST:PORT [APPLICATION], of a coordinator (shufflectl serve)")
    main(sys.argv[1], print, *sys.argv[2:])
