"""One schedule: a story, carried out.

Responsible for replicas, drivers, their lines and a store, for doing to them what a story says, for bringing everything
to its end afterwards, and for saying what was wrong. Refuses to chance. Invariant: the same story is the same schedule,
step by step; the end is checked in every schedule, whatever came before.

After the last entry everything works again: what was begun is finished, everything is let go, and must be deleted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from coordinator.core.ids import ApplicationId
from coordinator.core.lifecycle import Life
from coordinator.core.values import Ending, Hold, Policy, Rule
from coordinator.runtime.errors import CoordinatorError
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from tests.simulation import checks, virtual
from tests.simulation.book import BookedStore
from tests.simulation.driver import ACTS, SimulatedDriver, finish
from tests.simulation.link import Traffic
from tests.simulation.story import READS, WRITES, Entry, Story
from tests.simulation.uplink import Plan, Uplink

#: Far longer than every pause, back-off and lease.
AT_MOST_S = 900.0
BETWEEN_S = 0.002
_LASTING = (Hold.MISSED, Hold.SUSPENDED, Hold.OBSERVE, Hold.PIN, Hold.UNABLE)


@dataclass(slots=True)
class Outcome:
    """How a schedule went."""

    story: Story
    steps: int = 0  #: Calls to the store and messages heard.
    commits: int = 0
    met: Counter[str] = field(default_factory=Counter)  #: Faults that took effect, by their kind.
    wrongs: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return sum(self.met.values())


@dataclass(slots=True)
class Run:
    """One run of a replica."""

    name: str
    replica: Replica
    uplink: Uplink
    alive: bool = True


def run(story: Story) -> Outcome:
    """Carries a story out, on a clock of its own."""
    return virtual.run(Schedule(story).run())


class Schedule:
    """The world of one story."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._setting = story.setting
        self._outcome = Outcome(story)
        self.store = BookedStore(story.setting.history)
        self._runs: list[Run] = []
        self._drivers: list[SimulatedDriver] = []
        self._dying: set[asyncio.Task[None]] = set()
        self._plans = _plans_of(story, WRITES + READS + ("lease", "watch"))

    async def run(self) -> Outcome:
        try:
            await self._begin()
            for entry in self._story.entries:
                await self._carry_out(entry)
                if self.store.book.wrongs:
                    break
            else:
                await self._end()
        except AssertionError as error:  # Spark would have read what is gone
            self._outcome.wrongs.append(f"Spark itself: {error}")
        return self._summed_up()

    def _summed_up(self) -> Outcome:
        outcome = self._outcome
        outcome.wrongs = [*self.store.book.wrongs, *outcome.wrongs]
        outcome.wrongs += [driver.failure for driver in self._drivers if driver.failure]
        outcome.commits = self.store.book.segments
        outcome.steps += sum(run.uplink.calls for run in self._runs) + sum(driver.steps for driver in self._drivers)
        for counter in (
            *(run.uplink.met for run in self._runs),
            *(driver.traffic.met for driver in self._drivers),
            *(driver.met for driver in self._drivers),
        ):
            outcome.met.update(counter)
        return outcome

    # ---- beginning --------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        for _ in range(self._setting.replicas):
            await self._start()
        up_and_down = _plans_of(self._story, ("up", "down"))
        for number in range(self._setting.drivers):
            driver = SimulatedDriver(
                ApplicationId(f"app-{number}"),
                Policy(Rule(self._setting.rule), observe=False),
                bool(self._setting.completes),
                self._setting.batch,
                Traffic(up_and_down.get(number, {}), self._setting.link_ms / 1000),
                self._pick,
                self.store.book,
            )
            driver.rank = number
            driver.refusals = {int(e.arguments[1]): str(e.arguments[2]) for e in self._of("refuse", number)}
            driver.start()
            self._drivers.append(driver)

    def _of(self, verb: str, number: int) -> list[Entry]:
        return [entry for entry in self._story.entries if entry.verb == verb and entry.arguments[0] == number]

    async def _start(self) -> None:
        number = len(self._runs)
        name = f"r{number}"
        options = Options(
            name,
            name,
            answer_within_s=2.0,
            heartbeat_s=1.0,
            snapshot_every_events=self._setting.snapshot_every,
            silence_s=float(self._setting.silence_s),
            reap=bool(self._setting.reap),
            lease_s=15.0,
        )
        plan: Plan = self._plans.get(number, {})
        uplink = Uplink(self.store, plan, self._setting.store_ms / 1000, lambda: self._kill_soon(started))
        replica = Replica(uplink, options, virtual.clock(self._setting.skew_s * number))
        started = Run(name, replica, uplink)
        self._runs.append(started)
        await replica.start()

    def _pick(self, rank: int) -> tuple[str, Replica] | None:
        alive = self._alive()
        if not alive:
            return None
        chosen = alive[rank % len(alive)]
        return chosen.name, chosen.replica

    def _alive(self) -> list[Run]:
        return [run for run in self._runs if run.alive]

    # ---- what happens -----------------------------------------------------------------------------------------------

    async def _carry_out(self, entry: Entry) -> None:
        verb, arguments = entry.verb, entry.arguments
        if verb == "wait":
            await asyncio.sleep(int(arguments[0]) / 1000)
        elif verb in ACTS or verb in _OF_DRIVERS:
            driver = self._drivers[int(arguments[0]) % len(self._drivers)]
            numbers = [int(argument) for argument in arguments[1:]] + [0, 0]
            if not driver.dead and verb in ACTS:
                driver.act(verb, numbers[0], numbers[1])
            elif not driver.dead:
                self._count(verb)
                _OF_DRIVERS[verb](self, driver, numbers[0])
        elif verb in _OF_REPLICAS:
            self._count(verb)
            await _OF_REPLICAS[verb](self, entry)
        else:
            return  # a fault that waits for its place
        await asyncio.sleep(BETWEEN_S)

    def _count(self, verb: str) -> None:
        if verb in _COUNTED:
            self._outcome.met[verb] += 1

    def _other(self, driver: SimulatedDriver, choice: int) -> Replica | None:
        found = self._pick(driver.rank + 1 + choice)
        return found[1] if found is not None else None

    def _also(self, driver: SimulatedDriver, choice: int) -> None:
        other = self._other(driver, choice)
        if other is not None:
            self._aside(driver.tell_also(other))

    def _task(self, driver: SimulatedDriver, choice: int) -> None:
        other = self._other(driver, choice)
        if other is not None:
            self._aside(driver.ask_by_task(other, choice))

    def _move(self, driver: SimulatedDriver, choice: int) -> None:
        driver.hang_up(unnoticed=bool(choice & 1))

    def _sleep(self, driver: SimulatedDriver, seconds: int) -> None:
        driver.sleep(seconds)

    def _die(self, driver: SimulatedDriver, choice: int) -> None:
        driver.die()

    def _aside(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._dying.add(task)
        task.add_done_callback(self._note_aside)

    def _note_aside(self, task: asyncio.Task[None]) -> None:
        self._dying.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._outcome.wrongs.append(f"beside the drivers: {task.exception()!r}")

    # ---- replicas ---------------------------------------------------------------------------------------------------

    def _chosen(self, choice: int) -> Run | None:
        alive = self._alive()
        return alive[choice % len(alive)] if alive else None

    async def _kill(self, entry: Entry) -> None:
        run = self._chosen(int(entry.arguments[0]))
        if run is not None:
            self._kill_soon(run)

    def _kill_soon(self, run: Run) -> None:
        """As SIGKILL does: the store hears nothing more of it, its drivers' lines break, its leases run out."""
        if run.alive:
            run.alive = False
            self._hang_up(run)
            self._aside(_bury(run))

    def _hang_up(self, run: Run) -> None:
        for driver in self._drivers:
            driver.hang_up_from(run.name)

    async def _stop(self, entry: Entry) -> None:
        run = self._chosen(int(entry.arguments[0]))
        if run is not None:
            run.alive = False
            self._aside(_stop(run))

    async def _start_one(self, entry: Entry) -> None:
        await self._start()

    async def _cloud(self, entry: Entry) -> None:
        run = self._chosen(int(entry.arguments[0]))
        if run is not None:
            run.uplink.weather = str(entry.arguments[2])
            asyncio.get_running_loop().call_later(int(entry.arguments[1]) / 1000, _clear, run.uplink)

    # ---- the end ----------------------------------------------------------------------------------------------------

    async def _end(self) -> None:
        """Everything works again, everything is finished and let go, and then nothing is left."""
        await self._heal()
        for driver in self._drivers:
            if not driver.dead:
                finish(driver.spark)
                driver.spark.held.clear()
                driver.say()
        await self._rest(self._is_told, "not everything was answered")
        for _ in range(3):
            for driver in self._drivers:
                if self._still_holds(driver):
                    driver.act("look", 0, 0)
            await self._rest(self._is_done, "not everything that was let go is deleted")
        if any(driver.dead for driver in self._drivers) and self._setting.reap:
            await self._rest(self._is_reaped, "the application of a driver that is gone was not closed")
        await self._check()

    def _still_holds(self, driver: SimulatedDriver) -> bool:
        """Whether a look may still let something go."""
        state = self.store.book.account(driver.application).state
        by_looks = self._setting.rule == Rule.REACHABLE.value
        return by_looks and bool(state.generations) and not (driver.dead or driver.over)

    async def _heal(self) -> None:
        self._plans.clear()
        for run in self._runs:
            run.uplink.heal()
        for driver in self._drivers:
            driver.traffic.heal()
            driver.wake()
        while len(self._alive()) < min(2, self._setting.replicas):
            await self._start()

    async def _rest(self, is_so: Callable[[], bool], otherwise: str) -> None:
        """Waits until it is so; whatever is wrong by then ends the waiting too."""
        loop = asyncio.get_running_loop()
        until_s, pause_s = loop.time() + AT_MOST_S, 0.01
        while not is_so() and not self._failed():
            if loop.time() > until_s:
                self._outcome.wrongs.append(f"{otherwise}, {AT_MOST_S:g} s after the last fault: {self._left()}")
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2.0, pause_s * 1.5)

    def _failed(self) -> bool:
        return bool(self.store.book.wrongs or self._outcome.wrongs or any(driver.failure for driver in self._drivers))

    def _is_told(self) -> bool:
        return all(driver.quiet for driver in self._drivers)

    def _is_done(self) -> bool:
        return self._is_told() and not self._left()

    def _is_reaped(self) -> bool:
        accounts = [self.store.book.account(driver.application) for driver in self._drivers if driver.dead]
        return all(account.state.meta.ending and not account.alive for account in accounts if account.events)

    def _left(self) -> list[str]:
        """What drivers that live still have to see to."""
        found = []
        for driver in self._drivers:
            state = self.store.book.account(driver.application).state
            if not driver.dead and state.meta.ending is None:
                found += checks.unfinished(state)
            if state.meta.ending is not None and state.meta.sweeping:
                found.append("its records are not closed")
        return found

    async def _check(self) -> None:
        """What can only be said at the end. Every replica that lives says what the log says."""
        if self._failed():
            return
        for driver in self._drivers:
            account = self.store.book.account(driver.application)
            if driver.dead and not account.events:
                continue
            self._outcome.wrongs += self._wrongs_of(driver)
            for run in self._alive():
                try:
                    view = await run.replica.view(driver.application)
                except CoordinatorError as error:
                    self._outcome.wrongs.append(f"{run.name} does not say what is: {error}")
                    continue
                if view != account.state:
                    self._outcome.wrongs.append(f"the state of {run.name} is not the fold of the log")

    def _wrongs_of(self, driver: SimulatedDriver) -> list[str]:
        state = self.store.book.account(driver.application).state
        wrongs = []
        if not driver.dead and state.meta.ending is Ending.LOST and driver.slept_s + 10 < self._setting.silence_s:
            wrongs.append("the application was reaped though its driver lived")
        if state.meta.ending is not None and state.generations:
            wrongs.append("the application is over and its records are not closed")
        if driver.dead or state.meta.ending is not None:
            return wrongs
        if state.jobs or state.attempts or any(recovery.open for recovery in state.recoveries.values()):
            wrongs.append(f"jobs, attempts or recoveries are left: {state.jobs}, {state.attempts}, {state.recoveries}")
        if state.meta.policy.rule is Rule.REACHABLE:
            left = [g for g in state.generations.values() if g.life is not Life.EXPIRED or g.hold not in _LASTING]
            wrongs += [f"what nobody can reach is not deleted: {left}"] if left else []
        return wrongs


async def _bury(run: Run) -> None:
    await run.uplink.close()
    await run.replica.stop(drain=False)


async def _stop(run: Run) -> None:
    await run.replica.stop(drain=True)
    await run.uplink.close()


def _clear(uplink: Uplink) -> None:
    uplink.weather = ""


def _plans_of(story: Story, verbs: tuple[str, ...]) -> dict[int, Plan]:
    """The faults of a story by whom they are about; `watch 0 3 x`: after three commits."""
    plans: dict[int, Plan] = {}
    for entry in story.entries:
        if entry.verb in verbs:
            whose, number, fault = entry.arguments
            plans.setdefault(int(whose), {})[entry.verb, int(number)] = str(fault)
    return plans


_OF_DRIVERS: dict[str, Callable[[Schedule, SimulatedDriver, int], None]] = {
    "also": Schedule._also,
    "task": Schedule._task,
    "move": Schedule._move,
    "sleep": Schedule._sleep,
    "die": Schedule._die,
}
_OF_REPLICAS: dict[str, Callable[[Schedule, Entry], Awaitable[None]]] = {
    "kill": Schedule._kill,
    "stop": Schedule._stop,
    "start": Schedule._start_one,
    "weather": Schedule._cloud,
}
#: Entries that are faults themselves, met where they stand.
_COUNTED = frozenset({"kill", "stop", "also", "move", "sleep", "die"})
