"""What schedules have found: each a bug that was mended, as the shortest story that showed it.

Responsible for keeping them. Invariant: each failed once, for the reason that its name says.
"""

from __future__ import annotations

FOUND: dict[str, str] = {}
