"""A driver, or shufflectl, and a real server that talk TLS, each with a certificate."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]
from prometheus_client import CollectorRegistry
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from coordinator.app import ReplicaThread, start_replica
from coordinator.cli.exits import Failure
from coordinator.cli.sources.server import open_server
from coordinator.config import Config
from coordinator.server.certificates import CertificateFiles, Certificates, WrongCertificates
from coordinator.server.interfaces import BindRefused
from coordinator.server.metrics.page import MetricsPage, PageOptions
from coordinator.server.options import ServerOptions
from coordinator.server.tokens import hash_of
from listener_bridge import settings, words
from listener_bridge.bridge import Bridge
from listener_bridge.channels import opener
from listener_bridge.settings import Tls, WrongSettingError
from listener_bridge.shuffle_services.api import Cannot
from listener_bridge.tap.facts import JobEnded
from tests.support.certificates import Authority
from tests.support.spark import wait_for
from tests.unit.cli.calling import Shufflectl
from tests.unit.listener_bridge.fakes import FakeService, FakeTap


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def shufflectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shufflectl:
    return Shufflectl(tmp_path, monkeypatch, capsys)


@pytest.fixture
def sealed(tmp_path: Path, authority: Authority) -> Iterator[ReplicaThread]:
    """A server that lets in only whom the authority has given a certificate."""
    options = ServerOptions(certificates=certificates(authority), registration_tokens=(hash_of("secret"),))
    replica = start_replica("memory:", server=options)
    yield replica
    replica.stop()


def certificates(authority: Authority, client_ca: bool = True) -> Certificates:
    files = authority.issue("server")
    return Certificates(CertificateFiles(files.cert, files.key, files.ca if client_ca else None))


def driver_at(address: str, tls: Tls | None, token: str = "secret") -> Bridge:
    chosen = settings.read({})
    service = FakeService(fence=Cannot("never asked"))
    registration = service_pb2.RegisterApplication(
        application="app-1",
        driver=common_pb2.Driver(name="a test"),
        capabilities=words.capabilities(service.probe()),
        policy=words.policy(chosen.policy),
        settings=words.promises(chosen),
    )
    return Bridge(FakeTap(), service, registration, token, lambda: (address,), open_channel=opener(tls))  # type: ignore[arg-type]


def ours(authority: Authority) -> Tls:
    files = authority.issue("driver")
    return Tls(str(files.ca), str(files.cert), str(files.key))


def test_a_driver_with_a_certificate_is_served(sealed: ReplicaThread, authority: Authority) -> None:
    bridge = driver_at(sealed.address, ours(authority))
    bridge.start()
    bridge._tap.tell(JobEnded(0, 1, 0, True, None))  # type: ignore[attr-defined]
    wait_for(lambda: bridge.reporter.confirmed == 1, "the answer", 20)
    assert not bridge.client.is_away
    assert len(bridge.token) >= 43
    bridge.stop("the test has ended")


@pytest.mark.parametrize("token", ["", "wrong"])
def test_who_may_not_register_is_refused_and_the_job_goes_on(
    sealed: ReplicaThread, authority: Authority, token: str
) -> None:
    bridge = driver_at(sealed.address, ours(authority), token)
    bridge.start()
    wait_for(lambda: bool(bridge.client.refused), "it to be refused for good", 20)
    assert "serve.registration_tokens" in bridge.client.refused
    assert bridge.token == ""
    bridge.stop("the test has ended")


@pytest.mark.parametrize("who", ["plain text", "no certificate", "another authority"])
def test_who_cannot_show_one_is_not_let_in_and_the_job_goes_on(
    sealed: ReplicaThread, authority: Authority, tmp_path: Path, who: str
) -> None:
    strangers = {
        "plain text": None,
        "no certificate": Tls(str(authority.ca)),
        "another authority": ours(Authority(tmp_path / "another")),
    }
    bridge = driver_at(sealed.address, strangers[who])
    bridge.start()
    wait_for(lambda: bridge.client.is_away, "it to be told that nobody answers")
    assert not bridge.client.address
    bridge.stop("the test has ended")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WrongSettingError, match=r"tls\.ca: .*none\.pem cannot be read"):
        opener(Tls(ca=str(tmp_path / "none.pem")))


# --- files that change ------------------------------------------------------------------------------------------------


def healthy(address: str, tls: Tls) -> bool:
    """Whether somebody who comes anew is answered."""
    with opener(tls)(address) as channel:
        try:
            health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20)
        except grpc.RpcError as error:
            said: Any = error
            if said.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return False
        return True


def test_renewed_certificates_and_authorities_count_without_a_restart(
    sealed: ReplicaThread, authority: Authority, tmp_path: Path
) -> None:
    another = Authority(tmp_path / "another")
    before, after = ours(authority), ours(another)
    assert (healthy(sealed.address, before), healthy(sealed.address, after)) == (True, False)
    renewed = another.issue("server")
    for new, place in ((renewed.key, "server-key.pem"), (renewed.cert, "server.pem"), (renewed.ca, "ca.pem")):
        replace(new, tmp_path / "authority" / place)
    assert (healthy(sealed.address, before), healthy(sealed.address, after)) == (False, True)


def read(address: str, tls: Tls) -> bool:
    """Whether somebody who comes anew may read the metrics."""
    context = ssl.create_default_context(cafile=tls.ca)
    context.load_cert_chain(tls.certificate, tls.key)
    try:
        with urllib.request.urlopen(f"https://{address}/metrics", timeout=20, context=context) as page:
            return bool(page.status == 200)
    except OSError:
        return False


def test_renewed_certificates_count_on_a_page_too(authority: Authority, tmp_path: Path) -> None:
    another = Authority(tmp_path / "another")
    before, after = ours(authority), ours(another)
    page = MetricsPage(CollectorRegistry(), PageOptions("127.0.0.1:0", certificates=certificates(authority)))

    async def ask() -> list[bool]:
        """Before the renewal, after it, and after half of another one: each from both."""
        await page.start()
        seen = [await asyncio.to_thread(read, page.address, who) for who in (before, after)]
        renewed = another.issue("server")
        for new, place in ((renewed.key, "server-key.pem"), (renewed.cert, "server.pem"), (renewed.ca, "ca.pem")):
            replace(new, tmp_path / "authority" / place)
        seen += [await asyncio.to_thread(read, page.address, who) for who in (before, after)]
        replace(Authority(tmp_path / "third").issue("server").key, tmp_path / "authority" / "server-key.pem")
        seen += [await asyncio.to_thread(read, page.address, who) for who in (before, after)]
        await page.stop()
        return seen

    assert asyncio.run(ask()) == [True, False, False, True, False, True]


def test_files_that_do_not_fit_together_change_nothing(
    sealed: ReplicaThread, authority: Authority, tmp_path: Path
) -> None:
    driver = ours(authority)
    assert healthy(sealed.address, driver)
    stranger = Authority(tmp_path / "another").issue("server")
    replace(stranger.key, tmp_path / "authority" / "server-key.pem")  # of another certificate
    assert healthy(sealed.address, driver)
    (tmp_path / "authority" / "server.pem").unlink()
    assert healthy(sealed.address, driver)


def replace(new: Path, place: Path) -> None:
    """As a renewal does it: the file is there, whole, at every moment."""
    shutil.copy(new, place.with_suffix(".new"))
    os.replace(place.with_suffix(".new"), place)  # noqa: PTH105 - the name of what it does


def test_a_key_of_another_certificate_is_named_at_the_start(authority: Authority) -> None:
    one, other = authority.issue("one"), authority.issue("other")
    with pytest.raises(WrongCertificates, match=r"one\.pem, .*other-key\.pem cannot be used .* belong together"):
        Certificates(CertificateFiles(one.cert, other.key))
    with pytest.raises(WrongCertificates, match=r"none\.pem cannot be read"):
        Certificates(CertificateFiles(one.cert, one.key, one.ca.with_name("none.pem")))


# --- other machines ---------------------------------------------------------------------------------------------------


def test_other_machines_may_come_where_they_must_show_a_certificate(authority: Authority) -> None:
    replica = start_replica("memory:", "0.0.0.0:0", server=ServerOptions(certificates=certificates(authority)))
    port = replica.address.rpartition(":")[2]
    assert healthy(f"127.0.0.1:{port}", ours(authority))
    replica.stop()


def test_and_not_where_they_need_none(authority: Authority) -> None:
    options = ServerOptions(certificates=certificates(authority, client_ca=False))
    with pytest.raises(BindRefused, match=r"without asking clients for a certificate.*--beyond-loopback allows it"):
        start_replica("memory:", "0.0.0.0:0", server=options)


# --- shufflectl -------------------------------------------------------------------------------------------------------


def test_shufflectl_comes_with_a_certificate(
    sealed: ReplicaThread, authority: Authority, shufflectl: Shufflectl
) -> None:
    files = ours(authority)
    named = ("--server", sealed.address, "--tls-ca", files.ca)
    called = shufflectl("apps", *named, "--tls-certificate", files.certificate, "--tls-key", files.key, "-o", "json")
    assert (called.code, called.data) == (0, [])
    assert shufflectl("apps", *named).code == 4
    half = shufflectl("apps", *named, "--tls-key", files.key)
    assert (half.code, "only one of tls_certificate and tls_key" in half.err) == (2, True)


async def test_shufflectl_that_goes_on_shows_what_was_renewed(sealed: ReplicaThread, authority: Authority) -> None:
    """As `events --follow` does, which may run for weeks."""
    files = authority.issue("people", old=True)
    ca, certificate, key = map(str, (files.ca, files.cert, files.key))
    source = open_server(Config(server=sealed.address, tls_ca=ca, tls_certificate=certificate, tls_key=key))
    with pytest.raises(Failure, match="does not take ours"):
        await source.applications()
    authority.issue("people")
    assert await source.applications() == []
    await source.close()


def test_shufflectl_says_what_is_wrong_between_it_and_a_server_with_tls(
    sealed: ReplicaThread, authority: Authority, shufflectl: Shufflectl, tmp_path: Path
) -> None:
    files, stranger = ours(authority), ours(Authority(tmp_path / "stranger"))
    by_name = sealed.address.replace("127.0.0.1", "localhost")
    ca = ("--tls-ca", files.ca)
    asked = {
        "asks for TLS: --tls-ca": (sealed.address,),
        "a certificate and does not take ours: --tls-certificate and --tls-key": (sealed.address, *ca),
        "not signed by what --tls-ca names": (sealed.address, "--tls-ca", stranger.ca),
        "its certificate is of another name": (by_name, *ca),
    }
    for told, arguments in asked.items():
        called = shufflectl("apps", "--server", *arguments)
        assert (called.code, told in called.err) == (4, True), (told, called.err)
        looked = shufflectl("doctor", "--server", *arguments, "-o", "json")
        assert (looked.code, told in looked.data[-1]["found"]) == (1, True), (told, looked.data[-1])


def test_shufflectl_says_that_a_server_does_not_speak_tls(authority: Authority, shufflectl: Shufflectl) -> None:
    replica = start_replica("memory:")
    try:
        called = shufflectl("apps", "--server", replica.address, "--tls-ca", authority.ca)
    finally:
        replica.stop()
    assert (called.code, "does not speak TLS: go without --tls-ca" in called.err) == (4, True), called.err


def test_a_server_with_half_of_its_files_does_not_start(authority: Authority, shufflectl: Shufflectl) -> None:
    shufflectl.env("SHUFFLECTL_SERVE__TLS_CLIENT_CA", str(authority.ca))
    called = shufflectl("serve", "--store", "memory:")
    assert (called.code, "expected tls_certificate and tls_key" in called.err) == (2, True)
