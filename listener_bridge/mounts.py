"""Which file systems other machines share.

Responsible for telling, for a path, whether what lies there may be opened by other machines too: SQLite's write-ahead
log works among the processes of one machine only (sqlite.org/wal.html), and home folders of clusters are often shared.
Refuses to know what is kept there. Invariant: what cannot be told is taken for this machine's own.
"""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

SHARED = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "ocfs2", "gfs2"),
        *("ceph", "glusterfs", "lustre", "gpfs", "beegfs", "orangefs", "wekafs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.s3fs", "fuse.gcsfuse", "fuse.juicefs"),
        *("fuse.mount-s3", "fuse.rclone", "fuse.blobfuse", "fuse.blobfuse2", "fuse.alluxio-fuse", "fuse.hdfs"),
    }
)


def shared_as(path: Path) -> str:
    """The type of the file system that other machines share, such as `nfs4`; empty where it is this machine's own."""
    kind = kind_of(path, _mounts())
    return kind if kind in SHARED else ""


def kind_of(path: Path, mounts: str) -> str:
    """The type of the file system on which a path lies, or will lie; `mounts` as of proc(5), `/proc/PID/mountinfo`."""
    here, found, kind = path.absolute().resolve(), Path(), ""
    for line in mounts.splitlines():
        place, mounted = _mount(line)
        if place is not None and here.is_relative_to(place) and len(place.parts) >= len(found.parts):
            found, kind = place, mounted  # of two at one place the later one hides the earlier
    return kind


def _mount(line: str) -> tuple[Path | None, str]:
    fields, separator, rest = line.partition(" - ")
    places, kinds = fields.split(" "), rest.split(" ")
    if not separator or len(places) < 5:
        return None, ""
    return Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), places[4])), kinds[0]


def _mounts() -> str:
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
