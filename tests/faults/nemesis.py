"""Carries out what a schedule says, and takes it back.

Responsible for each kind of fault on the processes and the network. Refuses to choose. Invariant: every fault is in the
history when it begins and when it is over; whatever it did, `Cluster.heal` makes good.
"""

from __future__ import annotations

import contextlib
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count, product

import psutil

from tests.faults.cluster import Cluster
from tests.faults.history import Recorder
from tests.faults.release import Release
from tests.faults.schedule import LEADER, Fault, Kind

FULL_BYTES = 1_200_000
FILL_LIMIT_S = 120.0
SPARE_BYTES = 4 << 20


class Nemesis:
    """One cluster's. ``drivers``: the processes of drivers, to be killed and paused."""

    def __init__(self, cluster: Cluster, recorder: Recorder, drivers: DriverProcesses) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._drivers = drivers
        self._threads: list[threading.Thread] = []
        self.failures: list[str] = []

    def begin(self, fault: Fault) -> None:
        """In a thread of its own, for as long as it lasts."""
        thread = threading.Thread(target=self._run, args=(fault,), name=str(fault), daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        """Until all are over."""
        for thread in self._threads:
            thread.join()

    def _run(self, fault: Fault) -> None:
        number = self._recorder.begin("nemesis", fault.kind.name, targets=fault.targets, much=fault.much)
        told: dict[str, object] = {}
        try:
            with _DOINGS[fault.kind](self, fault, told):
                time.sleep(fault.for_s)
            self._recorder.end(number, "ok", **told)
        except Exception as error:  # noqa: BLE001 - two faults at once may be in one another's way; the run goes on
            self.failures.append(f"{fault}: {error!r}")
            self._recorder.end(number, "failed", error=repr(error)[:200], **told)

    # ---- processes ----

    @contextlib.contextmanager
    def _kill(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        name = told["name"] = self._named(fault)
        self._cluster.kill(name)
        yield
        if not self._cluster.running(name):
            self._cluster.restart(name)

    @contextlib.contextmanager
    def _older(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        """As in an upgrade that is not done yet, or is taken back."""
        name = fault.targets[0]
        self._cluster.exchange(name, Release.OLDER)
        yield
        self._cluster.exchange(name, Release.NEWER)

    @contextlib.contextmanager
    def _pause(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        name = told["name"] = self._named(fault)
        self._cluster.pause(name)
        yield
        self._cluster.resume(name)

    @contextlib.contextmanager
    def _kill_drivers(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        told["silenced"] = self._drivers.kill_one()
        yield

    @contextlib.contextmanager
    def _pause_drivers(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        told["silenced"], resume = self._drivers.pause_one()
        yield
        resume()

    def _named(self, fault: Fault) -> str:
        if fault.targets != (LEADER,):
            return fault.targets[0]
        return self._cluster.leader() or next(iter(self._cluster.members))

    @contextlib.contextmanager
    def _clock(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        self._cluster.set_clock(fault.targets[0], fault.much)
        yield
        self._cluster.set_clock(fault.targets[0], 0.0)

    @contextlib.contextmanager
    def _starve(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        """It gets hardly any more memory than it has; where it dies of that, it is started again."""
        name = fault.targets[0]
        process = self._cluster.servers[name].process
        if process is not None:
            limit_memory(process.pid, psutil.Process(process.pid).memory_info().vms + SPARE_BYTES)
        yield
        told["died"] = not self._cluster.running(name)
        if told["died"]:
            self._cluster.restart(name)
        elif process is not None:
            limit_memory(process.pid, resource.RLIM_INFINITY)

    # ---- links ----

    def _flows(self, fault: Fault) -> list[tuple[str, str]]:
        one, other = fault.targets
        many = {"*r": list(self._cluster.servers), "*e": list(self._cluster.members)}.get(other, [other])
        return [(a, b) for a, b in product([one], many) if a != b]

    @contextlib.contextmanager
    def _cut(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        with self._held(self._both_ways(fault), fault, told):
            yield

    @contextlib.contextmanager
    def _cut_one_way(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        with self._held(self._flows(fault), fault, told):
            yield

    @contextlib.contextmanager
    def _lose_replies(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        """Requests arrive, answers do not; then the connections break, and the answers with them."""
        back = [(b, a) for a, b in self._flows(fault)]
        with self._held(back, fault, told):
            yield
            for one, other in back:
                self._cluster.network.break_connections(one, other)

    @contextlib.contextmanager
    def _flap(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        flows, over = self._both_ways(fault), threading.Event()

        def swing() -> None:
            while not over.wait(fault.much):
                self._hold(flows)
                over.wait(fault.much)
                self._heal(flows)

        swinging = threading.Thread(target=swing, daemon=True)
        swinging.start()
        yield
        over.set()
        swinging.join()
        self._heal(flows)

    @contextlib.contextmanager
    def _delay(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        for a, b in self._both_ways(fault):
            self._cluster.network.delay(a, b, fault.much)
        yield
        self._heal(self._both_ways(fault))

    @contextlib.contextmanager
    def _break(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        for a, b in self._flows(fault):
            self._cluster.network.break_connections(a, b)
        yield

    def _both_ways(self, fault: Fault) -> list[tuple[str, str]]:
        return [flow for a, b in self._flows(fault) for flow in ((a, b), (b, a))]

    @contextlib.contextmanager
    def _held(self, flows: list[tuple[str, str]], fault: Fault, told: dict[str, object]) -> Iterator[None]:
        if "driver" in fault.targets and "*r" in fault.targets:
            told["silenced"] = self._drivers.applications()
        self._hold(flows)
        yield
        self._heal(flows)

    def _hold(self, flows: list[tuple[str, str]]) -> None:
        for a, b in flows:
            self._cluster.network.hold(a, b)

    def _heal(self, flows: list[tuple[str, str]]) -> None:
        for a, b in flows:
            self._cluster.network.heal(a, b)

    # ---- the store ----

    @contextlib.contextmanager
    def _compact(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        """At the present revision: whoever is behind has lost his place."""
        name = self._some_member()
        revision = told["revision"] = self._cluster.revision(name)
        with contextlib.suppress(subprocess.CalledProcessError):
            self._cluster.etcdctl(name, "compact", str(revision))
        yield

    @contextlib.contextmanager
    def _fill(self, fault: Fault, told: dict[str, object]) -> Iterator[None]:
        """The quota's alarm goes off, as if the disk were full; then it is disarmed."""
        name = self._some_member()
        self._raise_alarm(name)
        told["alarm"] = self._cluster.etcdctl(name, "alarm", "list")
        yield
        self._cluster.make_room()

    def _raise_alarm(self, name: str) -> None:
        """Writes rubbish under no prefix of ours until etcd refuses; it goes again, whatever came of it.

        A member that is slow, or has no leader now, refuses for a reason of its own: the next piece is written then.
        """
        until_s = time.monotonic() + FILL_LIMIT_S
        said = ""
        try:
            for number in count():
                said = self._put(name, f"rubbish/{number}", "x" * FULL_BYTES) or said
                if "space exceeded" in said:
                    return
                if time.monotonic() > until_s:
                    raise RuntimeError(
                        f"no alarm for want of space after {FILL_LIMIT_S:g} s and {number + 1} pieces of {FULL_BYTES} "
                        f"bytes; etcd last refused with {said!r}; start it with a small --quota-backend-bytes"
                    )
        finally:
            self._cluster.etcdctl(name, "del", "rubbish/", "--prefix")

    def _put(self, name: str, key: str, value: str) -> str:
        """Why it was refused; empty where it was not."""
        command = [*self._etcdctl(name), "put", key]
        done = subprocess.run(command, input=value, capture_output=True, text=True, timeout=30, check=False)
        return done.stderr if done.returncode else ""

    def _etcdctl(self, name: str) -> list[str]:
        from tests.support.etcd import etcd_bin

        return [str(etcd_bin() / "etcdctl"), "--endpoints", self._cluster.members[name].endpoint]

    def _some_member(self) -> str:
        leader = self._cluster.leader()
        if leader is None:
            raise RuntimeError("there is no leader to ask")
        return leader


def limit_memory(process: int, size: int) -> None:
    """What it may map, from now on."""
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(process, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


class DriverProcesses:
    """What a nemesis can do to drivers."""

    def applications(self) -> list[str]:
        """All of them."""
        raise NotImplementedError

    def kill_one(self) -> list[str]:
        """Kills a process; its applications."""
        raise NotImplementedError

    def pause_one(self) -> tuple[list[str], Callable[[], None]]:
        """Pauses a process; its applications, and how to let it go on."""
        raise NotImplementedError


_DOINGS: dict[Kind, Callable[[Nemesis, Fault, dict[str, object]], contextlib.AbstractContextManager[None]]] = {
    Kind.KILL_REPLICA: Nemesis._kill,
    Kind.OLDER_REPLICA: Nemesis._older,
    Kind.PAUSE_REPLICA: Nemesis._pause,
    Kind.KILL_MEMBER: Nemesis._kill,
    Kind.KILL_LEADER: Nemesis._kill,
    Kind.PAUSE_MEMBER: Nemesis._pause,
    Kind.PAUSE_LEADER: Nemesis._pause,
    Kind.KILL_DRIVERS: Nemesis._kill_drivers,
    Kind.PAUSE_DRIVERS: Nemesis._pause_drivers,
    Kind.CUT: Nemesis._cut,
    Kind.CUT_ONE_WAY: Nemesis._cut_one_way,
    Kind.FLAP: Nemesis._flap,
    Kind.DELAY: Nemesis._delay,
    Kind.BREAK: Nemesis._break,
    Kind.LOSE_REPLIES: Nemesis._lose_replies,
    Kind.COMPACT: Nemesis._compact,
    Kind.FILL: Nemesis._fill,
    Kind.CLOCK: Nemesis._clock,
    Kind.STARVE: Nemesis._starve,
}
