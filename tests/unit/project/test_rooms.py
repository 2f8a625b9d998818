"""The map in a room's `__init__` names what is in the room, all of it, each thing once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

#: Rooms that are too large to be found one's way in without a map.
ROOMS = (
    *("coordinator/core", "coordinator/wire", "coordinator/runtime", "coordinator/server", "coordinator/archive"),
    *("coordinator/cli", "listener_bridge", "listener_bridge/tap", "listener_bridge/reach", "listener_bridge/marks"),
    *("listener_bridge/reach/liveness", "listener_bridge/shuffle_services"),
    *("replay", "replay/history", "replay/simulate"),
)

#: `    a commit        engine, waiting`: what it is about, and the modules and Java classes that are.
_ROW = re.compile(r"^    (?P<about>\S+(?: \S+)*)  +(?P<names>\w+(?:, \w+)*)$", re.MULTILINE)


@pytest.mark.parametrize("room", ROOMS)
def test_a_map_names_everything_in_its_room_once(room: str) -> None:
    assert sorted(named_in(ROOT / room)) == sorted(there_in(ROOT / room))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_what_it_refuses_and_what_always_holds(room: str) -> None:
    theory = theory_of(ROOT / room)
    for word in ("Responsible for", "Refuses", "nvariant"):
        assert word in theory


def named_in(room: Path) -> list[str]:
    """The names in the map."""
    return [name for row in _ROW.finditer(theory_of(room)) for name in row["names"].split(", ")]


def there_in(room: Path) -> Iterator[str]:
    """Modules, and the classes of Java that is compiled in drivers."""
    files = [*room.glob("*.py"), *room.glob("*.java")]
    return (file.stem for file in files if not file.name.startswith("__"))


def theory_of(room: Path) -> str:
    return ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
