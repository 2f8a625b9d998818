"""A program that `shufflectl run` starts finds the interpreter as `python` leaves it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.integration.cli.processes import COMMAND, environment

PROGRAM = """
import code, gc, locale, logging, signal, sys, threading, warnings

print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)
print(threading.excepthook is threading.__excepthook__, sys.unraisablehook is sys.__unraisablehook__)
print([signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)])
print(logging.root.level, [one for one in logging.root.handlers if type(one) is not logging.NullHandler])
print(gc.isenabled(), gc.get_threshold(), gc.callbacks, sys.getrecursionlimit(), sys.gettrace(), sys.getprofile())
own = [one for one in warnings.filters if "numpy" not in str(one)]  # which PySpark before 4.3 imports
print(own, locale.setlocale(locale.LC_ALL), sys.stdout.encoding, sys.stdout.errors)
code.InteractiveConsole().push("1 / 0")
"""


def test_the_interpreter_is_as_under_python(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    plain, ours = (_run(tmp_path, *command, "app.py") for command in ((sys.executable,), (*COMMAND, "run")))
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, plain.stdout, plain.stderr)


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60, check=False
    )


#: What only servers and other verbs need. Whoever installs more beside them may leave one that cannot be imported.
_SERVERS_OWN = ("grpc_health", "grpc_reflection", "grpc_status", "prometheus_client")


def test_a_program_starts_whatever_is_wrong_with_what_other_verbs_need(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("print('it runs')")
    broken = f"import sys; sys.modules.update(dict.fromkeys({_SERVERS_OWN}))"
    command = f"{broken}; sys.argv[:] = ['shufflectl', 'run', 'app.py']; from coordinator.cli.main import main; main()"
    done = _run(tmp_path, sys.executable, "-c", command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "it runs\n", "")
