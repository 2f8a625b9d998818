"""Attaching to a Spark session, and letting go of it.

Responsible for: `attach` and `Attachment`, which people call; one attachment for each application; and for turning
whatever cannot work into one clear line and a session that runs as if nobody had attached.
Refuses to know: which parts an attachment has (`parts`), and what is listened to and done (`bridge`).
Invariant: `attach` raises only for a wrong argument. After it has returned, nothing here raises into the program. Nor
does it make the program wait, except for at most `STOP_LIMIT_S` at the end, and `ASKED_LIMIT_S` when it asks for what
only a coordinator can tell.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import threading
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from listener_bridge import channels, connections, forks, greenlets, parts
from listener_bridge import settings as choices
from listener_bridge.bridge import DETACHED, STOP_LIMIT_S, Bridge
from listener_bridge.heard import show_log
from listener_bridge.marks.marks import keep_apart
from listener_bridge.settings import Settings, WrongSettingError
from listener_bridge.shuffle_services.choosing import choose
from listener_bridge.status import Status, came_of, off, status_of
from listener_bridge.tap.jvm import CannotTapError
from listener_bridge.tap.tap import Tap

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import SparkSession

log = logging.getLogger("shuffle_lifecycle")

_AS_IT_IS = ", and what was chosen otherwise now does not count; expected the same settings, or `detach` before"
_STOPPED = (
    "the Spark context of this session is stopped; expected one that runs: attach to a session of the new context"
)
ASKED_LIMIT_S = 10.0  #: A coordinator that starts inside a busy driver takes a second or two.


class Attachment:
    """One attached application, or none where that was not possible. A context manager.

    At its end a `with` block detaches only what its own `attach` has begun: the attachment goes on if that `attach` had
    found it, as in a function that is called by a program which has attached. `detach` ends it for all.
    """

    def __init__(self, chosen: Settings, why: str, store: str = "") -> None:
        self._settings = chosen
        self._why = why
        self._store = store
        self._bridge: Bridge | None = None
        self._attached = 1  # how often `attach` has given this one, less the blocks that ended; guarded by `_LOCK`

    @property
    def application(self) -> str:
        """Its id in the log; empty where the plugin is off. It changes if the coordinator took the driver for gone."""
        return self._bridge.application if self._bridge is not None else ""

    @property
    def token(self) -> str:
        """The application's secret, for `shufflectl --token`; empty where no coordinator has let it in.

        Before the coordinator's first answer this waits for it: `ASKED_LIMIT_S` at the most, and no longer than until
        it is known that none answers.
        """
        return bridge.token if (bridge := self._heard()) is not None else ""

    @property
    def address(self) -> str:
        """Where the coordinator is reached, for `shufflectl --server`; empty where none is. As `token`, it waits."""
        return bridge.client.address if (bridge := self._heard()) is not None else ""

    def _heard(self) -> Bridge | None:
        bridge = self._bridge
        if bridge is not None:
            bridge.client.is_heard.wait(ASKED_LIMIT_S)  # not for the token alone: it comes before the address
        return bridge

    def detach(self) -> None:
        """Tell the coordinator the rest and the end, for at most a second, and let go. May be repeated."""
        if self._bridge is not None:
            self._bridge.stop("detached", STOP_LIMIT_S, DETACHED)

    def status(self) -> Status:
        """How it stands now."""
        bridge, policy = self._bridge, str(self._settings.policy)
        return off(self._why, policy) if bridge is None else status_of(bridge, policy, self._store, self._why)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _LOCK:
            self._attached -= 1
            is_over = self._attached <= 0
        if is_over:
            self.detach()

    def __repr__(self) -> str:
        return f"<Attachment {self.application or 'off'}: {self.status().state}>"


_ATTACHED: dict[tuple[str, int], Attachment] = {}
"""Spark's application id and start time -> its attachment. Kept here even if the program drops it: a second attachment
would fence for a second log. The time is part of the key since a driver may give all its contexts the same id."""
_RUNNING: dict[Bridge, Attachment] = {}
_LOCK = threading.Lock()


def attach(spark: SparkSession, **overrides: object) -> Attachment:
    """Listen to the session's application, report to a coordinator, carry out what it asks for.

    `overrides` are conf keys without their prefix, in snake case: `policy="reachable"`, `store="sqlite:///f.db"`; they
    go before `spark.shuffleLifecycle.*`; one that is None is as if not given. Raises `ValueError` where one of them is
    wrong, and nothing else ever.
    """
    _check(spark, overrides)
    show_log()
    try:
        return _attach(spark, overrides)
    except (WrongSettingError, CannotTapError) as error:
        return _off(_STOPPED if _is_stopped(spark) else str(error))
    except Exception as error:
        log.debug("attach failed", exc_info=True)
        return _off(_STOPPED if _is_stopped(spark) else f"{type(error).__name__}: {error}")


def _check(spark: SparkSession, overrides: dict[str, object]) -> None:
    """Raises for overrides that are wrong, alone and also together with the conf."""
    try:
        choices.read({}, overrides)
    except WrongSettingError:
        try:
            choices.read(_conf_of(spark), overrides)
        except Exception:  # noqa: BLE001 - there may be no conf: what is wrong without one is told
            pass
        else:
            return
        raise


def _is_stopped(spark: SparkSession) -> bool:
    """Whether the context is stopped: then that is why something has failed, whatever py4j or the JVM says."""
    context = getattr(spark, "_sc", None)
    return context is not None and getattr(context, "_jsc", context) is None


def _attach(spark: SparkSession, overrides: dict[str, object]) -> Attachment:
    if getattr(spark, "_sc", None) is None:
        raise CannotTapError(
            f"{type(spark).__module__}.{type(spark).__name__} is no session with a driver in this process; expected a "
            "SparkSession, and under Spark Connect one where the driver runs: attach there"
        )
    chosen = choices.read(_conf_of(spark), overrides)
    if not chosen.enabled:
        return _off("spark.shuffleLifecycle.enabled=false")
    if why := greenlets.why_none_can_wait():
        return _off(why)
    with _LOCK:
        which = str(spark.sparkContext.applicationId), int(spark.sparkContext.startTime)
        present = _going_on(which)
        if present is None:
            present = _ATTACHED[which] = _open(spark, chosen)
        else:
            is_as_wished = not overrides or present._settings == chosen  # noqa: SLF001 - of this module
            told = "application %s is attached already: its present attachment goes on%s"
            log.warning(told, which[0], "" if is_as_wished else _AS_IT_IS)
            present._attached += 1  # noqa: SLF001 - of this module
        return present


def _going_on(which: tuple[str, int]) -> Attachment | None:
    """The application's present attachment. One that was refused is left: whoever asks again knows more."""
    for over in [known for known, present in _ATTACHED.items() if present.status().state == "detached"]:
        del _ATTACHED[over]
    present = _ATTACHED.get(which)
    if present is None or present.status().state != "refused":
        return present
    present.detach()
    return None


def _open(spark: SparkSession, chosen: Settings) -> Attachment:
    """Begins an attachment. If that fails everything is undone, so that `attach` can be tried again."""
    bridge, attached = _put_together(spark, chosen)
    try:
        bridge.reporter.knows_conf(_conf_of(spark))
        bridge.start()
        attached._bridge = bridge  # noqa: SLF001 - made here
        _RUNNING[bridge] = attached
        _announce(attached, chosen)
    except BaseException:
        bridge.stop("attaching has failed", STOP_LIMIT_S, DETACHED)
        raise
    return attached


def _put_together(spark: SparkSession, chosen: Settings) -> tuple[Bridge, Attachment]:
    """Makes all parts. If one cannot be made, those before it are closed again."""
    with ExitStack() as undo:
        tap = Tap.open(spark, prompt_bytes=chosen.patient_below_bytes)
        undo.callback(tap.close)
        service = choose(tap, chosen.service)
        undo.callback(service.close)
        can = service.probe()
        if can.deletes is True:
            keep_apart(tap, chosen.strict, chosen.deterministic)
        coordinator = parts.coordinator(chosen)
        registration = parts.registration(spark, str(uuid.uuid4()), chosen, can)
        sight = parts.eyes(spark, tap, chosen, can)
        if sight is not None:
            undo.callback(sight.close)
        bridge = Bridge(
            tap,
            service,
            registration,
            chosen.token,
            coordinator.addresses,
            sight=sight,
            open_channel=channels.opener(chosen.tls if chosen.addresses else None),
            disks=parts.disks(tap, chosen, can),
            prompt_bytes=chosen.patient_below_bytes,
        )
        undo.pop_all()  # all that is the bridge's now
    bridge.on_stopped = lambda limit_s: _let_go(bridge, coordinator.release, limit_s)
    return bridge, Attachment(chosen, registration.capabilities.why_not, coordinator.store)


def _let_go(bridge: Bridge, release: Callable[[float], None], limit_s: float) -> None:
    attached = _RUNNING.pop(bridge, None)
    if attached is not None:
        _take_leave(attached.status())
    release(limit_s)


def _conf_of(spark: SparkSession) -> dict[str, str]:
    """The application's conf, with what was set on the session since."""
    found = {key: value for key, value in spark.sparkContext.getConf().getAll() if key.startswith(choices.PREFIX)}
    for key in choices.KEYS:
        value: Any = spark.conf.get(choices.PREFIX + key, None)
        if value is not None:
            found[choices.PREFIX + key] = str(value)
    return found


# ---- what people must know ----


def _announce(attached: Attachment, chosen: Settings) -> None:
    where = f"coordinator at {', '.join(chosen.addresses)}" if chosen.addresses else f"log in {attached.status().store}"
    log.info("attached: application %s, policy %s, %s", attached.application, chosen.policy, where)
    if attached._why:  # noqa: SLF001 - of this module
        log.warning("only observing, nothing is deleted early: %s", attached._why)  # noqa: SLF001 - of this module


def _take_leave(status: Status) -> None:
    log.info("ended: application %s, policy %s, %s", status.application, status.policy, came_of(status))


def _off(why: str) -> Attachment:
    why = " ".join(line.strip() for line in why.splitlines() if not line.startswith("\tat "))  # a trace of the JVM's
    log.warning("off, the job runs as without the plugin: %s", why)
    return Attachment(Settings(enabled=False), why)


def _before_a_fork() -> None:
    if _RUNNING:
        connections.hold()


def _in_a_fork() -> None:
    """A forked child (`os.fork`, `multiprocessing`) has its parent's sockets and none of its threads.

    What it would let go of at its end, the listener in the JVM and the session, is its parent's, who goes on with it.
    Another thread of the parent's may have held the lock, and is not there to let go of it.
    """
    global _LOCK
    _LOCK = threading.Lock()
    _RUNNING.clear()
    connections.close()
    for attached in _ATTACHED.values():
        attached._bridge = None  # noqa: SLF001 - made here
        attached._why = "this is a forked process: the one that it was forked from is attached"  # noqa: SLF001


@functools.cache
def _warn_of_forks() -> None:
    if forks.are_dangerous():
        log.warning("%s", forks.ADVICE)


def _after_a_fork() -> None:
    connections.go_on()
    if _RUNNING:
        _warn_of_forks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_a_fork, after_in_child=_in_a_fork, after_in_parent=_after_a_fork)


@atexit.register
def _at_exit() -> None:
    """A program that ends without `spark.stop()`: the rest is told, for at most a second.

    An embedded coordinator is left to end with the process: what it has acknowledged is on disk, and an event loop can
    start nothing any more.
    """
    for bridge in list(_RUNNING):
        bridge.on_stopped = functools.partial(_let_go, bridge, lambda _: None)
        bridge.stop("the program has ended", STOP_LIMIT_S)
