"""What people choose: the conf keys `spark.shuffleLifecycle.*`, and the arguments of `attach`, which go first.

Responsible for: the keys, their meaning, their defaults, and a sentence for every one that cannot be right.
Refuses to know: where the texts come from, and what is done with the values.
Invariant: a key that is not known is an error, never ignored; nothing here reads or writes anything.

The argument of `attach` for a key is its name behind the prefix, dots as underscores: `policy`, `delayed_rule`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from listener_bridge.allowance import MUCH_BYTES
from listener_bridge.durations import milliseconds
from listener_bridge.sizes import size_bytes

PREFIX = "spark.shuffleLifecycle."
RULES = ("reachable", "frontier", "eager", "history", "pressure")
POLICIES = ("observe", *RULES, "delayed")
SERVICES = ("auto", "native", "celeborn", "uniffle")
DEFAULT_RULE = "reachable"
DEFAULT_GRACE_MS = 60_000
_COUNT_DIGITS = 9  #: What the log can hold.
_SCHEME = r"(?:dns://[^\s/]*/|[a-z][a-z0-9]*:)?"  #: Of gRPC's: the web's are none.
_OF_A_JOB = ("enabled", "policy", "delayed.rule", "grace")
T = TypeVar("T")


class WrongSettingError(ValueError):
    """A key or a value that cannot be right: what was found, what is expected."""


@dataclass(frozen=True, slots=True)
class Policy:
    """When a generation expires, whether it is only observed, and how long its fence waits."""

    rule: str = DEFAULT_RULE
    observe: bool = True
    grace_ms: int = 0

    def __str__(self) -> str:
        if self.observe:
            return "observe"
        return f"delayed({self.rule}, {self.grace_ms} ms)" if self.grace_ms else self.rule


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files, on the driver. `ca` empty: whom gRPC trusts; the other two empty: we come without a certificate."""

    ca: str = ""
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Pressure:
    """When a disk is full, in percent, and which disks count."""

    high: int = 85
    low: int = 75
    capacity_bytes: int = 0  #: What all shuffle data may take together; 0: disks are watched.
    directories: tuple[str, ...] = ()  #: Watched; none: the driver's own, where it runs tasks itself.


@dataclass(frozen=True, slots=True)
class Settings:
    """All that can be chosen, read."""

    enabled: bool = True
    policy: Policy = Policy()
    addresses: tuple[str, ...] = ()  #: None: a coordinator inside this process.
    store: str = ""  #: Of that coordinator; empty: the default file (`embedded`).
    token: str = ""
    service: str = "auto"
    deterministic: bool = False
    delete_indeterminate: bool = False
    premature_budget: int | None = None
    strict: bool = False
    looks: bool = True
    liveness: bool = True
    name: str = ""  #: Empty: Spark's application name.
    tls: Tls | None = None  #: To coordinators that are named by address; None: plain text.
    history: str = ""  #: File of lessons, of the coordinator inside the driver's process; empty: none.
    archive: str = ""  #: Where that coordinator's logs move to; empty: they stay in its store.
    retention_ms: int = 0  #: So long after its end an application leaves that store; 0: it stays.
    pressure: Pressure = Pressure()
    prompt_bytes: int = MUCH_BYTES  #: What moves or frees less may wait; 0: nothing may.

    @property
    def patient_below_bytes(self) -> int:
        """Under `reachable` alone: a fence then waits for a look, and a look's marks take along all facts before them.

        Other rules decide when a fact, a timer or a full disk says so, and must know of the newest job.
        """
        return self.prompt_bytes if self.policy.rule == DEFAULT_RULE and not self.policy.grace_ms else 0


def read(conf: Mapping[str, str], overrides: Mapping[str, object] | None = None) -> Settings:
    """Read conf keys with our prefix and the arguments of `attach`, of which None says nothing.

    Raises `WrongSettingError`.
    """
    texts = {key.removeprefix(PREFIX): value for key, value in conf.items() if key.startswith(PREFIX)}
    chosen = {_key_of(name): value for name, value in (overrides or {}).items()}
    texts.update({key: _text(value) for key, value in chosen.items() if value is not None})
    for key in texts:
        _check_known(key)
    return Settings(
        enabled=_read(texts, "enabled", _flag, True),
        policy=_policy(texts),
        addresses=_read(texts, "address", _addresses, ()),
        store=texts.get("store", ""),
        history=texts.get("history", ""),
        archive=texts.get("archive", ""),
        retention_ms=_retention_ms(texts),
        token=texts.get("token", ""),
        service=_read(texts, "service", _one_of(SERVICES), "auto"),
        deterministic=_read(texts, "deterministic", _flag, False),
        delete_indeterminate=_read(texts, "delete.indeterminate", _flag, False),
        premature_budget=_read(texts, "budget.premature", _count, None),
        strict=_read(texts, "strict", _flag, False),
        looks=_read(texts, "looks", _flag, True),
        liveness=_read(texts, "liveness", _flag, True),
        name=texts.get("name", ""),
        tls=_tls(texts),
        pressure=_pressure(texts),
        prompt_bytes=_read(texts, "prompt.bytes", _size_or_none, MUCH_BYTES),
    )


def policy_of_job(properties: Mapping[str, str]) -> Policy | None:
    """The policy that a job's local properties choose; None: they choose none. Raises `WrongSettingError`."""
    texts = {key.removeprefix(PREFIX): value for key, value in properties.items() if key.startswith(PREFIX)}
    if not _read(texts, "enabled", _flag, True):
        return Policy(observe=True)
    return _policy(texts) if "policy" in texts else None


def choices_of_job(texts: Mapping[str, str]) -> dict[str, str]:
    """The settings among ``texts`` that choose the policy of a job, with their whole keys."""
    return {PREFIX + key: texts[PREFIX + key] for key in _OF_A_JOB if PREFIX + key in texts}


def _tls(texts: Mapping[str, str]) -> Tls | None:
    files = Tls(texts.get("tls.ca", ""), texts.get("tls.certificate", ""), texts.get("tls.key", ""))
    if bool(files.certificate) != bool(files.key):
        given, lacking = ("certificate", "key") if files.certificate else ("key", "certificate")
        raise WrongSettingError(f"{PREFIX}tls.{given} is given without {PREFIX}tls.{lacking}; expected both or none")
    return files if _read(texts, "tls.enabled", _flag, files != Tls()) else None


def _policy(texts: Mapping[str, str]) -> Policy:
    name = _read(texts, "policy", _one_of(POLICIES), "observe")
    grace_ms = _read(texts, "grace", milliseconds, DEFAULT_GRACE_MS if name == "delayed" else 0)
    rule = _read(texts, "delayed.rule", _one_of(RULES), DEFAULT_RULE)
    if name == "observe":
        return Policy(rule, observe=True, grace_ms=grace_ms)
    return Policy(rule if name == "delayed" else name, observe=False, grace_ms=grace_ms)


def _pressure(texts: Mapping[str, str]) -> Pressure:
    usual = Pressure()
    chosen = Pressure(
        _read(texts, "pressure.high", _percent, usual.high),
        _read(texts, "pressure.low", _percent, min(usual.low, _read(texts, "pressure.high", _percent, usual.high))),
        _read(texts, "pressure.capacity", size_bytes, usual.capacity_bytes),
        tuple(one.strip() for one in texts.get("pressure.directories", "").split(",") if one.strip()),
    )
    if chosen.low > chosen.high:
        told = f"{PREFIX}pressure.low is {chosen.low}, above {PREFIX}pressure.high, which is {chosen.high}"
        raise WrongSettingError(f"{told}; expected a low watermark at or below the high one")
    return chosen


def _retention_ms(texts: Mapping[str, str]) -> int:
    kept_ms = _read(texts, "retention", milliseconds, 0)
    if kept_ms and not texts.get("archive"):
        told = f"{PREFIX}retention is {texts['retention']} and {PREFIX}archive is not given"
        raise WrongSettingError(f"{told}; expected an archive, which ended applications move to")
    return kept_ms


def _percent(text: str) -> int:
    number = text.strip().removesuffix("%").strip()
    if not number.isdecimal() or len(number) > 3 or not 1 <= int(number) <= 100:
        raise ValueError(f"{text!r} is no percentage; expected a whole number from 1 to 100")
    return int(number)


def _read(texts: Mapping[str, str], key: str, parse: Callable[[str], T], default: T) -> T:
    if key not in texts:
        return default
    try:
        return parse(texts[key])
    except ValueError as error:
        raise WrongSettingError(f"{PREFIX}{key}: {error}") from None


def _flag(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is no flag; expected true or false")
    return text.strip().lower() == "true"


def _size_or_none(text: str) -> int:
    return 0 if text.strip() == "0" else size_bytes(text)


def _count(text: str) -> int | None:
    if not text.strip().isdecimal() or len(text.strip()) > _COUNT_DIGITS:
        raise ValueError(f"{text!r} is no count; expected a whole number, from 0 to {'9' * _COUNT_DIGITS}")
    return int(text)


def _one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        found = text.strip().lower()
        if found not in known:
            raise ValueError(f"{text!r} is not known; expected one of {', '.join(known)}{_nearest(found, known)}")
        return found

    return parse


def _addresses(text: str) -> tuple[str, ...]:
    found = tuple(address.strip() for address in text.split(",") if address.strip())
    for address in found:
        if not _is_address(address):
            expected = "host:port with a port from 1 to 65535, an IPv6 host in [], or several with commas between them"
            raise ValueError(f"{address!r} is no address; expected {expected}")
    return found


def _is_address(text: str) -> bool:
    port = re.fullmatch(rf"{_SCHEME}(?:\[[^\s\[\]]+\]|[^\s:;/\[\]]+):(\d{{1,5}})", text)
    return bool(re.fullmatch(r"unix(?:-abstract)?:.+", text) or (port and 0 < int(port[1]) < 65_536))


KEYS = {
    "enabled": "false: as if the plugin were not there; default true",
    "policy": "observe (decide and record, delete nothing), reachable (recommended), frontier, eager, history, "
    "pressure, delayed; default observe",
    "delayed.rule": "the rule that `delayed` delays, and that `observe` observes: reachable, frontier, eager, history, "
    "pressure",
    "grace": "between expiry and fence, restarted by use; a duration as 30s; default 60s under `delayed`, else none",
    "address": "coordinators, host:port with commas between them; none: one inside the driver's process",
    "history": "file of `shufflectl learn`, for the coordinator inside the driver's process and policy `history`",
    "store": "the store of the coordinator inside the driver's process, as sqlite:///var/lib/shuffle.db; "
    "Spark shows it with its conf: no password in it",
    "archive": "folder or URL that the logs of the coordinator inside the driver's process move to, so that its store "
    "stays small; `shufflectl --archive` reads both; none: all stays in the store",
    "retention": "so long after its end an application leaves that store for the archive, as 30d; default: it stays",
    "token": "what the coordinators ask for before they register somebody new, where they do",
    "tls.enabled": "true: talk TLS to the coordinators; this is so where one of these files is named",
    "tls.ca": "PEM file on the driver: coordinators must show a certificate that it has signed; none: whom gRPC trusts",
    "tls.certificate": "PEM file: our own certificate, where coordinators ask for one; goes with tls.key",
    "tls.key": "PEM file: its private key",
    "service": "the shuffle service: auto (by Spark's shuffle manager; the default), native, celeborn or uniffle",
    "deterministic": "true: you vouch that every recomputation gives the same; default false",
    "delete.indeterminate": "true: guessing rules, and `reachable` under `strict`, may also delete what Spark calls "
    "indeterminate; default false",
    "budget.premature": "so many premature deletions are allowed: with one more, deletion suspends itself; default 8",
    "pressure.high": "policy `pressure` deletes when a disk is used to so many percent; default 85",
    "pressure.low": "and until it is used to no more than so many percent; default 75",
    "pressure.capacity": "what all shuffle data of the application may take together, as 20g: counted, not measured; "
    "for executors on other machines, whose disks the driver cannot see",
    "pressure.directories": "folders with shuffle data whose disks the driver watches, with commas between them; none: "
    "its own, where it runs the tasks itself (local)",
    "prompt.bytes": "under `reachable`, what moves or frees so much is dealt with at once, as 16m; a 64th of it too, "
    "where that happens seldom; less waits half a second, or for a look that is some seconds away, and only the first "
    "hundreds of such go before the program pauses, which spares programs of small jobs most of the work; 0: nothing "
    "waits; default 4m",
    "strict": "true: a result that would mix two generations fails its job; default false",
    "looks": "false: the program is not looked at; `reachable` then deletes nothing; default true",
    "liveness": "false: a handle counts as long as it is alive, also where its name is never read again; default true",
    "name": "what people call this application; default Spark's application name",
}
"""Every key, without the prefix, and what it says."""

_ARGUMENTS = {key.replace(".", "_"): key for key in KEYS}


def _key_of(name: str) -> str:
    if name not in _ARGUMENTS:
        near = _nearest(name, tuple(_ARGUMENTS))
        raise WrongSettingError(f"attach knows no argument {name!r}; expected one of {', '.join(_ARGUMENTS)}{near}")
    return _ARGUMENTS[name]


def _check_known(key: str) -> None:
    if key not in KEYS:
        near = _nearest(key, tuple(KEYS), PREFIX)
        raise WrongSettingError(f"{PREFIX}{key} is not known; expected {PREFIX} and one of {', '.join(KEYS)}{near}")


def _nearest(text: str, known: tuple[str, ...], prefix: str = "") -> str:
    folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(text.lower(), folded, 1)
    return f" (did you mean {prefix}{folded[near[0]]}?)" if near else ""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)
