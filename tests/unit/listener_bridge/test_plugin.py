"""What `attach` promises where it cannot work: one clear line, and a program that goes on."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from shuffle_lifecycle.v1 import service_pb2

import listener_bridge
from listener_bridge import channels, embedded, parts, plugin, settings
from listener_bridge.bridge import Bridge
from listener_bridge.settings import Policy, Settings
from listener_bridge.shuffle_services.api import Capability
from listener_bridge.tap.tap import Tap
from state_backend.address import SqliteAddress, parse_address
from tests.unit.listener_bridge.fakes import PATIENCE, FakeService, FakeTap

_BEGUN_MS = itertools.count(1_790_000_000_000)


class FakeConf:
    """Spark's conf, as both the context and the session show it."""

    def __init__(self, **entries: str) -> None:
        self.entries = {f"spark.shuffleLifecycle.{key}": value for key, value in entries.items()}

    def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 - Spark's name
        return list(self.entries.items())

    def get(self, key: str, default: str | None) -> str | None:
        return self.entries.get(key, default)


class FakeContext:
    applicationId = "local-1"  # noqa: N815 - Spark's name

    def __init__(self, conf: FakeConf) -> None:
        self.startTime = next(_BEGUN_MS)
        self._conf = conf
        self._gateway = None
        self._jsc: object = object()

    def getConf(self) -> FakeConf:  # noqa: N802 - Spark's name
        return self._conf


class FakeSession:
    """A session whose driver cannot be tapped."""

    version = "9.9.9"

    def __init__(self, **entries: str) -> None:
        self.conf = FakeConf(**entries)
        self._sc = self.sparkContext = FakeContext(self.conf)


class ConnectSession:
    version = "4.1.4"


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{record.levelname} {record.message}" for record in caplog.records]


def attach(session: Any, **overrides: object) -> listener_bridge.Attachment:
    return listener_bridge.attach(session, **overrides)


@pytest.mark.parametrize(
    ("session", "why"),
    [
        (ConnectSession(), "ConnectSession is no session with a driver in this process; expected a SparkSession, and"),
        (FakeSession(), "has no driver in this process"),
        (FakeSession(enabled="false"), "spark.shuffleLifecycle.enabled=false"),
        (FakeSession(polcy="eager"), "did you mean spark.shuffleLifecycle.policy?"),
        (FakeSession(grace="soon"), "'soon' is no duration"),
        (object(), "Spark Connect"),
        (None, "builtins.NoneType is no session"),
        (FakeContext(FakeConf()), "FakeContext is no session"),
    ],
    ids=["connect", "foreign", "switched off", "unknown key", "bad value", "no session", "none", "context"],
)
def test_what_cannot_work_is_off_with_one_line(session: Any, why: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "shuffle_lifecycle"), attach(session) as off:
        assert (off.application, off.status().state) == ("", "off")
    [line] = said(caplog)
    assert line.startswith("WARNING off, the job runs as without the plugin: ")
    assert why in line
    assert why in off.status().why
    off.detach()


@pytest.mark.parametrize(
    ("policy", "is_told"),
    [(Policy(observe=False), True), (Policy(), True), (Policy(grace_ms=9), True), (Policy("frontier", False), False)],
    ids=str,
)
def test_without_looks_reachable_says_that_it_lets_nothing_go(
    policy: Policy, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    chosen, can = Settings(policy=policy, looks=False), Capability("native", True, False, False)
    assert parts.eyes(cast(Any, None), cast(Any, None), chosen, can) is None
    lines = ["WARNING spark.shuffleLifecycle.looks=false: the program is not looked at, so reachable lets nothing go"]
    assert [line.partition(";")[0] for line in said(caplog)] == (lines if is_told else [])


GEVENT = SimpleNamespace(is_module_patched=lambda name: name in ("socket", "queue"))
EVENTLET = SimpleNamespace(is_monkey_patched=lambda name: name == "thread")
UNPATCHED = SimpleNamespace(is_module_patched=lambda _: False, is_monkey_patched=lambda _: False)


@pytest.mark.parametrize(
    ("module", "patches", "why"),
    [
        ("gevent.monkey", GEVENT, "gevent.monkey has put greenlets in the place of"),
        ("eventlet.patcher", EVENTLET, "eventlet.monkey_patch() has put greenlets in the place of"),
        ("gevent.monkey", UNPATCHED, "has no driver in this process"),
        ("eventlet.patcher", UNPATCHED, "has no driver in this process"),
    ],
)
def test_where_greenlets_are_in_the_place_of_threads_it_is_off(
    module: str, patches: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of gRPC's that waits would keep the whole program waiting, from its first session on."""
    monkeypatch.setitem(sys.modules, module, patches)
    with attach(FakeSession()) as off:
        assert why in off.status().why


@pytest.mark.parametrize("when", ["never", "before", "later"])
def test_a_program_sees_each_line_once_whenever_it_sets_up_logging(when: str) -> None:
    lines = {"set up": "logging.basicConfig(format='mine %(message)s')", "attach": "listener_bridge.attach(object())"}
    told = [lines[one] for one in {"never": ["attach"], "before": ["set up", "attach"]}.get(when, ["attach", "set up"])]
    program = ["import logging, listener_bridge", *told, "logging.getLogger('shuffle_lifecycle').warning('once')"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, timeout=60, check=True
    )
    [line] = [line for line in done.stderr.splitlines() if "once" in line]
    assert line.startswith("mine ") == (when != "never")


def test_a_session_whose_context_is_stopped_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    """Py4j and the JVM say it in words of their own, one for each place where it is found out."""
    session = FakeSession()
    session.sparkContext._jsc = None
    assert attach(session).status().why.startswith("the Spark context of this session is stopped; expected one that")


def test_why_it_is_off_is_one_line_also_where_the_jvm_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(
            "An error occurred while calling o1.invoke.\n: a.Thrown: no room\n\tat a.B.c(B.java:1)\n\tat d.E.f"
        )

    monkeypatch.setattr(plugin, "_attach", fail)
    told = "RuntimeError: An error occurred while calling o1.invoke. : a.Thrown: no room"
    assert attach(FakeSession()).status().why == told


TURNED_ELSEWHERE = """
import contextlib, io, listener_bridge
with contextlib.redirect_stderr(io.StringIO()) as elsewhere:
    listener_bridge.attach(object())
elsewhere.close()
listener_bridge.attach(object())
"""


def test_a_line_is_shown_where_errors_go_now() -> None:
    """And not where they went at the first one, as in a test whose output is captured."""
    command = [sys.executable, "-c", TURNED_ELSEWHERE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    [line] = done.stderr.splitlines()
    assert "WARNING shuffle lifecycle: off, the job runs as without the plugin" in line


def test_a_context_that_follows_one_of_the_same_id_is_another_application(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a driver whose contexts have one id; the end of the old one may still be under way."""
    attached = itertools.count(1)
    monkeypatch.setattr(plugin, "_ATTACHED", {})
    ending = SimpleNamespace(state="ending")
    monkeypatch.setattr(
        plugin,
        "_open",
        lambda _, chosen: SimpleNamespace(number=next(attached), _settings=chosen, _attached=1, status=lambda: ending),
    )
    first, second = FakeSession(), FakeSession()
    found: list[Any] = [attach(session) for session in (first, first, second)]
    assert [one.number for one in found] == [1, 1, 2]


@pytest.mark.parametrize(("wishes", "is_told"), [({}, False), ({"policy": "reachable"}, True)])
def test_who_attaches_again_with_other_wishes_is_told_that_they_do_not_count(
    wishes: dict[str, object], is_told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plugin, "_ATTACHED", {})
    going_on = SimpleNamespace(state="connected")
    present: Any = SimpleNamespace(_settings=Settings(), _attached=1, status=lambda: going_on)
    monkeypatch.setattr(plugin, "_open", lambda *_: present)
    session = FakeSession()
    attach(session)
    assert attach(session, **wishes) is present
    [line] = said(caplog)
    assert "application local-1 is attached already: its present attachment goes on" in line
    assert ("what was chosen otherwise now does not count" in line) is is_told


class Broken:
    """A part that cannot begin; every one of them is asked to close, as what has begun is."""

    def __init__(self, begins: bool) -> None:
        self.begins = begins
        self.closed = 0

    def start(self) -> None:
        if not self.begins:
            raise RuntimeError("can't start new thread")

    def stop(self, timeout_s: float) -> None:
        self.close()

    def close(self) -> None:
        self.closed += 1


_MADE_BY = {
    "registration": (parts, "registration"),
    "channels": (channels, "opener"),
    "_announce": (plugin, "_announce"),
}


@pytest.mark.parametrize("fails", ["registration", "channels", "disks", "session", "listening", "_announce"])
def test_what_an_attach_that_fails_has_begun_is_undone_and_the_next_one_works(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taps, services, eyes = [FakeTap(), FakeTap()], [FakeService(), FakeService()], [Broken(True), Broken(True)]
    disks = [Broken(fails != "disks"), Broken(True)]
    released: list[float] = []
    threads = set(threading.enumerate())
    monkeypatch.setattr(plugin, "_ATTACHED", {})
    monkeypatch.setattr(plugin, "choose", in_turn(services))
    monkeypatch.setattr(parts, "eyes", in_turn(eyes))
    monkeypatch.setattr(parts, "disks", in_turn(disks))
    monkeypatch.setattr(Tap, "open", in_turn(taps))
    monkeypatch.setattr(parts, "coordinator", lambda _: parts.Coordinator(tuple, "", released.append))
    monkeypatch.setattr(plugin, "keep_apart", lambda *_: None)
    monkeypatch.setattr(
        plugin, "Bridge", lambda tap, *its, **named: _bridge(tap, *its, **named, fails=fails if tap is taps[0] else "")
    )
    monkeypatch.setattr(parts, "registration", lambda *_: service_pb2.RegisterApplication(application="one"))
    with monkeypatch.context() as failing:
        if fails in _MADE_BY:
            failing.setattr(*_MADE_BY[fails], Broken(False).start)
        session = FakeSession()
        assert attach(session).status().state == "off"
    left = set(threading.enumerate()) - threads
    for thread in left:
        thread.join(PATIENCE)
    assert not [thread.name for thread in left if thread.is_alive()]
    assert (taps[0].is_closed, services[0].calls) == (True, [("close",)])
    assert eyes[0].closed == (fails != "registration")
    assert len(released) == (fails not in ("registration", "channels"))
    with attach(session) as second:
        assert second.status().state in ("connecting", "away")
    assert (taps[1].is_closed, services[1].calls) == (True, [("close",)])


def in_turn(parts: Iterable[object]) -> Callable[..., object]:
    """Gives one after the other, whatever it is asked with."""
    left = iter(parts)
    return lambda *_, **__: next(left)


def _bridge(*its: Any, sight: Any, fails: str, **named: Any) -> Bridge:
    made = Bridge(*its, **named)
    looks = {"start": lambda _: None, "hear": lambda _: None, "gone": None, "stop": lambda _: sight.close()}
    made.looker = SimpleNamespace(**looks)  # type: ignore[assignment]
    if fails == "session":
        made.client.start = Broken(False).start  # type: ignore[method-assign]
    if fails == "listening":
        made._listening.start = Broken(False).start  # type: ignore[method-assign]
    return made


def test_a_wrong_argument_is_the_callers_to_see() -> None:
    with pytest.raises(ValueError, match="did you mean policy"):
        attach(FakeSession(), polici="eager")
    with pytest.raises(ValueError, match="'fast' is not known"):
        attach(FakeSession(), policy="fast")


@pytest.mark.parametrize(
    ("entries", "overrides"),
    [
        ({"pressure.high": "95"}, {"pressure_low": 90}),
        ({"tls.key": "key.pem", "address": "a:1"}, {"tls_certificate": "certificate.pem"}),
    ],
    ids=["watermarks", "certificate and key"],
)
def test_an_argument_that_is_right_beside_the_conf_is_none_of_the_callers_mistakes(
    entries: dict[str, str], overrides: dict[str, object]
) -> None:
    assert "has no driver in this process" in attach(FakeSession(**entries), **overrides).status().why
    with pytest.raises(ValueError, match="expected"):
        attach(FakeSession(), **overrides)


def test_the_default_file_lies_with_the_users_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert embedded.default_store() == f"sqlite://{tmp_path}/state/shuffle-lifecycle/coordinator.db"
    assert (tmp_path / "state/shuffle-lifecycle").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["50%41 #1?", "state"])
def test_the_folder_of_the_default_file_may_be_called_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", name)
    path = tmp_path / name / "shuffle-lifecycle/coordinator.db"
    assert parse_address(embedded.default_store()) == SqliteAddress(path)
    assert path.parent.is_dir()


def test_where_state_cannot_be_written_it_lies_with_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert embedded.default_store().startswith(f"sqlite://{tmp_path}/shuffle-lifecycle-")


class FakeFolder:
    def getParent(self) -> str:  # noqa: N802 - Java's name
        return tempfile.gettempdir()


class FakeDriver:
    """The parts of a driver that know its local directories."""

    def __init__(self, is_local: bool) -> None:
        self.context = SimpleNamespace(isLocal=lambda: is_local)
        manager = SimpleNamespace(localDirs=lambda: [FakeFolder()])
        self.block_manager = SimpleNamespace(diskBlockManager=lambda: manager)


@pytest.mark.parametrize(
    ("overrides", "is_local", "service", "watched"),
    [
        ({"policy": "pressure"}, True, "native", True),
        ({"policy": "observe", "delayed_rule": "pressure"}, True, "native", True),
        ({"policy": "reachable"}, True, "native", False),
        ({"policy": "pressure"}, False, "native", False),
        ({"policy": "pressure"}, True, "celeborn", False),
        ({"policy": "pressure", "pressure_capacity": "20g"}, True, "native", False),
        ({"policy": "reachable", "pressure_directories": "/"}, False, "native", True),
    ],
)
def test_which_disks_are_watched(overrides: dict[str, object], is_local: bool, service: str, watched: bool) -> None:
    tap: Any = SimpleNamespace(driver=FakeDriver(is_local))
    can: Any = SimpleNamespace(service=service)
    assert (parts.disks(tap, settings.read({}, overrides), can) is not None) is watched


def test_what_cannot_be_watched_is_said(caplog: pytest.LogCaptureFixture) -> None:
    tap: Any = SimpleNamespace(driver=FakeDriver(is_local=False))
    can: Any = SimpleNamespace(service="native")
    assert parts.disks(tap, settings.read({}, {"policy": "pressure"}), can) is None
    assert "pressure.capacity" in said(caplog)[-1]


def test_a_disk_that_is_not_there_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its policy would delete nothing, and nobody know why."""
    tap: Any = SimpleNamespace(driver=FakeDriver(is_local=False))
    can: Any = SimpleNamespace(service="native")
    there, nowhere = str(tmp_path), str(tmp_path / "nowhere")
    wishes = {"policy": "pressure", "pressure_directories": [there, nowhere]}
    assert parts.disks(tap, settings.read({}, wishes), can) is not None
    [line] = said(caplog)
    assert f"pressure.directories: {nowhere!r} is no folder on this machine" in line
