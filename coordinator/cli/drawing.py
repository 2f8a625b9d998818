"""The verb `timeline`: one picture of an application, as a file.

Responsible for reading a log to its end and for writing the page. Refuses to know what is drawn. Invariant: a file that
is there is written over only where that is asked for, and never half.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator.cli import output
from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.finding import ONLY, find, is_on_disk
from coordinator.cli.here import Here
from coordinator.cli.sources.api import Source
from coordinator.cli.targets import check_file, written
from coordinator.cli.verb import COMMON, SERVER, verb
from coordinator.core.ids import ApplicationId
from replay.timeline.collect import Picture
from replay.timeline.page import page
from replay.units import count


def timeline(
    here: Here,
    to: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")],
    app: Annotated[
        str | None, typer.Argument(metavar="APP|LOG", help="An application, or the file of an exported log.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> Any:
    """Draws bytes held against needed, a bar a shuffle, and the graph of stages, as one HTML file."""
    if app is not None and is_on_disk(app) and Path(app).is_file():
        check_file(to, force, sources=(app,))
        return _timeline(_of_file(here, app), ONLY, to)
    check_file(to, force, sources=(here.chosen()[1],))
    _check_no_folder(app or "")
    return _timeline(here, app, to)


def _check_no_folder(app: str) -> None:
    """Who has named a place on the disk hears of that."""
    if "/" not in app:
        return
    is_folder, is_link = Path(app).is_dir(), Path(app).is_symlink()
    if is_folder or is_link:
        told = f"{app} is a {'folder' if is_folder else 'link that leads nowhere'}"
        raise failure(Exit.NOT_FOUND, told, "an exported log, or an application", "Name one file.")


async def _found(source: Source, app: str | None) -> ApplicationId:
    """An application may be called like a file; who is not there, and called so, was meant as one."""
    try:
        return await find(source, app)
    except Failure as missing:
        if missing.exit_code is Exit.NOT_FOUND and app and _is_like_a_path(app):
            told = f"there is no file {app}, and no application of that name"
            raise failure(Exit.NOT_FOUND, told, "an exported log, or an application", "Check the path.") from missing
        raise


def _is_like_a_path(app: str) -> bool:
    return app.startswith(("/", "./", "../", "~")) or app.endswith(".log")


async def _timeline(here: Here, app: str | None, to: Path) -> None:
    async with here.source() as source:
        picture, events = Picture(), 0
        async for recorded in source.events(await _found(source, app)):
            picture.hear(recorded)
            events += 1
        written(to, page(picture, damage=map(str, source.problems)))
        shuffles = count(len(picture.bars), "shuffle")
        output.say(f"{shuffles} of {count(events, 'event')} drawn in {to}; open it in a browser.")


def _of_file(here: Here, path: str) -> Here:
    """What was chosen, with this file as its log."""
    config = here.config.model_copy(update={"log": path})
    loaded = replace(here.loaded, config=config, origins={**here.loaded.origins, "log": "flag --log"})
    return replace(here, loaded=loaded)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=(*SERVER, "store", "log", "archive", *COMMON))(timeline)
