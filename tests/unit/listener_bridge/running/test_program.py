"""A program that `run` starts sees what it would see under plain Python, and ends as it would."""

from __future__ import annotations

import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).resolve().parents[4]
#: `run` without Spark: the program alone is started.
START = "import sys\nfrom listener_bridge.running import program\n"
START += "program.start(sys.argv[2], sys.argv[3:], sys.argv[1] == 'm')"

#: Exit code, standard output and standard error.
Ended: TypeAlias = tuple[int, str, str]
SEES = """
print(sorted(globals()))
import sys, os
import beside
print(sys.argv, __name__, __file__, __package__, __spec__ and __spec__.name, sys.path[0], os.getcwd())
print(sys.modules["__main__"].__dict__ is globals(), beside.value)
class Mine: pass
print(Mine.__module__, __builtins__.__name__)
"""
FAILS = """
def inner():
    raise KeyError("mine")
try:
    inner()
except KeyError as cause:
    raise ValueError("outer") from cause
"""
ENDS = {
    "fails": FAILS,
    "syntax": "def broken(:\n",
    "exit_7": "import sys; sys.exit(7)",
    "exit_text": "raise SystemExit('told')",
    "exit_none": "raise SystemExit",
    "hook": "import sys\nsys.excepthook = lambda *a: print('hooked', a[0].__name__)\n1 / 0",
    "atexit": "import atexit; atexit.register(print, 'bye'); print('hello')",
    "thread": "import threading; threading.Thread(target=lambda: print('late')).start()",
    "future": "from __future__ import annotations\ndef f(x: nowhere): ...\nprint(f.__annotations__)",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("value = 3\n")
    (tmp_path / "sees.py").write_text(SEES)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "__main__.py").write_text(SEES)
    for name, text in ENDS.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def run(folder: Path, *command: str, piped: str | None = None, **more: str) -> Ended:
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT}/proto", "PYTHONDONTWRITEBYTECODE": "1", **more}
    command = (sys.executable, *command)
    done = subprocess.run(
        command, cwd=folder, env=environment, input=piped, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


def both(folder: Path, *arguments: str, module: bool = False) -> tuple[Ended, Ended]:
    plain = run(folder, *(("-m",) if module else ()), *arguments)
    return plain, run(folder, "-c", START, "m" if module else "s", *arguments)


def test_a_script_sees_what_it_would_see(folder: Path) -> None:
    plain, ours = both(folder, "sees.py", "--store", "x", "-o", "y")
    assert ours == plain


def test_a_compiled_script_sees_what_it_would_see(folder: Path) -> None:
    py_compile.compile(str(folder / "sees.py"), cfile=str(folder / "sees.pyc"))
    plain, ours = both(folder, "sees.pyc", "x")
    assert ours == plain
    assert plain[0] == 0


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no file stands for what is piped in")
def test_a_script_may_come_through_a_pipe(folder: Path) -> None:
    """As of `run <(…)`."""
    script = "import sys; print(sys.argv, __name__, __file__)"
    plain, ours = (run(folder, *way, "/dev/stdin", "x", piped=script) for way in ((), ("-c", START, "s")))
    assert ours == plain
    assert plain[0] == 0


@pytest.mark.parametrize("named", ["program", "./program/", "program.zip"])
def test_a_folder_or_a_zip_file_sees_what_it_would_see(folder: Path, named: str) -> None:
    (folder / "program").mkdir()
    (folder / "program" / "__main__.py").write_text(SEES)
    (folder / "program" / "beside.py").write_text("value = 4\n")
    with zipfile.ZipFile(folder / "program.zip", "w") as packed:
        for name in ("__main__.py", "beside.py"):
            packed.write(folder / "program" / name, name)
    plain, ours = both(folder, named, "--store", "x")
    assert ours == plain
    assert plain[0] == 0


@pytest.mark.parametrize("named", ["empty", "empty.zip", "nowhere.py"])
def test_where_there_is_nothing_to_start_that_is_said(folder: Path, named: str) -> None:
    (folder / "empty").mkdir()
    zipfile.ZipFile(folder / "empty.zip", "w").close()
    code, _, error = run(folder, "-c", START, "s", named)
    assert (code, f"in {named!r}; expected" in error or f"program {named!r}; expected" in error) == (1, True)


def test_a_script_elsewhere_finds_what_lies_beside_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    plain, ours = both(tmp_path / "elsewhere", "../sees.py")
    assert ours == plain


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that somebody is in stays there")
def test_a_script_runs_from_a_folder_that_is_gone(folder: Path) -> None:
    (folder / "whole.py").write_text("import sys, beside; print(sys.argv, __file__, sys.path[0], beside.value)")
    plain, ours = (_where_nothing_is(folder, *way, str(folder / "whole.py"), "x") for way in ((), ("-c", START, "s")))
    assert ours == plain
    assert plain[0] == 0


def _where_nothing_is(folder: Path, *command: str) -> Ended:
    """In a folder that was removed, as a service's own may be when a release has replaced it."""
    (folder / "gone").mkdir()
    leaving = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    return run(folder / "gone", "-c", leaving, *command)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P came with 3.11")
def test_a_safe_path_loses_nothing_and_gains_nothing(folder: Path) -> None:
    """`-P` is who started us, as packagers do; the variable is the program's."""
    (folder / "path.py").write_text("import sys; print(sys.path)")
    plain = run(folder, "path.py")
    assert run(folder, "-P", "-c", START, "s", "path.py") == plain
    safe = run(folder, "path.py", PYTHONSAFEPATH="1")
    assert run(folder, "-c", START, "s", "path.py", PYTHONSAFEPATH="1") == safe != plain


@pytest.mark.parametrize("module", ["sees", "package", "package.__main__"])
def test_a_module_sees_what_it_would_see(folder: Path, module: str) -> None:
    plain, ours = both(folder, module, "1", module=True)
    assert ours == plain


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("package.job", ""),
        ("nowhere.job", " (ModuleNotFoundError: No module named 'nowhere')"),
        ("broken.job", " (ImportError: cannot import name 'wanting' from 'os'"),
    ],
)
def test_a_module_that_cannot_be_found_has_its_reason(folder: Path, module: str, why: str) -> None:
    """The package around it is imported to find it."""
    (folder / "broken").mkdir()
    (folder / "broken" / "__init__.py").write_text("from os import wanting")
    code, _, error = run(folder, "-c", START, "m", module)
    assert (code, f"there is no module {module!r} to run{why}" in error) == (1, True), error


@pytest.mark.parametrize("name", ENDS)
def test_it_ends_as_it_would(folder: Path, name: str) -> None:
    plain, ours = both(folder, f"{name}.py")
    assert ours == plain


def test_ctrl_c_ends_it_with_its_traceback(folder: Path) -> None:
    (folder / "interrupted.py").write_text("raise KeyboardInterrupt")
    (_, _, plain), (code, _, ours) = run(folder, "interrupted.py"), run(folder, "-c", START, "s", "interrupted.py")
    assert (code, ours) == (130, plain)


OWN = """
import coordinator, replay
print(coordinator.value, replay.value, hasattr(coordinator, "__path__"))
"""


def test_modules_of_its_own_that_are_called_as_ours_are_its_own(folder: Path) -> None:
    for name in ("coordinator", "replay"):
        (folder / f"{name}.py").write_text(f"value = {name!r}\n")
    (folder / "state_backend").mkdir()  # no module, so ours comes first, as under plain Python
    (folder / "own.py").write_text(OWN)
    loaded = f"import sys\nsys.path.remove('')\nimport coordinator, replay\nsys.path.insert(0, '')\n{START}"
    code, told, error = run(folder, "-c", loaded, "s", "own.py")
    assert (code, told) == (0, run(folder, "own.py")[1])
    assert "called coordinator, replay, so no coordinator can be embedded" in error


def test_a_module_in_a_package_that_is_called_as_ours_is_found(folder: Path) -> None:
    (folder / "replay").mkdir()
    (folder / "replay" / "__init__.py").write_text("value = 5\n")
    (folder / "replay" / "job.py").write_text("import replay; print(__name__, replay.value)")
    loaded = f"import sys\nsys.path.remove('')\nimport replay\nsys.path.insert(0, '')\n{START}"
    code, told, error = run(folder, "-c", loaded, "m", "replay.job")
    assert (code, told) == (0, run(folder, "-m", "replay.job")[1]), error


def test_what_runs_of_ours_is_no_module_of_the_program(folder: Path) -> None:
    loaded = f"import coordinator, state_backend\n{START}"
    (folder / "names.py").write_text("import coordinator; print(coordinator.__path__)")
    program = str(folder / "names.py")
    done = run(ROOT, "-c", loaded, "s", program)
    assert done == (0, f"['{ROOT}/coordinator']\n", "")
