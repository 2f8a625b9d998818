"""What each path of the pages shows.

Responsible for the paths, for what is said where one cannot be shown, and for whose browser may ask. Refuses to know
HTTP (`coordinator.server.web`) and to change anything. Invariant: whatever a page dies of or waits for costs its asker
an answer, and the replica nothing else; a page of another site in somebody's browser reads nothing here.

    /                         applications
    /APPLICATION/             the picture, which asks for its numbers again and again
    /APPLICATION/numbers.json?after=N     204 where nothing has happened after event N
"""

from __future__ import annotations

import asyncio
import html
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import nlargest
from urllib.parse import parse_qs, quote, unquote, urlsplit

from coordinator import logs
from coordinator.core.ids import ApplicationId
from coordinator.pages.pictures import Pictures
from coordinator.runtime.api import ApplicationRecord, Archived, Coordinator, CoordinatorError, UnknownApplication
from coordinator.server.interfaces import is_local
from coordinator.server.web import Listener, Question, Reply
from replay.timeline.page import live_page, policy
from replay.units import count, moment
from state_backend.waiting import within

_ANSWER_S = 30.0
_LISTED = 200  #: The newest; how many more there are is said.
_PAGE = 500
_DIGITS = 20
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

log = logs.logger(__name__)

_STYLE = (
    "body{font:15px system-ui,sans-serif;max-width:900px;margin:40px auto;padding:0 20px;color-scheme:light dark}"
    "td,th{text-align:left;padding:5px 18px 5px 0}th{font-weight:500;opacity:.6}"
)
_NO_PAGE = Reply("404 Not Found", b"There is no such page; / lists the applications.\n")
_REFUSED = Reply("403 Forbidden", b"Ask under the name or address that the pages are served at.\n")
_ARCHIVED = b"Its first events are in the archive: draw it with `shufflectl timeline APP --archive URL -o FILE`.\n"


class Pages:
    """All pages of one replica."""

    def __init__(self, coordinator: Coordinator, bind: str) -> None:
        self._coordinator = coordinator
        self._pictures = Pictures(coordinator)
        self._local = is_local(bind)
        self._names = (*_LOOPBACK, bind.rpartition(":")[0].lower())

    async def answer(self, question: Question) -> Reply:
        """The page that is asked for, or why there is none."""
        if self._local and not self._is_for_us(question):
            return _REFUSED
        return await self._guarded(question.target)

    def _is_for_us(self, question: Question) -> bool:
        """A browser that was led here under another name (DNS rebinding) says that name."""
        hosts = (host.lower() for host in question.all("host"))
        return all(host in self._names or host.rpartition(":")[0] in self._names for host in hosts)

    async def _guarded(self, target: str) -> Reply:
        try:
            return await within(_ANSWER_S, self._page(target))
        except UnknownApplication as error:
            return Reply("404 Not Found", f"{error}\n".encode())
        except Archived:
            return Reply("410 Gone", _ARCHIVED)
        except CoordinatorError as error:
            return Reply("503 Service Unavailable", f"{error}\n".encode())
        except asyncio.TimeoutError:
            return Reply("503 Service Unavailable", f"It took longer than {_ANSWER_S:.0f} seconds.\n".encode())
        except Exception as error:  # noqa: BLE001 - whatever a page dies of, the replica goes on
            log.error("page", error=repr(error))
            return Reply("500 Internal Server Error", b"The coordinator's log says more.\n")

    async def _page(self, target: str) -> Reply:
        try:
            asked = urlsplit(target)
        except ValueError:  # half an address in brackets
            return _NO_PAGE
        parts = [unquote(part) for part in asked.path.split("/")]
        if asked.path == "/":
            return _html(_list(*await self._newest()))
        if len(parts) == 3 and parts[1] and parts[2] == "":
            return await self._picture(ApplicationId(parts[1]))
        if len(parts) == 3 and parts[1] and parts[2] == "numbers.json":
            after = parse_qs(asked.query).get("after", ["0"])[0]
            return await self._numbers(ApplicationId(parts[1]), int(after) if _is_place(after) else 0)
        return _NO_PAGE

    async def _newest(self) -> tuple[list[ApplicationRecord], int]:
        """Those that registered last, and how many more there are: the store has them in the order of their ids."""
        newest: list[ApplicationRecord] = []
        seen, after = 0, ""
        while found := await self._coordinator.applications(after, _PAGE):
            newest = nlargest(_LISTED, [*newest, *found], key=lambda record: record.registered_ms)
            seen, after = seen + len(found), found[-1].application
        return newest, seen - len(newest)

    async def _picture(self, application: ApplicationId) -> Reply:
        registered = await self._coordinator.registration(application)
        return _html(live_page(registered.driver.name or application))

    async def _numbers(self, application: ApplicationId, after: int) -> Reply:
        found = await self._pictures.numbers(application, after)
        return Reply("204 No Content") if found is None else Reply("200 OK", found, "application/json")


@asynccontextmanager
async def serving(coordinator: Coordinator, bind: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Listens until the block is left; gives the address. Raises `CannotListen`."""
    listener = Listener(Pages(coordinator, bind).answer, _headers())
    await listener.start(bind, tls)
    try:
        yield f"{'http' if tls is None else 'https'}://{listener.address}/"
    finally:
        await listener.stop()


def _headers() -> tuple[str, ...]:
    """What a browser may do with any reply, and may not."""
    return (
        f"Content-Security-Policy: {policy()}",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin",
        "Cache-Control: no-store",
    )


def _is_place(told: str) -> bool:
    """Whether it can be the number of an event: Python itself refuses to read thousands of digits."""
    return told.isdecimal() and len(told) <= _DIGITS


def _html(text: str) -> Reply:
    return Reply("200 OK", text.encode(), "text/html; charset=utf-8")


def _list(newest: list[ApplicationRecord], more: int) -> str:
    rows = "".join(map(_row, newest)) or "<tr><td>None has registered yet.</td></tr>"
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>applications</title><style>{_STYLE}</style>"
    left = f"<p>{count(more, 'older one')} not shown: <code>shufflectl apps</code> lists all.</p>" if more else ""
    return f"{head}<h1>Applications</h1><table><tr><th>name<th>policy<th>registered<th>state</tr>{rows}</table>{left}"


def _row(record: ApplicationRecord) -> str:
    name = html.escape(record.driver.name or record.application)
    state = record.ending.value if record.ending is not None else "running"
    state += ", suspended" if record.suspended is not None else ""
    cells = (html.escape(record.policy.name), moment(record.registered_ms), html.escape(state))
    link = f"<a href='{quote(record.application, safe='')}/'>{name}</a>"
    return f"<tr><td>{link}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
