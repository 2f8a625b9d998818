"""Whether people may type any name.

Responsible for: telling a shell that runs from one that somebody has merely imported.
Refuses to know: what follows from it (`survey`).
Invariant: nothing is imported, called or loaded; a shell of a form that is not known runs.

PySpark 4 imports IPython wherever it is installed, at the first function of a column, to ask whether one runs
(`pyspark.errors.utils`); so do libraries that draw progress bars and tables. What nobody types in is a program still.
"""

from __future__ import annotations

import os
import sys

_IPYTHON = "IPython"
_ITS_SHELL = "IPython.core.interactiveshell"
_OTHERS = ("bpython", "ptpython")  #: Nobody loads these but to start them.


def is_interactive() -> bool:
    """Whether people may type any name, now or when the program has ended."""
    return bool(
        hasattr(sys, "ps1")
        or sys.flags.interactive
        or sys.flags.inspect
        or os.environ.get("PYTHONINSPECT")
        or any(shell in sys.modules for shell in _OTHERS)
        or _ipython_runs()
    )


def _ipython_runs() -> bool:
    """Whether one was made: of a terminal, of a kernel, or embedded."""
    if _IPYTHON not in sys.modules:
        return False
    module = sys.modules.get(_ITS_SHELL)
    shell = object.__getattribute__(module, "__dict__").get("InteractiveShell") if module is not None else None
    return getattr(shell, "_instance", shell or _IPYTHON) is not None
