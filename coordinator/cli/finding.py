"""Which application, and which shuffle, a person means.

Responsible for ids, unique beginnings of ids, Spark's application ids and names, and for app shuffles and shuffle ids.
Refuses to guess. Invariant: what fits several is an error that names them, what fits none says what there is.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from shuffle_lifecycle.v1 import service_pb2 as pb

from coordinator.cli.exits import Exit, Failure, Nowhere, failure, failure_of, nowhere
from coordinator.cli.sources.api import Source
from coordinator.core.ids import ApplicationId, AppShuffle, ShuffleId
from coordinator.wire.numbers import INT_MAX
from replay.units import few, moment

_UUID_LENGTH = 36
_MOST_DIGITS = 19
#: Stands for the only application of a source.
ONLY = "-"


async def find(source: Source, named: str | None) -> ApplicationId:
    """The application that is meant; None: the one that a source of one holds."""
    if named is None and not source.holds_one:
        raise nobody_named()
    named = ONLY if named is None else named
    if not named:
        told = "an id or its beginning, Spark's id, a name, or - for the only one"
        raise failure(Exit.USAGE, "the application is ''", told, "`shufflectl apps` lists them.")
    if is_id(named):
        return ApplicationId(named)
    there = await source.named()
    found = next(filter(None, ([one for one in there if fits(one, named)] for fits in _FITTING)), [])
    if len(found) == 1:
        return ApplicationId(found[0].application)
    raise _several(named, found) if found else _none(source, named, there)


def _several(named: str, found: Sequence[pb.Application]) -> Failure:
    told = few((_told(application, _registered(application)) for application in reversed(found)), 6)
    return failure(Exit.USAGE, f"{named!r} fits {len(found)} applications", f"one of: {told}", "Give its id.")


def _none(source: Source, named: str, there: Sequence[pb.Application]) -> Failure:
    if source.problems:
        return _unread(source, named)
    names = few((_told(application) for application in reversed(there)), 6)
    return nowhere(
        f"no application at {source.where} is called {named!r}",
        f"one of: {names}" if names else "one that is registered; none is yet",
        " ".join(filter(None, ("List them with `shufflectl apps`.", source.elsewhere))),
    )


def is_id(named: str) -> bool:
    """Whether it is a whole id, which nobody need look up."""
    return len(named) == _UUID_LENGTH and named.count("-") == 4


def _unread(source: Source, named: str) -> Failure:
    """Whether it is there nobody can say: not all of what the source holds can be read."""
    problem = source.problems[0]
    told = failure_of(problem)
    return failure(
        told.exit_code if told is not None else Exit.DAMAGED,
        f"no application that can be read at {source.where} is called {named!r}, and some cannot be read",
        "a list of applications without damage",
        str(problem),
    )


def nothing_said(what: str, expected: str) -> Failure:
    """Of an option or an argument that is there and empty."""
    return failure(Exit.USAGE, f"{what} is empty", expected, "A variable of the shell may not be set.")


def check_said(options: Mapping[str, str | None], expected: str = "a value") -> None:
    """An option that is there and empty must not do what none does. ``options``: what was given, by their flags."""
    for option, given in options.items():
        if given == "":
            raise nothing_said(option, f"{expected}, or no such option")


def nobody_named() -> Failure:
    """No application is named."""
    told = "an id or its beginning, Spark's id, a name, or - for the only one; --log FILE needs none"
    return failure(Exit.USAGE, "no application is named", told, "`shufflectl apps` lists them.")


def pointed(missing: Failure, verb: str, named: object) -> Failure:
    """What is said of an application that is not there and is called like a file: how that is read as a log."""
    if not isinstance(missing, Nowhere) or not isinstance(named, str) or not named or not is_on_disk(named):
        return missing
    if Path(named).is_dir():
        kind, told = "folder", "--log takes one file, as `shufflectl export` writes it."
    else:
        kind, told = "file", f"To read it as a log, say --log before it: `shufflectl {verb} --log {named}`."
    return failure(Exit.NOT_FOUND, f"{named} is a {kind}, and no application is called so", "an application", told)


def is_on_disk(named: str) -> bool:
    """Whether there is a file or a folder of this name; what is too long for one is the name of an application."""
    try:
        return Path(named).exists()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


def check_named(named: Sequence[str], whole: bool, is_log: bool = False) -> None:
    """Of many applications some are named, or all are meant; never both. In a log nobody need be named."""
    if bool(named) == whole and not (is_log and not named):
        told = "applications are named and --all is said" if whole else "no application is named"
        raise failure(Exit.USAGE, told, "one or more of them, or --all", "`shufflectl apps` lists them.")


def _is(application: pb.Application, named: str) -> bool:
    return application.application == named


def _is_called(application: pb.Application, named: str) -> bool:
    driver = application.driver
    return named in (ONLY, driver.spark_application_id, driver.name)


def _begins(application: pb.Application, named: str) -> bool:
    """UUIDs are written either way; engines that are not Spark choose ids of their own."""
    return application.application.lower().startswith(named.lower())


#: How an application fits what a person says: what fits better goes first.
_FITTING = (_is, _is_called, _begins)


def _told(application: pb.Application, more: str = "") -> str:
    return f"{application.application} ({application.driver.name or application.driver.spark_application_id}{more})"


def _registered(application: pb.Application) -> str:
    """Tells runs of one name apart."""
    return f", registered {moment(application.registered_ms)}"


def is_number(text: str) -> bool:
    """Whether a person has written one that counts something; Python refuses to read very long ones."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def no_shuffle(verb: str, app: str | None) -> Failure:
    """Of APP and SHUFFLE one is named at the most, which counts as the application, also where it is like a shuffle."""
    if app is not None and is_number(app.removeprefix("#")):
        told = f"no shuffle is named: the first word, {app!r}, is for the application"
        only = f"Where there is one application: `shufflectl {verb} - {quote(app)}`; `shufflectl apps` lists them."
        return failure(Exit.USAGE, told, "APP and SHUFFLE", only)
    expected = "an app shuffle such as 5, or, for `explain`, a shuffle id such as '#7'"
    return failure(Exit.USAGE, "no shuffle is named", expected, "`shufflectl shuffles` lists both.")


def which_shuffle(named: str, is_id: bool) -> tuple[AppShuffle | None, ShuffleId | None]:
    """`5` is an app shuffle; `#5`, or 5 with ``is_id``, the generation with that shuffle id."""
    digits = named.removeprefix("#")
    if not is_number(digits):
        expected = "an app shuffle such as 5, or a shuffle id such as '#7'"
        told = "`shufflectl shuffles` lists both, `shufflectl replay APP -o json` those that are long gone too."
        raise failure(Exit.USAGE, f"the shuffle is {named!r}", expected, told)
    if is_id or named.startswith("#"):
        return None, ShuffleId(int(digits))
    return AppShuffle(int(digits)), None


def app_shuffle(named: str) -> AppShuffle:
    """An app shuffle, for verbs that are about all its generations."""
    if not is_number(named) or int(named) > INT_MAX:
        expected = f"a whole number up to {INT_MAX}, as Spark's own ids"
        raise failure(Exit.USAGE, f"the app shuffle is {named!r}", expected, "`shufflectl shuffles` lists them.")
    return AppShuffle(int(named))
