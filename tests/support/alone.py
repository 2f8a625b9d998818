"""A network of this process's own: servers that bind to all interfaces are then reachable by nobody else.

Responsible for moving the calling thread, and whatever it starts from here on, into a network namespace that has only a
loopback. Refuses to know who listens there. Invariant: it is done before anything else
runs, or it says why it cannot be.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from functools import lru_cache

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET of linux/sched.h


class NotAlone(RuntimeError):  # noqa: N818 - it says what is so
    """No network of its own: what was found, what is expected."""


@lru_cache(maxsize=1)
def be_alone() -> None:
    """Once a process. Raises `NotAlone`."""
    if not sys.platform.startswith("linux"):
        raise NotAlone(f"network namespaces are Linux's; this is {sys.platform}")
    if threading.active_count() > 1:
        others = [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]
        raise NotAlone(f"threads {others} would stay in the old network; run these tests in a process of their own")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NETWORK) != 0:
        raise NotAlone(f"unshare: {os.strerror(ctypes.get_errno())}; it takes root, or `unshare -rn` around the tests")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
