"""What can be said about reading logs.

Responsible for the names, defaults and refusals of options, the same for the data source and for the function. Refuses
to open anything. Invariant: an option that is not known is an error, never ignored; no text that Spark shows of a plan
holds a password.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from replay.frames.salvage import Problem
from state_backend.address import Credentials, EtcdAddress, masked, parse_address

#: Events that one Spark task reads.
PARTITION_EVENTS = 100_000
PERMISSIVE, DROPMALFORMED, FAILFAST = MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
_STORES = ("etcd:", "sqlite:", "memory:")


class WrongOption(ValueError):  # noqa: N818 - it says what is so
    """Something was asked that cannot be."""

    def __init__(self, fact: str, expected: str, next_step: str) -> None:
        super().__init__(f"{fact}; expected {expected}. {next_step}")


class NotThere(WrongOption):
    """What was named does not exist."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read, and how."""

    url: str  #: A store's address, or the path of an export or an archive.
    applications: tuple[str, ...] = ()  #: Only these ids; none: all.
    first: int = 1  #: Only events from this sequence number on …
    last: int | None = None  #: … up to this one.
    partition_events: int = PARTITION_EVENTS
    mode: str = PERMISSIVE
    archive: str = ""  #: Where a store's logs have moved to.
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def is_store(self) -> bool:
        """Whether a store is read, and no files."""
        return self.url.startswith(_STORES)

    def wants(self, application: str) -> bool:
        """Whether the application was asked for."""
        return not self.applications or application in self.applications

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The part of these events that was asked for; empty where the first is above the last."""
        return max(first, self.first), last if self.last is None else min(last, self.last)

    def tells(self, problem: Problem) -> bool:
        """Whether a problem is a row: the part of the log that it concerns was asked for."""
        at = problem.sequence
        return at is None or (at >= self.first and (self.last is None or at <= self.last))


#: Options in Spark's spelling, which knows no capitals: the field that each one is.
_FIELDS = {
    "path": "url",
    "application": "applications",
    "first": "first",
    "last": "last",
    "partitionevents": "partition_events",
    "mode": "mode",
    "archive": "archive",
    "user": "user",
    "password": "password",
}
_NUMBERS = ("first", "last", "partition_events")


def reading_of(options: Mapping[str, object]) -> Reading:
    """The reading that these options ask for. Raises `WrongOption`, `WrongAddress`."""
    given: dict[str, object] = {}
    for name, value in options.items():
        key = name.lower().replace("_", "")
        if key not in _FIELDS:
            raise _unknown(name, key)
        if value is not None:
            given[_FIELDS[key]] = value
    return _checked(given)


def _checked(given: dict[str, object]) -> Reading:
    if not given.get("url"):
        raise WrongOption("no log is named", "etcd://…, sqlite:///FILE, or the path of an export", "Give it to load().")
    for name in _NUMBERS:
        if name in given:
            given[name] = _number(name, given[name])
    given["applications"] = _applications(given.get("applications"))
    given["mode"] = str(given.get("mode", PERMISSIVE)).upper()
    if given["mode"] not in MODES:
        raise WrongOption(f"the mode is {given['mode']!r}", f"one of {', '.join(MODES)}", "Choose one.")
    made = Reading(**given)  # type: ignore[arg-type]
    if made.is_store:
        address_of(made)
    return made


def _unknown(name: str, key: str) -> WrongOption:
    near = difflib.get_close_matches(key, _FIELDS, 1)
    known = ", ".join(sorted(one for one in _FIELDS if one != "path"))
    return WrongOption(f"the option {name!r} is not known", f"one of {known}", f"Did you mean {near[0]}?" if near
                       else "docs/frames.md says what each does.")  # fmt: skip


def _number(name: str, value: object) -> int:
    text = str(value).strip()
    if not text.isdecimal() or int(text) < 1:
        raise WrongOption(f"{name} is {text!r}", "a whole number from 1 on", "Correct it.")
    return int(text)


def _applications(given: object) -> tuple[str, ...]:
    several = given.split(",") if isinstance(given, str) else given or ()
    return tuple(str(one).strip() for one in several if str(one).strip())  # type: ignore[attr-defined]


def address_of(reading: Reading) -> EtcdAddress | str:
    """The store's address with who we are. Raises `WrongOption` where the address itself holds a password."""
    parsed = parse_address(reading.url)
    if not isinstance(parsed, EtcdAddress):
        return reading.url
    if parsed.credentials is not None:
        raise WrongOption(
            f"the address {masked(reading.url)} holds a password, which Spark would show with its plans and keep in "
            "its event log",
            "the address without it",
            "Give the options user and password instead.",
        )
    if not reading.user:
        return parsed
    return EtcdAddress(parsed.endpoints, parsed.prefix, Credentials(reading.user, reading.password), parsed.tls)
