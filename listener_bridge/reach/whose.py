"""Whose code a frame runs: the program's own, or somebody's library.

Responsible for: telling by its file name whether code belongs to the program; whether people type at it.
Refuses to know: what the code does.
Invariant: in doubt code is not the program's own: its names then count as alive.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType

_LIBRARY_FOLDERS = ("site-packages", "dist-packages")
_OUR_PACKAGES = ("listener_bridge", "coordinator", "state_backend", "replay")
_DEMO = ("coordinator", "demo")  # ours, and a program like any other


def is_own(frame: FrameType) -> bool:
    """Whether the frame runs the program's own code."""
    return is_own_file(frame.f_code.co_filename)


@lru_cache(maxsize=4096)
def is_own_file(name: str) -> bool:
    """Whether a file is the program's own: no library's, not Spark's, not ours, and a file at all."""
    if not name or name.startswith("<"):
        return False
    return not any(_is_library(path) for path in _both(name))


def is_interactive() -> bool:
    """Whether people may type any name at any time."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "IPython" in sys.modules


def _is_library(path: Path) -> bool:
    if path.parent.parts[-2:] == _DEMO:
        return False
    if any(folder in path.parts for folder in _LIBRARY_FOLDERS):
        return True
    return any(folder in _folders() for folder in path.parents)


@lru_cache(maxsize=1)
def _folders() -> frozenset[Path]:
    """Folders of the standard library, of installed libraries, of Spark's Python and of ourselves."""
    paths = sysconfig.get_paths()
    found = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [*site.getsitepackages(), site.getusersitepackages(), *_of_spark()]
    found += [str(_folder_of(name)) for name in ("pyspark", "py4j") if name in sys.modules]
    root = _folder_of("listener_bridge").parent
    found += [str(root / name) for name in _OUR_PACKAGES]
    return frozenset(path for name in found if name for path in _both(name))


def _of_spark() -> Iterator[str]:
    """Its Python, and not all of its home: images keep programs below that."""
    if home := os.environ.get("SPARK_HOME"):
        yield str(Path(home) / "python")


def _both(name: str) -> tuple[Path, Path]:
    """A path as it is written, and where it leads."""
    return Path(name).absolute(), Path(name).resolve()


def _folder_of(package: str) -> Path:
    return Path(str(sys.modules[package].__file__)).parent
