"""What was done and what came of it, as lines that survive a SIGKILL.

Responsible for one file a process, a line when an action begins and one when it ends, with the machine's monotonic
clock, which all processes share. Refuses to know what actions mean. Invariant: a line is written whole before its call
returns; an action without an end has the outcome `unknown`.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["ok", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that somebody did. Seconds are monotonic; ``told``: what was asked, then what was answered."""

    who: str
    what: str
    begun_s: float
    ended_s: float | None = None
    outcome: Outcome = "unknown"
    told: dict[str, Any] = field(default_factory=dict)


class Recorder:
    """Writes one process's history. For several threads."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._numbers = itertools.count(1)

    def begin(self, who: str, what: str, **told: Any) -> int:
        """Something is being done; the number to end it with."""
        number = next(self._numbers)
        self._write({"n": number, "at": time.monotonic(), "who": who, "what": what, "told": told})
        return number

    def end(self, number: int, outcome: Outcome, **told: Any) -> None:
        """What came of it."""
        self._write({"n": number, "at": time.monotonic(), "outcome": outcome, "told": told})

    def note(self, who: str, what: str, **told: Any) -> None:
        """Something that takes no time."""
        self.end(self.begin(who, what, **told), "ok")

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, (json.dumps(line) + "\n").encode())


def read_file(path: Path) -> list[Action]:
    """One process's actions, in the order in which they began; a torn last line is none."""
    actions: dict[int, Action] = {}
    for text in path.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if "what" in line:
            actions[line["n"]] = Action(line["who"], line["what"], line["at"], told=line["told"])
        else:
            begun = actions[line["n"]]
            told = {**begun.told, **line["told"]}
            actions[line["n"]] = replace(begun, ended_s=line["at"], outcome=line["outcome"], told=told)
    return list(actions.values())


def read(paths: Iterable[Path]) -> list[Action]:
    """The actions of several processes, in the order in which they began."""
    return sorted((action for path in paths for action in read_file(path)), key=lambda action: action.begun_s)
