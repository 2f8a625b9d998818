"""A fresh replica in a process of its own: how long until it serves an application, and what does that take?

Prints one line of JSON. Started by `size`; the store and the application are its arguments.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from benchmarks.size_load import DRIVER
from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId, AppShuffle, StageAttempt, StageId
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from state_backend.open import open_backend


def resident_kb() -> int:
    """What this process holds in memory now, and (peak) has held at the most."""
    return _status("VmRSS")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


async def measure(store: str, application: ApplicationId, shuffle: int) -> dict[str, float]:
    """From the first question to the answer of a task that asks for a shuffle, which is durable."""
    async with await open_backend(store) as backend:
        options = Options("fresh", reap=False)
        async with Replica(backend, options, aside=asyncio.to_thread) as replica:
            await replica.replicas()  # the store is open
            before_kb = resident_kb()
            began_s = time.perf_counter()
            async with await replica.open_session(application, DRIVER):
                opened_s = time.perf_counter()
                ask = c.GetShuffleId(AppShuffle(shuffle), StageAttempt(StageId(2 * shuffle + 1), 0))
                await replica.submit(application, [c.Request(DRIVER, 0, ask)])
                answered_s = time.perf_counter()
            return {
                "opened_s": opened_s - began_s,
                "answered_s": answered_s - began_s,
                "held_kb": resident_kb() - before_kb,
                "peak_kb": _status("VmHWM") - before_kb,
            }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1], ApplicationId(sys.argv[2]), int(sys.argv[3])))))
