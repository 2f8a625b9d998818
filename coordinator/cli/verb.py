"""A verb: a function that becomes a command, with the options that all verbs of its kind share.

Responsible for giving a verb what was chosen (`Here`) and for running it, whether it waits for things or not. Refuses
to know any verb. Invariant: an option means the same before and behind the verb; behind it wins.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import structlog
import typer

from coordinator import logs
from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.finding import check_said, nobody_named, pointed
from coordinator.cli.here import SOURCES, Here
from coordinator.config import load

F = TypeVar("F", bound=Callable[..., Any])
FORMS = ("table", "json", "yaml")
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def _option(flag: str, text: str, **more: Any) -> Any:
    return typer.Option(*flag.split(), help=text, show_default=False, **more)


#: Options that verbs share: the key of the configuration, and its flag.
OPTIONS: dict[str, Any] = {
    "server": Annotated[str | None, _option("--server", "Coordinators to ask, host:port[,host:port].", metavar="ADDR")],
    "store": Annotated[str | None, _option("--store", "sqlite:///FILE, etcd://HOST:PORT or memory:.", metavar="URL")],
    "log": Annotated[str | None, _option("--log", "An exported log file.", metavar="FILE")],
    "archive": Annotated[
        str | None, _option("--archive", "Where logs have moved to: a folder or a URL.", metavar="URL")
    ],
    "token": Annotated[str | None, _option("--token", "The application's secret, or an administrator's.")],
    "tls_ca": Annotated[str | None, _option("--tls-ca", "The server's certificate authority.", metavar="FILE")],
    "tls_certificate": Annotated[str | None, _option("--tls-certificate", "Our own certificate.", metavar="FILE")],
    "tls_key": Annotated[str | None, _option("--tls-key", "The private key of it.", metavar="FILE")],
    "timeout_s": Annotated[float | None, _option("--timeout-s", "Seconds that one question may take.")],
    "output": Annotated[str | None, _option("--output -o", "table, json or yaml.", metavar="FORM")],
    "log_level": Annotated[str | None, _option("--log-level", "debug, info, warning or error, to stderr.")],
    "config": Annotated[Path | None, _option("--config", "Configuration file (TOML).", metavar="FILE")],
}
COMMON = ("log_level", "config")
SERVER = ("server", "token", "tls_ca", "tls_certificate", "tls_key", "timeout_s")
READING = (*SERVER, "store", "log", "archive", "output", *COMMON)
CHANGING = (*SERVER, "store", "output", *COMMON)


def verb(
    app: typer.Typer,
    options: Sequence[str] = READING,
    forms: Sequence[str] = FORMS,
    is_of_one: bool = True,
    **settings: Any,
) -> Callable[[F], F]:
    """Registers a function `verb(here, …)`, plain or async, as a command with these shared options.

    ``is_of_one``: where it takes an application, that has to be named, but for a source that holds one.
    """

    def register(function: F) -> F:
        # `typing.get_type_hints` of Python 3.10 hides what stands beside a default of None from Typer.
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def command(ctx: typer.Context, **given: Any) -> None:
            flags = {name: given.pop(name) for name in options}
            here = prepare(ctx.obj or {}, flags, forms)
            if is_of_one and "app" in given and given["app"] is None and here.chosen()[0] != "log":
                raise nobody_named()
            try:
                _run(lambda: function(here, **given))
            except Failure as error:
                raise (pointed(error, function.__name__, given.get("app")) if "log" in options else error) from error
            here.end()

        _dress(command, function.__name__, function.__doc__, (*own, *(shared(name) for name in options)))
        app.command(**settings)(command)
        return function

    return register


def prepare(before: dict[str, Any], behind: dict[str, Any], forms: Sequence[str] = FORMS) -> Here:
    """What was chosen, with the flags before and behind the verb."""
    flags = {name: value for name, value in (*before.items(), *behind.items()) if value is not None}
    check_said({f"--{name}": flags.get(name) for name in SOURCES}, "a source")
    file = flags.pop("config", None)
    form = flags.pop("output") if flags.get("output") not in (None, *FORMS) else None
    loaded = load(flags, file=file)
    _log_to_stderr(loaded.config.log_level)
    return Here(loaded, _form(loaded.config.output if form is None else form, forms))


def shared(name: str) -> inspect.Parameter:
    """The parameter of a shared option."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[name])


def _dress(command: Any, name: str, doc: str | None, parameters: Sequence[inspect.Parameter]) -> None:
    """Gives the command the signature that typer reads."""
    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    command.__name__, command.__doc__ = name, doc
    command.__signature__ = inspect.Signature([context, *keyword_only])
    command.__annotations__ = {p.name: p.annotation for p in (context, *keyword_only)}


def _form(chosen: str, forms: Sequence[str]) -> str:
    if chosen not in forms:
        raise failure(Exit.USAGE, f"the form of the output is {chosen!r}", f"one of {', '.join(forms)}", "Choose one.")
    return chosen


def _run(call: Callable[[], Any]) -> None:
    try:
        result = call()
        if inspect.iscoroutine(result):
            asyncio.run(_at_once(result))
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # who read our output has gone: there is nobody to tell
        sys.exit(Exit.OK)


async def _at_once(result: Awaitable[Any]) -> None:
    """Ctrl-C ends it where it stands: `asyncio` would wait until it waits, and who reads a file does not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    await result


class _Lines(logging.Handler):
    """Has what a library tells `logging` go the way of all else: from the chosen level on, with its time."""

    def emit(self, record: logging.LogRecord) -> None:
        if structlog.is_configured():
            logs.logger(record.name).log(record.levelno, record.getMessage(), exc_info=record.exc_info)


#: One for all calls in a process: a logger that has it already takes it once.
_LINES = _Lines()


def _log_to_stderr(level: str) -> None:
    logging.getLogger("state_backend").addHandler(_LINES)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
    )
