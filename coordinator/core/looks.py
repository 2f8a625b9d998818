"""What looks at the program have found.

Responsible for recording cuts as changes. Refuses to know how a look is taken. Invariant: a look speaks only about what
was complete when it began, and counts from where it is reported; absence from a report means nothing.
"""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.desk import Desk


def begin(desk: Desk, command: c.BeginLook) -> None:
    """Begins a look; told once more, it would speak of what was complete only then."""
    known = desk.state.meta.look
    if known is None or command.look > known:
        desk.emit(e.LookBegan(command.look))


def report(desk: Desk, command: c.ReportCut) -> None:
    """Takes a look's findings; one of an older look than the last one begun is too late and is left out."""
    if command.look != desk.state.meta.look:
        return
    for root in command.roots:
        _change(desk, command, root)
    for gone in command.gone:
        if gone in desk.state.roots:
            desk.emit(e.RootGone(gone))
    desk.emit(e.LookEnded(command.look))


def _change(desk: Desk, command: c.ReportCut, root: c.ReportedRoot) -> None:
    known = desk.state.roots.get(root.root)
    before = known.needs if known is not None else frozenset()
    needs = frozenset(root.needs)
    added, removed = tuple(sorted(needs - before)), tuple(sorted(before - needs))
    if known is None or added or removed or (known.kind, known.why) != (root.kind, root.why):
        desk.emit(e.CutReported(command.look, root.root, root.kind, added, removed, root.why))
