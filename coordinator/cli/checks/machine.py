"""Checks of this machine: Python, Java, Spark, Janino, the libraries, the clock.

Responsible for what a driver and a coordinator need before they start. Refuses to start either. Invariant: nothing is
imported that would start a JVM, and nothing is changed.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from coordinator.cli.checks.finding import Finding, fail, ok, warn
from coordinator.release import release
from listener_bridge.shuffle_services import native
from listener_bridge.shuffle_services.obstacles import spelled

_OLDEST_JAVA = 17
_OLDEST = {"grpcio": (1, 62), "protobuf": (4, 25)}
_JARS = ("janino-", "commons-compiler-")
#: No clock was right before this release was made: 2026-01-01.
_RELEASED_S = 1_767_225_600


def python() -> Finding:
    """The interpreter; an older one could not have been started."""
    return ok("python", f"{platform.python_version()} at {sys.executable}")


def java() -> Finding:
    """The Java that Spark will start: JAVA_HOME's, else the first on the path."""
    path = java_path()
    if path is None:
        home = os.environ.get("JAVA_HOME")
        unset = "JAVA_HOME is not set, and there is no java on the path"
        why = f"JAVA_HOME is {home}, where no bin/java is" if home else unset
        return fail("java", f"none: {why}", _get_java())
    major, told = _java_version(path)
    if major is None:
        return fail("java", f"{path} does not tell its version ({told})", _get_java())
    if major < _OLDEST_JAVA:
        return fail("java", f"{told} at {path}", _get_java())
    return ok("java", f"{told} at {path}")


def java_path() -> str | None:
    """Where JAVA_HOME is set, Spark looks nowhere else."""
    home = os.environ.get("JAVA_HOME")
    if not home:
        return shutil.which("java")
    inside = Path(home) / "bin" / "java"
    return str(inside) if inside.is_file() else None


def _java_version(path: str) -> tuple[int | None, str]:
    try:
        done = subprocess.run([path, "-version"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    lines = done.stderr.decode(errors="replace").splitlines() or ["no output"]
    for line in lines:  # above it stands which options of the environment it has picked up
        if found := re.search(r'version "(?:1\.)?(\d+)[^"]*"', line):
            return int(found[1]), line
    return None, lines[0]


def _get_java() -> str:
    return f"Install Java {_OLDEST_JAVA} or 21 (apt install openjdk-17-jre-headless) and set JAVA_HOME to it."


def spark() -> Finding:
    """The PySpark of this Python, or of a Spark distribution."""
    found = release("pyspark") or _distributed()
    if not found:
        return warn("spark", "PySpark is not installed in this Python", "Drivers need it: pip install pyspark.")
    if _numbers(found)[:2] in native.ACTED_UPON:
        return ok("spark", found)
    *most, last = (spelled([version]) for version in native.ACTED_UPON)
    tried = f"{', '.join(most)} or {last}"
    return warn("spark", found, f"Not known here, so it is only observed, nothing is deleted; use {tried}.")


def _distributed() -> str:
    """The version of a PySpark that no package tool has installed: it came with Spark, by PYTHONPATH or SPARK_HOME."""
    home = os.environ.get("SPARK_HOME")
    folders = (pyspark_folder(), Path(home) / "python" / "pyspark" if home else None)
    for file in (folder / "version.py" for folder in folders if folder is not None):
        told = re.search(r"__version__.*= *['\"]([^'\"]+)", file.read_text()) if file.is_file() else None
        if told:
            return told[1]
    return ""


def pyspark_folder() -> Path | None:
    """Where this Python would import it from."""
    spec = importlib.util.find_spec("pyspark")
    return Path(spec.origin).parent if spec and spec.origin else None


def janino() -> Finding:
    """The compiler that the listener needs, among Spark's jars."""
    home = os.environ.get("SPARK_HOME") or pyspark_folder()
    if not home:
        return warn("janino", "no Spark to look into", "Install PySpark, or set SPARK_HOME.")
    jars = [jar.name for jar in (Path(home) / "jars").glob("*.jar")]
    missing = [name for name in _JARS if not any(jar.startswith(name) for jar in jars)]
    if missing:
        advice = "The plugin stays off without it; use an unmodified Spark distribution."
        return fail("janino", f"{' and '.join(missing)}*.jar missing in {home}/jars", advice)
    return ok("janino", next(jar for jar in jars if jar.startswith("janino-")))


def libraries() -> Finding:
    """gRPC and protobuf, which drivers share with their own programs."""
    told = ", ".join(f"{name} {release(name)}" for name in _OLDEST)
    old = [name for name, least in _OLDEST.items() if _numbers(release(name)) < least]
    if old:
        least = ", ".join(f"{name}>={'.'.join(map(str, _OLDEST[name]))}" for name in old)
        return fail("libraries", told, f"Too old for the generated protocol: pip install '{least}'.")
    return ok("libraries", told)


def clock() -> Finding:
    """The machine's clock; order never depends on it, grace and time-outs do."""
    now_s = time.time()
    told = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now_s))
    if now_s < _RELEASED_S:
        return warn("clock", f"{told}, before this release was made", "Set it, and keep it with NTP.")
    return ok("clock", told)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
