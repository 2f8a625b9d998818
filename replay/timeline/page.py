"""One HTML file that draws a picture, and needs nothing else.

Responsible for putting style, script and numbers into the page. Refuses to know what is drawn (`page.js`) and who reads
it. Invariant: nothing is loaded from anywhere, but for the numbers of a live page; and no text of a log can become
markup or script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from replay.timeline.collect import Picture
from replay.timeline.numbers import COLUMNS, EVENTS, numbers


def page(picture: Picture, damage: Iterable[str] = ()) -> str:
    """The page of a picture that does not change any more. ``damage``: what of its log could not be read."""
    return _filled(picture.name or picture.application, data(picture, damage))


def live_page(title: str) -> str:
    """A page that asks for its numbers, again and again, at `numbers.json` beside it."""
    return _filled(title, json.dumps({"live": "numbers.json"}))


def data(picture: Picture, damage: Iterable[str] = ()) -> str:
    """The numbers, as JSON that may stand inside a page."""
    told = {**numbers(picture), "damage": list(damage), "columns": COLUMNS, "happenings": EVENTS}
    return _inert(json.dumps(told, separators=(",", ":")))


def policy() -> str:
    """What a browser may do for the page: run this script, use this style, ask its own server for numbers."""
    return (
        f"default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors 'none'; script-src 'sha256-{_digest('page.js')}'; style-src 'unsafe-inline'"
    )


def _filled(title: str, told: str) -> str:
    parts: dict[str, Any] = {"style": _asset("page.css"), "script": _asset("page.js"), "data": told}
    return Template(_asset("page.html")).substitute(parts, title=html.escape(f"{title} · shuffles"))


def _inert(text: str) -> str:
    """JSON in which no tag and no comment can begin or end."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _asset(name: str) -> str:
    return files("replay.timeline").joinpath(name).read_text(encoding="utf-8")


def _digest(name: str) -> str:
    return base64.b64encode(hashlib.sha256(_asset(name).encode()).digest()).decode()
