"""shufflectl: the entry point.

Responsible for how a call ends. Refuses to know verbs. Invariant: a person reads one or two lines and an exit code that
means the same everywhere; only a mistake in this program shows its trace.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.cli.command import Family
    from coordinator.cli.exits import Failure


def main() -> None:
    """Runs the command line and ends the process."""
    runs_a_program = sys.argv[1:2] == ["run"]
    _prepare(runs_a_program)
    from typer.main import get_command

    from coordinator.cli.command import build
    from coordinator.cli.exits import failure_of

    try:
        command = get_command(build(_families(runs_a_program)))
        code = _code_of(command)  # not as Typer calls it: it leaves a `sys.excepthook` to a program
        if not runs_a_program:  # what a program has written, or closed, is its own
            _write_the_rest()
    except Exception as error:
        told = failure_of(error)
        if told is None:
            raise
        code = _tell(told, error)
    sys.exit(code)


def _prepare(runs_a_program: bool) -> None:
    """Before gRPC is imported. A program that is run has its own environment and streams."""
    if runs_a_program:
        import listener_bridge  # noqa: F401 - gRPC is imported as a driver that forks needs it
    else:
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its errors are ours to tell
        _open_what_is_closed()
        _show_what_has_no_sign()


def _families(runs_a_program: bool) -> Iterable[Family]:
    """A program starts whatever is wrong with what other verbs need: with a server's libraries, say."""
    if runs_a_program:
        from coordinator.cli import running

        return (running,)
    from coordinator.cli.families import FAMILIES

    return FAMILIES


def _tell(told: Failure, error: Exception) -> int:
    """Says what went wrong, and gives the exit code."""
    from coordinator.cli import output

    output.remark(told)
    if isinstance(error, OSError) and error.filename is None:  # what is left in it could not be written before
        with suppress(OSError):
            sys.stdout.close()
    return told.exit_code


def _code_of(command: Callable[[], object]) -> int | str | None:
    """What it exits with."""
    try:
        command()
    except SystemExit as ended:
        return ended.code
    return None


def _write_the_rest() -> None:
    """Of what stands in a buffer: at exit nobody could tell that this failed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # who read it has gone: that is no failure, and Python would make one of it
        with suppress(OSError):
            sys.stdout.close()


def _open_what_is_closed() -> None:
    """As some that start services close it: what is said there is said to nobody."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nowhere.open("w", encoding="utf-8")


def _show_what_has_no_sign() -> None:
    """Where the locale is not UTF-8, a sign that it does not have is shown by its number, as on stderr."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
