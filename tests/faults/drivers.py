"""A process with some simulated drivers: `python -m tests.faults.drivers …`.

Responsible for their lives: they tell jobs until `rest` comes on stdin, then `resting` is said when all is answered;
`end` ends them in order. Refuses to know what they tell. Invariant: it ends when its stdin does.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.faults.disk import Slowness
from tests.faults.driver import Driver
from tests.faults.history import Recorder

QUIET_S = 120.0


def main() -> int:
    """Runs until told to end."""
    asked = _asked()
    logging.getLogger("shuffle_lifecycle").setLevel(logging.ERROR)
    drivers = list(_drivers(asked))
    print(" ".join(driver.application for driver in drivers), flush=True)
    for driver in drivers:
        driver.start()
    _obey(drivers)
    for driver in drivers:
        driver.end()
    print("ended", flush=True)
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--addresses", required=True)
    parser.add_argument("--applications", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace-s", type=float, default=0.1)
    parser.add_argument("--fence-s", type=float, default=0.0)
    parser.add_argument("--free-s", type=float, default=0.0)
    parser.add_argument("--newer", action="store_true", help="tell what an older release does not know")
    return parser.parse_args()


def _drivers(asked: argparse.Namespace) -> Iterator[Driver]:
    """As many as were asked for, each with a seed of its own; they share one history."""
    recorder = Recorder(asked.history)
    addresses = asked.addresses.split(",")
    slowness = Slowness(asked.fence_s, asked.free_s)
    for number in range(asked.applications):
        seed = asked.seed * 1_000 + number
        yield Driver(str(uuid.uuid4()), addresses, recorder, seed, asked.pace_s, slowness, asked.newer)


def _obey(drivers: list[Driver]) -> None:
    """Does what is said on stdin, until `end`, or until nobody says anything any more."""
    for line in sys.stdin:
        if line.strip() == "rest":
            print("resting" if _rest(drivers) else "restless", flush=True)
        if line.strip() == "end":
            break


def _rest(drivers: list[Driver]) -> bool:
    for driver in drivers:
        driver.rest()
    deadline_s = time.monotonic() + QUIET_S
    while not all(driver.is_quiet() for driver in drivers):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


if __name__ == "__main__":
    sys.exit(main())
