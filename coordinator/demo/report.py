"""What the demo prints.

Responsible for the tables. Refuses to measure. Invariant: a figure that was not measured is not printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from coordinator.cli import output
from coordinator.cli.output import Column
from coordinator.demo.disk import Held
from coordinator.demo.run import Run, Workload


def show(off: Run, on: Run, ideal: Mapping[str, Held]) -> None:
    """Both runs side by side, per workload."""
    output.say(Text(f"Shuffle data on disk, Spark {on.spark}", style="bold"))
    pairs = zip(off.workloads, on.workloads, strict=True)
    output.say(output.table([_row(plain, ours, ideal[ours.name]) for plain, ours in pairs], _COLUMNS))
    again = on.map_stages - off.map_stages
    output.say(f"\nMap stages run: {off.map_stages} without the plugin, {on.map_stages} with it: {again} recomputed.")
    off_s, on_s = (sum(w.seconds for w in r.workloads) for r in (off, on))
    output.say(f"Time in the workloads: {off_s:.1f} s without, {on_s:.1f} s with it (one run each: expect noise).")


def _row(plain: Workload, ours: Workload, least: Held) -> dict[str, Any]:
    return {"off": plain.held, "on": ours.held, "ideal": least, "name": ours.name, "equal": plain.value == ours.value}


def equal(off: Run, on: Run) -> bool:
    """Whether every workload gave the same."""
    return [(w.name, w.value) for w in off.workloads] == [(w.name, w.value) for w in on.workloads]


def _megabytes(seen: Held) -> str:
    return f"{seen.peak_bytes / 1e6:.0f} MB"


def _area(seen: Held) -> str:
    return f"{seen.byte_seconds / 1e9:.2f}"


def _of_ideal(row: Mapping[str, Any]) -> str:
    least = row["ideal"].byte_seconds
    return f"{row['on'].byte_seconds / least:.3f}" if least else "-"


_COLUMNS = (
    Column("workload", lambda r: r["name"]),
    Column("peak off", lambda r: _megabytes(r["off"]), right=True),
    Column("peak on", lambda r: _megabytes(r["on"]), right=True),
    Column("ideal", lambda r: _megabytes(r["ideal"]), right=True),
    Column("GB·s off", lambda r: _area(r["off"]), right=True),
    Column("GB·s on", lambda r: _area(r["on"]), right=True),
    Column("ideal", lambda r: _area(r["ideal"]), right=True),
    Column("on / ideal", _of_ideal, right=True),
    Column("results", lambda r: "equal" if r["equal"] else "DIFFERENT", right=True),
)
