"""What people ask about, read from state.

Responsible for read models: small values made from one state, for tables and graphs. Refuses to know how they are shown
and where the state comes from. Invariant: a view says nothing that the state, or the log that it was folded from, does
not say.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.core.ids import AppShuffle, Sequence, ShuffleId
from coordinator.core.lifecycle import Life
from coordinator.core.state import Attempt, Directive, Generation, Shuffle, State


@dataclass(frozen=True, slots=True)
class Held:
    """How many generations are in a state of life, and how large they are."""

    life: Life
    generations: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Shuffles, their generations, and the stages that read and write them."""

    sequence: Sequence  #: Of the last event that it shows.
    shuffles: tuple[Shuffle, ...]
    generations: tuple[Generation, ...]
    stages: tuple[Attempt, ...]


def last_sequence(state: State) -> Sequence:
    """Of the last event; 0: none."""
    return Sequence(state.meta.next_sequence - 1)


def held(state: State) -> tuple[Held, ...]:
    """The generations that are alive, by their state; in the order of a life."""
    counted: dict[Life, list[int]] = {}
    for generation in state.generations.values():
        counted.setdefault(generation.life, []).append(generation.bytes)
    return tuple(Held(life, len(counted[life]), sum(counted[life])) for life in Life if life in counted)


def pins(state: State) -> tuple[AppShuffle, ...]:
    """Pinned app shuffles."""
    return tuple(sorted(key for key, shuffle in state.shuffles.items() if shuffle.pin is not None))


def graph(state: State) -> Graph:
    """Everything that is alive, in the order of ids."""
    return Graph(
        last_sequence(state),
        tuple(shuffle for _, shuffle in sorted(state.shuffles.items())),
        tuple(generation for _, generation in sorted(state.generations.items())),
        tuple(attempt for _, attempt in sorted(state.attempts.items())),
    )


def newest(state: State, app_shuffle: AppShuffle) -> ShuffleId:
    """The app shuffle's newest generation, there or gone; 0: there was none."""
    shuffle = state.shuffles.get(app_shuffle)
    return ShuffleId(0) if shuffle is None or shuffle.current is None else shuffle.current


def outstanding(state: State) -> tuple[Directive, ...]:
    """Directives whose outcome is not known, in the order in which they were given."""
    return tuple(directive for _, directive in sorted(state.directives.items()))
