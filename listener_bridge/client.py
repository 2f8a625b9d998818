"""The way to the coordinator: one session after the other, on whichever replica answers.

Responsible for: addresses, fail-over, pauses between tries, and one line for people when the coordinator goes away, or
does not come, and when it is back.
Refuses to know: what is said in a session (`session`), and what happens without one: nothing.
Invariant: one session at a time, in one thread of its own; whatever happens here, nobody else waits or hears of it;
sessions that end without an answer follow one another ever more slowly; a driver that was let in once is given up only
by a coordinator that refuses it for `REFUSED_S`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from listener_bridge.backoff import BackOff
from listener_bridge.channels import Opener, plain
from listener_bridge.session import Desk, Ending, Session

log = logging.getLogger("shuffle_lifecycle")

REFUSALS_MAX = 3  # in a row: then the coordinator means it
NOT_TAKEN_MAX = 3  # sessions in a row without an answer: what is sent first will not be taken in the next one either
REFUSED_S = 60.0  # so long it must mean it to a driver that it has had: what stands before it may be in between
SOON_S = 5.0  # who waits for the first answer so long is told so, whatever the first address or its store waits for
AWAY = "the job goes on, nothing more is deleted early"
BACK = "the coordinator is back at %s: reporting goes on where it stopped"
COME = "the coordinator has answered at %s: reporting begins"


class Client:
    """Keeps a session open until it is closed, or refused."""

    def __init__(
        self,
        desk: Desk,
        addresses: Callable[[], Sequence[str]],
        forgotten: Callable[[], None],
        ended: Callable[[str], str],
        open_channel: Opener = plain,
    ) -> None:
        """`addresses` may start what they name, and may fail.

        `forgotten`: begin again as a new client. `ended`: begin again as a new application, where the one that a
        coordinator at this address has closed left off; gives its id, and a word on what goes along.
        """
        self.address = ""  #: Of the present session; empty: there is none.
        self.refused = ""  #: Why there will be none any more.
        self.why_away = ""  #: What people were told, or would be, of nobody who answers; empty: that is over.
        self.is_heard = threading.Event()  #: How it stands with the present application: let in, away, or over.
        self._desk = desk
        self._addresses = addresses
        self._forgotten = forgotten
        self._ended = ended
        self._open_channel = open_channel
        self._configured: tuple[str, ...] = ()
        self._known: list[str] = []  # these, and what the last replica that named others has named
        self.is_away = False  #: And people were told so.
        self._is_known = False  # the present application was let in once
        self._was_let_in = False  # it was, or one before it
        self._refusals = 0
        self._not_taken = 0  # sessions in a row, without an answer since
        self._refused_since_s = 0.0
        self._silent = 0  # addresses in a row that did not answer, or went away
        self._is_leaving = False
        self._owes_reason = False  # people were told that nobody answers, and not why
        self._telling = threading.Lock()  # whether somebody answers: two threads know of it
        self._closed = threading.Event()
        self._session: Session | None = None
        self._back_off = BackOff()
        self._thread = threading.Thread(target=self._run, name="shuffle-lifecycle-session", daemon=True)
        self._soon = threading.Timer(SOON_S, self._tell_soon)
        self._soon.name, self._soon.daemon = "shuffle-lifecycle-soon", True

    def start(self) -> None:
        self._thread.start()
        self._soon.start()

    def leave(self) -> None:
        """The end is being told: a coordinator that hangs up now has heard it, and need not answer."""
        self._is_leaving = True

    @property
    def is_hopeless(self) -> bool:
        """Whether nothing more will be answered soon."""
        return self._closed.is_set() or (self.is_away and not self._owes_reason) or bool(self.refused)

    def close(self, timeout_s: float) -> None:
        """Hang up; waits up to `timeout_s` seconds for the thread's end."""
        self._closed.set()
        self._soon.cancel()
        self.is_heard.set()
        session = self._session
        if session is not None:
            session.close()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def welcomed(self, address: str) -> None:
        """A session has begun."""
        self.address = address
        self._refusals = self._silent = 0
        self._soon.cancel()
        with self._telling:
            was_let_in, self._is_known, self._was_let_in = self._was_let_in, True, True
            if self.is_away:
                log.warning(BACK if was_let_in else COME, address)
                self.is_away = self._owes_reason = False
            self.why_away = ""
        self.is_heard.set()

    def answered(self) -> None:
        """Something has come of the session: only now is the next pause a short one."""
        self._back_off.reset()
        self._not_taken = 0

    # ---- the thread ----

    def _run(self) -> None:
        while not self._closed.is_set() and not self.refused:
            try:
                self._try_all()
            except Exception as error:  # noqa: BLE001 - whatever it is, the driver must not hear of it
                if _is_over(error):
                    self.is_heard.set()
                    return
                self._tell_away("the coordinator does not answer", f"{type(error).__name__}: {error}")
            if not self.refused:
                self._closed.wait(self._back_off.next_s())

    def _try_all(self) -> None:
        """Each address once, beginning behind the one that went away; as long as sessions come about, go on."""
        if not self._known:
            self._configured = tuple(self._addresses())
            self._known = list(self._configured)
        for _ in range(len(self._known)):
            if self._closed.is_set() or self.refused:
                return
            address = self._known[0]
            try:
                self._talk(address)
            finally:  # whatever came of it, the next one is asked next
                self._known.remove(address)
                self._known.append(address)

    def _talk(self, address: str) -> None:
        session = self._session = Session(self._desk, address, self._open_channel, len(self._known) > 1)
        if self._closed.is_set():
            return
        try:
            ending = session.converse()
        finally:
            self.address = ""
        self._learn(address, session.elsewhere)
        self._conclude(ending, address, session.why)

    def _conclude(self, ending: Ending, address: str, why: str) -> None:
        """What follows from how a session has ended."""
        if self._is_leaving and ending in (Ending.SENT_AWAY, Ending.OVER, Ending.REFUSED, Ending.NOT_HEARD):
            self._closed.set()
            self._desk.wake()
        elif ending is Ending.FORGOTTEN:
            log.warning("the coordinator at %s has lost its log, or us: %s; all is told anew", address, why)
            self._forgotten()
        elif ending is Ending.OVER and self._is_known:
            self._begin_as_another(address, why)
        elif ending in (Ending.OVER, Ending.REFUSED):
            self._note_refusal(address, why)
        elif ending in (Ending.AWAY, Ending.NOT_HEARD, Ending.NOT_TAKEN):
            self._note_silence(address, why)
            self._note_not_taken(ending, address, why)

    def _note_silence(self, address: str, why: str) -> None:
        """One of several replicas is missed by nobody: people hear of it when none is left."""
        self._silent += 1
        if self._silent >= len(self._known):
            self._tell_away(f"the coordinator at {address} does not answer", why)
        else:
            log.info("the coordinator at %s does not answer (%s): going on at the next one", address, why)

    def _note_not_taken(self, ending: Ending, address: str, why: str) -> None:
        """The session ended; after `NOT_TAKEN_MAX` that were not taken in a row, everything is told anew.

        What waits would be sent first again, and not taken, for ever. What is told anew is other messages.
        """
        self._not_taken += ending is Ending.NOT_TAKEN
        if self._not_taken >= NOT_TAKEN_MAX:
            log.warning("the coordinator at %s cannot take what it is sent (%s): all is told anew", address, why)
            self._not_taken = 0
            self._forgotten()

    def _begin_as_another(self, address: str, why: str) -> None:
        """We were taken for gone, as after a pause or an outage that was long. What is over stays over."""
        self._is_known = False
        self.is_heard.clear()
        if self._closed.is_set():
            self.is_heard.set()  # who has let go waits for nothing any more
        told = "the coordinator at %s has closed this application (%s): it goes on as a new one, %s"
        now = self._ended(address)
        if not self._closed.is_set():
            log.warning(told, address, why, now)

    def _note_refusal(self, address: str, why: str) -> None:
        now_s = time.monotonic()
        self._refused_since_s = self._refused_since_s if self._refusals else now_s
        self._refusals += 1
        if self._refusals < REFUSALS_MAX:
            return
        if self._was_let_in and now_s - self._refused_since_s < REFUSED_S:
            self._tell_away(f"the coordinator at {address} refuses this application", why)
            return
        log.error("the coordinator at %s refuses this application (%s): %s", address, why, AWAY)
        self.refused = why
        self._soon.cancel()
        self.is_heard.set()

    def _learn(self, address: str, elsewhere: Sequence[str]) -> None:
        """What it names takes the place of what others have named before: replicas come and go."""
        if elsewhere:
            there = {address, *self._configured, *elsewhere}
            self._known = [known for known in self._known if known in there]
            self._known.extend(named for named in elsewhere if named not in self._known)

    def _tell_soon(self) -> None:
        """In a thread of its own. Why nobody answers is told as soon as that is known."""
        where = f"at {', '.join(self._configured)}" if self._configured else "inside this driver"
        with self._telling:
            if not (self._was_let_in or self.is_away or self.refused or self._closed.is_set()):
                self.why_away = f"no coordinator {where} has answered for {SOON_S:g} s"
                log.warning("%s: %s until one does", self.why_away, AWAY)
                self.is_away = self._owes_reason = True

    def _tell_away(self, what: str, why: str) -> None:
        with self._telling:
            self.why_away = f"{what} ({why})"
            if (not self.is_away or self._owes_reason) and not self._closed.is_set():
                log.warning("%s: %s", self.why_away, AWAY)
                self.is_away, self._owes_reason = True, False
        self.is_heard.set()


def _is_over(error: Exception) -> bool:
    """Whether the interpreter ends, which then starts no thread any more: the driver is over, and nobody is missed."""
    return isinstance(error, RuntimeError) and not threading.main_thread().is_alive()
