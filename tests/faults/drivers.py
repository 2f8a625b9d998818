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
from pathlib import Path

from tests.faults.disk import Slowness
from tests.faults.driver import Driver
from tests.faults.history import Recorder

QUIET_S = 120.0


def main() -> int:
    """Runs until told to end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--addresses", required=True)
    parser.add_argument("--applications", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace-s", type=float, default=0.1)
    parser.add_argument("--fence-s", type=float, default=0.0)
    parser.add_argument("--free-s", type=float, default=0.0)
    parser.add_argument("--newer", action="store_true", help="tell what an older release does not know")
    asked = parser.parse_args()
    logging.getLogger("shuffle_lifecycle").setLevel(logging.ERROR)
    recorder = Recorder(asked.history)
    names = [str(uuid.uuid4()) for _ in range(asked.applications)]
    addresses = asked.addresses.split(",")
    slowness = Slowness(asked.fence_s, asked.free_s)
    drivers = [
        Driver(name, addresses, recorder, asked.seed * 1_000 + number, asked.pace_s, slowness, asked.newer)
        for number, name in enumerate(names)
    ]
    print(" ".join(names), flush=True)
    for driver in drivers:
        driver.start()
    for line in sys.stdin:
        if line.strip() == "rest":
            print("resting" if _rest(drivers) else "restless", flush=True)
        if line.strip() == "end":
            break
    for driver in drivers:
        driver.end()
    print("ended", flush=True)
    return 0


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
