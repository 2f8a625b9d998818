"""Programs that have had gevent or eventlet put greenlets in the place of threads.

Responsible for telling such a program. Refuses to know what becomes of it. Invariant: imports nothing, changes nothing.

Greenlets take turns in one thread, and a call into C that waits keeps them all waiting: gRPC's would have the program
stand still with its first session. Where only queues were replaced, threads of ours that wait at one end in an error.
"""

from __future__ import annotations

import sys
from typing import Any


def why_none_can_wait() -> str:
    """What keeps a thread of ours from waiting in this process; empty where nothing does."""
    gevent: Any = sys.modules.get("gevent.monkey")
    eventlet: Any = sys.modules.get("eventlet.patcher")
    if gevent is not None and any(gevent.is_module_patched(name) for name in ("threading", "queue")):
        by = "gevent.monkey has"
    elif eventlet is not None and eventlet.is_monkey_patched("thread"):
        by = "eventlet.monkey_patch() has"
    else:
        return ""
    return f"{by} put greenlets in the place of this process's threads, and one that waits for gRPC would stop them all"
