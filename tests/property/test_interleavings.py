"""Small worlds, in which every interleaving is right; and mistakes that one of them shows."""

from __future__ import annotations

import pytest

from tests.planted import core as planted
from tests.planted.bug import Plant
from tests.property.interleavings import World, explore

ONE, CHAIN = ((),), ((), (0,))
TWO_JOBS, A_CHAIN = World(ONE, jobs=2, facts=1), World(CHAIN, jobs=1)

WORLDS = {
    "two jobs over one shuffle": TWO_JOBS,
    "a job over a chain": A_CHAIN,
    "a shuffle that is lost": World(ONE, jobs=1, losses=1),
    "a job that may be cancelled, and a loss that cannot be made good": World(
        ONE, jobs=1, losses=1, cancels=1, facts=1, completes=False
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_every_interleaving_is_right(name: str) -> None:
    assert explore(WORLDS[name]) > 1_000


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_every_interleaving_of_a_larger_world_is_right() -> None:
    """Two jobs over a shuffle that is lost, whenever: 122,280 states, some minutes."""
    assert explore(World(ONE, jobs=2, losses=1, facts=1)) > 100_000


@pytest.mark.parametrize(
    ("bug", "world"),
    [(planted.trust_an_older_look, TWO_JOBS), (planted.forget_skipped_ancestors, A_CHAIN)],
    ids=["trust-an-older-look", "forget-skipped-ancestors"],
)
def test_a_mistake_is_told_with_what_leads_there(bug: Plant, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    with pytest.raises(AssertionError, match=r"missed, and nothing was lost: .*\nafter .*submit 0, then deliver"):
        explore(world)


def test_a_world_that_is_too_large_is_said_to_be() -> None:
    with pytest.raises(AssertionError, match="more than 100 states"):
        explore(A_CHAIN, most=100)
