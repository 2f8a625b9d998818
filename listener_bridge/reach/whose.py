"""Whose code a frame runs: the program's own, or somebody's library.

Responsible for: telling by its file name whether code belongs to the program, or could.
Refuses to know: what the code does.
Invariant: in doubt code is not the program's own: its names then count as alive.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType

_LIBRARY_FOLDERS = ("site-packages", "dist-packages")
_OUR_PACKAGES = ("listener_bridge", "coordinator", "state_backend", "replay")
_NO_PATH = (OSError, RuntimeError, ValueError)  # the working directory is gone, links in a circle, a null in a name
_DEMO = ("coordinator", "demo")  # ours, and a program like any other


def is_own(frame: FrameType) -> bool:
    """Whether the frame runs the program's own code."""
    return is_own_file(frame.f_code.co_filename)


@lru_cache(maxsize=4096)
def is_own_file(name: str) -> bool:
    """Whether a file is the program's own: no library's, not Spark's, not ours, and a file at all."""
    if not name or name.startswith("<"):
        return False
    try:
        return not any(_is_library(path) for path in _both(name))
    except _NO_PATH:
        return False


@lru_cache(maxsize=4096)
def is_machinery_file(name: str) -> bool:
    """Whether nobody's program stands in it, not even one that was installed.

    Python's own, Spark's, py4j's and ours; and what an installer writes to start a program.
    """
    try:
        return not name or name.startswith("<") or any(_is_machinery(path) for path in _both(name))
    except _NO_PATH:
        return True


def _is_library(path: Path) -> bool:
    if path.parent.parts[-2:] == _DEMO:
        return False
    if any(folder in path.parts for folder in _LIBRARY_FOLDERS):
        return True
    return any(folder in _folders() for folder in path.parents)


def _is_machinery(path: Path) -> bool:
    if any(folder in _folders_of_spark_and_ours() for folder in path.parents):
        return path.parent.parts[-2:] != _DEMO
    if path.parent in _scripts():
        return True
    is_installed = any(folder in path.parts for folder in _LIBRARY_FOLDERS)
    return not is_installed and any(folder in _standard_library() for folder in path.parents)


@lru_cache(maxsize=1)
def _folders() -> frozenset[Path]:
    """Folders of the standard library, of installed libraries, of Spark's Python and of ourselves."""
    paths = sysconfig.get_paths()
    found = [paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()]
    return _paths(found) | _standard_library() | _folders_of_spark_and_ours()


@lru_cache(maxsize=1)
def _standard_library() -> frozenset[Path]:
    """Installed libraries may lie in a folder of it."""
    return _paths([sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib")])


@lru_cache(maxsize=1)
def _scripts() -> frozenset[Path]:
    return _paths([sysconfig.get_paths()["scripts"]])


@lru_cache(maxsize=1)
def _folders_of_spark_and_ours() -> frozenset[Path]:
    found = [str(_folder_of(name)) for name in ("pyspark", "py4j") if name in sys.modules]
    root = _folder_of("listener_bridge").parent
    return _paths([*found, *_of_spark(), *(str(root / name) for name in _OUR_PACKAGES)])


def _paths(names: Iterable[str]) -> frozenset[Path]:
    return frozenset(path for name in names if name for path in _both(name))


def _of_spark() -> Iterator[str]:
    """Its Python, and not all of its home: images keep programs below that."""
    if home := os.environ.get("SPARK_HOME"):
        yield str(Path(home) / "python")


def _both(name: str) -> tuple[Path, Path]:
    """A path as it is written, and where it leads."""
    return Path(name).absolute(), Path(name).resolve()


def _folder_of(package: str) -> Path:
    return Path(str(sys.modules[package].__file__)).parent
