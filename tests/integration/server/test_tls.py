"""A driver and a real server that talk TLS, each with a certificate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from shuffle_lifecycle.v1 import common_pb2, service_pb2

from coordinator.app import Replica, start_replica
from coordinator.server.options import ServerOptions
from listener_bridge import settings, words
from listener_bridge.bridge import Bridge
from listener_bridge.channels import opener
from listener_bridge.settings import Tls, WrongSettingError
from listener_bridge.shuffle_services.api import Cannot
from listener_bridge.tap.facts import JobEnded
from tests.support.certificates import Authority
from tests.support.spark import wait_for
from tests.unit.listener_bridge.fakes import FakeService, FakeTap


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def sealed(tmp_path: Path, authority: Authority) -> Iterator[Replica]:
    """A server that lets in only whom the authority has given a certificate."""
    files = authority.issue("server")
    credentials = grpc.ssl_server_credentials(
        [(files.key.read_bytes(), files.cert.read_bytes())], files.ca.read_bytes(), require_client_auth=True
    )
    replica = start_replica(f"sqlite://{tmp_path}/store.db", server=ServerOptions(credentials=credentials))
    yield replica
    replica.stop()


def driver_at(address: str, tls: Tls | None) -> Bridge:
    chosen = settings.read({})
    service = FakeService(fence=Cannot("never asked"))
    registration = service_pb2.RegisterApplication(
        application="app-1",
        driver=common_pb2.Driver(name="a test"),
        capabilities=words.capabilities(service.probe()),
        policy=words.policy(chosen.policy),
        settings=words.promises(chosen),
    )
    return Bridge(FakeTap(), service, registration, "secret", lambda: (address,), open_channel=opener(tls))  # type: ignore[arg-type]


def ours(authority: Authority) -> Tls:
    files = authority.issue("driver")
    return Tls(str(files.ca), str(files.cert), str(files.key))


def test_a_driver_with_a_certificate_is_served(sealed: Replica, authority: Authority) -> None:
    bridge = driver_at(sealed.address, ours(authority))
    bridge.start()
    bridge._tap.tell(JobEnded(0, 1, 0, True, None))  # type: ignore[attr-defined]
    wait_for(lambda: bridge.reporter.confirmed == 1, "the answer", 20)
    assert not bridge.client.is_away
    bridge.stop("the test has ended")


@pytest.mark.parametrize("who", ["plain text", "no certificate", "another authority"])
def test_who_cannot_show_one_is_not_let_in_and_the_job_goes_on(
    sealed: Replica, authority: Authority, tmp_path: Path, who: str
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
