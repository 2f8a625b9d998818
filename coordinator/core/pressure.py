"""Which generation goes first where a disk is full.

Responsible for the order of policy `pressure`: what nobody can reach, then what lies behind the frontier, then what by
all that is known nobody needs; in each the cheapest to write again per byte. Refuses to know who may go at all
(``policies``) and how a fence is carried out. Invariant: nothing is chosen unless a disk is full and would still be
above its low watermark when all that is on its way out has gone.

Where no disk can be seen, an application is given a capacity for its shuffle data: then what is complete and not yet
deleted is counted, as one disk. (What a running stage writes is not known before it ends.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from coordinator.core import cuts, disks, policies
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import Disk, Generation, State
from coordinator.core.values import Expiry, Hold, Pressed, Rule

#: Disks that one application may tell of.
DISKS = 64
#: What data that are counted are called.
COUNTED = "shuffle data of the application"

#: What is taken for gone already as a disk is judged; of `lifecycle.GOING` without what waits for its fence.
_BEING_FREED = frozenset({Life.FENCING, Life.FENCED})


class _Group(IntEnum):
    """How sure it is that nobody needs a generation; the surest go first."""

    UNREACHABLE = 0  #: Its rule has let it go: no root reaches it.
    BEHIND = 1  #: It lies behind the frontier.
    UNNEEDED = 2  #: Nobody is known to need it.


#: The group that goes first, task milliseconds per byte, the largest, the oldest.
_Key: TypeAlias = tuple[_Group, float, int, ShuffleId]


@dataclass(frozen=True, slots=True)
class Choice:
    """What goes next, and why."""

    generation: Generation
    pressed: Pressed


def account(state: State) -> e.DiskReported | None:
    """What is counted, where it has passed a watermark; None: it has not, or nothing is counted."""
    counted = _counted(state)
    if counted is None or disks.reported(state.meta, counted).full is state.meta.full:
        return None
    return e.DiskReported(counted.disk, counted.used_bytes, counted.free_bytes)


def choose(state: State, now_ms: int) -> Choice | None:
    """The next to be fenced; None: nothing has to go, or nothing can."""
    disk = fullest(state)
    if disk is None:
        return None
    view = policies.View(state)
    ranked = ((group, one) for one in state.generations.values() if (group := _group(view, one, now_ms)) is not None)
    first = min((_key(state, *one) for one in ranked), default=None)
    if first is None:
        return None
    generation = state.generations[first[-1]]
    high = state.meta.settings.pressure_high_percent
    used = min(100, _percent(state, disk, _going_bytes(state)))
    return Choice(generation, Pressed(disk.disk, used, high, generation.bytes, cost_ms(state, generation)))


def next_due_ms(state: State) -> int | None:
    """When a full disk may take one that was used too lately until then, in event time; None: there is none."""
    if fullest(state) is None:
        return None
    view = policies.View(state)
    resting = ((policies.rested_ms(view, one), one) for one in state.generations.values())
    return min((due_ms for due_ms, one in resting if policies.may_be_pressed(view, one, due_ms)), default=None)


def fullest(state: State) -> Disk | None:
    """Of the disks that are full, and will be above the low watermark whatever is on its way out, the fullest."""
    if not state.meta.full:
        return None
    going, low = _going_bytes(state), state.meta.settings.pressure_low_percent
    above = [disk for disk in _present(state) if disk.full and _percent(state, disk, going) > low]
    return max(above, key=lambda disk: (_percent(state, disk, going), disk.disk), default=None)


def _percent(state: State, disk: Disk, going_bytes: int) -> int:
    """How far it is used when so much has gone. What is counted may be more than its capacity."""
    capacity_bytes = state.meta.settings.pressure_capacity_bytes
    if not capacity_bytes:
        return disks.percent(disk, going_bytes)
    return 100 * max(0, disk.used_bytes - going_bytes) // capacity_bytes


def cost_ms(state: State, generation: Generation) -> int:
    """Task time to write it again: its own, and that of what is gone behind it."""
    behind = cuts.reached(state, cuts.reads_of(state, generation.app_shuffle))
    gone = (one for one in behind if not _is_there(state.current(one)))
    return sum(_task_ms(state, one) for one in {generation.app_shuffle, *gone})


def _is_there(generation: Generation | None) -> bool:
    return generation is not None and generation.intact


def _task_ms(state: State, app_shuffle: AppShuffle) -> int:
    shuffle = state.shuffles.get(app_shuffle)
    return shuffle.task_ms if shuffle is not None else 0


def _group(view: policies.View, generation: Generation, now_ms: int) -> _Group | None:
    """Which group it belongs to; None: it may not go."""
    if generation.life is Life.EXPIRED:
        if generation.hold is not Hold.PRESSURE or policies.policy_of(view.state, generation).rule is not Rule.PRESSURE:
            return None
        if generation.why is not Expiry.PRESSED:
            return _Group.UNREACHABLE
    elif not policies.may_be_pressed(view, generation, now_ms):
        return None
    return _Group.BEHIND if policies.is_behind(view, generation) else _Group.UNNEEDED


def _key(state: State, group: _Group, generation: Generation) -> _Key:
    per_byte = cost_ms(state, generation) / max(1, generation.bytes)
    return group, per_byte, -generation.bytes, generation.shuffle_id


def _present(state: State) -> tuple[Disk, ...]:
    """The disks as they are now."""
    counted = _counted(state)
    if counted is None:
        return state.meta.disks
    return disks.reported(state.meta, counted).disks


def _counted(state: State) -> Disk | None:
    capacity = state.meta.settings.pressure_capacity_bytes
    if not capacity:
        return None
    used = sum(generation.bytes for generation in state.generations.values())
    return Disk(COUNTED, used, max(0, capacity - used))


def _going_bytes(state: State) -> int:
    """How many bytes each disk will have less when what is being fenced, or is fenced, was freed."""
    going = sum(one.bytes for one in state.generations.values() if one.life in _BEING_FREED)
    return going // max(1, len(state.meta.disks))
