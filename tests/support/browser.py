"""A headless Chromium, where this machine has one.

Responsible for one page, drawn, as the text of its document. Refuses to know what is in it. Invariant: nothing of the
user's own browser is touched, and none is left behind.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_PATIENCE_S = 110


def document(url: str, folder: Path) -> str:
    """The page's document after four seconds of the browser's own time."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}", "--window-size=1300,1100",
        "--virtual-time-budget=4000", "--dump-dom", url,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    return done.stdout
