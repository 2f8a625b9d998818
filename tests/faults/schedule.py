"""What goes wrong, when, and for how long: a list that a seed makes.

Responsible for choosing faults and targets. Refuses to carry them out (`nemesis`). Invariant: the same seed, length and
kinds give the same list, whatever the machine does; real processes then differ in what they were doing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

REPLICAS, MEMBERS = ("r0", "r1", "r2"), ("e0", "e1", "e2")
LEADER = "leader"


class Kind(Enum):
    """A sort of fault."""

    KILL_REPLICA = "kill a replica"
    PAUSE_REPLICA = "pause a replica"
    OLDER_REPLICA = "a replica is of the older release"
    KILL_MEMBER = "kill an etcd member"
    KILL_LEADER = "kill the etcd leader"
    PAUSE_MEMBER = "pause an etcd member"
    PAUSE_LEADER = "pause the etcd leader"
    KILL_DRIVERS = "kill drivers"
    PAUSE_DRIVERS = "pause drivers"
    CUT = "cut a link"
    CUT_ONE_WAY = "cut a link one way"
    FLAP = "a link comes and goes"
    DELAY = "delay a link"
    BREAK = "break connections"
    LOSE_REPLIES = "lose replies"
    COMPACT = "compact etcd"
    FILL = "etcd is out of space"
    CLOCK = "a replica's clock jumps"
    STARVE = "a replica is short of memory"


#: How likely each is, beside the others.
WEIGHTS = {
    Kind.KILL_REPLICA: 4,
    Kind.PAUSE_REPLICA: 3,
    Kind.OLDER_REPLICA: 2,
    Kind.KILL_MEMBER: 2,
    Kind.KILL_LEADER: 2,
    Kind.PAUSE_MEMBER: 2,
    Kind.PAUSE_LEADER: 2,
    Kind.KILL_DRIVERS: 1,
    Kind.PAUSE_DRIVERS: 1,
    Kind.CUT: 3,
    Kind.CUT_ONE_WAY: 3,
    Kind.FLAP: 2,
    Kind.DELAY: 2,
    Kind.BREAK: 2,
    Kind.LOSE_REPLIES: 3,
    Kind.COMPACT: 2,
    Kind.FILL: 1,
    Kind.CLOCK: 2,
    Kind.STARVE: 1,
}
MOMENTS = frozenset({Kind.BREAK, Kind.COMPACT, Kind.KILL_DRIVERS})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, seconds after the beginning, for so many seconds (0: it is a moment).

    ``much``: seconds of a delay, of one swing of a link that comes and goes, or by which a clock is off.
    """

    at_s: float
    for_s: float
    kind: Kind
    targets: tuple[str, ...] = ()
    much: float = 0.0

    def __str__(self) -> str:
        lasts = f" for {self.for_s:.1f} s" if self.for_s else ""
        much = f", {self.much:g} s" if self.much else ""
        return f"{self.at_s:7.1f} s  {self.kind.value} {' '.join(self.targets)}{lasts}{much}"


def schedule(
    seed: int, seconds: float, kinds: Sequence[Kind] = tuple(Kind), pause_s: tuple[float, float] = (1.0, 5.0)
) -> list[Fault]:
    """Faults one after the other, now and then two at once, with pauses between them; the last ends in time."""
    chance = random.Random(seed)
    chosen = sorted(kinds, key=lambda kind: kind.name)
    faults: list[Fault] = []
    at_s = chance.uniform(*pause_s)
    while True:
        fault = _fault(chance, at_s, chance.choices(chosen, [WEIGHTS[kind] for kind in chosen])[0])
        if fault.at_s + fault.for_s > seconds:
            return faults
        faults.append(fault)
        together = chance.random() < 0.15
        at_s += (0.0 if together else fault.for_s) + chance.uniform(*pause_s)


def _fault(chance: random.Random, at_s: float, kind: Kind) -> Fault:
    lengths_s = (6.0, 12.0, 24.0) if kind is Kind.OLDER_REPLICA else (0.3, 1.0, 3.0, 6.0, 12.0)
    for_s = 0.0 if kind in MOMENTS else round(chance.choice(lengths_s) * chance.uniform(0.7, 1.3), 2)
    return Fault(round(at_s, 2), for_s, kind, _targets(chance, kind), _much(chance, kind))


def _much(chance: random.Random, kind: Kind) -> float:
    if kind is Kind.CLOCK:
        return chance.choice((-3_600.0, -5.0, 5.0, 60.0, 3_600.0))
    return chance.choice((0.01, 0.1, 0.5)) if kind in (Kind.DELAY, Kind.FLAP) else 0.0


def _targets(chance: random.Random, kind: Kind) -> tuple[str, ...]:
    if kind in (Kind.KILL_REPLICA, Kind.PAUSE_REPLICA, Kind.OLDER_REPLICA, Kind.CLOCK, Kind.STARVE):
        return (chance.choice(REPLICAS),)
    if kind in (Kind.KILL_MEMBER, Kind.PAUSE_MEMBER):
        return (chance.choice(MEMBERS),)
    if kind in (Kind.KILL_LEADER, Kind.PAUSE_LEADER):
        return (LEADER,)
    if kind in (Kind.CUT, Kind.CUT_ONE_WAY, Kind.FLAP, Kind.DELAY, Kind.BREAK, Kind.LOSE_REPLIES):
        return _link(chance)
    return ()


def _link(chance: random.Random) -> tuple[str, str]:
    """From whom, to whom: a driver's to a replica, a replica's to a member, or between members; one end may be all."""
    sort = chance.randrange(4)
    if sort == 0:
        return "driver", chance.choice((*REPLICAS, *REPLICAS, "*r"))
    if sort == 1:
        return chance.choice(REPLICAS), chance.choice((*MEMBERS, "*e", "*e"))
    if sort == 2:
        one, other = chance.sample(MEMBERS, 2)
        return one, other
    return chance.choice(MEMBERS), "*e"
