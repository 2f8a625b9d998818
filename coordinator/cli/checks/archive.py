"""Checks of the archive: is it there, and can it be read?

Responsible for listing it. Refuses to write: whether it can be written, the first file shows, and nothing leaves the
store before. Invariant: an archive that is not named is no finding.
"""

from __future__ import annotations

from coordinator.archive.api import ArchiveError
from coordinator.archive.open import open_archive
from coordinator.cli.checks.finding import Finding, fail, ok, warn
from coordinator.config import Config
from replay.units import count


def look(config: Config) -> list[Finding]:
    """What is in the archive that is named."""
    if not config.archive:
        return []
    try:
        archive = open_archive(config.archive)
        if archive.is_missing:
            advice = "Check its name; a coordinator makes it when the first events move there."
            return [warn("archive", f"{archive.where} is not there", advice)]
        return [ok("archive", f"{archive.where}: {count(len(archive.folders()), 'application')}")]
    except ArchiveError as error:
        return [fail("archive", error.fact, error.next_step)]
