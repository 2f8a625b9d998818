"""Which folders other machines share, by what Linux says of its mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from listener_bridge import embedded, mounts

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:5 - nfs4 filer:/export/home rw,vers=4.2
31 30 0:41 / /home/ann/local\040disk rw - xfs /dev/sdb1 rw
32 22 0:42 / /data rw - ext4 /dev/sdc1 rw
33 32 0:43 / /data rw master:7 shared:9 - fuse.juicefs JuiceFS:x rw
garbage
34 22 0:44 /
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x.db", "ext4"),
        ("/home/ann/.local/state/not/there/yet", "nfs4"),
        ("/home/ann/local disk/x.db", "xfs"),
        ("/homeless", "ext4"),
        ("/data/x.db", "fuse.juicefs"),
    ],
)
def test_the_innermost_and_latest_mount_counts(path: str, kind: str) -> None:
    assert mounts.kind_of(Path(path), MOUNTS) == kind


def test_where_nothing_is_told_it_is_the_machines_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert mounts.kind_of(tmp_path, "") == ""
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "nowhere")
    assert mounts.shared_as(tmp_path) == ""


def shared(folder: Path) -> str:
    return f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / {folder} rw - nfs4 filer:/export rw\n"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder for state is shared by other machines, the one for temporary files is not."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "mountinfo").write_text(shared(tmp_path / "home"))
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mountinfo")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path


def test_the_default_store_is_on_a_disk_of_this_machine(home: Path) -> None:
    assert Path(embedded.default_store().removeprefix("sqlite://")).is_relative_to(home / "tmp")
    assert not list((home / "home").iterdir())


def test_a_user_without_a_home_has_a_default_store_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user is a number that nobody has named."""
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", nobody)
    assert Path(embedded.default_store().removeprefix("sqlite://")).is_relative_to(home / "tmp")


def nobody() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_a_folder_that_others_may_write_is_not_taken_for_ours(home: Path) -> None:
    made = Path(embedded.default_store().removeprefix("sqlite://")).parent
    made.chmod(0o777)
    with pytest.raises(OSError, match="this user alone can write"):
        embedded.default_store()


def test_a_store_that_somebody_named_there_is_used_with_a_warning(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "home" / "50% of #1").mkdir()
    here = embedded.Embedded(f"sqlite://{home}/home/50%25 of %231/coordinator.db")
    try:
        assert here.addresses()
    finally:
        here.stop(10.0)
    told = [record.getMessage() for record in caplog.records if record.name == "shuffle_lifecycle"]
    assert any(f"{home}/home/50% of #1/coordinator.db lies on " in line for line in told)
    assert [line.partition(" lies on ")[2].partition(":")[0] for line in told if "machines" in line] == [
        "nfs4, which other machines share"
    ]


def test_a_store_that_is_named_from_here_is_warned_of_too(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home / "home")
    embedded._warn_of_other_machines("sqlite:coordinator.db")
    [record] = caplog.records
    assert "coordinator.db lies on nfs4, which other machines share" in record.getMessage()
    embedded._warn_of_other_machines("memory:")
    assert len(caplog.records) == 1
