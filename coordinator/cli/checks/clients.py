"""Checks of remote shuffle services' clients: does their jar hold what the driver part reaches into?

Responsible for finding the jars, among Spark's own and those that are named, and for looking for classes and names in
them. Refuses to start a JVM and to know what the members are for. Invariant: a jar that cannot be read is a finding,
and no error.

A member is looked for as a name in its class file, so a missing one is surely missing; whether one that is there is
still of the same shape shows when the driver compiles our Java against it: then it says so, and only observes.
"""

from __future__ import annotations

import importlib.util
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coordinator.cli.checks.finding import Finding, ok, warn
from listener_bridge.shuffle_services import celeborn, uniffle
from replay.history.finding import reason


@dataclass(frozen=True, slots=True)
class Client:
    """One service's client. `versions`: the only ones that are acted upon, where its jar tells its version."""

    name: str
    manager: str
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    says_version: str = ""
    versions: Sequence[str] = ()


CLIENTS = (
    Client(celeborn.CelebornShuffleService.name, celeborn.MANAGER, celeborn.MEMBERS),
    Client(uniffle.UniffleShuffleService.name, uniffle.MANAGER, {}, uniffle.SAYS_VERSION, uniffle.CLIENTS),
)
#: What a damaged jar, or one that is packed in another way, raises.
_UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, UnicodeDecodeError)
_OBSERVED = "With this client sessions are only observed; docs/remote-shuffle.md says which ones were tried."


def look(named: Sequence[Path] = ()) -> list[Finding]:
    """A finding for each client's jar; for each jar that was named and holds none, one more."""
    return [finding for jar in _jars(named) for finding in _of_jar(jar, jar in named)]


def _jars(named: Sequence[Path]) -> Iterator[Path]:
    yield from named
    home = os.environ.get("SPARK_HOME")
    spec = importlib.util.find_spec("pyspark") if not home else None
    origin = Path(spec.origin).parent if spec is not None and spec.origin else None
    spark = Path(home) if home else origin
    if spark is not None:
        yield from (jar for jar in sorted((spark / "jars").glob("*.jar")) if _may_be_client(jar.name))


def _may_be_client(name: str) -> bool:
    """By its name: opening each of Spark's jars would take seconds."""
    return name.startswith(("celeborn-client-spark", "rss-client-spark"))


def _of_jar(jar: Path, is_named: bool) -> Iterator[Finding]:
    try:
        with zipfile.ZipFile(jar) as archive:
            held = [client for client in CLIENTS if _path(client.manager) in archive.namelist()]
            yield from (_judged(client, jar, archive) for client in held)
    except _UNREADABLE as error:
        told = f"{jar} cannot be read ({reason(error)})"
        yield warn("client", told, "Name the jar that drivers have on their class path.")
        return
    if is_named and not held:
        known = " or ".join(client.name for client in CLIENTS)
        yield warn("client", f"{jar} holds no shuffle manager of {known}", "Name the client's shaded jar for Spark.")


def _judged(client: Client, jar: Path, archive: zipfile.ZipFile) -> Finding:
    check = client.name.lower()
    missing = list(_missing(client, archive))
    if missing:
        return warn(check, f"{jar.name} has no {', '.join(missing)}", _OBSERVED)
    version = _version(client, archive)
    if client.versions and version not in client.versions:
        tried = " and ".join(client.versions)
        return warn(check, f"{jar.name} is {version or 'of an unknown version'}; {tried} were tried", _OBSERVED)
    return ok(check, f"{jar.name}: what early deletion needs is there")


def _missing(client: Client, archive: zipfile.ZipFile) -> Iterator[str]:
    present = set(archive.namelist())
    for name, members in client.members.items():
        if _path(name) not in present:
            yield name
            continue
        content = archive.read(_path(name))
        yield from (f"{name}.{member}" for member in members if member.encode() not in content)


def _version(client: Client, archive: zipfile.ZipFile) -> str:
    """As its build says it, in Java's properties format; empty where it does not."""
    if client.says_version not in archive.namelist():
        return ""
    lines = archive.read(client.says_version).decode("latin-1").splitlines()
    told = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return told.get("version", "").strip()


def _path(name: str) -> str:
    return name.replace(".", "/") + ".class"
