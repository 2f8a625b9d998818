"""What shufflectl may do at a server with administrators, and how they get their tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.app import ReplicaThread, start_replica
from coordinator.server.options import ServerOptions
from coordinator.server.tokens import hash_of
from tests.integration.cli.processes import tell
from tests.unit.cli.calling import Shufflectl, store
from tests.unit.replay.logs import APP, Told, deleted_and_missed

ADMIN = "of an administrator"


@pytest.fixture
def server() -> Iterator[ReplicaThread]:
    replica = start_replica("memory:", server=ServerOptions(administrators=(hash_of(ADMIN),)))
    yield replica
    replica.stop()


def test_an_applications_own_token_shows_it_and_does_not_decide(server: ReplicaThread, shufflectl: Shufflectl) -> None:
    here = ("--server", server.address, APP, "--token")
    token = tell(server.address, deleted_and_missed())
    assert shufflectl("shuffles", *here, token).code == 0
    decided = shufflectl("pin", *here, token, 1)
    assert (decided.code, "SetPin needs the token of an administrator" in decided.err) == (5, True)
    assert "Here: `--token`" in decided.err
    assert shufflectl("pin", *here, ADMIN, 1).code == 0
    listed = shufflectl("apps", "--server", server.address, "--token", token)
    assert (listed.code, "serve.administrators" in listed.err) == (5, True)
    assert shufflectl("apps", "--server", server.address, "--token", ADMIN, "-o", "json").data[0]["application"] == APP


def test_a_pin_that_comes_too_late_says_so(shufflectl: Shufflectl, tmp_path: Path) -> None:
    told = Told()
    told.whole_chain()
    told.carried_out()
    here = ("--store", store(tmp_path / "store.db", told), "-")
    assert shufflectl("pin", *here, 1).out == f"App shuffle 1 is pinned ({APP}).\n"
    late = shufflectl("pin", *here, 0).out
    assert late == f"App shuffle 0 is pinned; its data are gone (deleted): what is written again is kept ({APP}).\n"


def test_who_unpins_what_was_never_pinned_is_told_so(shufflectl: Shufflectl, tmp_path: Path) -> None:
    here = ("--store", store(tmp_path / "store.db", deleted_and_missed()), "-", 1)
    assert shufflectl("unpin", *here).out == f"App shuffle 1 was not pinned: nothing has changed ({APP}).\n"
    assert shufflectl("pin", *here).code == 0
    assert shufflectl("unpin", *here).out == f"App shuffle 1 is no longer pinned ({APP}).\n"


def test_a_token_is_made_with_what_is_kept_of_it(shufflectl: Shufflectl) -> None:
    first, second = (shufflectl("token", "-o", "json").data for _ in range(2))
    assert first["sha256"] == hash_of(first["token"])
    assert len(first["token"]) >= 32
    assert first["token"] != second["token"]


@pytest.mark.parametrize("key", ["ADMINISTRATORS", "REGISTRATION_TOKENS"])
def test_a_token_where_its_hash_belongs_is_refused_and_not_shown(shufflectl: Shufflectl, key: str) -> None:
    shufflectl.env(f"SHUFFLECTL_SERVE__{key}", "the token itself")
    called = shufflectl("serve", "--store", "memory:", "--port", 0)
    assert (called.code, "64 hexadecimal digits" in called.err, "itself" in called.err) == (2, True, False)
