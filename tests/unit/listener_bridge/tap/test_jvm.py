"""How several Java sources become one."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from listener_bridge.tap import jvm

ONE = "package p;\n\nimport java.util.List;\nimport a.B;\n\nclass One { int x; /*LAST_ARGUMENT*/ }\n"
TWO = "package p;\n\nimport java.util.List;\n\nclass Two {}\n"


def test_one_package_each_import_once_all_classes() -> None:
    unit = jvm.merge([ONE, TWO], task_set_has_flag=False)
    assert unit.count("package ") == 1
    assert unit.count("import java.util.List;") == 1
    assert unit.index("import a.B;") < unit.index("class One") < unit.index("class Two")


@pytest.mark.parametrize(("has_flag", "line"), [(False, "int x;  }"), (True, "int x; , false }")])
def test_the_one_line_that_differs_by_version(has_flag: bool, line: str) -> None:
    assert line in jvm.merge([ONE], task_set_has_flag=has_flag)


def test_sources_are_read_whatever_the_locale() -> None:
    program = (
        "from listener_bridge.reach import walk; from listener_bridge.tap import jvm; jvm.sources_beside(walk.__file__)"
    )
    plain = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    subprocess.run([sys.executable, "-c", program], env={**os.environ, **plain}, timeout=60, check=True)


def test_sources_are_read_from_a_zip_too(tmp_path: Path) -> None:
    """As `spark-submit --py-files` brings one to a driver in a cluster."""
    folder = Path(jvm.__file__).parent
    packed = tmp_path / "plugin.zip"
    with zipfile.ZipFile(packed, "w") as made:
        for path in [*folder.glob("*.py"), *folder.glob("*.java")]:
            made.write(path, f"listener_bridge/tap/{path.name}")
    found = jvm.sources_beside(str(packed / "listener_bridge" / "tap" / "tap.py"))
    assert found == jvm.sources_beside(str(folder / "tap.py"))
    assert found


def test_a_session_without_a_driver_here_is_refused_with_what_to_do() -> None:
    class ConnectSession:
        version = "4.1.4"

    with pytest.raises(jvm.CannotTapError, match=r"ConnectSession has no driver .* attach in the process"):
        jvm.connect(ConnectSession())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "folders", [("tap", "reach"), ("tap", "shuffle_services", "marks")], ids=["the walk's", "the marks'"]
)
def test_a_class_has_a_name_of_its_own_along_its_loaders(folders: tuple[str, ...]) -> None:
    """A loader asks its parent first: a class of the same name there would stand in for its own."""
    names = [source.stem for folder in folders for source in (Path(jvm.__file__).parents[1] / folder).glob("*.java")]
    assert len(names) > len(folders)
    assert [name for name, times in Counter(names).items() if times > 1] == []
