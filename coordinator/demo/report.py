"""What the demo prints.

Responsible for the tables. Refuses to measure. Invariant: a figure that was not measured is not printed.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from coordinator.demo.disk import Held
from coordinator.demo.run import Run


def show(console: Console, off: Run, on: Run, ideal: dict[str, Held]) -> None:
    """Both runs side by side, per workload."""
    table = Table(title=f"Shuffle data on disk, Spark {on.spark}", title_justify="left", header_style="bold")
    table.add_column("workload")
    for heading in ("peak off", "peak on", "ideal", "GB·s off", "GB·s on", "ideal", "on / ideal", "results"):
        table.add_column(heading, justify="right")
    for plain, ours in zip(off.workloads, on.workloads, strict=True):
        least = ideal[ours.name]
        table.add_row(
            ours.name,
            *(_megabytes(h) for h in (plain.held, ours.held, least)),
            *(_area(h) for h in (plain.held, ours.held, least)),
            f"{ours.held.byte_seconds / least.byte_seconds:.3f}" if least.byte_seconds else "-",
            "equal" if plain.value == ours.value else "[red]DIFFERENT[/red]",
        )
    console.print(table)
    again = on.map_stages - off.map_stages
    console.print(f"Map stages run: {off.map_stages} without the plugin, {on.map_stages} with it: {again} recomputed.")
    off_s, on_s = (sum(w.seconds for w in r.workloads) for r in (off, on))
    console.print(f"Time in the workloads: {off_s:.1f} s without, {on_s:.1f} s with it (one run each: expect noise).")


def equal(off: Run, on: Run) -> bool:
    """Whether every workload gave the same."""
    return [(w.name, w.value) for w in off.workloads] == [(w.name, w.value) for w in on.workloads]


def _megabytes(seen: Held) -> str:
    return f"{seen.peak_bytes / 1e6:.0f} MB"


def _area(seen: Held) -> str:
    return f"{seen.byte_seconds / 1e9:.2f}"
