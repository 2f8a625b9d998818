"""A coordinator that deletes far too early, on purpose.

Responsible for: one more rule in this process's core, by which whole generations that nobody reads or writes expire at
random, live jobs or not; and for lifting what would stop it: the budget, the bounds of recovery, "missed before", and
the fence's refusal where a stage waits to read (a fence that names its generation is not refused for that).
Refuses to know: how an expiry is carried out. Everything behind the rule is the real path: log, directive, fence, free.
Invariant: pure as every rule: the same seed and the same log give the same expiries; and it lets go of nothing that a
registered reader or writer uses, so what it finds is never its own fault.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

from shuffle_lifecycle.v1 import common_pb2

from coordinator.core import policies, sweep
from coordinator.core.desk import Desk
from coordinator.core.lifecycle import Life
from coordinator.core.policies import View
from coordinator.core.state import Generation, State
from coordinator.core.values import Expiry, Hold
from listener_bridge import words
from listener_bridge.settings import Settings
from listener_bridge.shuffle_services import api
from listener_bridge.shuffle_services.in_the_driver import InTheDriver

ATTEMPTS = {"spark.stage.maxConsecutiveAttempts": "1000"}
"""What Spark has to be told, so that it does not give up a stage for its fourth loss."""
UNBOUNDED = 1_000_000
_STOPPED_BY = (Hold.MISSED, Hold.SUSPENDED)


@dataclass
class Chance:
    """How likely a generation goes at each evaluation. 0: the rule is off."""

    seed: int
    odds: float

    def strikes(self, state: State, generation: Generation) -> bool:
        drawn = random.Random(f"{self.seed} {state.meta.next_sequence} {generation.shuffle_id}")
        return drawn.random() < self.odds


@contextmanager
def deleting_at_random(seed: int, odds: float) -> Iterator[Chance]:
    """Applies to coordinators in this process, and to applications that attach within the block."""
    chance = Chance(seed, odds)
    evaluate, verdict = sweep._evaluate, policies.verdict
    hold_of, promises, fence = policies.hold_of, words.promises, InTheDriver.fence

    def of_all(desk: Desk) -> bool:
        desk.concerns_all = True
        return evaluate(desk)

    def too_early(look: View, generation: Generation) -> Expiry | None:
        is_whole = generation.life is Life.READABLE and generation.complete and not generation.in_use
        if is_whole and look.state.meta.gap is None and chance.strikes(look.state, generation):
            return Expiry.READ
        return verdict(look, generation)

    def unstopped(state: State, generation: Generation, now_ms: int) -> tuple[Hold, int]:
        hold, due_ms = hold_of(state, generation, now_ms)
        return (Hold.NONE, 0) if hold in _STOPPED_BY else (hold, due_ms)

    def unbounded(settings: Settings) -> common_pb2.Settings:
        said = promises(settings)
        said.premature_budget = said.recoveries_per_shuffle = said.recoveries = UNBOUNDED
        return said

    def named(
        service: InTheDriver, app_shuffle: int, timeout_s: float, generation: api.Locator | None = None
    ) -> api.FenceOutcome:
        held = service.holds(app_shuffle) if generation is None else None
        return fence(service, app_shuffle, timeout_s, held.locator if isinstance(held, api.Held) else generation)

    with (
        mock.patch.object(InTheDriver, "fence", named),
        mock.patch.object(sweep, "_evaluate", of_all),
        mock.patch.object(policies, "verdict", too_early),
        mock.patch.object(policies, "hold_of", unstopped),
        mock.patch.object(words, "promises", unbounded),
    ):
        yield chance
