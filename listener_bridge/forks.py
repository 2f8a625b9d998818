"""gRPC in a program that forks.

Responsible for bringing gRPC in so that a forked child (`os.fork`, `multiprocessing`) of the driver lives: at a fork
gRPC's own handlers start its threads again in the child, and those die of SIGSEGV there, one child in four in a driver
with the plugin (grpcio 1.85.1), whether the child uses gRPC or not. Refuses to change what the program itself has
chosen by `GRPC_ENABLE_FORK_SUPPORT`, or the environment that it sees. Invariant: whoever imports gRPC through this
package first has no such handlers; where the program was first, its owner is told at the first fork.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading

#: gRPC reads it once, when it is imported.
SWITCH = "GRPC_ENABLE_FORK_SUPPORT"
_OFF = ("0", "f", "false", "n", "no", "off")
_is_ours = threading.Event()

ADVICE = (
    "this process forks, and had imported gRPC before the plugin: gRPC's own handlers may end a forked child by "
    f"SIGSEGV; import listener_bridge first, or set {SWITCH}=0 before Python starts"
)


def import_grpc() -> None:
    """Imports gRPC without its handlers, unless somebody has imported it already or has chosen."""
    if "grpc" in sys.modules or SWITCH in os.environ:
        return
    os.environ[SWITCH] = "0"
    try:
        importlib.import_module("grpc")
    finally:
        del os.environ[SWITCH]
    _is_ours.set()


def are_dangerous() -> bool:
    """Whether a child may die of them."""
    return not _is_ours.is_set() and os.environ.get(SWITCH, "").lower() not in _OFF
