"""What follows from what is so: expiries, rescues, fences, closings.

Responsible for evaluating the policies after every fact and for carrying an application's end through. Refuses to know
which fact it was. Invariant: a step moves at most ``MOVES`` generations, and what is left over is remembered in the
state, so that a segment stays small and nothing is forgotten. What a fact itself had no move left for is swept too: an
expired input of a stage that runs is rescued for it, and the stage registered, before anything else is asked.

Only what the events since the last rest concern is evaluated (``touching``); tested equal to evaluating everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coordinator.core import events as e
from coordinator.core import policies, pressure, recovery
from coordinator.core.desk import MOVES, Desk
from coordinator.core.lifecycle import KEPT, Life
from coordinator.core.state import Generation, State, first_due_ms
from coordinator.core.values import Deletion, Ending, Expiry, Hold, Pressed, Rescue, RootKind

_LETTING_GO = (e.GenerationExpired, e.FenceRequested)


def react(desk: Desk) -> None:
    """Brings the state to rest after a fact, or as far as one step may: what is left is remembered as pending."""
    is_pending = not _rest(desk)
    if desk.state.meta.sweeping != is_pending:
        desk.emit(e.SweepChanged(is_pending))


def _rest(desk: Desk) -> bool:
    """The unneeded expires, the needed comes back, the due is asked for. Answers whether nothing is left to do."""
    if desk.state.meta.ending is not None:
        return _close(desk, desk.state.meta.ending)
    recovery.close_done(desk)
    counted = pressure.account(desk.state)
    if counted is not None:
        desk.emit(counted)
    return _evaluate(desk)


def is_closed(state: State) -> bool:
    """Whether the application has ended and nothing of it is left to be closed."""
    return state.meta.ending is not None and not state.meta.sweeping


def next_due_ms(state: State) -> int | None:
    """When a tick would change something, in event time; None: only a fact can.

    A directive that failed needs no tick: it stays outstanding, and who sends directives looks at its own ``due_ms``.
    """
    if state.meta.sweeping:
        return state.meta.time_ms
    return min((due for due in (first_due_ms(state), pressure.next_due_ms(state)) if due is not None), default=None)


def _evaluate(desk: Desk) -> bool:
    """Moves what can move; answers whether everything rests now. In rounds: one expiry may bring about another."""
    moves = 0
    while steps := _steps(desk):
        for following in steps:
            if following and moves == MOVES:
                desk.concerns_all = True
                return False
            for event in following:
                desk.emit(event)
            moves += bool(following)
    return True


def _steps(desk: Desk) -> Iterator[tuple[e.Event, ...]] | None:
    """What moves next, generation by generation; else, where a disk is full, the one that goes first. None: nothing."""
    generations = _candidates(desk)
    if not generations:
        pressed = _relieve(desk)
        return iter([pressed]) if pressed else None
    return _in_turn(desk, generations)


def _in_turn(desk: Desk, generations: list[Generation]) -> Iterator[tuple[e.Event, ...]]:
    """One after the other, by one view: what goes is in no cut that counts for it, and these stay as they are.

    But roots that do not count for it need what lies behind it once it is being fenced: that is kept where they count.
    """
    view = policies.View(desk.state)
    fenced: set[frozenset[RootKind]] = set()
    for generation in generations:
        following = _consider(desk, view, generation)
        if following and type(following[-1]) in _LETTING_GO:
            kinds = policies.counted(desk.state, generation)
            if any(not kinds <= others for others in fenced) and _is_rooted(desk.state, generation, kinds):
                following = ()
            elif type(following[-1]) is e.FenceRequested:
                fenced.add(kinds)
        yield following


def _is_rooted(state: State, generation: Generation, kinds: frozenset[RootKind]) -> bool:
    return policies.View(state).rooted(kinds, generation.app_shuffle)


def _candidates(desk: Desk) -> list[Generation]:
    """What may move, by id: what the events since the last rest concern, or everything. Takes it from the desk."""
    state, concerned = desk.state, desk.take_concerned()
    if concerned is None:
        found: Iterable[Generation | None] = state.generations.values()
    else:
        found = map(state.current, concerned)
    movable = [generation for generation in found if generation is not None and is_movable(state, generation)]
    return sorted(movable, key=lambda generation: generation.shuffle_id)


_MOVABLE = KEPT | {Life.EXPIRED}


def is_movable(state: State, generation: Generation) -> bool:
    """Whether a sweep looks at it at all."""
    return generation.life in _MOVABLE or _is_forgotten(state, generation)


def _is_forgotten(state: State, generation: Generation) -> bool:
    """Spark has let its app shuffle go; an older generation that is fenced is deleted in its own time."""
    shuffle = state.shuffles.get(generation.app_shuffle)
    current = shuffle.current if shuffle is not None else None
    if current is None or current < generation.shuffle_id:
        return True
    return current != generation.shuffle_id and generation.life is not Life.FENCED


def _consider(desk: Desk, view: policies.View, generation: Generation) -> tuple[e.Event, ...]:
    """The events by which one generation moves; none where it rests."""
    if _is_forgotten(desk.state, generation):
        return (e.GenerationDeleted(generation.shuffle_id, Deletion.SPARK),)
    if generation.life is Life.EXPIRED:
        return _reconsider(desk, view, generation)
    why = policies.verdict(view, generation)
    if why is None:
        return ()
    hold, due_ms = policies.hold_of(desk.state, generation, desk.now_ms)
    expired = e.GenerationExpired(generation.shuffle_id, why, hold, due_ms)
    return (expired, _fence(desk, generation, why)) if hold is Hold.NONE else (expired,)


def _reconsider(desk: Desk, view: policies.View, generation: Generation) -> tuple[e.Event, ...]:
    readers = view.running_readers.get(generation.app_shuffle)
    if readers:
        rescued = e.ExpiryTakenBack(generation.shuffle_id, Rescue.READER, f"stage {readers[0]}")
        return (rescued, *(e.ReaderRegistered(generation.shuffle_id, stage) for stage in readers))
    wanted = policies.wanted(view, generation)
    if wanted is not None:
        return (e.ExpiryTakenBack(generation.shuffle_id, *wanted),)
    hold, due_ms = policies.hold_of(desk.state, generation, desk.now_ms)
    if hold is Hold.NONE:
        return (_fence(desk, generation, generation.why),)
    if (hold, due_ms) != (generation.hold, generation.due_ms):
        return (e.HoldChanged(generation.shuffle_id, hold, due_ms),)
    return ()


def _fence(desk: Desk, generation: Generation, why: Expiry | None, pressed: Pressed | None = None) -> e.FenceRequested:
    guessed = policies.is_guess(desk.state, generation, why)
    return e.FenceRequested(desk.state.meta.next_directive, generation.shuffle_id, pressed, guessed)


def _relieve(desk: Desk) -> tuple[e.Event, ...]:
    """The events by which a full disk has the next one go."""
    choice = pressure.choose(desk.state, desk.now_ms)
    if choice is None:
        return ()
    generation = choice.generation
    if generation.life is Life.EXPIRED:
        return (_fence(desk, generation, generation.why, choice.pressed),)
    fence = _fence(desk, generation, Expiry.PRESSED, choice.pressed)
    return (e.GenerationExpired(generation.shuffle_id, Expiry.PRESSED, Hold.PRESSURE), fence)


_CAUSES = {
    Ending.ENDED: Deletion.APPLICATION_ENDED,
    Ending.LOST: Deletion.APPLICATION_LOST,
    Ending.DETACHED: Deletion.APPLICATION_DETACHED,
}


def _close(desk: Desk, ending: Ending) -> bool:
    """Closes the records of an application that has ended, a step at a time; answers whether none is left."""
    for shuffle_id in sorted(desk.state.generations)[:MOVES]:
        desk.emit(e.GenerationDeleted(shuffle_id, _CAUSES[ending]))
    return not desk.state.generations
