"""Every planted bug against every fast layer of the suite, as a table.

Responsible for the table and for saying which bug nothing catches. Refuses to know the bugs. Invariant: without a bug
every layer passes, or the table says nothing at all.

    python -m tests.planted                        all
    python -m tests.planted reuse-an-id …          some
    python -m tests.planted --list
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence

from tests.planted.bug import BUGS
from tests.planted.planting import ask, named

LAYERS: Mapping[str, Sequence[str]] = {
    "core": ("tests/unit/core",),
    "scenarios": ("tests/scenarios",),
    "machine": ("tests/property/test_machine.py",),
    "runtime": ("tests/unit/runtime", "tests/unit/wire", "tests/unit/server"),
    "contract": ("tests/contract/test_memory.py", "tests/unit/state_backend/test_faults.py"),
    "simulation": ("tests/simulation/test_simulation.py::test_some_schedules_of_faults_break_nothing",),
}
WITHIN_S = 300.0


def main(arguments: Sequence[str] | None = None) -> int:
    """The table; 1 where a bug is caught by nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description="Planted bugs against the suite.")
    parser.add_argument("names", nargs="*", metavar="bug")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    asked = parser.parse_args(arguments)
    bugs = [named(name) for name in asked.names] or list(BUGS.values())
    if asked.list:
        print("\n".join(f"{bug.name:46}{bug.imitates}" for bug in bugs))
        return 0
    return 0 if _sound() and _all_caught([bug.name for bug in bugs]) else 1


def _sound() -> bool:
    """Whether every layer passes as it is."""
    for layer, tests in LAYERS.items():
        verdict = ask(tests, within_s=2 * WITHIN_S)
        if not verdict.passed:
            print(f"{layer} fails without any bug:\n{verdict.told}")
            return False
    return True


def _all_caught(names: Sequence[str]) -> bool:
    print(f"| bug | {' | '.join(LAYERS)} |\n|---|{'---|' * len(LAYERS)}")
    began_s, missed = time.monotonic(), []
    for name in names:
        caught = {layer: ask(tests, name, WITHIN_S).caught for layer, tests in LAYERS.items()}
        print(f"| {name} | {' | '.join('caught' if caught[layer] else '' for layer in LAYERS)} |", flush=True)
        missed += [] if any(caught.values()) else [name]
    print(f"\n{len(names) - len(missed)} of {len(names)} bugs caught in {time.monotonic() - began_s:.0f} s")
    print("".join(f"nothing catches {name}\n" for name in missed), end="")
    return not missed


if __name__ == "__main__":
    sys.exit(main())
