"""Planting a bug, and asking a test whether it notices.

Responsible for running tests in a child of this process, with a bug in it or without. Refuses to judge bugs. Invariant:
a bug is planted in a child that ends with the tests; this process stays as it was.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import tests.planted.core
import tests.planted.replica
import tests.planted.server
import tests.planted.store  # noqa: F401 - the bugs put themselves on the list
from tests.planted.bug import BUGS, Bug

ROOT = Path(__file__).parent.parent.parent
_CALM = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly", "--color=no")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests said."""

    status: int
    told: str

    @property
    def caught(self) -> bool:
        """Tests ran, and one failed."""
        return self.status == pytest.ExitCode.TESTS_FAILED

    @property
    def passed(self) -> bool:
        return self.status == pytest.ExitCode.OK


def named(name: str) -> Bug:
    """The bug of this name."""
    if name not in BUGS:
        raise KeyError(f"no planted bug is called {name!r}; there are: {', '.join(BUGS)}")
    return BUGS[name]


def plant_for_good(name: str) -> None:
    """Plants a bug in this process, which is to end with it."""
    named(name).plant(pytest.MonkeyPatch())


def ask(tests: Sequence[str], name: str = "", within_s: float = 120.0) -> Verdict:
    """Runs the tests in a child, with a bug planted; one that takes too long is a bug that was noticed."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as output:
        child = multiprocessing.get_context("fork").Process(target=_run, args=(tests, name, output.name))
        child.start()
        child.join(within_s)
        if child.is_alive():
            child.kill()
            child.join()
            return Verdict(int(pytest.ExitCode.TESTS_FAILED), f"not done after {within_s:g} s")
        return Verdict(child.exitcode or 0, Path(output.name).read_text(errors="replace"))


def _run(tests: Sequence[str], name: str, output: str) -> None:
    """In the child: its words go to a file, its verdict is its exit status."""
    os.chdir(ROOT)
    with Path(output).open("w") as words:
        os.dup2(words.fileno(), 1)
        os.dup2(words.fileno(), 2)
        sys.stdout, sys.stderr = words, words
        with contextlib.suppress(KeyError):
            del os.environ["PYTEST_CURRENT_TEST"]
        if name:
            plant_for_good(name)
        status = pytest.main([*_CALM, *tests])
        words.flush()
        os._exit(int(status))
