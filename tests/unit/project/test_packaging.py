"""What is installed: our packages and the protocol's stubs, never the name `proto`; and it runs where drivers are."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

# Any import of a library that the driver part does not promise to do with ends in ImportError, as if it were missing.
ALONE = """
import importlib, pkgutil, sys

ALLOWED = {"pyspark", "py4j", "grpc", "google", "listener_bridge", "shuffle_lifecycle", "typing_extensions"}
ALLOWED |= sys.stdlib_module_names

class Missing:
    def find_spec(self, name, path=None, target=None):
        top, _, rest = name.partition(".")
        if top.startswith("_sysconfigdata"):  # the standard library's own, named after the platform
            return None
        if top not in ALLOWED or (top == "google" and rest and rest.split(".")[0] not in {"protobuf", "_upb"}):
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, Missing())
import listener_bridge
for module in pkgutil.walk_packages(listener_bridge.__path__, "listener_bridge."):
    if not module.name.startswith("listener_bridge.embedded"):
        importlib.import_module(module.name)
        print(module.name)
"""


def test_the_driver_part_imports_with_pyspark_grpc_and_protobuf_alone(checkout: Path) -> None:
    if not (checkout / "listener_bridge/__init__.py").exists():
        pytest.skip("listener_bridge does not exist yet")
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "listener_bridge." in done.stdout


# Where a coordinator runs, and where people ask it, there is what `pip install .` brings, and no extra.
WITHOUT_EXTRAS = """
import importlib, pkgutil, sys

for missing in ("pyspark", "py4j", "pandas", "pyarrow", "msgspec", "cramjam", "zstandard", "fsspec"):
    sys.modules[missing] = None
import coordinator
for module in pkgutil.walk_packages(coordinator.__path__, "coordinator."):
    if not module.name.startswith("coordinator.demo"):
        importlib.import_module(module.name)
from coordinator.cli.main import main
main()
"""


@pytest.mark.parametrize("words", [("--version",), ("doctor", "-o", "json"), ("serve", "--help"), ("replay", "--help")])
def test_shufflectl_runs_without_the_extras(checkout: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    home = {"HOME": str(tmp_path), "PATH": "", "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *words]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=home)
    assert ("Traceback" in done.stderr, bool(done.stdout)) == (False, True), done.stderr


def test_the_wheel_holds_our_packages_and_what_they_read(checkout: Path, tmp_path: Path) -> None:
    options = ["--quiet", "--no-deps", "--no-build-isolation", f"--wheel-dir={tmp_path}"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(checkout)], check=True)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops <= {"coordinator", "state_backend", "listener_bridge", "replay", "shuffle_lifecycle"}
    for package in ("coordinator", "state_backend", "listener_bridge", "replay", "proto/shuffle_lifecycle"):
        for path in (checkout / package).rglob("*"):
            if path.suffix in {".py", ".pyi", ".java", ".proto", ".typed"}:
                assert path.relative_to(checkout).as_posix().removeprefix("proto/") in names


def test_the_name_proto_is_left_to_googles_clients(checkout: Path) -> None:
    assert not (checkout / "proto/__init__.py").exists()


def test_generated_code_runs_on_the_oldest_protobuf_that_is_promised(checkout: Path) -> None:
    oldest = checkout / ".venvs/generate/bin/python"
    if not oldest.exists():
        pytest.skip("the generator's environment is not there: `make generate` makes it")
    stubs = sorted(checkout.glob("proto/shuffle_lifecycle/v1/*_pb2.py"))
    if not stubs:
        pytest.skip("no generated code yet")
    imports = "; ".join(f"import shuffle_lifecycle.v1.{stub.stem}" for stub in stubs)
    code = f"{imports}; import google.protobuf as p; assert p.__version__.startswith('4.25'), p.__version__"
    done = subprocess.run([oldest, "-c", code], cwd=checkout / "proto", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
