"""What `serve` makes of its configuration, and what it says."""

from __future__ import annotations

import logging
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from coordinator import logs
from coordinator.cli import serving, verb
from coordinator.cli.checks import store
from coordinator.cli.checks.finding import Verdict
from coordinator.config import Config, ServeConfig
from coordinator.server.interfaces import CannotListen
from state_backend.address import SqliteAddress, parse_address
from state_backend.open import open_backend
from tests.unit.cli.calling import Shufflectl
from tests.unit.cli.calling import store as written
from tests.unit.replay.logs import deleted_and_missed


@pytest.mark.parametrize("name", ["plain", "20%20", "run#7", "why?", "ann@corp", "größe", "a b"])
async def test_a_data_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    config = Config(serve=ServeConfig(data=str(tmp_path / name)))
    assert parse_address(serving.store_of(config)) == SqliteAddress(tmp_path / name / "coordinator.db")
    (found,) = await store.look(config)
    assert (found.verdict, name in found.found) == (Verdict.OK, True)


def test_a_data_folder_that_is_a_flag_hides_a_store_that_the_environment_names(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str] = []
    monkeypatch.setattr(serving, "_serve", lambda config, form: served.append(serving.store_of(config)))
    shufflectl.env("SHUFFLECTL_STORE", "etcd://of.everybody:2379/shuffles")
    assert shufflectl("serve", "--data", tmp_path / "mine").code == 0
    assert shufflectl("serve").code == 0
    assert served == [f"sqlite://{tmp_path}/mine/coordinator.db", "etcd://of.everybody:2379/shuffles"]


def test_who_we_are_to_etcd_is_not_said_and_where_a_file_lies_is() -> None:
    assert serving._masked("etcd://ann:s3cret@one:2379,two:2379/x") == "etcd://one:2379,two:2379/x"
    assert serving._masked("sqlite:///home/ann@corp/coordinator.db") == "sqlite:///home/ann@corp/coordinator.db"
    assert serving._masked("sqlite:ann@corp.db") == "sqlite:ann@corp.db"


@pytest.mark.parametrize(
    ("bind", "said"),
    [("127.0.0.1:50051", "serve.listen"), ("127.0.0.1:5005", "serve.pages"), ("127.0.0.1:500", "serve.metrics")],
)
async def test_the_port_that_is_taken_is_named_though_it_begins_as_another(bind: str, said: str) -> None:
    serve = ServeConfig(listen="127.0.0.1:50051", pages="127.0.0.1:5005", metrics="127.0.0.1:500")
    failure = await serving._explained(Config(serve=serve), CannotListen(bind, "in use"))
    assert f", or {said} in the configuration" in str(failure)


@pytest.mark.parametrize(("level", "is_said"), [("warning", True), ("error", False)])
def test_the_store_tells_its_log_with_the_time_and_from_the_chosen_level_on(
    shufflectl: Shufflectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, is_said: bool
) -> None:
    address = written(tmp_path / "store.db", deleted_and_missed())

    async def opened_with_a_word(asked: Any) -> Any:
        logging.getLogger("state_backend.etcd.watch").warning("the watch from revision %d is resumed", 7)
        return await open_backend(asked)

    monkeypatch.setattr("coordinator.cli.sources.store.open_backend", opened_with_a_word)
    said = shufflectl("apps", "--store", address, "--log-level", level).err
    line = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z \[warning *\] the watch from revision 7 is resumed", re.MULTILINE)
    assert bool(line.search(said)) == is_said, said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_log_whose_disk_is_full_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of a replica ended with the line that they could not write: it served no more, and went on running."""
    full = Path("/dev/full").open("w", buffering=1, encoding="utf-8")  # noqa: SIM115 - to close it fails too
    try:
        monkeypatch.setattr(sys, "stderr", full)
        verb._log_to_stderr("warning")
        for _ in range(1_000):
            logs.logger("coordinator.runtime.engine").warning("the store refused", error="x" * 100)
            logging.getLogger("state_backend.lease").warning("lease 7 was not renewed")
    finally:
        with suppress(OSError):  # what is still to be written fits no better
            full.close()
