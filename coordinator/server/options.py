"""How a server listens.

Responsible for the numbers and secrets that somebody may want to choose. Refuses to know where they come from
(`coordinator.config`). Invariant: the defaults are safe: nobody but this machine is listened to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coordinator.core.values import Lesson
from coordinator.runtime.limits import Limits
from coordinator.runtime.options import Options
from coordinator.server import tokens
from coordinator.server.certificates import Certificates
from coordinator.wire.bounds import Bounds

_LIMITS = Limits()
_BOUNDS = Bounds()
_REPLICA = Options(replica="")


#: What `write_within_s` is counted in: after a pause of the whole replica a driver still has most of it.
WRITE_STEPS = 10


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How one server listens, and what it lets in."""

    replica: str = ""  #: Told in every Welcome: who answers here.
    bind: str = "127.0.0.1:7457"  #: Port 0: any that is free.
    bind_beyond_loopback: bool = False  #: Other machines may reach it although it does not ask for certificates.
    certificates: Certificates | None = field(default=None, repr=False)  #: TLS; None: plain text.
    administrators: tuple[str, ...] = ()  #: SHA-256 of each one's token.
    registration_tokens: tuple[str, ...] = ()  #: SHA-256 of each; who registers shows one; none: everybody may.
    lessons: Mapping[str, tuple[Lesson, ...]] = field(default_factory=dict, repr=False)  #: By application name.
    mint: Callable[[], str] = tokens.new_text  #: The coordinator's part of an application's token.
    message_bytes_max: int = _LIMITS.message_bytes
    batch_max: int = _LIMITS.batch  #: Requests of one batch.
    unconfirmed_max: int = _LIMITS.unconfirmed  #: Requests of one session that were sent and not confirmed.
    bounds: Bounds = _BOUNDS  #: Of single fields of a message.
    calls_max: int = _LIMITS.calls  #: Calls and sessions under way.
    tails_max: int = _LIMITS.tails  #: Calls under way that follow the events of one application.
    requests_per_s: int = _LIMITS.requests_per_s  #: Of one application.
    registrations_per_s: int = _LIMITS.registrations_per_s
    hello_within_s: float = 10.0
    write_within_s: float = 30.0  #: Who does not read for so long what it follows, is hung up on.
    farewell_s: float = 1.0  #: A GoAway waits no longer for the answers that are under way.
    heartbeat_ms: int = int(_REPLICA.heartbeat_s * 1_000)  #: Told to drivers.
    keepalive_ms: int = 30_000
    drain_s: float = 10.0  #: How long calls under way may take once the server stops.
    reflection: bool = True
