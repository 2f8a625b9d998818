"""Mistakes at the door.

Responsible for bugs in tokens, roles and limits. Refuses to know calls: what they do is caught without a server.
Invariant: each lets somebody do what they must not.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.core.commands import Command
from coordinator.core.ids import ApplicationId
from coordinator.runtime import drafting
from coordinator.server import tokens
from coordinator.server.security import Gate, Role
from tests.planted.bug import Patch, bug

TOKENS, SECURITY = "tests/unit/server/test_tokens.py", "tests/unit/server/test_security.py"
LIMITS = "tests/unit/runtime/test_limits.py"


@bug("where no token is kept, every token fits", f"{TOKENS}::test_where_no_token_is_kept_none_fits")
def open_without_a_token(patch: Patch) -> None:
    matches = tokens.matches
    patch.setattr(tokens, "matches", lambda token, kept: not kept or matches(token, kept))


@bug("whoever registers again is told a token", f"{TOKENS}::test_the_proof_makes_the_token_again_and_nothing_else_does")
def token_for_any_proof(patch: Patch) -> None:
    def made_again(application: ApplicationId, attempt: str, proof: str, kept: str) -> str:
        return tokens.mint(application, attempt, proof, kept.partition(".")[2]).token

    patch.setattr(tokens, "made_again", made_again)


@bug("a driver decides what people decide", f"{SECURITY}::test_who_may_say_what")
def driver_as_administrator(patch: Patch) -> None:
    def permit(self: Gate, role: Role, application: str, commands: Sequence[Command]) -> None:
        """Everybody who was let in may do everything."""

    patch.setattr(Gate, "permit", permit)


@bug("a full table grows on", f"{LIMITS}::test_one_more_is_refused_in_words_and_the_rest_goes_on")
def grow_without_bound(patch: Patch) -> None:
    patch.setattr(drafting, "no_room", lambda state, command, full: None)
