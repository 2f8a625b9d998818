"""What a look found, as a change of what the coordinator was told before: pure.

Responsible for: which roots are told at all, which again, and which are told to be gone.
Refuses to know: how a look is taken, and how reports travel.
Invariant: a coordinator that took every report, or that missed some and was told so by `missed`, holds after the next
report roots that need exactly what those need that the look found. A report that was missed is known to be so at the
next one.

py4j holds a dozen objects for each RDD that people name. What nameless ones need is mostly needed by what has a name:
they are told only where they need more.

A report is one commit and cannot be cut: of its first half a coordinator would conclude what only the whole says. So it
names roots up to `NAMED_BYTES`, and tells those beyond together, as one root of each kind that needs what they need.
What is kept depends on kinds and needs alone, so it is the same; only who holds it is told less finely.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from shuffle_lifecycle.v1 import common_pb2, service_pb2

from listener_bridge.reach.findings import Kind, Root
from listener_bridge.reach.naming import tellable
from listener_bridge.words import Request

_KINDS = {
    Kind.PLAN: common_pb2.ROOT_KIND_PLAN,
    Kind.HANDLE: common_pb2.ROOT_KIND_HANDLE,
    Kind.OBJECT: common_pb2.ROOT_KIND_OBJECT,
    Kind.PERSISTED: common_pb2.ROOT_KIND_PERSISTED,
    Kind.ALGORITHM: common_pb2.ROOT_KIND_ALGORITHM,
    Kind.STREAM: common_pb2.ROOT_KIND_STREAM,
}

#: Of what is told by name, as the coordinator records it: some 3,500 roots. A segment holds four times as much: these
#: may all be new, in the place of as many others, and what is told together needs shuffles by the ten thousands.
NAMED_BYTES = 1 << 18
ROOT_BYTES = 40  #: Of a record, beside the texts.
NEED_BYTES = 5
TOGETHER = "further "  #: How the names begin of what is told together, and no others.


class Told:
    """What the coordinator was told of roots so far."""

    def __init__(self) -> None:
        self._known: dict[str, Root] = {}
        self._doubtful: set[str] = set()  # perhaps still held over there, and to be told gone unless found again
        self._last_gone: set[str] = set()

    def missed(self) -> None:
        """Some of what was told may have been lost: all of it is told anew at the next report."""
        self._doubtful = self._last_gone | self._known.keys()
        self._known.clear()

    def report(self, look: int, found: Iterable[Root]) -> Request:
        """The report of a look that found exactly these roots."""
        roots = {root.root: root for root in _fitting(_telling(found, self._known), self._known)}
        changed = [root for name, root in roots.items() if self._known.get(name) != root]
        gone = (self._known.keys() | self._doubtful) - roots.keys()
        self._known, self._doubtful, self._last_gone = roots, set(), set(gone)
        return Request(
            report_cut=service_pb2.ReportCut(look=look, roots=[_said(root) for root in changed], gone=sorted(gone))
        )


def _telling(found: Iterable[Root], known: Container[str]) -> list[Root]:
    """All that people know by a name, and of the others those that need something more; first who was told before."""
    needing = [root for root in found if root.needs]
    told = [root for root in needing if root.has_name]
    covered = set().union(*(root.needs for root in told))
    others = [root for root in needing if not root.has_name]
    for root in sorted(others, key=lambda other: (other.root not in known, -len(other.needs), other.root)):
        if not root.needs <= covered:
            told.append(root)
            covered |= root.needs
    return told


def _fitting(told: Iterable[Root], known: Container[str]) -> Iterator[Root]:
    """By name as many as a report holds, first who was told before; the rest together."""
    left = NAMED_BYTES
    beyond: dict[Kind, list[Root]] = {}
    for root in sorted(told, key=lambda root: root.root not in known):
        size = _bytes_of(root)
        if size <= left:
            left -= size
            yield root
        else:
            beyond.setdefault(root.kind, []).append(root)
    for kind, roots in beyond.items():
        yield roots[0] if len(roots) == 1 else _together(kind, roots)


def _together(kind: Kind, roots: list[Root]) -> Root:
    """How many is told so roughly that it seldom changes."""
    needs = frozenset().union(*(root.needs for root in roots))
    at_least = 1 << (len(roots).bit_length() - 1)
    return Root(f"{TOGETHER}{kind.value}", kind, needs, f"{at_least:,} or more further roots ({kind.value})")


def _bytes_of(root: Root) -> int:
    text_bytes = len(root.why) if root.why.isascii() else 4 * len(root.why)
    return ROOT_BYTES + len(root.root) + text_bytes + NEED_BYTES * len(root.needs)


def begin(look: int) -> Request:
    """A look begins here: it speaks about what is complete at this place."""
    return Request(begin_look=service_pb2.BeginLook(look=look))


def _said(root: Root) -> service_pb2.ReportedRoot:
    why = tellable(root.why)
    return service_pb2.ReportedRoot(root=root.root, kind=_KINDS[root.kind], needs=sorted(root.needs), why=why)
