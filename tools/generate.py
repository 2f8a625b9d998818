#!/usr/bin/env python3
"""Writes the Python of the .proto files beside them, or, with --check, says where the committed ones differ.

Responsible for committed Python that says what the .proto files say. Refuses to know what messages mean. Invariant: a
file that does not compile leaves all that was there in place, and nothing stays that is of no .proto.

The generator is pinned to protobuf 4.25, the oldest that is promised, because generated code refuses runtimes older
than its generator. etcd's messages get their import path from the folder they are generated into: `-I` maps it onto
the folder of the .proto files, so that the generated imports read `from state_backend.etcd.stubs import rpc_pb2`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import setup

GENERATED = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py")
PYTHON = setup.ENVIRONMENTS["generate"].python


@dataclass(frozen=True)
class Group:
    protos: str  # the folder of the .proto files
    include: str  # protoc's -I
    out: str  # the root that import names start from
    stubs: str  # the folder, under `out`, that the Python lands in


GROUPS = (
    Group("proto/shuffle_lifecycle/v1", include="proto", out="proto", stubs="shuffle_lifecycle/v1"),
    Group("proto/etcd", include="state_backend/etcd/stubs=proto/etcd", out=".", stubs="state_backend/etcd/stubs"),
)


def generate(group: Group, source: Path, target: Path) -> None:
    """Only files with a service get a `_pb2_grpc`."""
    protos = sorted((source / group.protos).glob("*.proto"))
    services = [proto for proto in protos if "\nservice " in proto.read_text()]
    out = (target / group.out).resolve()
    (out / group.stubs).mkdir(parents=True, exist_ok=True)
    protoc(source, group, protos, f"--python_out={out}", f"--pyi_out={out}")
    protoc(source, group, services, f"--grpc_python_out={out}")


def protoc(source: Path, group: Group, protos: list[Path], *outputs: str) -> None:
    if not protos:
        return
    files = [str(proto.relative_to(source)) for proto in protos]
    command = [str(PYTHON), "-m", "grpc_tools.protoc", f"-I{group.include}", *outputs, *files]
    if subprocess.run(command, cwd=source).returncode:
        sys.exit(f"protoc refused a file of {group.protos}; what it said stands above")


def listing(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for pattern in GENERATED for path in folder.glob(pattern)}


def differences(root: Path) -> list[str]:
    found = []
    for group in GROUPS:
        with tempfile.TemporaryDirectory() as fresh:
            generate(group, root, Path(fresh))
            wanted = listing(Path(fresh) / group.out / group.stubs)
        folder = root / group.out / group.stubs
        present = listing(folder)
        for name in sorted(wanted.keys() | present.keys()):
            if wanted.get(name) != present.get(name):
                state = "is missing" if name not in present else "is of no .proto" if name not in wanted else "differs"
                found.append(f"{(folder / name).relative_to(root)} {state}")
    return found


def regenerate(root: Path) -> None:
    for group in GROUPS:
        folder = root / group.out / group.stubs
        with tempfile.TemporaryDirectory() as fresh:  # a file that does not compile leaves the old ones in place
            generate(group, root, Path(fresh))
            wanted = Path(fresh) / group.out / group.stubs
            for name in listing(folder).keys() - listing(wanted).keys():
                (folder / name).unlink()
            shutil.copytree(wanted, folder, dirs_exist_ok=True)


def main(arguments: list[str]) -> int:
    if setup.main(["generate"]):
        return 1
    if "--check" not in arguments:
        regenerate(setup.ROOT)
        return 0
    found = differences(setup.ROOT)
    for line in found:
        print(line)
    if found:
        print(f"{len(found)} generated files are not what the .proto files say: run `make generate` and commit them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
