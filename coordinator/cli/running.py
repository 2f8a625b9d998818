"""The verb `run`: an unmodified PySpark program with the plugin attached, as `coverage run` and `python` run one.

Responsible for starting the program in this process, and for attaching to the Spark context that it makes. Refuses to
know what the plugin does. Invariant: to the program it is as if `python` had started it: `sys.argv`, `sys.path`,
`__main__`, its exit code and its tracebacks are the same.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.finding import check_said
from coordinator.cli.spark import Confs, conf_of
from listener_bridge.running import contexts, program
from state_backend.address import parse_address

#: What follows the program is the program's own.
_FREE = {"allow_extra_args": True, "allow_interspersed_args": False}


def run(
    ctx: typer.Context,
    app: Annotated[
        str, typer.Argument(metavar="APP.PY", help="The program, or with -m a module; its arguments follow.")
    ],
    module: Annotated[bool, typer.Option("-m", help="APP.PY is the name of a module.")] = False,
    policy: Annotated[
        str | None, typer.Option("--policy", help="observe, reachable, frontier, eager, history, pressure, delayed.")
    ] = None,
    address: Annotated[
        str | None, typer.Option("--address", help="Coordinators, host:port[,…]; none: embedded.")
    ] = None,
    store: Annotated[str | None, typer.Option("--store", help="Store of the embedded one, sqlite:///FILE.")] = None,
    conf: Confs = None,
) -> None:
    """Runs a PySpark program with the plugin attached: shufflectl run app.py [ARGS…]."""
    wishes = {"policy": policy, "address": address, "store": store}
    overrides = {name: value for name, value in wishes.items() if value is not None}
    settings = conf_of(conf)
    _check_apart(address, store)
    check_wishes(settings, overrides)
    _submit_with(settings)
    _attach_to_contexts(overrides)
    _start(app, ctx.args, module)


def _check_apart(address: str | None, store: str | None) -> None:
    check_said({"--address": address, "--store": store}, "one that is named")
    if address and store:
        told = "--address and --store are both given, and a store is for a coordinator inside the driver"
        raise failure(Exit.USAGE, told, "one of them", "Leave one out.")


def check_wishes(settings: dict[str, str], overrides: Mapping[str, str]) -> None:
    """A wrong wish is told before anything runs."""
    from listener_bridge import settings as choices

    try:
        chosen = choices.read(settings, overrides)
    except choices.WrongSettingError as error:
        raise Failure(Exit.USAGE, f"{error}. docs/configuration.md has all keys.") from error
    if chosen.store:
        parse_address(chosen.store)


def _submit_with(settings: dict[str, str]) -> None:
    """As `spark-submit --conf`: the program's own settings go before these."""
    if settings:
        given = " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in settings.items())
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{given} {os.environ.get('PYSPARK_SUBMIT_ARGS', 'pyspark-shell')}"


def _attach_to_contexts(overrides: dict[str, str]) -> None:
    try:
        contexts.attach_to_each(overrides)
    except ImportError as error:
        raise failure(
            Exit.FAILED,
            f"PySpark cannot be imported here ({error})",
            f"a Python with PySpark (this is {sys.executable})",
            "Install shufflectl where the program runs: pip install '.[spark]' in a clone.",
        ) from error


def _start(app: str, arguments: list[str], is_module: bool) -> None:
    try:
        program.start(app, arguments, is_module)
    except program.NoProgramError as error:
        raise failure(Exit.NOT_FOUND, error.fact, error.expected, "Check its name and this folder.") from error


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(context_settings=_FREE)(run)
