"""Old records as new ones.

Responsible for reading what earlier releases have written. Refuses to know what an event means. Invariant: an upcast
is only ever added: a log of any earlier release is read for ever.

An upcast takes the records of one version and changes them, in place, into the next version's form. Needed only where
a reader of the new release would misread the old form: a field that was added with a default needs none.
"""

from __future__ import annotations

from collections.abc import Callable

from shuffle_lifecycle.v1.events_pb2 import Record, Segment

from coordinator.wire.errors import TooNew

#: The newest version of the records' form that this release knows; what it writes says the version that it needs.
VERSION = 1

Upcast = Callable[[Record], None]


def give_cause(record: Record) -> None:
    """Version 0 had no `because`: every event stood for itself."""
    record.because = record.because or record.sequence


#: From each version to the next.
UPCASTS: dict[int, Upcast] = {0: give_cause}


def upcast(segment: Segment, place: str) -> None:
    """Brings the segment's records into this release's form."""
    if segment.version > VERSION:
        raise TooNew(place, segment.version, VERSION)
    for version in range(segment.version, VERSION):
        for record in segment.records:
            UPCASTS[version](record)
    segment.version = VERSION
