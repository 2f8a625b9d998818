"""Addresses of stores as people write them.

Responsible for: reading an address, and saying what is wrong with it. Refuses to know: how to open a store.
Invariant: no message and no `repr` carries a password.

`memory:` is a store of this process alone. `sqlite:///var/lib/store.db` is a file by its absolute path, and
`sqlite:store.db` by one relative to here. `etcd://user:password@host:port,host:port/prefix?ca=…&cert=…&key=…` is a
cluster; `ca` (or `tls=true`, for the system's authorities) turns TLS on, `cert` and `key` show who we are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from state_backend.errors import WrongAddress

PREFIX_BYTES_MAX = 64
#: What ends the path of an address, begins an escape in it, or is left out of it.
_SPECIAL = {ord(sign): f"%{ord(sign):02X}" for sign in "%#?\t\r\n"}

_OPTIONS = frozenset({"ca", "cert", "key", "tls"})


@dataclass(frozen=True, slots=True)
class MemoryAddress:
    """A store that ends with the process."""


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A file."""

    path: Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who we are to etcd."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files; without `ca` the system's authorities are trusted."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class EtcdAddress:
    """One cluster; any endpoint will do."""

    endpoints: tuple[str, ...]
    prefix: str = ""
    credentials: Credentials | None = None
    tls: TlsFiles | None = None


Address = MemoryAddress | SqliteAddress | EtcdAddress


def parse_address(text: str) -> Address:
    """Reads an address, or raises `WrongAddress`."""
    try:
        parts = urlsplit(text)
    except ValueError:
        raise WrongAddress(masked(text), "cannot be taken apart; write what is special in a password as %xx") from None
    if parts.scheme == "memory":
        return _memory(text, parts)
    if parts.scheme == "sqlite":
        return _sqlite(text, parts)
    if parts.scheme == "etcd":
        return _etcd(text, parts)
    if not parts.scheme and _is_there(text):
        raise WrongAddress(masked(text), f"has no scheme; a file is named as sqlite:{text}")
    raise WrongAddress(masked(text), f"has the scheme {parts.scheme!r}" if parts.scheme else "has no scheme")


def file_address(path: Path) -> str:
    """The address of the file at an absolute path; what has a meaning in addresses is written as %xx."""
    return f"sqlite://{str(path).translate(_SPECIAL)}"


def _is_there(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or no name at all
        return False


def _memory(text: str, parts: SplitResult) -> MemoryAddress:
    if parts.netloc or parts.path or parts.query:
        raise WrongAddress(masked(text), "says more than that the store is in memory")
    return MemoryAddress()


def _sqlite(text: str, parts: SplitResult) -> SqliteAddress:
    if parts.netloc:
        raise WrongAddress(masked(text), f"names a host, {masked(parts.netloc)!r}; a file needs three slashes")
    if parts.query or parts.fragment:
        raise WrongAddress(masked(text), "has options, which a file does not take")
    if not parts.path or parts.path.endswith("/"):
        raise WrongAddress(masked(text), "names no file")
    path = Path(unquote(parts.path))
    if not path.parent.is_dir():
        raise WrongAddress(masked(text), f"names a file in {path.parent}, which is not a folder")
    if path.is_dir():
        raise WrongAddress(masked(text), "names a folder; a store is a file in one")
    return SqliteAddress(path)


def _etcd(text: str, parts: SplitResult) -> EtcdAddress:
    login, _, hosts = parts.netloc.rpartition("@")
    endpoints = tuple(_endpoint(text, host) for host in hosts.split(","))
    if parts.fragment:
        raise WrongAddress(masked(text), "ends at a # (write %23)")
    prefix = unquote(parts.path).strip("/")
    if len(prefix.encode()) > PREFIX_BYTES_MAX or not prefix.isprintable():
        raise WrongAddress(masked(text), f"has a prefix that is no printable text of at most {PREFIX_BYTES_MAX} bytes")
    return EtcdAddress(endpoints, prefix, _credentials(text, login), _tls(text, parts.query))


def _endpoint(text: str, host: str) -> str:
    name, separator, port = host.rpartition(":")
    if not separator or not name or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise WrongAddress(masked(text), f"has {_shown(text, host)}, which is not host:port")
    return host


def _shown(text: str, host: str) -> str:
    """What stands before a slash may be the half of a password."""
    if _is_cut(text):
        return "a password with / # or ? in it (write %2F, %23, %3F), or an endpoint"
    return f"the endpoint {host!r}"


def _is_cut(text: str) -> bool:
    """Whether something before the @ has ended the part that names users and hosts."""
    return "@" in text and "@" not in urlsplit(text).netloc


def _credentials(text: str, login: str) -> Credentials | None:
    if not login:
        return None
    user, separator, password = login.partition(":")
    if not user or not separator:
        raise WrongAddress(masked(text), "has a user without a password, or a password without a user")
    return Credentials(unquote(user), unquote(password))


def _tls(text: str, query: str) -> TlsFiles | None:
    options = dict(parse_qsl(query.replace("+", "%2B"), keep_blank_values=True))  # no form was filled in: a + is one
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        told = "a password with a ? in it (write %3F), or an" if _is_cut(text) else "the"
        named = "" if _is_cut(text) else f" {unknown[0]!r}"
        raise WrongAddress(masked(text), f"has {told} unknown option{named}; known are {sorted(_OPTIONS)}")
    if options.get("tls", "true") != "true":
        raise WrongAddress(masked(text), f"has tls={options['tls']!r}; say tls=true or leave it out")
    if ("cert" in options) != ("key" in options):
        raise WrongAddress(masked(text), "has only one of cert and key; they go together")
    files = {name: _file(text, name, value) for name, value in options.items() if name != "tls"}
    return TlsFiles(**files) if options else None


def _file(text: str, name: str, value: str) -> Path:
    path = Path(value)
    try:
        if not path.is_file():
            raise WrongAddress(masked(text), f"names {name}={value!r}, which is not a file")
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:  # as where only the coordinators' user may
        raise WrongAddress(masked(text), f"names {name}={value!r}, which cannot be read ({error.strerror})") from None
    return path


def masked(text: str) -> str:
    """The address without its password, also where it cannot be read otherwise. A file's name may hold an @ too."""
    scheme, _, rest = text.partition(":")
    if scheme.lower() == "sqlite" and (rest.startswith("///") or not rest.startswith("//")):
        return text
    before, at, after = text.rpartition("@")
    if not at:
        return text
    scheme, slashes, login = before.partition("//") if "//" in before else ("", "", before)
    user, colon, _ = login.partition(":")
    return f"{scheme}{slashes}{user}{colon}{'***' if colon else ''}@{after}"
