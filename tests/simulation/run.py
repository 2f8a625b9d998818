"""One schedule of the simulation.

Responsible for replicas, drivers and a store that fail by a seed, and for looking at the store while they do. Refuses
to know why something is wrong. Invariant: the same seed is the same schedule, step by step.

    python -m tests.simulation.run SEED [SEED...]     repeats these
    python -m tests.simulation.run --from 0 --count 100
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import time
from dataclasses import dataclass, field

import structlog

from coordinator.core.ids import ApplicationId
from coordinator.runtime.api import Coordinator
from state_backend.testing.faults import AnswerLost, Fault, Refused, RequestLost, random_faults
from tests.simulation import checks, facts, virtual
from tests.simulation.driver import FakeDriver
from tests.simulation.world import Running, World

REPLICAS = 2
DRIVERS = 2
JOBS = 5
LOOK_EVERY_S = 0.5
AT_MOST_S = 2_000.0


@dataclass(slots=True)
class Outcome:
    """How a schedule went."""

    seed: int
    steps: int = 0
    faults: int = 0
    wrongs: list[str] = field(default_factory=list)

    @property
    def rerun(self) -> str:
        """The command that repeats it."""
        return f"python -m tests.simulation.run {self.seed}"


class Schedule:
    """Two replicas and two drivers; chance kills, restarts, delays, doubles and loses."""

    def __init__(self, seed: int) -> None:
        self.outcome = Outcome(seed)
        self._chance = random.Random(seed)
        self._world = World(seed)
        self._replicas: list[Running | None] = []
        self._drivers: list[FakeDriver] = []

    async def run(self) -> Outcome:
        """Until every driver is done, and everything that it let go is deleted."""
        self._replicas = [await self._start() for _ in range(REPLICAS)]
        for number in range(DRIVERS):
            application = ApplicationId(f"app-{number}")
            self._drivers.append(FakeDriver(application, self._pick, random.Random(self._chance.random())))
        harm = asyncio.create_task(self._harm())
        look = asyncio.create_task(self._look())
        telling = asyncio.gather(*(driver.run(JOBS) for driver in self._drivers), return_exceptions=True)
        await asyncio.wait((telling, look), timeout=AT_MOST_S, return_when=asyncio.FIRST_COMPLETED)
        self._note_failures(telling)
        look.cancel()
        await asyncio.wait((harm,))
        await self._check(final=not self.outcome.wrongs)
        await self._world.stop()
        self.outcome.steps += sum(driver.steps for driver in self._drivers)
        return self.outcome

    def _note_failures(self, telling: asyncio.Future[list[BaseException | None]]) -> None:
        """A driver that failed, or is not done after so long, is wrong too, unless it is known what is."""
        if telling.done():
            self.outcome.wrongs += [f"a driver failed: {error!r}" for error in telling.result() if error is not None]
        else:
            telling.cancel()
            self.outcome.wrongs += [] if self.outcome.wrongs else [f"not done after {AT_MOST_S} s"]

    async def _start(self) -> Running:
        faults = random_faults(self._chance.randrange(1 << 30), 300, 0.05)
        self.outcome.faults += len(faults.writes) + len(faults.reads)
        skew_s = self._chance.choice((0.0, 0.0, -5.0, 30.0))
        return await self._world.start(faults, skew_s, snapshot_every_events=40)

    def _pick(self) -> Coordinator | None:
        running = self._chance.choice(self._replicas)
        return running.replica if running is not None else None

    async def _harm(self) -> None:
        """For a while; then everything is well, so that what was begun can be brought to an end."""
        for _ in range(12):
            await asyncio.sleep(self._chance.uniform(0.05, 1.0))
            await self._chance.choice((self._kill, self._cloud, self._cloud))()
            self.outcome.faults += 1
        for number, running in enumerate(self._replicas):
            healthy = running or await self._start()
            await healthy.backend.heal()
            self._replicas[number] = healthy

    async def _kill(self) -> None:
        number = self._chance.randrange(REPLICAS)
        running, self._replicas[number] = self._replicas[number], None
        if running is None:
            self._replicas[number] = await self._start()
        else:
            await running.kill()

    async def _cloud(self) -> None:
        """Bad weather between one replica and the store."""
        running = self._chance.choice(self._replicas)
        kinds: tuple[Fault, ...] = (Refused(), AnswerLost(), RequestLost())
        if running is not None:
            running.backend.weather = self._chance.choice(kinds)
            await asyncio.sleep(self._chance.uniform(0.01, 3.0))
            await running.backend.apply_late()
            running.backend.weather = None

    async def _look(self) -> None:
        """Until something is wrong: what follows from it would tell nobody anything."""
        seen = 0
        while not self.outcome.wrongs:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._world.store.revision > seen:
                await self._check(final=False)
            seen = self._world.store.revision

    async def _check(self, final: bool) -> None:
        for driver in self._drivers:
            acknowledged = {facts.DRIVER: set(driver.acknowledged)}
            store = self._world.reader()
            wrong = await checks.wrongs(store, driver.application, acknowledged)
            if final:
                wrong += await self._unfinished(driver)
            self.outcome.wrongs += [f"{driver.application}: {each}" for each in wrong]

    async def _unfinished(self, driver: FakeDriver) -> list[str]:
        """What is expired is deleted in the end; every replica that lives says the same."""
        log = await checks.read_log(self._world.reader(), driver.application)
        state = checks.fold_log(log)
        views = [await running.replica.view(driver.application) for running in self._replicas if running is not None]
        return checks.unfinished(state) + [
            "a replica's state is not the fold of the log" for view in views if view != state
        ]


def run_seed(seed: int) -> Outcome:
    """Runs one schedule."""
    return virtual.run(Schedule(seed).run())


def quiet() -> None:
    """Faults are expected here, and what is logged about them is nobody's reading."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.getLogger("state_backend").setLevel(logging.CRITICAL)


def main() -> int:
    """Prints figures, and every failing schedule with the command that repeats it."""
    parser = argparse.ArgumentParser(description="Runs schedules of the simulation.")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    asked = parser.parse_args()
    quiet()
    began_s = time.monotonic()
    outcomes = [run_seed(seed) for seed in asked.seeds or range(asked.first, asked.first + asked.count)]
    took_s = time.monotonic() - began_s
    for outcome in outcomes:
        if outcome.wrongs:
            print(f"{outcome.rerun}\n  " + "\n  ".join(outcome.wrongs[:5]))
    steps, faults = sum(outcome.steps for outcome in outcomes), sum(outcome.faults for outcome in outcomes)
    rates = f"{len(outcomes) / took_s:.1f} schedules/s, {steps / took_s:.0f} steps/s, {faults / took_s:.0f} faults/s"
    print(f"{len(outcomes)} schedules, {steps} steps, {faults} faults in {took_s:.1f} s: {rates}")
    return 1 if any(outcome.wrongs for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
