"""What a replica counts, the page that shows it, and the dashboard, alerts and documentation that speak of it."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from coordinator.app import replica_name, running
from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.evolve import apply
from coordinator.core.ids import AppShuffle, ClientId, JobId, StageId
from coordinator.core.state import State, empty
from coordinator.runtime.errors import Unavailable
from coordinator.runtime.observing import Committed, Observer, Standing
from coordinator.runtime.options import Options
from coordinator.runtime.replica import Replica
from coordinator.server import web
from coordinator.server.certificates import CertificateFiles, Certificates, WrongCertificates
from coordinator.server.interfaces import BindRefused, WrongBind
from coordinator.server.metrics import page
from coordinator.server.metrics.counting import PREFIX, Figures
from coordinator.server.metrics.page import PageOptions
from coordinator.server.options import ServerOptions
from state_backend.errors import NoSpace, OutcomeUnknown
from state_backend.limits import keys_touched
from state_backend.memory import MemoryBackend
from state_backend.testing.faults import Faults, FaultyBackend
from state_backend.values import Compare, Keyspace, Operation, Revision
from tests.support.certificates import Authority
from tests.unit.cli.calling import Shufflectl
from tests.unit.replay.logs import APP, Told, deleted_and_missed

ROOT = Path(__file__).parents[4]
Values = dict[str, float]


def commits(told: Told) -> Iterator[Committed]:
    """Every event as a commit of its own."""
    state = empty()
    for recorded in told.log:
        yield Committed(told.application, (recorded,), state, 3, 0.002)
        apply(state, recorded)


def counted(told: Told) -> Figures:
    figures = Figures()
    for commit in commits(told):
        figures.committed(commit)
    return figures


def values(figures: Figures) -> Values:
    from prometheus_client.exposition import generate_latest

    return parsed(generate_latest(figures.registry).decode())


def parsed(text: str) -> Values:
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        sample.name.removeprefix(f"{PREFIX}_") + "".join(sample.labels.values()): sample.value for sample in samples
    }


def folded(told: Told) -> State:
    state = empty()
    for recorded in told.log:
        apply(state, recorded)
    return state


def test_what_a_log_tells_is_counted() -> None:
    told = deleted_and_missed()
    found = values(counted(told))
    assert found["expirations_totalevery reader's output is on disk"] == 1
    assert found["deletions_totalpolicy"] == 1
    assert found["freed_bytes_total"] == 120_000_000
    assert (found["premature_deletions_total"], found["recoveries_total"]) == (1, 1)
    assert found["recomputed_bytes_total"] == 120_000_000
    assert found["recovery_seconds_count"] == 1
    assert found["recovery_seconds_sum"] == pytest.approx(0.01)
    assert found["expiry_to_deletion_seconds_sum"] == pytest.approx(0.02)
    assert found["commit_seconds_count"] == found["commit_events_sum"] == len(told.log)
    assert found["commit_requests_sum"] == 3 * len(told.log)


def test_jobs_that_mix_generations_are_counted_by_what_became_of_them() -> None:
    told = deleted_and_missed()
    at_first = values(counted(told))
    for job in (1, 1, 2):
        told.say(c.ReportGenerationsMixed(AppShuffle(0), JobId(job), StageId(4), 0, 4, failed=job == 2))
    found = values(counted(told))
    assert [at_first[f"generations_mixed_total{outcome}"] for outcome in ("told", "failed")] == [0, 0]
    assert [found[f"generations_mixed_total{outcome}"] for outcome in ("told", "failed")] == [2, 1]


def test_what_stands_is_looked_up_and_byte_seconds_are_its_sum_over_time() -> None:
    told = deleted_and_missed()
    until_deleted = next(at for at, one in enumerate(told.log, 1) if isinstance(one.event, e.GenerationDeleted))
    before = folded(cut(told, until_deleted))
    states, clock = {APP: before}, [100.0]
    figures = Figures()
    figures.show(lambda: Standing(2, 3, states), applications=1, clock_s=lambda: clock[0])
    found = values(figures)
    assert (found["sessions"], found["applications_loaded"], found["running_application_count"]) == (2, 3, 1)
    assert (
        found["active_shuffle_size_bytesreadable"] == found[f"application_shuffle_size_bytes{APP}chain"] == 60_000_000
    )
    assert found["spared_bytes"] == 120_000_000
    clock[0] = 110.0
    values(figures)
    states[APP] = folded(told)  # it was written again
    assert values(figures)["spared_bytes"] == 0
    assert values(figures)["saved_byte_seconds_total"] == 120_000_000 * 10
    assert values(figures)["active_shuffle_size_bytesreadable"] == 180_000_000


def cut(told: Told, upto: int) -> Told:
    """The log's first events."""
    made = deleted_and_missed()
    made.log = told.log[:upto]
    return made


def test_no_label_of_an_application_unless_it_is_allowed() -> None:
    figures = counted(deleted_and_missed())
    figures.show(lambda: Standing(1, 1, {APP: folded(deleted_and_missed())}))
    assert not [name for name in values(figures) if APP in name]


async def test_an_observer_that_fails_stops_nothing() -> None:
    class Broken(Observer):
        def committed(self, commit: Committed) -> None:
            raise RuntimeError("mine")

    told = deleted_and_missed()
    async with Replica(MemoryBackend(), Options(replica="r", reap=False), observer=Broken()) as replica:
        await tell(replica, told)
        assert len(await replica.events(APP, 0, 1_000)) >= len(told.log)


async def test_a_request_is_counted_once_into_however_many_commits_its_batch_is_cut() -> None:
    figures, told = Figures(), deleted_and_missed()
    options = Options(replica="r", reap=False, commit_requests_max=4)
    async with Replica(MemoryBackend(), options, observer=figures) as replica:
        await tell(replica, told)
        before = values(figures)
        sets = [c.SetPin(AppShuffle(0), f"reason {number}") for number in range(12)]
        await replica.submit(APP, [c.Request(ClientId(""), 0, one) for one in sets])
        after = values(figures)
    assert after["commit_requests_count"] - before["commit_requests_count"] == 3
    assert after["commit_requests_sum"] - before["commit_requests_sum"] == len(sets)


async def test_each_try_of_a_commit_of_which_the_store_says_nothing_is_a_refusal() -> None:
    """As where most members of etcd are gone: nothing but these tells the alerts."""
    figures, told = Figures(), deleted_and_missed()
    store = SilentFor(3, Keyspace.HEADS)
    async with Replica(store, Options(replica="r", reap=False), observer=figures) as replica:
        await tell(replica, told)
    assert values(figures)["store_refusals_total"] == 3


async def test_a_replica_that_nobody_asks_tells_that_the_store_is_away() -> None:
    figures = Figures()
    store = SilentFor(2, Keyspace.REPLICAS)
    async with Replica(store, Options(replica="r", reap=False), observer=figures):
        await store.written.wait()
    assert values(figures)["store_refusals_total"] == 2


async def test_a_store_that_takes_no_more_is_told_by_drivers_that_come_back() -> None:
    """As where etcd is out of space: it is read, and no session is opened that could bring a commit."""
    figures, told, store = Figures(), deleted_and_missed(), Full()
    async with Replica(store, Options(replica="r", reap=False, heartbeat_s=1_000.0), observer=figures) as replica:
        await tell(replica, told)
        store.is_full = True
        for _ in range(3):
            with pytest.raises(Unavailable, match="out of space"):
                await replica.open_session(APP, ClientId("driver"))
    assert values(figures)["store_refusals_total"] == 3


class Full(FaultyBackend):
    """Takes no write, once it is full."""

    def __init__(self) -> None:
        super().__init__(MemoryBackend(), Faults())
        self.is_full = False

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        if self.is_full:
            raise NoSpace("here", "out of space")
        return await super().put_txn(compares, operations)


class SilentFor(FaultyBackend):
    """Says nothing of the first so many writes to a keyspace, and does nothing of them."""

    def __init__(self, writes: int, keyspace: Keyspace) -> None:
        super().__init__(MemoryBackend(), Faults())
        self._left = writes
        self._keyspace = keyspace
        self.written = asyncio.Event()  #: By the first one that it does.

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        meant = any(self._keyspace is place for one in operations for place, _ in keys_touched(one))
        if self._left and meant:
            self._left -= 1
            raise OutcomeUnknown("a write", "nobody answers")
        revision = await super().put_txn(compares, operations)
        if meant:
            self.written.set()
        return revision


async def tell(replica: Any, told: Told) -> None:
    from coordinator.core.commands import RegisterApplication, Request
    from coordinator.core.ids import ClientId

    for command in told.said:
        request = Request(ClientId(""), 0, command)
        if isinstance(command, RegisterApplication):
            await replica.register(request)
        else:
            await replica.submit(told.application, [request])


# ---- the page --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def serving(**told: Any) -> Any:
    options = PageOptions(**{"bind": "127.0.0.1:0", **told})
    server = ServerOptions(bind="127.0.0.1:0")
    async with running("memory:", server, Options(replica=replica_name()), metrics=options) as listening:
        yield listening.metrics_address


async def get(address: str, request: bytes, context: ssl.SSLContext | None = None) -> str:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    writer.write(request)
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def test_every_figure_of_a_serving_process_is_on_the_page_and_documented() -> None:
    async with serving(applications=5) as address:
        answer = await get(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        refused = await get(address, b"POST /metrics HTTP/1.1\r\n\r\n")
        elsewhere = await get(address, b"GET / HTTP/1.1\r\n\r\n")
        nothing = [await get(address, f"HEAD {path} HTTP/1.1\r\n\r\n".encode()) for path in ("/metrics", "/")]
    head, _, body = answer.partition("\r\n\r\n")
    assert "200 OK" in head
    assert f"Content-Length: {len(body.encode())}" in head
    assert ("405" in refused, "404" in elsewhere) == (True, True)
    assert [told.endswith("\r\n\r\n") for told in nothing] == [True, True]
    exported = names_of(body)
    documented = set(re.findall(rf"^\| `({PREFIX}_\w+)", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE))
    assert exported == documented
    assert named_in_files() <= {*exported, *series_of(body)}


def names_of(body: str) -> set[str]:
    """Metrics as people name them: counters with `_total`; no series of when a counter began."""
    families = text_string_to_metric_families(body)
    found = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    return {name for name in found if not name.endswith("_created")}


def series_of(body: str) -> set[str]:
    """What a histogram's parts are called."""
    histograms = [family.name for family in text_string_to_metric_families(body) if family.type == "histogram"]
    return {f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum")}


def named_in_files() -> set[str]:
    """Every metric that the dashboard's panels and the alerts speak of."""
    dashboard = json.loads((ROOT / "dashboards" / "shuffle-lifecycle.json").read_text())
    rules = yaml.safe_load((ROOT / "alerts" / "shuffle-lifecycle.yml").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    assert all(PREFIX in one for one in asked)
    return {name for one in asked for name in re.findall(rf"{PREFIX}_\w+", one)}


def test_every_alert_is_documented() -> None:
    rules = yaml.safe_load((ROOT / "alerts" / "shuffle-lifecycle.yml").read_text())
    page = (ROOT / "docs" / "metrics.md").read_text()
    assert not [rule["alert"] for group in rules["groups"] for rule in group["rules"] if rule["alert"] not in page]


async def test_a_request_without_an_end_is_not_answered() -> None:
    async with serving() as address:
        assert await get(address, b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 40_000 + b"\r\n\r\n") == ""
        assert "200 OK" in await get(address, b"GET /metrics HTTP/1.1\r\n\r\n")


@pytest.mark.parametrize("slow", ["writing", "closing"])
async def test_who_reads_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    monkeypatch.setattr(web, "_WRITE_S", 0.05)
    if slow == "closing":  # what is left to send is small enough to be waited for by closing alone
        monkeypatch.setattr(asyncio.StreamWriter, "drain", lambda *_: asyncio.sleep(0))
    monkeypatch.setattr(page, "generate_latest", lambda _: b"x" * 20_000_000)
    listening = page.MetricsPage(CollectorRegistry(), PageOptions("127.0.0.1:0"))
    await listening.start()
    host, _, port = listening.address.rpartition(":")
    before = asyncio.all_tasks()
    reader, deaf = await asyncio.open_connection(host, int(port), limit=1)
    deaf.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    while not (served := asyncio.all_tasks() - before):  # noqa: ASYNC110 - nothing else tells of the connection
        await asyncio.sleep(0)
    await asyncio.wait(served, timeout=10)
    assert len(await reader.read()) < 20_000_000
    deaf.close()
    await listening.stop()


async def test_other_machines_reach_it_only_with_certificates(tmp_path: Path) -> None:
    with pytest.raises(BindRefused, match=r"0\.0\.0\.0"):
        async with serving(bind="0.0.0.0:0"):
            pass
    with pytest.raises(WrongBind, match="nonsense"):
        async with serving(bind="127.0.0.1:nonsense"):
            pass
    authority = Authority(tmp_path / "authority")
    files = authority.issue("server")
    certificates = Certificates(CertificateFiles(files.cert, files.key, files.ca))
    stranger = ssl.create_default_context(cafile=str(authority.ca))
    known = ssl.create_default_context(cafile=str(authority.ca))
    client = authority.issue("prometheus")
    known.load_cert_chain(client.cert, client.key)
    question = b"GET /metrics HTTP/1.1\r\n\r\n"
    async with serving(bind="127.0.0.1:0", certificates=certificates) as address:
        assert "200 OK" in await get(address, question, known)
        with suppress(ssl.SSLError, ConnectionError):
            assert "200 OK" not in await get(address, question, stranger)


async def test_certificates_that_are_gone_when_it_starts_are_told_as_such(tmp_path: Path) -> None:
    files = Authority(tmp_path / "authority").issue("server")
    certificates = Certificates(CertificateFiles(files.cert, files.key))
    files.key.unlink()
    with pytest.raises(WrongCertificates, match=re.escape(str(files.key))):
        await page.MetricsPage(CollectorRegistry(), PageOptions("127.0.0.1:0", certificates=certificates)).start()


def test_a_wrong_address_is_told_in_a_line(shufflectl: Shufflectl) -> None:
    called = shufflectl("serve", "--store", "memory:", "--port", 0, "--metrics", "0.0.0.0:0")
    assert (called.code, "serve.tls_certificate" in called.err, "Traceback" in called.err) == (2, True, False)


@pytest.mark.parametrize("bind", ["127.0.0.1:99999", "abc:def"])
@pytest.mark.parametrize("flags", [("--port", "0", "--metrics"), ("--listen",)], ids=str)
def test_an_address_without_a_port_is_told_in_a_line(shufflectl: Shufflectl, flags: tuple[str, ...], bind: str) -> None:
    called = shufflectl("serve", "--store", "memory:", *flags, bind)
    assert (called.code, f"{bind!r} is no address to listen on" in called.err) == (2, True)
