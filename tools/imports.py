#!/usr/bin/env python3
"""Checks who imports whom: `tools/imports.py [folder]`, the folder being this checkout unless named.

Responsible for two rules, of two kinds, and for naming the file and line that breaks one. Refuses to mend. Invariant:
an import counts wherever in its file it stands.

Between our packages, import directions run downwards only: import-linter checks the contracts in pyproject.toml, here
without the modules that do not exist (yet), which it would refuse. Towards the outside, two packages are closed: the
core is pure, so it may import data tools and nothing that could reach a clock, a file or the network; the driver part
runs beside other people's libraries, so it may import few. What is not listed is forbidden.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with import-linter

ROOT = Path(__file__).resolve().parent.parent

DATA_TOOLS = {
    "__future__", "abc", "bisect", "collections", "copy", "dataclasses", "enum", "functools", "hashlib", "heapq",
    "itertools", "json", "math", "operator", "types", "typing",
}  # fmt: skip
DRIVER_LIBRARIES = {"pyspark", "py4j", "grpc", "google.protobuf", "listener_bridge", "shuffle_lifecycle"}

# package -> what its modules may import, and the modules that the rule spares
CLOSED: dict[str, tuple[set[str], set[str]]] = {
    "coordinator.core": ({"coordinator.core", *DATA_TOOLS}, set()),
    "listener_bridge": (DRIVER_LIBRARIES | set(sys.stdlib_module_names), {"listener_bridge.embedded"}),
}


def open_imports(root: Path) -> Iterator[str]:
    """Imports of a closed package that its list does not allow, wherever in the file they stand."""
    for package, (allowed, spared) in CLOSED.items():
        for path in sorted((root / package.replace(".", "/")).rglob("*.py")):
            if spared & set(ancestry(module_name(path, root))):
                continue
            for line, name in imported(path):
                if not allowed & set(ancestry(name)):
                    yield f"{path.relative_to(root)}:{line} imports {name}, which {package} may not"


def imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # `from a.b import c`: c may be a module of its own
            start = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)


def ancestry(name: str) -> Iterator[str]:
    """a.b.c, a.b, a"""
    while name:
        yield name
        name = name.rpartition(".")[0]


def module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def contracts(root: Path) -> dict[str, Any]:
    """The contracts of pyproject.toml about the modules that exist."""
    told: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]
    told["root_packages"] = existing(told["root_packages"], root)
    kept = []
    for contract in told["contracts"]:
        named = {"containers", "source_modules", "forbidden_modules", "protected_modules"} & contract.keys()
        contract.update({key: existing(contract[key], root) for key in named})
        if all(contract[key] for key in named):
            kept.append(contract)
    told["contracts"] = kept
    return told


def existing(modules: list[str], root: Path) -> list[str]:
    """A folder without Python files is no package yet."""
    paths = {module: root / module.replace(".", "/") for module in modules}
    return [m for m, path in paths.items() if path.with_suffix(".py").exists() or any(path.glob("*.py"))]


def toml(told: dict[str, Any]) -> str:
    """Strings, flags and lists of strings are written as JSON writes them."""
    tables = [("[tool.importlinter]", told), *(("[[tool.importlinter.contracts]]", c) for c in told["contracts"])]
    return "\n".join(
        line
        for header, table in tables
        for line in (header, *(f"{key} = {json.dumps(value)}" for key, value in table.items() if key != "contracts"))
    )


def linted(root: Path) -> bool:
    told = contracts(root)
    if not told["root_packages"]:
        return True
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(toml(told))
        config.flush()
        command = [f"{Path(sys.executable).parent}/lint-imports", "--config", config.name, "--no-cache", "--no-logo"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "proto")])}
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]).resolve() if arguments else ROOT
    closed = list(open_imports(root))
    for line in closed:
        print(line)
    return 0 if linted(root) and not closed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
