"""What the driver compiles: one package, loaded folder by folder, each a child of the tap's."""

from __future__ import annotations

from pathlib import Path

import listener_bridge


def test_no_java_file_has_the_name_of_one_of_the_tap() -> None:
    """A child's class of its parent's name would never be loaded: the parent is asked first."""
    files = list(Path(listener_bridge.__file__).parent.rglob("*.java"))
    taps = {file.name for file in files if file.parent.name == "tap"}
    assert len(taps) > 1
    assert [file for file in files if file.parent.name != "tap" and file.name in taps] == []
