"""A file system of a few megabytes, for one process and what it starts.

Responsible for a tmpfs that is mounted in a user and mount namespace of its own. Refuses to know who fills it.
Invariant: nobody else sees the mount, and it is gone when the process is.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path


class NoSmallDisk(RuntimeError):  # noqa: N818 - it says what is so
    """This machine does not let us mount anything: what was tried, what it said."""


def on_a_small_disk(folder: Path, size_bytes: int, command: Sequence[str]) -> list[str]:
    """The command, to be run with `folder` as a disk of that size. Raises `NoSmallDisk`."""
    _check()
    return _unshared(f"mount -t tmpfs -o size={size_bytes} tmpfs {shlex.quote(str(folder))}", command)


@lru_cache(maxsize=1)
def _check() -> None:
    if shutil.which("unshare") is None:
        raise NoSmallDisk("a small disk takes a mount namespace, and there is no `unshare` here")
    tried = subprocess.run(_unshared("mount -t tmpfs tmpfs /mnt", ["true"]), capture_output=True, text=True)
    if tried.returncode:
        told = tried.stderr.strip().splitlines()[-1:] or [f"exit {tried.returncode}"]
        raise NoSmallDisk(f"a small disk takes a mount namespace, which is not permitted here: {told[0]}")


def _unshared(mount: str, command: Sequence[str]) -> list[str]:
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", *command]
