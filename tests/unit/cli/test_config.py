"""What is chosen, where it is from, and what cannot be chosen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from coordinator import config
from coordinator.cli import reference
from coordinator.config import WrongConfig, keys, load
from tests.unit.cli.calling import Shufflectl


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shufflectl.toml"
    path.write_text('store = "memory:"\ntoken = "s3cret"\n[serve]\nlisten = "127.0.0.1:1"\nreap = false\n')
    return path


def test_a_flag_goes_before_the_environment_that_before_a_file_that_before_the_default(file: Path) -> None:
    environment = {"SHUFFLECTL_STORE": "sqlite:///e.db", "SHUFFLECTL_SERVE__LISTEN": "127.0.0.1:2"}
    loaded = load({"store": "sqlite:///f.db"}, environment, file)
    assert loaded.config.store == "sqlite:///f.db"
    assert loaded.config.serve.listen == "127.0.0.1:2"
    assert loaded.config.serve.reap is False
    assert loaded.config.timeout_s == 12.0
    assert {name: loaded.origins[name] for name in ("store", "serve.listen", "serve.reap", "timeout_s")} == {
        "store": "flag --store",
        "serve.listen": "environment SHUFFLECTL_SERVE__LISTEN",
        "serve.reap": f"file {file}",
        "timeout_s": "default",
    }


def test_a_file_is_found_by_its_variable_and_by_its_place(file: Path, tmp_path: Path) -> None:
    assert load({}, {"SHUFFLECTL_CONFIG": str(file)}).config.store == "memory:"
    home = tmp_path / "home" / "shuffle-lifecycle"
    home.mkdir(parents=True)
    file.rename(home / "shufflectl.toml")
    assert load({}, {"XDG_CONFIG_HOME": str(tmp_path / "home")}).config.store == "memory:"
    assert load({}, {"XDG_CONFIG_HOME": str(tmp_path)}).config.store == ""


def test_who_has_no_home_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert load({}, {}).config.store == ""


def test_the_passwords_of_store_and_archive_are_not_shown(shufflectl: Shufflectl) -> None:
    store, archive = "etcd://ann:her-secret@10.0.0.1:2379/ours", "ftp://ann:her-secret@10.0.0.2/logs"
    called = shufflectl("config", "show", "--store", store, "--archive", archive, "-o", "json")
    assert called.code == 0
    assert {"key": "store", "value": "etcd://ann:***@10.0.0.1:2379/ours"} in called.data
    assert {"key": "archive", "value": "ftp://ann:***@10.0.0.2/logs"} in called.data


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('stroe = "memory:"', "Did you mean store?"),
        ('[serve]\nlisten_on = "x"', "Did you mean serve.listen?"),
        ("qqq = 1", "config show"),
        ("[serve]\nreap = 'perhaps'", "serve.reap is 'perhaps'"),
        ("timeout_s = -1", "timeout_s is -1"),
        ("[serve]\nlisten = '127.0.0.1:99999'", "serve.listen is '127.0.0.1:99999'"),
        ("[serve]\nmetrics = 'abc:def'", "expected HOST:PORT such as 127.0.0.1:7457"),
        ("[serve]\npages = '7459'", "serve.pages is '7459'"),
        ("[serve]\nadvertise = 'replica-1'", "expected HOST:PORT such as replica-1:7457"),
        ("[serve]\nadvertise = 'replica 1:7457'", "serve.advertise is 'replica 1:7457'"),
        ("[serve]\nadvertise = 'replica-1:0'", "where drivers reach it"),
        ("[serve]\nadvertise = ':7457'", "serve.advertise is ':7457'"),
        ("store = ", "cannot be read"),
    ],
)
def test_what_cannot_be_right_in_a_file(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "wrong.toml").write_text(content)
    with pytest.raises(WrongConfig) as wrong:
        load({}, {}, tmp_path / "wrong.toml")
    assert words in str(wrong.value)
    assert "wrong.toml" in str(wrong.value)


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("SHUFFLECTL_STROE", "Did you mean SHUFFLECTL_STORE?"),
        ("SHUFFLECTL_SERVE__LISTN", "SHUFFLECTL_SERVE__LISTEN"),
        ("SHUFFLECTL_SERVE__SILENCE_S", "serve.silence_s is 'x' (environment SHUFFLECTL_SERVE__SILENCE_S)"),
        ("SHUFFLECTL_OUTPUT", "'table', 'json' or 'yaml'"),
    ],
)
def test_what_cannot_be_right_in_the_environment(variable: str, words: str) -> None:
    with pytest.raises(WrongConfig) as wrong:
        load({}, {variable: "x"})
    assert words in str(wrong.value)


def test_a_variable_that_is_set_to_nothing_says_nothing(file: Path) -> None:
    """In a table of the file too: there it would take away what the file says, as whose certificates are asked for."""
    file.write_text('[serve]\ntls_client_ca = "ca.pem"\n')
    empty = ("SHUFFLECTL_STORE", "SHUFFLECTL_SERVE__TLS_CLIENT_CA", "SHUFFLECTL_LIMITS__CALLS", "SHUFFLECTL_STROE")
    loaded = load({}, dict.fromkeys(empty, ""), file)
    assert loaded.config.serve.tls_client_ca == "ca.pem"
    assert loaded.config == load({}, {}, file).config


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WrongConfig, match="does not exist"):
        load({}, {}, tmp_path / "none.toml")


def test_a_secret_is_never_shown(shufflectl: Shufflectl, file: Path) -> None:
    called = shufflectl("config", "show", "--origin", "--config", file)
    assert "s3cret" not in called.out
    assert f"file {file}" in called.out
    shufflectl.env("SHUFFLECTL_SERVE__OPERATOR_TOKEN", "op3rator")
    assert "op3rator" not in shufflectl("config", "show", "-o", "json").out


def test_every_key_is_described() -> None:
    for key in keys():
        assert key.description, key.name
        assert key.variable.startswith(config.PREFIX)


def test_the_page_is_what_the_code_says() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "python -m coordinator.cli.reference"


def test_the_page_is_checked_by_a_command() -> None:
    command = [sys.executable, "-m", "coordinator.cli.reference", "--check"]
    root = reference.PAGE.parents[1]
    done = subprocess.run(
        command, cwd=root, env={"PYTHONPATH": f"{root}:{root}/proto"}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("serve.heartbeat_s", 30, "serve.silence_s is 60 (default) and serve.heartbeat_s is 30 (flag --heartbeat-s)"),
        ("serve.silence_s", 14, "expected a silence of 3 heartbeats or more"),
        ("serve.silence_s", float("inf"), "serve.silence_s is inf"),
        ("serve.retention_s", float("nan"), "serve.retention_s is nan"),
        ("timeout_s", float("inf"), "timeout_s is inf"),
        ("serve.heartbeat_s", 0.001, "greater than or equal to 0.1"),
        ("serve.lease_s", 0.001, "greater than or equal to 1"),
        ("limits.unconfirmed", 4_097, "less than or equal to 4096"),
        ("limits.applications", 1_000_001, "less than or equal to 1000000"),
        ("limits.message_bytes", 10, "greater than or equal to 65536"),
        ("limits.message_bytes", 2**31, "less than or equal to 2147483647"),
    ],
)
def test_what_makes_no_sense_is_refused(key: str, value: float, words: str) -> None:
    with pytest.raises(WrongConfig) as told:
        load({key: value}, {})
    assert words in str(told.value)


def test_what_can_just_be_is_taken() -> None:
    config = load({"serve.heartbeat_s": 20, "limits.unconfirmed": 4_096, "limits.applications": 1_000_000}, {}).config
    assert config.serve.silence_s == 3 * config.serve.heartbeat_s


def test_a_question_waits_longer_than_a_server_takes_to_say_why_it_has_no_answer() -> None:
    config = load({}, {}, None).config
    assert config.timeout_s > config.serve.answer_within_s
