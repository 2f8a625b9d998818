"""Starting a Python program in this process as `python` would.

Responsible for `__main__`, `sys.argv`, `sys.path`, exit codes and tracebacks. Refuses to know what the program is.
Invariant: the program sees nothing of who started it, and who reads its traceback does not either.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from listener_bridge.running import names

A_MODULE = "a module, or a package with a __main__ module, on sys.path"


class NoProgramError(Exception):
    """There is nothing to start: a fact, and what was expected. Nothing has happened."""

    def __init__(self, fact: str, expected: str) -> None:
        super().__init__(f"{fact}; expected {expected}")
        self.fact = fact
        self.expected = expected


def start(named: str, arguments: Sequence[str], is_module: bool = False) -> None:
    """Runs it to its end. Ends this process where the program does so itself, or fails. Raises `NoProgramError`."""
    main, code = _module(named) if is_module else _file(named)
    sys.modules["__main__"] = main
    sys.argv = [str(main.__file__) if is_module else named, *arguments]
    try:
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the program's
        _end(error)


def _file(named: str) -> tuple[ModuleType, CodeType]:
    path = Path(named)
    if path.is_dir() or zipfile.is_zipfile(path):
        return _folder(named)
    if not path.exists():  # it may be a pipe, as of `run <(…)`
        raise NoProgramError(
            f"there is no program {named!r}", "a Python file, or a folder or zip file with __main__.py"
        )
    return _script(named, path)


def _folder(named: str) -> tuple[ModuleType, CodeType]:
    """A folder or a zip file, which is run by its `__main__` with itself on the path."""
    place = _from_here(named)
    finder: Any = pkgutil.get_importer(place)
    spec = finder.find_spec("__main__") if finder is not None else None
    code = spec.loader.get_code("__main__") if spec is not None else None
    if spec is None or code is None:
        raise NoProgramError(f"there is no __main__.py in {named!r}", "a Python file, or a folder or zip file with one")
    _comes_first(place)
    main = _main(str(spec.origin), spec)
    main.__package__ = ""
    main.__loader__ = spec.loader
    return main, code


def _script(named: str, path: Path) -> tuple[ModuleType, CodeType]:
    if not _wants_safe_path():
        _comes_first(str(path.resolve().parent))
    file = _from_here(named)
    main = _main(file, None)
    with io.open_code(file) as text:
        source = text.read()
    is_compiled = source.startswith(importlib.util.MAGIC_NUMBER)
    loader = importlib.machinery.SourcelessFileLoader if is_compiled else importlib.machinery.SourceFileLoader
    main.__loader__ = loader("__main__", file)
    return main, _code(source, file)


def _comes_first(place: str) -> None:
    """On the path, instead of the folder of what started us; with `-P`, as packagers start commands, none is there."""
    sys.path[: 0 if getattr(sys.flags, "safe_path", False) else 1] = [place]
    names.give_back(place)


def _wants_safe_path() -> bool:
    """Whether the interpreter would put neither a script's folder nor this one on the path (since Python 3.11)."""
    return hasattr(sys.flags, "safe_path") and bool(os.environ.get("PYTHONSAFEPATH"))


def _from_here(named: str) -> str:
    """As the interpreter does: `..` is left as it is, and a whole path needs no folder, which may have been removed."""
    return named if os.path.isabs(named) else os.path.join(Path.cwd(), named)  # noqa: PTH117, PTH118


def _module(named: str) -> tuple[ModuleType, CodeType]:
    if not _wants_safe_path():
        _comes_first(str(Path.cwd()))
    spec = _spec(named)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec(f"{named}.__main__")
    loader: Any = spec.loader if spec is not None else None
    code = loader.get_code(spec.name) if spec is not None and hasattr(loader, "get_code") else None
    if spec is None or code is None:
        raise NoProgramError(f"there is no module {named!r} to run", A_MODULE)
    main = _main(str(spec.origin), spec)
    main.__package__ = spec.parent
    main.__loader__ = loader
    return main, code


def _spec(named: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(named)
    except (ImportError, ValueError) as error:  # of the package around it too, which is imported for this
        raise NoProgramError(
            f"there is no module {named!r} to run ({type(error).__name__}: {error})", A_MODULE
        ) from error


def _main(file: str, spec: importlib.machinery.ModuleSpec | None) -> ModuleType:
    main = ModuleType("__main__")
    main.__file__ = file
    main.__spec__ = spec
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    if sys.version_info < (3, 15):
        main.__dict__["__cached__"] = None
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    return main


def _code(source: bytes, named: str) -> CodeType:
    compiled: CodeType | None = pkgutil.read_code(io.BytesIO(source))  # as `runpy` does
    if compiled is not None:
        return compiled
    try:
        return compile(source, named, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        _end(error.with_traceback(None))


def _end(error: BaseException) -> NoReturn:
    """As the interpreter ends: the program's own hook, its own frames, and its exit code."""
    error.__traceback__ = _own_frames(error.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)
    sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace
