"""The runner: ``python -m benchmarks [QUESTION …] [--quick]``.

Responsible for choosing questions and printing their tables. Refuses to measure. Invariant: a question that fails is
named, and the others still run.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
import time
import traceback

from rich.console import Console

QUESTIONS = (
    "disk",
    "live_cut",
    "looks",
    "latency",
    "cost",
    "rates",
    "size",
    "replay",
    "policies",
    "failover",
    "advise",
    "remote",
    "asking_rates",
)


def main() -> int:
    """Runs the named questions, or all; 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("questions", nargs="*", choices=[*QUESTIONS, []], help=f"of: {', '.join(QUESTIONS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works, proves nothing")
    parser.add_argument("--megabytes", type=int, help="per shuffle, for disk (default 400, quick 40)")
    parser.add_argument("--only", action="append", metavar="NAME", help="of the programs, this one; may be repeated")
    parser.add_argument("--modes", help="for live_cut: of alone,cleanup,frontier,reachable,prompt; alone always runs")
    parser.add_argument("--scale", type=float, help="for live_cut and policies: of the data (default 1, quick 0.2)")
    wishes = parser.parse_args()
    console = Console(width=150)
    console.print(f"Python {platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}")
    return max((_run(name, console, wishes) for name in wishes.questions or QUESTIONS), default=0)


def _run(name: str, console: Console, wishes: argparse.Namespace) -> int:
    console.rule(name)
    try:
        importlib.import_module(f"benchmarks.{name}").run(console, wishes)
    except Exception:  # noqa: BLE001 - whatever a question dies of, the others still run
        traceback.print_exc()
        console.print(f"[red]{name} failed[/red]")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
