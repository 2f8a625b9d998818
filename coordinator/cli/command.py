"""The command: verbs, and the options that stand before them.

Responsible for putting families of verbs together and for what `--help` says of all of them. Refuses to know any verb's
work. Invariant: every exit code is in the help.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Annotated, Any, Protocol

import typer

from coordinator.cli import output
from coordinator.cli.exits import MEANINGS
from coordinator.cli.verb import READING, shared
from coordinator.release import release

_EXITS = "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())
#: A paragraph is one line: where it is shown, it is broken there and nowhere else.
_HELP = (
    "Why shuffles are deleted, kept and missed, and the coordinators that see to it.\n\n"
    "Verbs that read work against a server (--server), a store (--store) or an exported log (--log); where none is "
    "named, against the file that drivers share. Options may also come from the environment (SHUFFLECTL_STORE=…) or "
    "a file."
)


def _say_version(asked: bool) -> None:
    if asked:
        output.say(f"shufflectl {release() or '(no version: it is not installed)'}")
        raise typer.Exit


_VERSION = inspect.Parameter(
    "version",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Says its version; the verb tells of more."
        ),
    ],
)


def _before(ctx: typer.Context, version: bool, **given: Any) -> None:  # noqa: ARG001 - who asks for it has gone
    """Options before the verb."""
    ctx.obj = {name: value for name, value in given.items() if value is not None}


class Family(Protocol):
    """A module with verbs."""

    def register(self, app: typer.Typer) -> None:
        """Adds them."""


def build(families: Iterable[Family]) -> typer.Typer:
    """The command with these verbs, in this order."""
    app = typer.Typer(
        name="shufflectl",
        help=_HELP,
        epilog=f"Exit codes: {_EXITS}. `run` ends with the program's own.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    parameters = [_VERSION, *(shared(name) for name in READING)]
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    _before.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    _before.__annotations__ = {"ctx": typer.Context, **{one.name: one.annotation for one in parameters}}
    app.callback()(_before)
    for family in families:
        family.register(app)
    return app
