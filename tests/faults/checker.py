"""What histories and the final log prove together.

Responsible for saying what is wrong, in words that begin with what was promised: `fork`, `gap`, `acknowledged`,
`order`, `reader`, `answer`, `recovery`, `ids`, `fence`, `store`, `reaped`, and of `releases`. Refuses to know the
implementation: it reads the store's bytes (`fold`), and what was written down by those who asked (`history`).
Invariant: an empty list means that each of these was looked at and held; it fails where it must (`test_checker`).

An answer was right if it was so at some moment between question and answer. The log is one line of such moments: the
commit that recorded the answer is the earliest, and the latest is before whatever was first asked after the answer.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shuffle_lifecycle.v1 import common_pb2

from tests.faults import releases
from tests.faults.fold import EXPIRED, FENCING, GONE, PARTIAL, READABLE, WRITING, Log, read_logs
from tests.faults.history import Action

_FACTS = {
    "report_job_started": "job",
    "report_job_ended": "job",
    "report_stage_submitted": "stage",
    "report_stage_completed": "stage",
}
_EVER = 1 << 62
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong, and how much was looked at."""

    wrong: tuple[str, ...]
    counts: Mapping[str, int]


def check(store: Mapping[str, bytes], actions: Sequence[Action]) -> Findings:
    """Everything. ``actions`` of all processes, in the order in which they began."""
    logs = read_logs(store)
    by_application: defaultdict[str, list[Action]] = defaultdict(list)
    for action in actions:
        by_application[action.who].append(action)
    wrong = []
    counts: Counter[str] = Counter()
    for name, log in sorted(logs.items()):
        wrong += [f"{name}: {each}" for each in _of_application(log, by_application[name], actions, counts)]
    wrong += _unheard_of(logs, actions)
    wrong += _store(logs, actions, counts)
    wrong += releases.check(logs, actions, counts)
    return Findings(tuple(wrong), counts)


def _of_application(log: Log, mine: list[Action], everybody: Sequence[Action], counts: Counter[str]) -> list[str]:
    asked = [action for action in mine if "number" in action.told]
    ok = [action for action in asked if action.outcome == "ok"]
    counts["applications"] += 1
    counts["events"] += log.last
    counts["segments"] += len(log.segments)
    counts.update(f"requests {action.outcome}" for action in asked)
    counts["answers judged"] += sum(action.told.get("answer") in _JUDGES for action in ok)
    counts["reads of data"] += sum(action.what == "read" for action in mine)
    counts["fences"] += len(log.fences)
    counts["recoveries"] += sum(map(len, log.opened.values()))
    wrong = list(log.wrong)
    for found in (
        _commits(log),
        _acknowledged(log, ok),
        _order(log, ok),
        _answers(log, ok),
        _recoveries(log, ok),
        _reads(mine),
        _fences(log),
        _reaped(log, everybody),
    ):
        wrong += list(found)[:SHOWN]
    return wrong


# ---- the log ---------------------------------------------------------------------------------------------------------


def _commits(log: Log) -> Iterable[str]:
    for commit, count in Counter(segment.commit for segment in log.segments).items():
        if count > 1:
            yield f"fork: commit {commit!r} is in the log {count} times"
    for (client, number), places in log.answered.items():
        if len(places) > 1:
            yield f"fork: request {number} of {client} was answered {len(places)} times"


def _unheard_of(logs: Mapping[str, Log], actions: Sequence[Action]) -> Iterable[str]:
    told = {action.who for action in actions if "number" in action.told and action.outcome == "ok"}
    return [f"acknowledged: application {name} has no log at all" for name in sorted(told - set(logs))]


# ---- what was acknowledged -------------------------------------------------------------------------------------------


def _acknowledged(log: Log, ok: Iterable[Action]) -> Iterable[str]:
    for action in ok:
        told = action.told
        if (told["client"], told["number"]) not in log.answered:
            yield f"acknowledged: {_named(action)} is not in the log"
        key = _FACTS.get(action.what)
        if key is not None and (action.what, told.get(key, 0)) not in log.facts:
            yield f"acknowledged: {_named(action)} was accepted, and no event says so"


def _order(log: Log, ok: Sequence[Action]) -> Iterable[str]:
    """What was answered before something else was asked stands before it."""
    placed = [(action, place) for action in ok if not action.told.get("again") and (place := _place(log, action))]
    ended = sorted(((action.ended_s or 0.0, place[1], action) for action, place in placed), key=lambda one: one[0])
    highest, at = 0, 0
    before: Action | None = None
    for action, place in sorted(placed, key=lambda one: one[0].begun_s):
        while at < len(ended) and ended[at][0] < action.begun_s:
            if ended[at][1] > highest:
                highest, before = ended[at][1], ended[at][2]
            at += 1
        if place[1] < highest and before is not None:
            yield f"order: {_named(action)} stands at {place[1]}, and {_named(before)}, answered before, at {highest}"


def _place(log: Log, action: Action) -> tuple[int, int] | None:
    places = log.answered.get((action.told["client"], action.told["number"]))
    return places[0] if places else None


# ---- answers ---------------------------------------------------------------------------------------------------------


def _answers(log: Log, ok: Sequence[Action]) -> Iterable[str]:
    latest = _Latest(log, ok)
    for action in ok:
        judge = _JUDGES.get(action.told.get("answer", ""))
        place = _place(log, action)
        if judge is not None and place is not None and action.what in ("get_shuffle_id", "report_missing"):
            once = action.told.get("tries") == 1 and not action.told.get("again")
            why = judge(log, action, place[0] - 1, place[1] if once else latest.before(action))
            if why:
                yield f"answer: {_named(action)} was told {action.told['answer']}: {why}"


class _Latest:
    """How far the log can have been when an action ended."""

    def __init__(self, log: Log, ok: Sequence[Action]) -> None:
        firsts = [a for a in ok if not a.told.get("again") and _place(log, a)]
        placed = sorted((action.begun_s, (_place(log, action) or (0, 0))[1]) for action in firsts)
        self._begun = [begun_s for begun_s, _ in placed]
        self._least = [place for _, place in placed]
        for at in range(len(placed) - 2, -1, -1):
            self._least[at] = min(self._least[at], self._least[at + 1])

    def before(self, action: Action) -> int:
        at = bisect.bisect_right(self._begun, action.ended_s or 0.0)
        return self._least[at] if at < len(self._least) else _EVER


def _judge_ready(log: Log, action: Action, low: int, high: int) -> str:
    told = action.told
    generation = log.generations.get(told["answered_id"])
    if generation is None or generation.app_shuffle != told.get("app_shuffle", 0):
        return f"generation {told['answered_id']} is none of app shuffle {told.get('app_shuffle', 0)}"
    if generation.shuffle_id not in log.current(generation.app_shuffle, low, high):
        return f"generation {generation.shuffle_id} was not the newest between {low} and {high}"
    wanted = (WRITING, PARTIAL, READABLE, EXPIRED) if told.get("write") else (READABLE,)
    if not generation.was(wanted, low, high):
        return f"generation {generation.shuffle_id} was {generation.life_at(low)} from {low} to {high}"
    return ""


def _judge_not_ready(log: Log, action: Action, low: int, high: int) -> str:
    """Never while it could be read all the time."""
    generation = log.generations.get(action.told["answered_id"])
    if generation is None or generation.was((WRITING, PARTIAL, FENCING, *GONE), low, high):
        return ""
    current = log.current(generation.app_shuffle, low, high)
    if current == {generation.shuffle_id} and generation.life_at(low) == READABLE and not action.told.get("write"):
        return f"generation {generation.shuffle_id} was readable from {low} to {high}"
    return ""


def _judge_recover(log: Log, action: Action, low: int, high: int) -> str:
    missing, recovery = action.told["missing"], action.told["recovery"]
    if missing not in log.covers.get(recovery, ()):
        return f"recovery {recovery} does not answer for generation {missing}"
    generation = log.generations.get(missing)
    if generation is None or not generation.was(GONE, low, high):
        return f"generation {missing} was not gone between {low} and {high}"
    return ""


_JUDGES = {"ready": _judge_ready, "not_ready": _judge_not_ready, "recover": _judge_recover}


def _recoveries(log: Log, ok: Iterable[Action]) -> Iterable[str]:
    for missing, opened in log.opened.items():
        if len(opened) > 1:
            yield f"recovery: generation {missing} has {len(opened)}: {[recovery for _, recovery in opened]}"
    told: defaultdict[int, set[int]] = defaultdict(set)
    for action in ok:
        if action.told.get("answer") == "recover":
            told[action.told["missing"]].add(action.told["recovery"])
    for missing, recoveries in told.items():
        if len(recoveries) > 1:
            yield f"recovery: who missed generation {missing} was told of {sorted(recoveries)}"


# ---- data ------------------------------------------------------------------------------------------------------------


def _reads(mine: Sequence[Action]) -> Iterable[str]:
    """Nothing is freed while somebody reads it, and who was told to read finds something."""
    freed = [action for action in mine if action.what == "freed"]
    for read in (action for action in mine if action.what == "read" and action.outcome != "unknown"):
        if read.outcome == "failed":
            yield f"reader: {_named(read)} found no data"
        for one in freed:
            same = one.told["app_shuffle"] == read.told["app_shuffle"] and one.told["count"] == read.told["count"]
            if same and read.begun_s < one.begun_s < (read.ended_s or 0.0):
                yield f"reader: {_named(read)} read what was freed meanwhile"


def _fences(log: Log) -> Iterable[str]:
    if log.ending:
        return
    for directive, how in log.fences.items():
        if not how:
            yield f"fence: directive {directive} has no outcome"


# ---- the store, and the reaper ---------------------------------------------------------------------------------------


def _store(logs: Mapping[str, Log], actions: Sequence[Action], counts: Counter[str]) -> Iterable[str]:
    """What the store said of an append is so."""
    commits = {segment.commit for log in logs.values() for segment in log.segments}
    outcomes: defaultdict[str, set[str]] = defaultdict(set)
    for action in actions:
        if action.what == "append":
            counts[f"appends {action.outcome}"] += 1
            outcomes[action.told["commit"]].add(action.outcome)
    wrong = [
        f"store: the append of {commit!r} was acknowledged, and it is not in the log"
        for commit, found in outcomes.items()
        if "ok" in found and commit not in commits
    ]
    return wrong + [
        f"store: the append of {commit!r} was refused each time, and it is in the log"
        for commit, found in outcomes.items()
        if found == {"failed"} and commit in commits
    ]


def _reaped(log: Log, everybody: Sequence[Action]) -> Iterable[str]:
    """Nobody is given up but for his own silence."""
    if log.ending != common_pb2.ENDING_LOST:
        return
    silent = [action for action in everybody if log.application in action.told.get("silenced", ())]
    if not silent:
        yield "reaped: it was given up, and its driver was never killed, paused or cut off"


def _named(action: Action) -> str:
    told = action.told
    who = f"request {told['number']} of {told['client']}" if "number" in told else f"stage {told.get('stage')}"
    what = {key: told[key] for key in ("job", "stage", "app_shuffle", "shuffle_id", "answered_id") if key in told}
    return f"{action.what} ({who}, {what})"
