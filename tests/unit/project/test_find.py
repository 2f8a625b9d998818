"""A machine that lacks something is told what, what was found instead, and what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BARE = ("env", "bash", "readlink", "make", "sh")


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine that has a shell and make, and neither Java nor Python."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in BARE:
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    return {"PATH": str(programs), "JVM_ROOTS": str(tmp_path / "jvm")}


def plant(program: Path, output: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
    program.chmod(0o755)


def find(checkout: Path, tool: str, machine: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([checkout / "tools" / tool, *arguments], env=machine, capture_output=True, text=True)


def test_without_java_one_sentence_says_what_to_install(checkout: Path, machine: dict[str, str]) -> None:
    found = find(checkout, "find-java", machine)
    assert found.returncode == 1
    assert found.stdout == ""
    assert found.stderr.startswith("no Java 17 or later found (none in JAVA_HOME, in PATH or under ")
    assert "apt-get install openjdk-17-jre-headless" in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("version", "number"), [('openjdk version "11.0.22" 2024-01-16', "11"), ('java version "1.8.0_402"', "8")]
)
def test_an_old_java_is_named(
    checkout: Path, machine: dict[str, str], tmp_path: Path, version: str, number: str
) -> None:
    plant(tmp_path / "old/bin/java", version)
    found = find(checkout, "find-java", {**machine, "JAVA_HOME": str(tmp_path / "old")})
    assert found.returncode == 1
    assert f"{tmp_path}/old/bin/java is {number}" in found.stderr


def test_a_new_enough_java_is_found_behind_an_old_one(checkout: Path, machine: dict[str, str], tmp_path: Path) -> None:
    plant(tmp_path / "old/bin/java", 'openjdk version "11.0.22" 2024-01-16')
    plant(tmp_path / "jvm/java-21/bin/java", 'openjdk version "21.0.4" 2024-07-16')
    found = find(checkout, "find-java", {**machine, "JAVA_HOME": str(tmp_path / "old")})
    assert (found.returncode, found.stdout) == (0, f"{tmp_path}/jvm/java-21\n")


def test_make_demo_without_java_fails_before_it_installs_anything(checkout: Path, machine: dict[str, str]) -> None:
    machine["PYTHON"] = f"{sys.base_prefix}/bin/python3"
    made = subprocess.run(["make", "demo"], cwd=checkout, env=machine, capture_output=True, text=True, timeout=30)
    assert made.returncode != 0
    assert "no Java 17 or later found" in made.stderr
    assert "set-up" not in made.stdout


def test_without_python_one_sentence_says_how_to_name_one(checkout: Path, machine: dict[str, str]) -> None:
    found = find(checkout, "find-python", machine)
    assert found.returncode == 1
    assert found.stderr == (
        "no Python 3.10 or later found (no python3 in PATH); install one, or name one: PYTHON=/path/to/python3 make …\n"
    )


def test_an_old_python_is_named(checkout: Path, machine: dict[str, str]) -> None:
    old = Path(machine["PATH"]) / "python3"
    old.write_text("#!/bin/sh\necho '3 8 /usr/bin/python3.8'\n")
    old.chmod(0o755)
    found = find(checkout, "find-python", machine)
    assert found.returncode == 1
    assert "/usr/bin/python3.8 is 3.8" in found.stderr


def test_the_python_that_is_named_goes_first(checkout: Path, machine: dict[str, str], tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    chosen.write_text(f"#!/bin/sh\necho '3 12 {chosen}'\n")
    chosen.chmod(0o755)
    found = find(checkout, "find-python", {**machine, "PYTHON": str(chosen)})
    assert found.stdout == f"{chosen}\n"


def test_the_readme_says_which_python_goes_first(checkout: Path, machine: dict[str, str], tmp_path: Path) -> None:
    """Not what `python3` is: a newcomer may have chosen that."""
    for name, version in (("python3", "14"), ("python3.11", "11")):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\n[ "$2" = "import venv, ensurepip" ] || echo 3 {version} {program}\n')
        program.chmod(0o755)
    told = [find(checkout, "find-python", {**machine, **named}).stdout for named in ({}, {"PYTHON": "python3"})]
    assert told == [f"{tmp_path}/bin/python3.11\n", f"{tmp_path}/bin/python3\n"]
    assert "of several in `PATH` python3.11 goes first" in " ".join((checkout / "README.md").read_text().split())
