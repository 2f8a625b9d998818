"""The driver's side of the shuffle lifecycle coordinator: it listens to Spark, reports, and carries out directives.

    import listener_bridge

    with listener_bridge.attach(spark, policy="reachable"):
        ...

Invariant: it never raises into the driver and never blocks it. Without a coordinator the job is as without the bridge.
"""

from listener_bridge.forks import import_grpc

import_grpc()

from listener_bridge.plugin import Attachment, Status, attach  # noqa: E402 - it imports gRPC

__all__ = ["Attachment", "Status", "attach"]
