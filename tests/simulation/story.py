"""A schedule as data: what the world is like, and what happens in it, in order.

Responsible for the words of a schedule: as values, as text that one can paste, as sentences that one can read. Refuses
to carry anything out, and to chance. Invariant: a story holds all that differs from one schedule to another, so the
same story runs the same way each time, and a story with an entry left out is a story.

    replicas=2 rule=eager; make 0 0; go 0 6; commit 1 3 answer-lost; kill 1
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

Argument = int | str


@dataclass(frozen=True, slots=True)
class Setting:
    """What the world is like. Times in milliseconds."""

    replicas: int = 2
    drivers: int = 1
    rule: str = "reachable"
    completes: int = 1  #: Whether the service can complete a generation after a loss.
    batch: int = 20  #: Requests that a driver sends at once.
    store_ms: int = 2  #: What a write takes.
    link_ms: int = 1  #: What a message takes.
    skew_s: int = 0  #: By how much each further replica's wall clock is ahead.
    snapshot_every: int = 1_000
    history: int = 1_000  #: Commits that the store remembers.
    reap: int = 0  #: Whether replicas keep house.
    silence_s: int = 30

    def __str__(self) -> str:
        plain = Setting()
        named = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return " ".join(f"{name}={value}" for name, value in named if value != getattr(plain, name)) or "plain"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happens: a verb, and whom and what it is about."""

    verb: str
    arguments: tuple[Argument, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, (self.verb, *self.arguments)))

    @property
    def sentence(self) -> str:
        """It in words."""
        return SENTENCES[self.verb].format(*self.arguments)


@dataclass(frozen=True, slots=True)
class Story:
    """A whole schedule."""

    setting: Setting = Setting()
    entries: tuple[Entry, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, (self.setting, *self.entries)))

    def told(self) -> str:
        """It in lines that one can read."""
        lines = [f"  {number:2}. {entry.sentence}" for number, entry in enumerate(self.entries, 1)]
        return "\n".join([f"  in a world of: {self.setting}", *lines])

    def without(self, places: Iterable[int]) -> Story:
        """The story with these entries left out."""
        left_out = set(places)
        return replace(self, entries=tuple(e for place, e in enumerate(self.entries) if place not in left_out))

    @property
    def command(self) -> str:
        """What repeats it."""
        return f'python -m tests.simulation.run --story "{self}"'


def parsed(text: str) -> Story:
    """The story that the text says."""
    head, *entries = [part.split() for part in text.split(";")]
    told = dict(word.split("=") for word in head if "=" in word)
    setting = Setting(**{name: value if name == "rule" else int(value) for name, value in told.items()})  # type: ignore[arg-type]
    return Story(setting, tuple(_entry(verb, arguments) for verb, *arguments in entries))


def _entry(verb: str, arguments: list[str]) -> Entry:
    if verb not in SENTENCES:
        raise ValueError(f"{verb!r} is no verb of a story; expected one of: {', '.join(SENTENCES)}")
    return Entry(verb, tuple(int(word) if word.lstrip("-").isdigit() else word for word in arguments))


# ---- faults, by the place where they are met -------------------------------------------------------------------------

#: What a write may meet. Those of the second line leave its outcome open.
WRITE_FAULTS = (
    *("unavailable", "no-space", "denied", "too-large", "corrupt", "overtaken"),
    *("answer-lost", "request-lost", "late-10", "late-200", "late-4000"),
    *("dies-before", "dies-after", "slow-50", "slow-900"),
)
READ_FAULTS = ("unavailable", "denied", "corrupt", "slow-50", "slow-900", "dies-before")
SCAN_FAULTS = (*READ_FAULTS, "compacted")
LEASE_FAULTS = ("unavailable", "denied", "gone", "slow-900")
WATCH_FAULTS = ("compacted", "unavailable", "denied")
LINK_FAULTS = ("lost", "doubled", "late-5", "late-300", "late-8000", "cut", "half-cut")
REFUSALS = ("busy", "cannot", "failed", "revoked")

#: Kinds of calls to the store, each counted by itself for each run of a replica, from 0.
WRITES = ("commit", "beat", "snapshot", "house")
READS = ("head", "log", "read")

SENTENCES = {
    # the program of driver {0}
    "make": "driver {0}: the program makes a shuffle (choice {1}) and starts a job that reads it",
    "job": "driver {0}: one more job over what the program holds (choice {1})",
    "go": "driver {0}: Spark goes on, {1} steps",
    "fail": "driver {0}: a running stage fails (choice {1})",
    "cancel": "driver {0}: a job is cancelled (choice {1})",
    "let-go": "driver {0}: the program lets go of what it holds (choice {1})",
    "lose": "driver {0}: an executor takes outputs along (choice {1}), {2} of 3 are left",
    "look": "driver {0}: a look",
    "clean": "driver {0}: Spark's own cleaner runs",
    "ask": "driver {0}: a running task asks for its shuffle id (choice {1})",
    "miss": "driver {0}: a task misses what it reads (choice {1})",
    "pin": "driver {0}: somebody pins a shuffle (choice {1}) and takes the pin away",
    "refuse": "driver {0}: its directive {1} is answered with {2}",
    "forget": "driver {0}: Spark goes on, {1} steps, and the facts are dropped; a gap and a resync are told",
    "end": "driver {0}: the program ends",
    # the way of driver {0}
    "also": "driver {0}: what it has not been answered goes to another replica too (choice {1})",
    "task": "driver {0}: a task asks another replica by itself (choice {1})",
    "move": "driver {0}: goes to another replica (choice {1})",
    "sleep": "driver {0}: stands still for {1} s",
    "die": "driver {0}: dies",
    "up": "driver {0}: its message {1} is {2} on its way up",
    "down": "driver {0}: message {1} to it is {2} on its way down",
    # replicas, by the number of their run
    "kill": "a replica is killed (choice {0})",
    "stop": "a replica is stopped (choice {0}), what waits is committed",
    "start": "one more replica starts",
    "weather": "a replica (choice {0}) meets {2} at every call to the store for {1} ms",
    **{kind: f"run {{0}}: its {kind} {{1}} meets {{2}}" for kind in (*WRITES, *READS)},
    "lease": "run {0}: its call {1} about leases meets {2}",
    "watch": "run {0}: its watch meets {2} after {1} commits",
    # time
    "wait": "{0} ms pass",
}


#: Faults that wait for a call or a message: whose, which one, and what it meets.
COUNTED = frozenset({*WRITES, *READS, "lease", "watch", "up", "down"})
