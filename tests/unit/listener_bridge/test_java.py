"""What the driver compiles: one package, loaded folder by folder, each a child of the tap's."""

from __future__ import annotations

import re
from pathlib import Path

import listener_bridge

SOURCES = list(Path(listener_bridge.__file__).parent.rglob("*.java"))
USED = re.compile(r"\b([A-Z]\w*)\.([a-zA-Z]\w*)")
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


def test_what_one_folder_uses_of_a_class_of_another_is_public() -> None:
    """Each folder has a class loader of its own, so its classes are of another package when they run."""
    text = {file: re.sub(r"//[^\n]*", "", file.read_text(encoding="utf-8")) for file in SOURCES}
    classes = {file.stem: code for file, code in text.items() if " interface " not in code}
    hidden = []
    for file, code in text.items():
        own = {beside.stem for beside in file.parent.glob("*.java")}
        used = {(of, name) for of, name in USED.findall(code) if of in classes and of not in own}
        hidden += [f"{file.name}: {of}.{name}" for of, name in used if not is_public(name, classes[of])]
    assert hidden == []


def is_public(member: str, code: str) -> bool:
    return re.search(rf"\bpublic [^;({{=]*\b{member}\b", code) is not None
