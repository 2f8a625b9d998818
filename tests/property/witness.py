"""One application under watch: every commit is checked in every way that the core knows.

Responsible for carrying commands out and for asserting, after each commit, that all invariants hold, that the
incremental forms say what the full ones say, and that folding the log gives the same state and digest. Refuses to know
what the story is about. Invariant: what it holds is what a replica would hold.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

from coordinator.core import commands as c
from coordinator.core import decide, invariants, numbering, steps, sweep
from coordinator.core.desk import Desk
from coordinator.core.digest import advance, as_text, digest, total
from coordinator.core.events import Recorded
from coordinator.core.evolve import apply, evolve, fold
from coordinator.core.policies import View
from coordinator.core.rejections import Answer
from coordinator.core.state import TABLES, Generation, State, copy, empty, replaced_by, settle


def _everything(desk: Desk) -> list[Generation]:
    """All that would move, whatever the events concern."""
    desk.take_concerned()
    state, look = desk.state, View(desk.state)
    movable = [one for _, one in sorted(state.generations.items()) if sweep.is_movable(state, one)]
    return [generation for generation in movable if sweep._consider(desk, look, generation)]


class Witness:
    """A state, its log, and a second state that is folded from the log alone."""

    def __init__(self) -> None:
        self.state: State = empty()
        self.folded: State = empty()
        self.log: list[Recorded] = []
        self.total = 0

    def do(self, command: c.Command, now_ms: int) -> tuple[Answer, list[Recorded]]:
        """Carries one command out as a commit of its own."""
        answers, log = self._commit(lambda desk: [decide.carry_out(desk, command)], now_ms)
        assert not steps.check_command(log), steps.check_command(log)
        return answers[0], log

    def answer(self, requests: list[c.Request], now_ms: int) -> tuple[list[Answer], list[Recorded]]:
        """Answers numbered requests in one commit."""

        def work(desk: Desk) -> list[Answer]:
            answers = numbering.answer_all(desk, requests)
            numbering.close_commit(desk)
            return answers

        return self._commit(work, now_ms)

    def _commit(self, work: Callable[[Desk], list[Answer]], now_ms: int) -> tuple[list[Answer], list[Recorded]]:
        desk = Desk.over(self.state, now_ms)
        answers = work(desk)
        self._check_sieve(desk, work, now_ms)
        self._check_draft(desk)
        self.total = advance(self.total, desk.state)
        settle(desk.state, self.state)
        for recorded in desk.log:
            self._check_step(recorded)
        self.log += desk.log
        self._check_states()
        return answers, desk.log

    def _check_sieve(self, desk: Desk, work: Callable[[Desk], list[Answer]], now_ms: int) -> None:
        """Evaluating every generation, in any order of tables, decides the same."""
        turned = State(self.state.meta, *(dict(reversed(getattr(self.state, name).items())) for name in TABLES))
        again = Desk.over(turned, now_ms)
        with patch.object(sweep, "_candidates", _everything):
            work(again)
        assert again.log == desk.log

    def _check_draft(self, desk: Desk) -> None:
        found = invariants.check_changes(desk.state, self.state.meta, replaced_by(desk.state))
        assert found == invariants.check(desk.state) == (), found

    def _check_step(self, recorded: Recorded) -> None:
        before = copy(self.folded)
        apply(self.folded, recorded)
        found = steps.check_step(before, recorded, self.folded)
        assert not found, found

    def _check_states(self) -> None:
        assert self.folded == self.state
        assert self.total == total(self.state)
        assert digest(self.folded) == digest(self.state) == as_text(self.state, self.total)

    def check_prefixes(self) -> None:
        """Replay of every prefix, one by one and from a copy, gives the same states and digests."""
        stepwise = empty()
        for place, recorded in enumerate(self.log):
            kept = digest(stepwise)
            following = evolve(stepwise, recorded)
            assert digest(stepwise) == kept
            stepwise = following
            if place % 16 == 0 or place == len(self.log) - 1:
                assert fold(empty(), self.log[: place + 1]) == stepwise
        assert stepwise == self.state
