"""The life of a generation, as a table.

Responsible for which state of a generation follows which, and for nothing else. Refuses to know why something happens
(``decide`` does) and who asked. Invariant: a generation moves only along a row of ``TRANSITIONS``; the diagram in the
documentation is drawn from it.
"""

from __future__ import annotations

from enum import Enum


class Life(Enum):
    """Where a generation is between its first writer and its tombstone."""

    WRITING = "writing"  #: A first writer is at it; nothing can be read yet.
    READABLE = "readable"  #: Complete and intact.
    PARTIAL = "partial"  #: Some outputs are gone and its service can complete it.
    EXPIRED = "expired"  #: Nobody needs it; may still be rescued.
    FENCING = "fencing"  #: The fence directive is in the log and its outcome is not.
    FENCED = "fenced"  #: Spark has forgotten the map outputs; nobody reads it and nobody will.
    DELETED = "deleted"  #: The data are gone; a tombstone.
    LOST = "lost"  #: Gone without our doing, or invalidated; a tombstone.

    __hash__ = object.__hash__  #: An enum's own hashes its name in Python, each time; there is one of each member.


class Turn(Enum):
    """What can happen to a generation."""

    COMPLETE = "complete"  #: A writer attempt ended well.
    LOSE_SOME = "lose some"  #: Some outputs are gone, the rest can be completed.
    LOSE_ALL = "lose all"  #: Gone, not completable, or invalidated.
    EXPIRE = "expire"  #: In no cut that counts, and released by the policy's rule.
    RESCUE = "rescue"  #: Needed again, complete.
    RESCUE_PART = "rescue part"  #: Needed again, half-written.
    BEGIN_FENCE = "begin fence"
    KEEP = "keep"  #: The fence was refused or revoked, and somebody wants the data.
    KEEP_EXPIRED = "keep expired"  #: The fence was refused or revoked, and nobody wants the data.
    FENCE = "fence"
    DELETE = "delete"  #: By our directive, once fenced.
    CLOSE = "close"  #: By Spark itself, or with the application.

    __hash__ = object.__hash__


_ENDABLE = (Life.WRITING, Life.READABLE, Life.PARTIAL, Life.EXPIRED, Life.FENCING, Life.FENCED, Life.LOST)
_LOSABLE = (Life.WRITING, Life.READABLE, Life.PARTIAL, Life.EXPIRED, Life.FENCING)

TRANSITIONS: dict[tuple[Life, Turn], Life] = {
    (Life.WRITING, Turn.COMPLETE): Life.READABLE,
    (Life.READABLE, Turn.LOSE_SOME): Life.PARTIAL,
    (Life.PARTIAL, Turn.COMPLETE): Life.READABLE,
    (Life.READABLE, Turn.EXPIRE): Life.EXPIRED,
    (Life.WRITING, Turn.EXPIRE): Life.EXPIRED,
    (Life.PARTIAL, Turn.EXPIRE): Life.EXPIRED,
    (Life.EXPIRED, Turn.RESCUE): Life.READABLE,
    (Life.EXPIRED, Turn.RESCUE_PART): Life.PARTIAL,
    (Life.EXPIRED, Turn.BEGIN_FENCE): Life.FENCING,
    (Life.FENCING, Turn.KEEP): Life.READABLE,
    (Life.FENCING, Turn.KEEP_EXPIRED): Life.EXPIRED,
    (Life.FENCING, Turn.FENCE): Life.FENCED,
    (Life.FENCED, Turn.DELETE): Life.DELETED,
    **{(life, Turn.LOSE_ALL): Life.LOST for life in _LOSABLE},
    **{(life, Turn.CLOSE): Life.DELETED for life in _ENDABLE},
}

#: Kept for whoever needs it, and may expire.
KEPT = frozenset(life for life, turn in TRANSITIONS if turn is Turn.EXPIRE)

#: Where data may be read, perhaps after a rescue; what expired half-written is here too (`Generation.intact`).
THERE = frozenset({Life.READABLE, Life.EXPIRED})

#: On its way out, or fenced already.
GOING = frozenset({Life.EXPIRED, Life.FENCING, Life.FENCED})


def after(life: Life, turn: Turn) -> Life:
    """The state that follows. What the table does not allow leaves the state as it is: ``evolve`` never refuses."""
    return TRANSITIONS.get((life, turn), life)
