"""Which releases are installed.

Responsible for asking Python's packages. Refuses to import any of them. Invariant: a package that is not installed is
told by an empty text, never by an error.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def release(package: str = "shuffle-lifecycle") -> str:
    """The installed version, of this program unless told; empty where there is none, as where it runs from a folder."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
