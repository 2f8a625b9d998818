"""All verbs, family by family.

Responsible for their order, which is that of the help. Refuses to know any verb. Invariant: what any verb needs is
imported here, and nowhere before.
"""

from __future__ import annotations

from coordinator.cli import (
    advising,
    changing,
    checking,
    choosing,
    drawing,
    exporting,
    history,
    learning,
    looking,
    missing,
    proving,
    refused,
    reporting,
    running,
    serving,
    showing,
    simulating,
    travelling,
)

FAMILIES = (
    serving,
    running,
    showing,
    looking,
    history,
    missing,
    travelling,
    drawing,
    simulating,
    exporting,
    reporting,
    learning,
    changing,
    checking,
    proving,
    refused,
    choosing,
    advising,
)
