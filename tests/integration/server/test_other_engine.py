"""An engine that is not Spark, on plain gRPC: the page that shows it says what really happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.app import start_replica
from examples import other_engine

PAGE = Path(__file__).parents[3] / "docs" / "other-engines.md"


def test_a_second_run_needs_a_name_of_its_own_and_says_so() -> None:
    replica = start_replica("memory://")
    try:
        other_engine.main(replica.address, lambda _: None)
        with pytest.raises(SystemExit) as ended:
            other_engine.main(replica.address, lambda _: None)
        assert str(ended.value).endswith("name another one behind the address.")
        assert "application nightly is registered" in str(ended.value)
        other_engine.main(replica.address, lambda _: None, "nightly-2")
    finally:
        replica.stop()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:none"])
def test_without_a_coordinator_it_says_how_to_start_one(address: str) -> None:
    with pytest.raises(SystemExit) as ended:
        other_engine.main(address)
    assert str(ended.value).endswith("Start a coordinator there: `shufflectl serve --store sqlite:shuffles.db`.")


def test_the_transcript_in_the_docs_is_what_a_coordinator_answers() -> None:
    said: list[str] = []
    replica = start_replica("memory://")
    try:
        other_engine.main(replica.address, said.append)
    finally:
        replica.stop()
    _, _, rest = PAGE.read_text().partition("```\n")
    transcript, _, _ = rest.partition("\n```")
    assert transcript.splitlines() == said
