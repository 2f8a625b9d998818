"""What the driver compiles: one package, loaded folder by folder, each a child of the tap's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import listener_bridge


def test_no_two_java_files_have_one_name() -> None:
    """A child's class of the same name would never be loaded: the parent is asked first."""
    files = Path(listener_bridge.__file__).parent.rglob("*.java")
    assert [name for name, times in Counter(file.name for file in files).items() if times > 1] == []
