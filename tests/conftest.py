"""What all tests share. Its markers say which part of the run a test belongs to (tools/parts.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

SPARK = Path(__file__).parent / "spark"

# Machines that run tests are shared and slow at times: a slow example is no failure, an unrepeatable one would be.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SPARK in item.path.parents:
            item.add_marker("spark")
