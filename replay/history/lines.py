"""Bytes into lines.

Responsible for cutting pieces at line ends. Refuses to know what a line says. Invariant: at most one line and one piece
are in memory; a line that is longer than `LONGEST_LINE_BYTES` is told as one that cannot be read, never held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: The longest lines are the plans of SQL executions, some MiB.
LONGEST_LINE_BYTES = 256 << 20
#: What is given out for a line that is too long to hold.
TOO_LONG = b"{a line that is too long"


class Lines:
    """The lines of one file, counted. ``whole``: the last one ended with a line end."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.raw_bytes = 0
        self.whole = True

    def __iter__(self) -> Iterator[bytes]:
        """Every line without its end."""
        begun: list[bytes] = []
        try:
            for piece in self._pieces:
                self.raw_bytes += len(piece)
                first, *rest = piece.split(b"\n")
                begun.append(first)
                if rest:
                    yield _joined(begun)
                    last = rest.pop()
                    yield from rest
                    begun = [last]
                elif sum(map(len, begun)) > LONGEST_LINE_BYTES:
                    begun = [TOO_LONG]
        finally:
            self.whole = not any(begun)
        if not self.whole:
            yield _joined(begun)


def _joined(parts: list[bytes]) -> bytes:
    return parts[0] if len(parts) == 1 else b"".join(parts)
