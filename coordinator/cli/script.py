"""Running an unmodified PySpark script with the plugin attached, as ``coverage run`` runs a script under it.

Responsible for making the script believe that it was started alone (``sys.argv``, ``sys.path[0]``, ``__main__``), and
for attaching to every session that it makes. Refuses to know what attaching does. Invariant: what the script returns,
prints and raises is what it would without us; a failure to attach is a line in its log and nothing else.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any


def run_script(path: str, arguments: Sequence[str], **wishes: object) -> None:
    """Runs a file as ``__main__``. ``wishes``: arguments of ``attach``.

    Raises ``SystemExit`` with the script's own code, or with 1 after its traceback was printed, and
    ``FileNotFoundError`` where there is no such file.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no script at {path}; expected a Python file. Check the path.")
    sys.argv = [path, *arguments]
    sys.path[0] = str(file.resolve().parent)
    _Attaching(wishes).begin()
    _run(lambda: runpy.run_path(path, run_name="__main__"))


def run_module(name: str, arguments: Sequence[str], **wishes: object) -> None:
    """Runs a module as ``python -m`` does. Raises ``SystemExit`` as ``run_script`` does."""
    sys.argv = [name, *arguments]
    sys.path[0] = str(Path.cwd())
    _Attaching(wishes).begin()
    _run(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))


def _run(program: Callable[[], object]) -> None:
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        sys.excepthook(type(error), error, _of_the_program(error))
        raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


def _of_the_program(error: BaseException) -> Any:
    """The traceback from the program's own first frame on."""
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in ours:
        trace = trace.tb_next
    return trace or error.__traceback__


@dataclass(slots=True)
class _Attaching:
    """Wraps the two ways in which a program comes by a session: its builder, and a bare context."""

    wishes: dict[str, object]
    attached: set[str] = field(default_factory=set)
    building: bool = False

    def begin(self) -> None:
        from pyspark.context import SparkContext
        from pyspark.sql import SparkSession

        builder: Any = SparkSession.Builder
        context: Any = SparkContext
        builder.getOrCreate = self._after_building(builder.getOrCreate)
        context.__init__ = self._after_making(context.__init__)

    def _after_building(self, build: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(build)
        def wrapped(*args: Any, **named: Any) -> Any:
            self.building = True
            try:
                session = build(*args, **named)
            finally:
                self.building = False
            self._attach(session)
            return session

        return wrapped

    def _after_making(self, make: Callable[..., None]) -> Callable[..., None]:
        """A bare context gets a session to attach to; one that a builder makes is attached to when that is done."""

        @wraps(make)
        def wrapped(context: Any, *args: Any, **named: Any) -> None:
            make(context, *args, **named)
            if not self.building:
                from pyspark.sql import SparkSession

                self._attach(SparkSession(context))

        return wrapped

    def _attach(self, session: Any) -> None:
        context = getattr(session, "_sc", None)
        if context is None or context.applicationId in self.attached:
            return
        self.attached.add(context.applicationId)
        from listener_bridge import attach

        attach(session, **self.wishes)
