"""What a call is named after: the line of the program, in stacks as programs have them."""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import py4j
import pyspark
import pytest

from listener_bridge.reach import naming

PATHS = sysconfig.get_paths()
PYSPARK = str(Path(str(pyspark.__file__)).parent / "sql" / "classic" / "dataframe.py")
PY4J = str(Path(str(py4j.__file__)).parent / "java_gateway.py")
CALLBACK = str(Path(str(py4j.__file__)).parent / "clientserver.py")
GRAPHS = str(Path(PATHS["purelib"]) / "graphs" / "ranks.py")
SCRIPT = str(Path(PATHS["scripts"]) / "nightly")
ETL = "/home/ann/etl.py"


def line_of(*stack: tuple[str, str]) -> str:
    """Of functions that call each other, each in its file, the innermost first."""
    return in_stack(naming.line_of, *stack)


def in_stack(named: Callable[[FrameType], str], *stack: tuple[str, str]) -> str:
    found: list[str] = []

    def innermost() -> None:
        found.append(named(sys._getframe(1)))

    call: Callable[[], None] = innermost
    for name, file in stack:
        known: dict[str, Any] = {"inner": call}
        exec(compile(f"def {name}():\n    inner()", file, "exec"), known)
        call = known[name]
    thread = threading.Thread(target=call)  # whose stack is nobody's but Python's own
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    ("stack", "line"),
    [
        ([("__call__", PY4J), ("count", PYSPARK), ("main", ETL)], f"count at {ETL}:2"),
        ([("__call__", PY4J), ("rdd", PYSPARK), ("__get__", PYSPARK), ("main", ETL)], f"rdd at {ETL}:2"),
        ([("__call__", PY4J), ("show", PYSPARK), ("wrapper", PYSPARK), ("main", ETL)], f"show at {ETL}:2"),
        ([("count", PYSPARK), ("step", ETL), ("main", "/home/ann/main.py")], f"count at {ETL}:2"),
        ([("count", PYSPARK), ("rank", GRAPHS), ("main", ETL)], f"rank at {ETL}:2"),
        ([("head", PYSPARK), ("each_batch", ETL), ("call", PYSPARK), ("run", CALLBACK)], f"head at {ETL}:2"),
        ([("count", PYSPARK), ("main", "<stdin>")], "count at <stdin>:2"),
    ],
)
def test_the_line_is_that_of_the_program_which_called_spark(stack: list[tuple[str, str]], line: str) -> None:
    assert line_of(*stack) == line


def test_a_program_that_was_installed_has_lines_too() -> None:
    assert line_of(("count", PYSPARK), ("step", GRAPHS), ("main", SCRIPT)) == f"count at {GRAPHS}:2"


def test_a_file_whose_name_is_no_text_has_a_line_that_can_be_told() -> None:
    found = line_of(("count", PYSPARK), ("main", "/home/ann/caf\udce9/etl.py"))
    assert found == "count at /home/ann/caf?/etl.py:2"


def test_where_the_working_directory_is_gone_nothing_is_the_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert line_of(("count", PYSPARK), ("main", "a_file_that_nobody_named_yet.py")) == ""


def test_where_nobody_of_the_programs_stands_there_is_no_line() -> None:
    """Of nobody's frames: as a thread of a library's that has no program behind it."""
    assert naming.line_of(None) == ""


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ([("__call__", PY4J), ("roc", PYSPARK), ("wrapped", PYSPARK), ("main", ETL)], "`roc` at etl.py:2"),
        ([("__call__", PY4J), ("run", PYSPARK), ("__init__", PYSPARK), ("main", ETL)], "`__init__` at etl.py:2"),
        ([("wrapped", PYSPARK), ("main", ETL)], "`wrapped` at etl.py:2"),
    ],
)
def test_a_call_is_called_by_what_the_program_called_and_not_by_what_stands_around_it(
    stack: list[tuple[str, str]], name: str
) -> None:
    assert in_stack(lambda frame: naming.of_call(frame, "roc"), *stack) == name
