"""``python -m coordinator.demo``: the demo, as ``shufflectl demo`` runs it."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from coordinator.app import start_replica
from coordinator.cli import output, stories
from coordinator.core import events as e
from coordinator.core.events import Recorded
from coordinator.core.ids import AppShuffle
from coordinator.demo import report
from coordinator.demo.logs import read_log
from coordinator.demo.run import RunFailedError, ideal, run
from replay.explain import explain
from state_backend.address import file_address


def main(megabytes: int = 60, policy: str = "reachable", store: str = "") -> int:
    """Both runs, their comparison, and the story of one shuffle. 1 if a run failed or results differ.

    ``store``: its address; the coordinator then runs beside the application. Empty: inside it, on SQLite.
    """
    with _ending_with_us(), tempfile.TemporaryDirectory(prefix="shuffle-demo-", ignore_cleanup_errors=True) as folder:
        try:
            return _compare(Path(folder), megabytes, policy, store)
        except RunFailedError as failed:
            Console(stderr=True).print(Text(str(failed), style="red"))
            return 1


@contextmanager
def _ending_with_us() -> Iterator[None]:
    """SIGTERM ends the application too, and its folder goes, as with Ctrl-C: by itself it would end nothing but us."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _compare(folder: Path, megabytes: int, policy: str, store: str) -> int:
    sizes = ("--megabytes", str(megabytes))
    output.say(f"A chain of shuffles, a loop and an adaptive SQL query, {megabytes} MB a shuffle, once without …")
    off = run(folder / "off", sizes)
    output.say(f"… and once with the plugin, policy {policy}.\n")
    log_store = store or file_address(folder / "coordinator.db")
    with _coordinator(store) as address:
        where = ("--address", address) if address else ("--store", log_store)
        on = run(folder / "on", (*where, "--policy", policy, *sizes))
    log = read_log(log_store, on.application)
    report.show(off, on, ideal(on, log))
    output.say("\nWhat the log tells of one shuffle (shufflectl explain):\n")
    with output.printing() as console:
        stories.show(console, explain(log, _an_early_deletion(log)))
    return 0 if report.equal(off, on) else 1


@contextmanager
def _coordinator(store: str) -> Iterator[str]:
    """Where the application finds its coordinator; empty: it starts one itself."""
    if not store:
        yield ""
        return
    replica = start_replica(store)
    try:
        yield replica.address
    finally:
        replica.stop()


def _an_early_deletion(log: list[Recorded]) -> AppShuffle:
    """The first app shuffle that was deleted by policy; the first of all where none was."""
    shuffle_of = {r.event.shuffle_id: r.event.app_shuffle for r in log if isinstance(r.event, e.GenerationStarted)}
    deleted = [r.event.shuffle_id for r in log if isinstance(r.event, e.GenerationDeleted) and r.event.directive]
    return shuffle_of[deleted[0]] if deleted else min(shuffle_of.values())


if __name__ == "__main__":
    sys.exit(main())
