"""References are counted at a moment at which names hold what they were said to hold."""

from __future__ import annotations

import dis
import sys

import pytest

from listener_bridge.reach import liveness
from listener_bridge.reach.liveness import opcodes, standing
from tests.support.liveness import Program, Thing, in_a_thread

bytecode = pytest.mark.skipif(
    sys.version_info[:2] not in opcodes.KNOWN, reason="this Python's bytecode is not read: nothing is ever dead"
)

IN_A_FUNCTION = """
def work():
    for turn in range(3):
        a = one
        step()
        a = None
        step()
work()
"""
IN_THE_MODULE = """
for turn in range(3):
    a = one
    step()
    a = None
    step()
"""
AT_ONE_PLACE = """
for a in [one, None, one, None]:
    step()
"""


class Stepping(Program):
    """At each step references are counted by the names that were read at the step before, and by those of this one."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.one = Thing("one")
        self.main.__dict__.update(one=self.one, step=lambda: in_a_thread(self._step))
        self.names = liveness.Dead()
        self.late: list[list[int] | None] = []
        self.there: list[list[int] | None] = []
        self.are_still: list[bool] = []
        self.were_still: list[bool] = []

    def _step(self) -> None:
        self.late.append(liveness.counts([self.one], self.names))
        self.were_still.append(liveness.are_still(self.is_own, self.names))
        self.names = liveness.dead_references(self.is_own)
        self.there.append(liveness.counts([self.one], self.names))
        self.are_still.append(liveness.are_still(self.is_own, self.names))


@bytecode
@pytest.mark.parametrize("source", [IN_A_FUNCTION, IN_THE_MODULE, AT_ONE_PLACE], ids=["function", "module", "place"])
def test_who_has_gone_on_since_names_were_read_is_not_counted(source: str) -> None:
    """A loop that is in step with a look would show a dead name to each reading, and to no counting."""
    program = Stepping(source)
    program.run()
    assert len(program.there) > 3
    assert None not in program.there
    assert program.late[1:] == [None] * len(program.late[1:])


@bytecode
@pytest.mark.parametrize("source", [IN_A_FUNCTION, IN_THE_MODULE, AT_ONE_PLACE], ids=["function", "module", "place"])
def test_who_has_gone_on_stands_still_no_longer(source: str) -> None:
    program = Stepping(source)
    program.run()
    assert len(program.are_still) > 3
    assert all(program.are_still)
    assert not any(program.were_still[1:])


@bytecode
def test_a_frame_at_its_place_that_holds_something_else_stands_still_no_longer() -> None:
    """The loop comes back to one instruction; counting does not ask what variables of frames hold."""
    program = Stepping("def work():\n    for a in [one, two, one]:\n        step()\nwork()\n")
    program.main.__dict__.update(two=Thing("two"))
    program.run()
    assert (program.are_still, program.were_still[1:]) == ([True] * 3, [False] * 2)
    assert None not in program.late[1:]


def test_where_no_frame_was_told_nothing_can_have_moved() -> None:
    assert liveness.are_still(lambda _: True, liveness.Dead())


@bytecode
def test_a_frame_that_has_ended_is_missed() -> None:
    program = Stepping("def work():\n    step()\nwork()\nstep()\n")
    program.run()
    assert (program.late[1], program.there[1] is None) == (None, False)


def test_nothing_runs_between_counting_and_asking() -> None:
    """No call of Python's, no jump back: the moment is one instruction."""
    told = [one.opname for one in dis.get_instructions(standing._at_once)]
    last = len(told) - 1 - told[::-1].index("LIST_EXTEND")
    assert told[last - 2 : last + 2] == ["BUILD_LIST", told[last - 1], "LIST_EXTEND", "RETURN_VALUE"]
    assert told[last - 1].startswith("LOAD_FAST")
