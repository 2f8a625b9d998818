"""Stories drawn by a seed.

Responsible for what schedules are like: most are short and sharp, some are long; each has faults that are met where
they hurt. Refuses to run them. Invariant: the same seed is the same story; chance is used here and nowhere else.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tests.simulation.story import (
    LEASE_FAULTS,
    LINK_FAULTS,
    READ_FAULTS,
    REFUSALS,
    SCAN_FAULTS,
    WATCH_FAULTS,
    WRITE_FAULTS,
    Entry,
    Setting,
    Story,
)

#: (share of schedules, acts, faults): most are short, and their faults stand close together.
SIZES = ((0.80, (3, 7), (1, 2)), (0.17, (8, 16), (2, 5)), (0.03, (24, 48), (6, 14)))
_ACTS = ("make", "make", "make", "job", "go", "go", "go", "go", "look", "let-go", "ask")
_RARE = ("lose", "fail", "cancel", "miss", "clean", "pin", "forget", "end")
_WEATHER = ("unavailable", "answer-lost", "request-lost", "denied", "no-space")


def drawn(seed: int) -> Story:
    """The story of this seed."""
    chance = random.Random(seed)
    _, acts, faults = chance.choices(SIZES, [size[0] for size in SIZES])[0]
    setting = _setting(chance, long=acts[0] > 20)
    entries = [entry for _ in range(chance.randint(*acts)) for entry in _acts(chance, setting)]
    reach = len(entries)
    for _ in range(chance.randint(*faults)):
        for entry in chance.choice(_FAULTS)(chance, setting, reach):
            entries.insert(chance.randint(1, len(entries)), entry)
    if not _sides(entries):
        entries.insert(chance.randint(1, len(entries)), chance.choice(_SIDES)(chance, setting, reach)[0])
    first = [Entry("make", (number, chance.randrange(16))) for number in range(setting.drivers)]
    return Story(setting, (*first, *entries))


def _setting(chance: random.Random, long: bool) -> Setting:
    plain = Setting(
        rule=chance.choice(("reachable", "reachable", "eager", "frontier")),
        completes=chance.choice((0, 1)),
        batch=chance.choice((1, 3, 20)),
        store_ms=chance.choice((1, 2, 8)),
        link_ms=chance.choice((1, 1, 4)),
        snapshot_every=chance.choice((12, 30, 1_000)),
        reap=int(chance.random() < 0.2),
    )
    if chance.random() < 0.1:
        plain = replace(plain, skew_s=chance.choice((-5, 30)))
    if chance.random() < 0.05:
        plain = replace(plain, history=chance.choice((3, 10)))
    if long or chance.random() < 0.08:
        plain = replace(plain, drivers=2, replicas=chance.choice((2, 3)))
    return plain


def _acts(chance: random.Random, setting: Setting) -> list[Entry]:
    """One step of a program; now and then a whole job, after which something is let go."""
    if chance.random() > 0.18:
        return [_act(chance, setting)]
    driver = chance.randrange(setting.drivers)
    let_go = [Entry("let-go", (driver, chance.randrange(4))), Entry("look", (driver,))]
    return [Entry("go", (driver, 8)), *(let_go if setting.rule == "reachable" else ())]


def _act(chance: random.Random, setting: Setting) -> Entry:
    driver = chance.randrange(setting.drivers)
    roll = chance.random()
    if roll < 0.12:
        return Entry("wait", (chance.choice((5, 40, 300, 2_000)),))
    verb = chance.choice(_RARE) if roll < 0.27 else chance.choice(_ACTS)
    if verb == "end" and chance.random() < 0.7:
        verb = "go"
    if verb in ("go", "forget"):
        return Entry(verb, (driver, chance.randint(1, 6)))
    if verb in ("look", "clean", "end"):
        return Entry(verb, (driver,))
    if verb == "lose":
        return Entry(verb, (driver, chance.randrange(16), chance.randrange(3)))
    return Entry(verb, (driver, chance.randrange(16)))


# ---- faults ----------------------------------------------------------------------------------------------------------


Faults = list[Entry]


def _write(chance: random.Random, setting: Setting, reach: int) -> Faults:
    """A write, mostly a commit, and mostly the replica that the first driver is at."""
    kind = chance.choice(("commit", "commit", "commit", "commit", "beat", "snapshot", "house"))
    most = {"commit": 3 + reach // 2, "beat": 2, "snapshot": 3, "house": 2}[kind]
    return [Entry(kind, (_run_of(chance, setting), chance.randrange(most), chance.choice(WRITE_FAULTS)))]


def _doubt(chance: random.Random, setting: Setting, reach: int) -> Faults:
    """A commit whose outcome is open, and a read that fails in the very moment when somebody wants to know."""
    run, number = _run_of(chance, setting), chance.randrange(2 + reach // 2)
    unknown = chance.choice(("answer-lost", "request-lost", "late-10", "late-200"))
    reads = [Entry("read", (run, chance.randrange(4 + reach), chance.choice(READ_FAULTS)))]
    return [Entry("commit", (run, number, unknown)), *reads * chance.randint(0, 1)]


def _read(chance: random.Random, setting: Setting, reach: int) -> Faults:
    kind = chance.choice(("head", "log", "read"))
    faults = SCAN_FAULTS if kind == "log" else READ_FAULTS
    return [Entry(kind, (_run_of(chance, setting), chance.randrange(3 + reach), chance.choice(faults)))]


def _lease(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("lease", (_run_of(chance, setting), chance.randrange(4), chance.choice(LEASE_FAULTS)))]


def _watch(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("watch", (_run_of(chance, setting), chance.randrange(4), chance.choice(WATCH_FAULTS)))]


def _link(chance: random.Random, setting: Setting, reach: int) -> Faults:
    way = chance.choice(("up", "down"))
    number = chance.randrange(1, 4 + reach // 2)
    return [Entry(way, (chance.randrange(setting.drivers), number, chance.choice(LINK_FAULTS)))]


def _refusal(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("refuse", (chance.randrange(setting.drivers), chance.randrange(3), chance.choice(REFUSALS)))]


def _kill(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("kill", (chance.randrange(3),))]


def _stop(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("stop", (chance.randrange(3),)), Entry("start")]


def _weather(chance: random.Random, setting: Setting, reach: int) -> Faults:
    ms = chance.choice((20, 200, 3_000))
    return [Entry("weather", (chance.randrange(3), ms, chance.choice(_WEATHER)))]


def _also(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("also", (chance.randrange(setting.drivers), chance.randrange(2)))]


def _task(chance: random.Random, setting: Setting, reach: int) -> Faults:
    driver = chance.randrange(setting.drivers)
    return [Entry("task", (driver, chance.randrange(4))), Entry("also", (driver, chance.randrange(2)))]


def _move(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("move", (chance.randrange(setting.drivers), chance.randrange(2)))]


def _sleep(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("sleep", (chance.randrange(setting.drivers), chance.choice((1, 8) if not setting.reap else (8, 60))))]


def _die(chance: random.Random, setting: Setting, reach: int) -> Faults:
    return [Entry("die", (chance.randrange(setting.drivers),))] if setting.reap else _move(chance, setting, reach)


def _run_of(chance: random.Random, setting: Setting) -> int:
    """Runs are numbered as they start; the first driver begins at the first."""
    return chance.choice((0, 0, 0, 0, 1, 1, setting.replicas))


Draw = Callable[[random.Random, Setting, int], Faults]

_FAULTS: tuple[Draw, ...] = (
    *(_write, _write, _write, _write, _write, _doubt, _doubt, _doubt, _read, _read, _lease, _watch),
    *(_link, _link, _link, _link, _refusal, _kill, _kill, _stop, _weather, _weather, _also, _task, _move, _sleep, _die),
)
#: What brings a second replica into the story.
_SIDES: tuple[Draw, ...] = (_kill, _also, _task, _move)


def _sides(entries: list[Entry]) -> bool:
    return any(entry.verb in ("kill", "stop", "also", "task", "move") for entry in entries)
