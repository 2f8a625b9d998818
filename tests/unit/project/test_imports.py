"""A planted import that goes the wrong way is found; what does not exist yet is no failure."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def tree(tmp_path: Path, checkout: Path) -> Path:
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    return tmp_path


def write(tree: Path, path: str, text: str = "") -> None:
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    for folder in file.relative_to(tree).parents[:-1]:
        (tree / folder / "__init__.py").touch()
    file.write_text(text)


def check(tree: Path, checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, checkout / "tools/imports.py", tree], capture_output=True, text=True)


def test_a_tree_without_any_package_passes(tree: Path, checkout: Path) -> None:
    assert check(tree, checkout).returncode == 0


def test_what_may_be_imported_passes(tree: Path, checkout: Path) -> None:
    write(tree, "state_backend/api.py")
    write(tree, "state_backend/sqlite.py", "import sqlite3\nimport state_backend.api")
    write(tree, "state_backend/testing/suite.py", "import state_backend.api")
    write(tree, "coordinator/core/decide.py", "import collections.abc\nfrom coordinator.core import ids")
    write(tree, "coordinator/core/ids.py", "from __future__ import annotations\nimport dataclasses")
    write(tree, "coordinator/wire/codec.py", "from coordinator.core import ids")
    write(tree, "coordinator/runtime/journal.py", "import state_backend.api\nfrom coordinator.wire import codec")
    write(tree, "coordinator/app.py", "import state_backend.sqlite\nfrom coordinator.runtime import journal")
    write(tree, "coordinator/cli/main.py", "import coordinator.app\nimport listener_bridge.plugin\nimport replay.read")
    write(tree, "listener_bridge/plugin.py", "import pyspark, grpc\nfrom google.protobuf import message")
    write(tree, "listener_bridge/client.py", "def start():\n    from listener_bridge import embedded")
    write(tree, "listener_bridge/embedded.py", "import coordinator.app\nimport yaml")
    write(tree, "replay/read.py", "from coordinator.core import ids\nimport state_backend.api")
    done = check(tree, checkout)
    assert (done.returncode, done.stdout) == (0, "")


VIOLATIONS = [
    ("coordinator/core", "import time"),
    ("coordinator/core", "from random import Random"),
    ("coordinator/core", "import logging"),
    ("coordinator/core", "def late():\n    import os"),
    ("coordinator/core", "from google.protobuf import message"),
    ("coordinator/core", "from coordinator import wire"),
    ("coordinator/core", "from .. import wire"),
    ("coordinator/core", "from state_backend import api"),
    ("coordinator/wire", "import coordinator.runtime.journal"),
    ("coordinator/wire", "import state_backend.api"),
    ("coordinator/runtime", "import coordinator.server"),
    ("coordinator/runtime", "from state_backend import sqlite"),
    ("coordinator/server", "from coordinator import app"),
    ("coordinator/server", "from listener_bridge import plugin"),
    ("coordinator/runtime", "from state_backend.testing import suite"),
    ("coordinator/runtime", "import state_backend.testing.suite"),
    ("state_backend", "import coordinator.core"),
    ("state_backend", "from state_backend.testing import suite"),
    ("listener_bridge", "from coordinator.core import ids"),
    ("listener_bridge", "import yaml"),
    ("listener_bridge", "from google.rpc import status_pb2"),
    ("replay", "import coordinator.runtime"),
    ("replay", "import listener_bridge.plugin"),
]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> str:
    """Of a tree with all the violations at once, each in a module that nobody imports."""
    tree = tmp_path_factory.mktemp("planted")
    shutil.copy(checkout / "pyproject.toml", tree)
    for module in ("core/ids", "wire/codec", "runtime/journal", "server/services", "cli/main", "app"):
        write(tree, f"coordinator/{module}.py")
    for module in ("state_backend/api", "state_backend/sqlite", "state_backend/testing/suite", "replay/read"):
        write(tree, f"{module}.py")
    write(tree, "listener_bridge/plugin.py")
    assert check(tree, checkout).returncode == 0
    for number, (folder, line) in enumerate(VIOLATIONS):
        write(tree, f"{folder}/planted_{number}.py", line)
    done = check(tree, checkout)
    assert done.returncode == 1
    return done.stdout.replace(".", "/")


@pytest.mark.parametrize("number", range(len(VIOLATIONS)), ids=[" ".join(violation) for violation in VIOLATIONS])
def test_a_planted_violation_is_found(complaints: str, number: int) -> None:
    folder, _ = VIOLATIONS[number]
    assert re.search(rf"\b{folder}/planted_{number}\b", complaints)
