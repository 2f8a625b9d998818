"""shufflectl: the entry point.

Responsible for putting the verbs together and for how a call ends. Refuses to know any verb's work. Invariant: a person
reads one or two lines and an exit code that means the same everywhere; only a mistake in this program shows its trace.
"""

from __future__ import annotations

import inspect
import os
import sys
from typing import Any

import typer

from coordinator.cli import changing, checking, choosing, history, looking, running, serving, showing
from coordinator.cli.exits import MEANINGS, Exit, failure_of
from coordinator.cli.verb import OPTIONS, READING, shared

_EXITS = "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())
_HELP = """Why shuffles are deleted, kept and missed, and the coordinators that see to it.

Verbs that read work against a server (--server), a store (--store) or an exported log (--log); where none is named,
against the file that drivers share. Options may also come from the environment (SHUFFLECTL_STORE=…) or a file."""


def _before(ctx: typer.Context, **given: Any) -> None:
    """Options before the verb."""
    ctx.obj = {name: value for name, value in given.items() if value is not None}


def build() -> typer.Typer:
    """The whole command."""
    app = typer.Typer(
        name="shufflectl",
        help=_HELP,
        epilog=f"Exit codes: {_EXITS}. `run` ends with the program's own.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    parameters = [shared(name) for name in READING]
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    _before.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    _before.__annotations__ = {"ctx": typer.Context, **{name: OPTIONS[name] for name in READING}}
    app.callback()(_before)
    for family in (serving, running, showing, looking, history, changing, checking, choosing):
        family.register(app)
    return app


def main() -> None:
    """Runs the command line and ends the process."""
    try:
        build()()
    except Exception as error:
        told = failure_of(error)
        if told is None or os.environ.get("SHUFFLECTL_DEBUG"):
            raise
        print(f"shufflectl: {told}", file=sys.stderr)
        sys.exit(told.exit_code)
    sys.exit(Exit.OK)


if __name__ == "__main__":
    main()
