"""What the driver compiles: one package, loaded folder by folder, each a child of the tap's."""

from __future__ import annotations

import re
from pathlib import Path

import listener_bridge

SOURCES = list(Path(listener_bridge.__file__).parent.rglob("*.java"))
PRIVATE_AND_LOCKED = re.compile(r"^ *(?:private [^({;=]*synchronized|synchronized [^({;=]*private) .*$", re.MULTILINE)


def test_no_java_file_has_the_name_of_one_of_the_tap() -> None:
    """A child's class of its parent's name would never be loaded: the parent is asked first."""
    taps = {file.name for file in SOURCES if file.parent.name == "tap"}
    assert len(taps) > 1
    assert [file for file in SOURCES if file.parent.name != "tap" and file.name in taps] == []


def test_no_private_method_is_synchronized() -> None:
    """Janino makes it a static one, which locks the class: no two objects exclude each other, and no other method."""
    locked = {file.name: PRIVATE_AND_LOCKED.findall(file.read_text(encoding="utf-8")) for file in SOURCES}
    assert {name: lines for name, lines in locked.items() if lines} == {}
