"""How full the disks are.

Responsible for the two watermarks between which a disk that is full stays full, and for what a deletion frees. Refuses
to know who goes (``pressure``). Invariant: whether a disk is full follows from what was reported and freed alone.

Spark strews the files of a shuffle over its directories, and tasks over hosts; where the bytes of one shuffle lie is
not known here. So they count as strewn evenly over all disks that are known.
"""

from __future__ import annotations

from coordinator.core.making import replace
from coordinator.core.state import Disk, Meta
from coordinator.core.values import Settings


def reported(meta: Meta, told: Disk) -> Meta:
    """The disk as it is told. One that can hold nothing is not there any more, and no bytes lie on it."""
    known = {disk.disk: disk for disk in meta.disks}
    was_full = told.disk in known and known[told.disk].full
    known.pop(told.disk, None)
    if told.capacity_bytes:
        known[told.disk] = _judged(meta.settings, told, was_full)
    return replace(meta, disks=tuple(disk for _, disk in sorted(known.items())))


def freed(meta: Meta, freed_bytes: int) -> Meta:
    """So much is on no disk any more. What is counted (a capacity) is counted anew instead."""
    if not freed_bytes or not meta.disks or meta.settings.pressure_capacity_bytes:
        return meta
    share = freed_bytes // len(meta.disks)
    return replace(meta, disks=tuple(_less(meta.settings, disk, share) for disk in meta.disks))


def percent(disk: Disk, without_bytes: int = 0) -> int:
    """How far it is used, rounded down; ``without_bytes`` are about to go."""
    used_bytes = max(0, disk.used_bytes - without_bytes)
    return 100 * used_bytes // disk.capacity_bytes if disk.capacity_bytes else 0


def _less(settings: Settings, disk: Disk, freed_bytes: int) -> Disk:
    gone = min(freed_bytes, disk.used_bytes)
    return _judged(settings, Disk(disk.disk, disk.used_bytes - gone, disk.free_bytes + gone), disk.full)


def _judged(settings: Settings, disk: Disk, was_full: bool) -> Disk:
    used = percent(disk)
    full = used >= settings.pressure_high_percent or (was_full and used > settings.pressure_low_percent)
    return replace(disk, full=full)
