"""Sets of numbers that are counted up.

Responsible for remembering which of very many numbers there were, in a bit each. Refuses to know what they number.
Invariant: what was added is in it, whatever it is; memory grows with the widest stretch of numbers, not with each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator.core.ids import StageAttempt

_PAGE = 1_024


class Numbers:
    """Whole numbers, most of them close to others."""

    __slots__ = ("_pages",)

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._pages: dict[int, int] = {}
        for number in numbers:
            self.add(number)

    def add(self, number: int) -> None:
        page, place = divmod(number, _PAGE)
        self._pages[page] = self._pages.get(page, 0) | 1 << place

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        page, place = divmod(number, _PAGE)
        return bool(self._pages.get(page, 0) >> place & 1)


@dataclass(slots=True)
class Attempts:
    """Attempts of stages. Few stages are tried more than once or twice."""

    _stages: dict[int, Numbers] = field(default_factory=dict)  #: By the attempt's number.

    def add(self, stage: StageAttempt) -> None:
        self._stages.setdefault(stage.attempt, Numbers()).add(stage.stage)

    def __contains__(self, stage: object) -> bool:
        return isinstance(stage, StageAttempt) and stage.stage in self._stages.get(stage.attempt, ())
