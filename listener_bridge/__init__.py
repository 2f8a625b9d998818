"""The driver's side of the shuffle lifecycle coordinator: it listens to Spark, reports, and carries out directives.

    import listener_bridge

    with listener_bridge.attach(spark, policy="reachable"):
        ...

Responsible for everything that happens in a driver because of us. Refuses to know rules: what goes, and when, is for
the coordinator to say. Invariant: it never raises into the driver and never blocks it. Without a coordinator the job is
as without the bridge.

Begin with `bridge`, which has all that an attachment is made of. Spark is heard in `tap`, the program looked at in
`reach`, data deleted in `shuffle_services`, and mixing prevented in `marks`; `running` attaches to unmodified programs:

    attaching       plugin, status, settings, durations, sizes, parts, bridge
    reporting       reporter, translate, lineage, lines, cached, places, disks, shorten, words
    the connection  client, session, outbox, channels, backoff, carrying
    directives      executor, outcomes, ahead, invalidating, newest
    a coordinator   embedded, mounts
    how often       allowance, seldom
    in a program    forks, connections, greenlets, heard
"""

from listener_bridge.forks import import_grpc

import_grpc()

from listener_bridge.plugin import Attachment, attach  # noqa: E402 - it imports gRPC
from listener_bridge.status import Status  # noqa: E402

__all__ = ["Attachment", "Status", "attach"]
