"""Verbs about shufflectl itself: `config show`, `version`, `token`.

Responsible for showing what was chosen and where. Refuses to show secrets. Invariant: what `config show` prints is what
the other verbs work with.
"""

from __future__ import annotations

import platform
from typing import Annotated, Any

import typer

from coordinator.cli import output
from coordinator.cli.here import Here
from coordinator.cli.output import Column
from coordinator.cli.verb import READING, verb
from coordinator.config import keys
from coordinator.release import release
from coordinator.server import tokens
from coordinator.wire.upcast import VERSION

_PACKAGES = ("shuffle-lifecycle", "grpcio", "protobuf", "pyspark")


def show(
    here: Here, origin: Annotated[bool, typer.Option("--origin", help="Say where each value is from.")] = False
) -> Any:
    """Shows what is chosen: flags before the environment, that before a file, that before defaults."""
    found = [_row(here, key, origin) for key in keys()]
    columns = [Column("KEY", lambda r: r["key"]), Column("VALUE", lambda r: r["value"])]
    if origin:
        columns.append(Column("ORIGIN", lambda r: r["origin"]))
    output.rows(here.form, found, columns, "")


def _row(here: Here, key: Any, origin: bool) -> dict[str, Any]:
    row = {"key": key.name, "value": here.loaded.value(key)}
    return {**row, "origin": here.loaded.origins[key.name]} if origin else row


def version(here: Here) -> Any:
    """Shows versions: of this program, of what it runs with, and of the log's form."""
    found = {name.replace("-", "_"): release(name) or None for name in _PACKAGES}
    output.one(here.form, {**found, "python": platform.python_version(), "log_format": VERSION}, "VERSION")


def token(here: Here) -> Any:
    """Makes a token for an administrator, or for drivers that register, and what the coordinators keep of it."""
    made = tokens.new_text()
    output.one(here.form, {"token": made, "sha256": tokens.hash_of(made)}, "VALUE")


def register(app: typer.Typer) -> None:
    """Adds the verbs."""
    group = typer.Typer(no_args_is_help=True, help="Shows the configuration.")
    verb(group, options=READING)(show)
    app.add_typer(group, name="config")
    verb(app, options=("output", "config"))(version)
    verb(app, options=("output", "config"))(token)
