"""TCP over IPv4, as far as a router must know it to end a connection.

Responsible for reading who sends what to whom, and for making resets. Refuses to know where packets come from and go.
Invariant: a reset is one that its receiver obeys: it has the number that the receiver expects next.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SYN, RST, ACK = 0x02, 0x04, 0x10
_TCP = 6
_IP_HEADER = struct.Struct("!BBHHHBBH4s4s")
_TCP_HEADER = struct.Struct("!HHIIBBHHH")


@dataclass(frozen=True, slots=True)
class End:
    """One direction of a connection."""

    source: bytes
    source_port: int
    target: bytes
    target_port: int

    @property
    def back(self) -> End:
        return End(self.target, self.target_port, self.source, self.source_port)


@dataclass(frozen=True, slots=True)
class Sent:
    """What one packet says of its connection. ``expects``: the number that its sender expects next."""

    end: End
    expects: int
    flags: int

    @property
    def opens(self) -> bool:
        return bool(self.flags & SYN) and not self.flags & ACK


def target_of(packet: bytes) -> bytes | None:
    """Where it goes; None: it is not of IPv4."""
    return packet[16:20] if packet[0] >> 4 == 4 else None


def read(packet: bytes) -> Sent | None:
    """None: it is not of TCP."""
    if packet[9] != _TCP:
        return None
    source_port, target_port, _, expects, _, flags, *_ = _TCP_HEADER.unpack_from(packet, (packet[0] & 15) * 4)
    return Sent(End(packet[12:16], source_port, packet[16:20], target_port), expects, flags)


def reset(end: End, number: int) -> bytes:
    """Ends the connection at the end's target, as if its source had said so."""
    tcp = _TCP_HEADER.pack(end.source_port, end.target_port, number, 0, 5 << 4, RST, 0, 0, 0)
    pseudo = end.source + end.target + struct.pack("!BBH", 0, _TCP, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", _checksum(pseudo + tcp)) + tcp[18:]
    head = _IP_HEADER.pack(0x45, 0, _IP_HEADER.size + len(tcp), 0, 0, 64, _TCP, 0, end.source, end.target)
    return head[:10] + struct.pack("!H", _checksum(head)) + head[12:] + tcp


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
