"""What can be chosen for `shufflectl` and for a replica, and where each choice comes from.

Responsible for the keys with their meaning, and for reading them from four places: a flag goes before the environment,
that before a file, that before the default, which is that of whoever works with it. Refuses to know what is done with
the values. Invariant: a key that is not known is an error, never ignored, and every value can say where it came from.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from coordinator.binding import A_BIND, A_PLACE, is_bind, is_place
from coordinator.explained import Explained
from coordinator.runtime.limits import Limits
from coordinator.runtime.options import Options
from coordinator.server.options import ServerOptions
from state_backend.address import masked

PREFIX = "SHUFFLECTL_"
FILE_VARIABLE = f"{PREFIX}CONFIG"
_REPLICA, _SERVER = Options(replica=""), ServerOptions()  #: As they are where nobody chooses.
_LONG_S = 365 * 86_400
_ADDRESSES = ("store", "archive")  #: Keys whose values may hold a password.
_SIGNS = 3  #: Of life that a driver may miss: two can be late without its being taken for dead.


def _address(is_right: Callable[[str], bool], expected: str) -> AfterValidator:
    """None, or one that is right."""

    def checked(given: str) -> str:
        if given and not is_right(given):
            raise PydanticCustomError("address", "{expected}", {"expected": expected})
        return given

    return AfterValidator(checked)


_Bind = Annotated[str, _address(is_bind, A_BIND)]
_Place = Annotated[str, _address(is_place, A_PLACE)]


class ServeConfig(BaseModel):
    """How a replica serves."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    listen: _Bind = Field(default=_SERVER.bind, description="address to listen on; port 0 takes any that is free")
    pages: _Bind = Field(
        default="", description="address of read-only pages with pictures of applications; none: they are not served"
    )
    data: str = Field(default="", description="folder of the SQLite store, where no `store` is named")
    advertise: _Place = Field(
        default=_REPLICA.address, description="address that drivers are told; where they reach it under another one"
    )
    beyond_loopback: bool = Field(
        default=_SERVER.bind_beyond_loopback,
        description="let other machines reach it although it asks them for no certificate",
    )
    history: str = Field(
        default="", description="file of `shufflectl learn`: what earlier runs taught, for policy `history`"
    )
    administrators: str = Field(
        default="",
        description="SHA-256 of each administrator's token, with commas between them: who may pin, set policies and "
        "see every application; `shufflectl token` makes one; none: on loopback an application's own token may",
    )
    registration_tokens: str = Field(
        default="",
        description="SHA-256 of tokens of which a driver must show one to register; none: everybody may who connects",
    )
    tls_certificate: str = Field(
        default="", description="PEM file of the server's certificate; goes with `tls_key`; a renewed one is taken up"
    )
    tls_key: str = Field(default="", description="PEM file of the server's private key")
    tls_client_ca: str = Field(default="", description="PEM file; clients must show a certificate that it has signed")
    metrics: _Bind = Field(
        default="", description="address where Prometheus reads `/metrics`, under the rules of `listen`; none: nowhere"
    )
    metrics_applications: int = Field(
        default=0, ge=0, le=1_000, description="how many of the heaviest applications get metrics with their names"
    )
    reap: bool = Field(
        default=_REPLICA.reap, description="take part in housekeeping: close applications whose driver is gone"
    )
    silence_s: float = Field(
        default=_REPLICA.silence_s,
        gt=0,
        le=_LONG_S,
        description="seconds without a sign of life after which a driver is gone; three times `heartbeat_s` at least",
    )
    heartbeat_s: float = Field(
        default=_REPLICA.heartbeat_s, ge=0.1, le=_LONG_S, description="seconds between a driver's signs of life"
    )
    lease_s: float = Field(
        default=_REPLICA.lease_s,
        ge=1,
        le=_LONG_S,
        description="seconds that the replica's own registration outlives it",
    )
    answer_within_s: float = Field(
        default=_REPLICA.answer_within_s, gt=0, description="seconds after which a question gets an error instead"
    )
    snapshot_every_events: int = Field(
        default=_REPLICA.snapshot_every_events,
        gt=0,
        description="events between two snapshots of an application, at least; more where its state has more rows",
    )
    idle_s: float = Field(
        default=_REPLICA.idle_s, gt=0, description="seconds after which an application that nobody asks is forgotten"
    )
    archive_every_s: float = Field(
        default=_REPLICA.archive_every_s, gt=0, description="seconds between two looks for what may move to the archive"
    )
    retention_s: float = Field(
        default=_REPLICA.retention_s,
        ge=0,
        description="seconds after which an ended application leaves the store; 0: it stays",
    )
    drain_s: float = Field(
        default=_SERVER.drain_s, ge=0, description="seconds that calls under way may take when it stops"
    )


def _limit(default: Any, meaning: str, least: int, most: int) -> Any:
    return Field(default=default, ge=least, le=most, description=meaning)


def _limits_model() -> type[BaseModel]:
    """The table of limits, as keys."""
    keys: dict[str, Any] = {row.name: (int, _limit(row.default, **row.metadata)) for row in fields(Limits)}
    return create_model("LimitsConfig", __config__=ConfigDict(extra="forbid"), **keys)


if TYPE_CHECKING:
    LimitsConfig = BaseModel
else:
    LimitsConfig = _limits_model()


class Config(BaseSettings):
    """All that can be chosen."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", allow_inf_nan=False)

    server: str = Field(default="", description="coordinators to ask: host:port, several with commas between them")
    store: str = Field(default="", description="store to read, or to serve: sqlite:///FILE, etcd://HOST:PORT, memory:")
    log: str = Field(default="", description="exported log file to read")
    archive: str = Field(
        default="", description="folder or URL that logs move to, and are read from; none: all stays in the store"
    )
    token: SecretStr = Field(default=SecretStr(""), description="the application's secret, or an administrator's")
    tls_ca: str = Field(default="", description="PEM file; the server must show a certificate that it has signed")
    tls_certificate: str = Field(default="", description="PEM file: our own certificate, where servers ask for one")
    tls_key: str = Field(default="", description="PEM file: the private key of `tls_certificate`")
    output: Literal["table", "json", "yaml"] = Field(default="table", description="table, json or yaml")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="what is told on stderr"
    )
    timeout_s: float = Field(
        default=12.0, gt=0, description="seconds that one question may take; a server gives its reason after 10"
    )
    serve: ServeConfig = ServeConfig()
    limits: LimitsConfig = LimitsConfig()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic's
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The places are read one by one in `load`, so that each value's origin is known."""
        return (init_settings,)


class WrongConfig(Explained, ValueError):  # noqa: N818 - it says what is so
    """Something was chosen that cannot be."""


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be chosen. ``name`` has a dot where it stands in a table of the file."""

    name: str
    description: str
    default: str
    kind: str
    secret: bool

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.name.upper().replace(".", "__")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was chosen, and where: `default`, `file …`, `environment …` or `flag …` for each key."""

    config: Config
    origins: Mapping[str, str]

    def value(self, key: Key) -> object:
        """What was chosen; secrets are hidden, also in the addresses of store and archive."""
        found: Any = self.config
        for part in key.name.split("."):
            found = getattr(found, part)
        return masked(found) if key.name in _ADDRESSES else str(found) if isinstance(found, SecretStr) else found


def keys(model: type[BaseModel] = Config, under: str = "") -> Iterator[Key]:
    """Every key, in the order of the file."""
    for name, field in model.model_fields.items():
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            yield from keys(nested, f"{under}{name}.")
        else:
            yield Key(f"{under}{name}", field.description or "", _default(field), _kind(field), _is_secret(field))


def load(flags: Mapping[str, object], environment: Mapping[str, str] = os.environ, file: Path | None = None) -> Loaded:
    """Reads all places. ``flags``: key -> value, of those that were given. Raises `WrongConfig`."""
    path = _file(file, environment)
    layers = (
        *(((f"file {path}", _of_file(path)),) if path is not None else ()),
        ("environment", _of_environment(environment)),
        ("flag", dict(flags)),
    )
    chosen: dict[str, object] = {}
    origins = {key.name: "default" for key in keys()}
    for place, layer in layers:
        _check_known(layer, place)
        chosen.update(layer)
        origins.update({name: _origin(place, name) for name in layer})
    config = _validated(chosen, origins)
    _check_silence(config.serve, origins)
    return Loaded(config, origins)


def default_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where a file is looked for that nobody names; None: whoever runs this has no home."""
    try:
        home = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    except RuntimeError:  # as in containers whose user is only a number
        return None
    return home / "shuffle-lifecycle" / "shufflectl.toml"


# ---- the places ------------------------------------------------------------------------------------------------------


def _file(named: Path | None, environment: Mapping[str, str]) -> Path | None:
    chosen = named or (Path(environment[FILE_VARIABLE]) if environment.get(FILE_VARIABLE) else None)
    if chosen is None:
        found = default_file(environment)
        return found if found is not None and found.is_file() else None
    if not chosen.is_file():
        told = "is no file" if chosen.exists() else "does not exist"
        raise WrongConfig(f"the configuration file {chosen} {told}", "a TOML file", "Name another, or none.")
    return chosen


def _of_file(path: Path) -> dict[str, object]:
    try:
        return _flat(_toml(path.read_text(encoding="utf-8")))
    except ValueError as error:  # of TOML, or of UTF-8
        raise WrongConfig(f"{path} cannot be read: {error}", "TOML", "Correct the file.") from error
    except OSError as error:
        raise WrongConfig(f"{path} cannot be read: {error.strerror}", "a readable file", "Check its rights.") from error


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    found: dict[str, Any] = tomllib.loads(text)
    return found


def _of_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """One that is set to nothing says nothing: scripts hand on variables that nobody has set."""
    mine = {name.upper(): value for name, value in environment.items() if name.upper().startswith(PREFIX) and value}
    mine.pop(FILE_VARIABLE, None)
    by_variable = {key.variable: key.name for key in keys()}
    source = EnvSettingsSource(Config)
    source.env_vars = {name.lower(): value for name, value in mine.items()}
    try:
        found = _flat(source())
    except SettingsError as error:
        raise WrongConfig(
            f"the environment cannot be read: {error}", "plain values", "Correct the variable."
        ) from error
    for variable in (name for name in mine if name not in by_variable):
        near = difflib.get_close_matches(variable, by_variable, 1)
        hint = f"Did you mean {near[0]}?" if near else "`shufflectl config show` lists them."
        raise WrongConfig(f"the environment variable {variable} is not known", f"a key behind {PREFIX}", hint)
    return found


def _flat(nested: Mapping[str, Any], under: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{under}{name}.")
        else:
            found[f"{under}{name}"] = value
    return found


def _origin(place: str, name: str) -> str:
    if place == "environment":
        return f"environment {PREFIX}{name.upper().replace('.', '__')}"
    return f"flag --{name.rpartition('.')[2].replace('_', '-')}" if place == "flag" else place


# ---- checking --------------------------------------------------------------------------------------------------------


def _check_known(layer: Mapping[str, object], place: str) -> None:
    known = [key.name for key in keys()]
    for name in layer:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else "`shufflectl config show` lists them."
            raise WrongConfig(f"{place}: the key {name!r} is not known", "a known key", hint)


def _validated(chosen: Mapping[str, object], origins: Mapping[str, str]) -> Config:
    nested: dict[str, Any] = {}
    for name, value in chosen.items():
        table, _, key = name.rpartition(".")
        (nested.setdefault(table, {}) if table else nested)[key] = value
    try:
        return Config(**nested)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        expected = first["msg"].removeprefix("Input should be ")
        told = "***" if any(key.secret and key.name == name for key in keys()) else repr(first["input"])
        place = origins.get(name, "")
        raise WrongConfig(f"{name} is {told} ({place})", expected, "Correct it there.") from None


def _check_silence(serve: ServeConfig, origins: Mapping[str, str]) -> None:
    if serve.silence_s < _SIGNS * serve.heartbeat_s:
        told = [
            f"serve.{key} is {getattr(serve, key):g} ({origins[f'serve.{key}']})"
            for key in ("silence_s", "heartbeat_s")
        ]
        expected = f"a silence of {_SIGNS} heartbeats or more: with less, drivers that live are taken for dead"
        raise WrongConfig(" and ".join(told), expected, "Lower the heartbeat, or allow a longer silence.")


# ---- describing ------------------------------------------------------------------------------------------------------


def _default(field: FieldInfo) -> str:
    value = field.default
    if isinstance(value, SecretStr):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(field: FieldInfo) -> str:
    names = {str: "text", SecretStr: "secret", bool: "true or false", int: "whole number", float: "number"}
    kind: Any = field.annotation
    return names.get(kind, "one of " + ", ".join(getattr(kind, "__args__", ())))


def _is_secret(field: FieldInfo) -> bool:
    return field.annotation is SecretStr
