"""Generated Python is compared by content: what differs, is missing or is left over is named."""

from __future__ import annotations

from pathlib import Path

import generate
import pytest

PROTO = 'syntax = "proto3";\npackage test.v1;\nmessage Thing { string name = 1; }\n'
SERVICE = "service Things { rpc Get(Thing) returns (Thing); }\n"

pytestmark = pytest.mark.skipif(
    not generate.PYTHON.exists(), reason="`make generate` makes the generator's environment"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("proto/shuffle_lifecycle/v1", "proto/etcd"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proto/shuffle_lifecycle/v1/thing.proto").write_text(PROTO)
    (tmp_path / "proto/etcd/rpc.proto").write_text(PROTO.replace("test", "other") + SERVICE)
    generate.regenerate(tmp_path)
    return tmp_path


def test_stubs_stand_where_they_are_imported_from(tree: Path) -> None:
    assert (tree / "proto/shuffle_lifecycle/v1/thing_pb2.pyi").exists()
    assert not (tree / "proto/shuffle_lifecycle/v1/thing_pb2_grpc.py").exists()  # it has no service
    grpc = (tree / "state_backend/etcd/stubs/rpc_pb2_grpc.py").read_text()
    assert "from state_backend.etcd.stubs import rpc_pb2" in grpc


def test_what_was_just_generated_does_not_differ(tree: Path) -> None:
    assert generate.differences(tree) == []


def test_a_changed_a_missing_and_a_left_over_file_are_named(tree: Path) -> None:
    stubs = tree / "proto/shuffle_lifecycle/v1"
    (stubs / "thing.proto").write_text(PROTO.replace("name", "title"))
    (stubs / "thing_pb2.pyi").unlink()
    (stubs / "gone_pb2.py").touch()
    assert generate.differences(tree) == [
        "proto/shuffle_lifecycle/v1/gone_pb2.py is of no .proto",
        "proto/shuffle_lifecycle/v1/thing_pb2.py differs",
        "proto/shuffle_lifecycle/v1/thing_pb2.pyi is missing",
    ]


def test_a_proto_that_does_not_compile_leaves_the_old_files(tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stubs = tree / "proto/shuffle_lifecycle/v1"
    before = (stubs / "thing_pb2.py").read_text()
    (stubs / "thing.proto").write_text(PROTO + "nonsense")
    with pytest.raises(SystemExit, match="protoc refused a file of proto/shuffle_lifecycle/v1"):
        generate.regenerate(tree)
    assert "thing.proto:4" in capfd.readouterr().err
    assert (stubs / "thing_pb2.py").read_text() == before
