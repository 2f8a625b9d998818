"""Every state of a generation and every command about it, against the table in `matrix.txt`.

A cell is what is answered, and the events that follow; `-` where nothing does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, DirectiveId, ShuffleId
from coordinator.core.values import DirectiveKind, Outputs
from tests.scenarios.story import Story, attempt_of
from tests.unit.core.making import STATES, state

A = AppShuffle(0)


def outcome_of(kind: DirectiveKind, outcome: c.Outcome) -> Callable[[Story], c.Command]:
    """The outcome of a directive of this kind, or of one that was never given where none is outstanding."""

    def command(story: Story) -> c.Command:
        return c.ReportOutcome(next(iter(story.outstanding(kind)), DirectiveId(99)), outcome)

    return command


COMMANDS: dict[str, Callable[[Story], c.Command]] = {
    "reader asks": lambda story: c.GetShuffleId(A, attempt_of("s9")),
    "writer asks": lambda story: c.GetShuffleId(A, attempt_of("s9"), write=True),
    "reader submitted": lambda story: c.ReportStageSubmitted(attempt_of("s9"), (A,)),
    "writer submitted for all": lambda story: c.ReportStageSubmitted(attempt_of("s9"), (), A, 10),
    "writer submitted for some": lambda story: c.ReportStageSubmitted(attempt_of("s9"), (), A, 4),
    "missed": lambda story: c.ReportMissing(A, ShuffleId(0), attempt_of("s9")),
    "missed by nobody": lambda story: c.ReportMissing(A, ShuffleId(1)),
    "some outputs gone": lambda story: c.ReportOutputs((Outputs(A, 3, 10),)),
    "all outputs gone": lambda story: c.ReportOutputs((Outputs(A, 0, 10),)),
    "no outputs gone": lambda story: c.ReportOutputs((Outputs(A, 10, 10),)),
    "cleaned": lambda story: c.ReportShuffleCleaned(A),
    "fenced": outcome_of(DirectiveKind.FENCE, c.Fenced(5)),
    "busy": outcome_of(DirectiveKind.FENCE, c.Busy(("9.0",))),
    "cannot": outcome_of(DirectiveKind.FENCE, c.Cannot("no")),
    "revoked": outcome_of(DirectiveKind.FENCE, c.Revoked("no")),
    "superseded": outcome_of(DirectiveKind.FENCE, c.Superseded("2")),
    "freed": outcome_of(DirectiveKind.DELETE, c.Freed(5)),
    "delete failed": outcome_of(DirectiveKind.DELETE, c.Failed("disk")),
    "gap": lambda story: c.ReportGap(1, "queue"),
    "pin": lambda story: c.SetPin(A, "mine"),
    "ended": lambda story: c.EndApplication(),
}


def read_matrix() -> dict[str, dict[str, str]]:
    """The table: a state on a line of its own, below it a command and its outcome on each line."""
    matrix: dict[str, dict[str, str]] = {}
    row: dict[str, str] = {}
    for line in (Path(__file__).parent / "matrix.txt").read_text().splitlines():
        if line.startswith("  "):
            what, _, expected = line.strip().partition("  ")
            row[what] = expected.strip()
        elif line:
            row = matrix.setdefault(line, {})
    return matrix


EXPECTED = read_matrix()


def outcome(story: Story, command: c.Command) -> str:
    """Answer and events in one line."""
    events = story.do(command)
    return f"{story.answered(story.last)} | {'; '.join(events) or '-'}"


@pytest.mark.parametrize("name", STATES)
def test_every_command_does_in_every_state_what_the_matrix_says(name: str) -> None:
    found = {what: outcome(story, make(story)) for what, make in COMMANDS.items() for story in (state(name),)}
    assert found == EXPECTED[name]
