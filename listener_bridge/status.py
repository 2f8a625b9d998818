"""How an attachment stands, for people and tests.

Responsible for: `Status`, and reading one from a bridge.
Refuses to know: how an attachment came about, and why it is off (`plugin`).
Invariant: it asks nobody: all of it is what the bridge knows at this moment.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from listener_bridge.bridge import Bridge
from listener_bridge.sizes import shown


@dataclass(frozen=True, slots=True)
class Status:
    """How it stands, for people and tests. Numbers count since `attach`."""

    application: str
    state: str  #: off, connecting, connected, away, refused, detached
    why: str  #: Why it is off, refused, away, or only observes; empty where nothing is to be said.
    policy: str  #: As it was chosen at `attach`; what people have set since, `shufflectl apps` tells.
    address: str
    store: str  #: Of the embedded coordinator; empty where an address was given.
    fenced: int = 0
    busy: int = 0
    refused: int = 0
    deleted: int = 0
    freed_bytes: int = 0
    failed: int = 0
    fence_median_ms: float = 0.0
    unanswered: int = 0
    dropped: int = 0


def off(why: str, policy: str) -> Status:
    """The status of an attachment that listens to nothing, and `why`."""
    return Status("", "off", why, policy, "", "")


def status_of(bridge: Bridge, policy: str, store: str, why_observing: str) -> Status:
    """The status of a running attachment. `why_observing`: why nothing is deleted; empty where something may be."""
    counts, backlog = bridge.executor.counts, bridge.reporter.backlog()
    return Status(
        application=bridge.application,
        state=_state_of(bridge),
        why=bridge.client.refused or bridge.client.why_away or why_observing,
        policy=policy,
        address=bridge.client.address,
        store=store,
        fenced=counts.fenced,
        busy=counts.busy,
        refused=counts.refused,
        deleted=counts.deleted,
        freed_bytes=counts.freed_bytes,
        failed=counts.failed,
        fence_median_ms=statistics.median(counts.fence_ms or [0.0]),
        unanswered=backlog.unanswered,
        dropped=backlog.dropped,
    )


def _state_of(bridge: Bridge) -> str:
    if bridge.is_stopped.is_set():
        return "detached"
    if bridge.client.refused:
        return "refused"
    if bridge.client.address:
        return "connected"
    return "away" if bridge.client.is_away else "connecting"


def came_of(status: Status) -> str:
    """What was deleted early, in words; who wonders whether anything has happened at all need ask nobody."""
    if not status.deleted:
        return "nothing was deleted early"
    many = f"{status.deleted} shuffle{'' if status.deleted == 1 else 's'}"
    return f"{many} deleted early, {shown(status.freed_bytes)} freed"
