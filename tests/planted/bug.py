"""Plausible mistakes, planted one at a time: the proof that the suite would notice them.

Responsible for what a planted bug is, and for the list of all. Refuses to run anything. Invariant: a bug is a change
that somebody could make by mistake, small and in one place; it lives here, and the code itself knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]

CORE, SCENARIOS, RUNTIME, WIRE = "tests/unit/core", "tests/scenarios", "tests/unit/runtime", "tests/unit/wire"
CONTRACT = "tests/contract/test_memory.py::TestMemory"
SIMULATION = "tests/simulation/test_simulation.py"


@dataclass(frozen=True, slots=True)
class Bug:
    """One mistake. ``caught_by``: the test that names it, as pytest writes it."""

    name: str
    imitates: str
    plant: Plant
    caught_by: str


BUGS: dict[str, Bug] = {}


def bug(imitates: str, caught_by: str) -> Callable[[Plant], Plant]:
    """Puts a bug on the list, under its function's name."""

    def put(plant: Plant) -> Plant:
        name = plant.__name__.replace("_", "-")
        BUGS[name] = Bug(name, imitates, plant, caught_by)
        return plant

    return put
