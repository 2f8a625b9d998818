"""An engine that is not Spark, on plain gRPC: the page that shows it says what really happens."""

from __future__ import annotations

from pathlib import Path

from coordinator.app import start_replica
from examples import other_engine

PAGE = Path(__file__).parents[3] / "docs" / "other-engines.md"


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
