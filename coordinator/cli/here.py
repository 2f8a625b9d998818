"""What a verb works with: what was chosen, the source, and the form of the answer.

Responsible for choosing the source and for telling damage that was passed by. Refuses to know verbs. Invariant: one
source a call: naming two at once is an error, never a guess.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coordinator.cli import output
from coordinator.cli.exits import Exit, Failure, failure, failure_of
from coordinator.cli.sources.api import Source
from coordinator.config import Config, Loaded

SOURCES = ("server", "store", "log")
_STRENGTH = ("flag", "environment", "file")


@dataclass(frozen=True, slots=True)
class Here:
    """One call of shufflectl."""

    loaded: Loaded
    form: str
    problems: list[Exception] = field(default_factory=list)  #: What was damaged and passed by.

    @property
    def config(self) -> Config:
        """What was chosen."""
        return self.loaded.config

    def most(self, limit: int | None, of_a_table: int) -> int | None:
        """How many rows are shown: programs get all, unless they say how many."""
        return of_a_table if limit is None and self.form == "table" else limit

    @asynccontextmanager
    async def source(self) -> AsyncIterator[Source]:
        """The source that was named, opened; else the file that embedded coordinators share."""
        opened = await self._open()
        for told in opened.remarks:
            output.remark(told)
        try:
            try:
                yield opened
            finally:
                await opened.close()
        except Exception as missing:
            if (perhaps := _perhaps_there(missing, opened.problems)) is None:
                raise
            raise perhaps from missing
        self.problems.extend(opened.problems)

    def end(self) -> None:
        """Says on stderr what was damaged and passed by, once all else is shown; ends with its code."""
        for problem in self.problems:
            output.remark(problem)
        if self.problems:
            raise Failure(_code_of(self.problems[0]), "What is shown above is what could be read.")

    def chosen(self) -> tuple[str, str]:
        """The source that was named, and of which kind: server, store or log. Empty: the shared file."""
        named = self._named()
        return named, getattr(self.config, named)

    async def _open(self) -> Source:
        named, place = self.chosen()
        if named == "server":
            from coordinator.cli.sources.server import open_server

            return open_server(self.config)
        if named == "log":
            from coordinator.cli.sources.log import LogSource

            return LogSource(Path(place))
        from coordinator.cli.sources.store import open_store

        return await open_store(place or default_store(), is_default=not place, archive=self.config.archive)

    def _named(self) -> str:
        """What was named in the strongest place: a flag hides what the environment or a file names."""
        for strength in _STRENGTH:
            named = [s for s in SOURCES if getattr(self.config, s) and self._from(s).startswith(strength)]
            if len(named) > 1:
                both = " and ".join(f"`{one}`" for one in named)
                raise failure(Exit.USAGE, f"{both} are both named ({strength})", "one source", "Leave out the others.")
            if named:
                return named[0]
        return "store"

    def is_flag(self, key: str) -> bool:
        """Whether it was chosen on the command line."""
        return self._from(key).startswith(_STRENGTH[0])

    def _from(self, key: str) -> str:
        return self.loaded.origins.get(key, "")


def _perhaps_there(missing: Exception, problems: list[Exception]) -> Failure | None:
    """Of what was not found where not all could be read; None: that has nothing to do with it."""
    told = failure_of(missing)
    if not problems or told is None or told.exit_code is not Exit.NOT_FOUND:
        return None
    for problem in problems:
        output.remark(problem)
    return Failure(_code_of(problems[0]), f"{told} It may be in what could not be read.")


def _code_of(problem: Exception) -> Exit:
    told = failure_of(problem)
    return told.exit_code if told is not None else Exit.DAMAGED


def default_store() -> str:
    """The file that drivers of this user share where nobody names a coordinator."""
    from listener_bridge.embedded import default_store as shared

    return shared()
