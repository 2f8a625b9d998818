"""The whole command: all verbs, and the options that stand before them.

Responsible for putting the families together and for what `--help` says of all of them. Refuses to know any verb's
work. Invariant: every exit code is in the help.
"""

from __future__ import annotations

import inspect
from typing import Any

import typer

from coordinator.cli import (
    advising,
    changing,
    checking,
    choosing,
    drawing,
    exporting,
    history,
    learning,
    looking,
    missing,
    proving,
    refused,
    reporting,
    running,
    serving,
    showing,
    simulating,
    travelling,
)
from coordinator.cli.exits import MEANINGS
from coordinator.cli.verb import OPTIONS, READING, shared

#: The families of verbs, in the order of the help.
_FAMILIES = (
    serving,
    running,
    showing,
    looking,
    history,
    missing,
    travelling,
    drawing,
    simulating,
    exporting,
    reporting,
    learning,
    changing,
    checking,
    proving,
    refused,
    choosing,
    advising,
)
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
    for family in _FAMILIES:
        family.register(app)
    return app
