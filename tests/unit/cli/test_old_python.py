"""shufflectl on Python 3.10, whose `typing` reads a parameter with the default None otherwise."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any, Optional

import pytest
from typer.main import get_command

from coordinator.cli import verb
from coordinator.cli.command import build
from coordinator.cli.families import FAMILIES


def hints_of_3_10(function: Callable[..., Any], **more: Any) -> dict[str, Any]:
    """As there: what has the default None is made optional, with all that stands beside its type."""
    hints = typing.get_type_hints(function, **more)
    optional = [p.name for p in inspect.signature(function).parameters.values() if p.default is None]
    return {**hints, **{name: Optional[hints[name]] for name in optional if name in hints}}  # noqa: UP045 - as there


def test_what_is_an_argument_is_one_on_every_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "get_type_hints", hints_of_3_10, raising=False)
    command: Any = get_command(build(FAMILIES))
    arguments = {
        name: [one.name for one in found.params if one.param_type_name == "argument"]
        for name, found in command.commands.items()
    }
    assert arguments["explain"] == ["app", "shuffle"]
    assert arguments["diff"] == ["app", "before", "after"]
    assert arguments["simulate"] == arguments["learn"] == ["logs"]
    assert all(arguments[name] for name in ("shuffles", "events", "replay", "premature", "export", "report", "verify"))
