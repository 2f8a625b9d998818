"""Who is told apart by what, and the interfaces that are listened on."""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import AppShuffle, JobId
from coordinator.core.rejections import Reason
from coordinator.server import interfaces, security, statuses, tokens
from coordinator.server.options import ServerOptions
from coordinator.server.security import Role
from tests.unit.server.fakes import FakeCoordinator


@pytest.mark.parametrize(
    ("told", "metadata", "expected"),
    [
        ("a", [("authorization", "Bearer b")], "a"),
        ("", [("authorization", "Bearer b")], "b"),
        ("", [("authorization", "bearer  b ")], "b"),
        ("", [("authorization", "Basic b")], ""),
        ("", [("authorization-bin", b"Bearer b")], ""),
        ("", None, ""),
    ],
)
def test_a_token_comes_in_the_message_or_as_metadata(
    told: str, metadata: list[tuple[str, object]] | None, expected: str
) -> None:
    assert security.token_of(told, metadata) == expected


@pytest.mark.parametrize("bind", ["127.0.0.1:7457", "127.8.8.8:0", "[::1]:7457", "localhost:7457", "unix:/run/sl.sock"])
def test_this_machine_may_be_listened_to(bind: str) -> None:
    interfaces.check_bind(bind, None, beyond_loopback=False)


@pytest.mark.parametrize("bind", ["0.0.0.0:7457", "[::]:7457", ":7457", "10.1.2.3:7457"])
def test_other_machines_may_not_unless_somebody_says_so(bind: str) -> None:
    with pytest.raises(interfaces.BindRefused, match=r"in plain text; expected TLS with client"):
        interfaces.check_bind(bind, None, beyond_loopback=False)
    interfaces.check_bind(bind, None, beyond_loopback=True)


@pytest.mark.parametrize(
    "bind", ["127.0.0.1:99999", "abc:def", "127.0.0.1", "::1:7457", "127.0.0.1:-1", "h:", "", "h:٣"]
)
@pytest.mark.parametrize("wished", [False, True])
def test_what_has_no_port_is_named_whoever_may_reach_it(bind: str, wished: bool) -> None:
    with pytest.raises(interfaces.WrongBind, match=r"is no address to listen on; expected HOST:PORT"):
        interfaces.check_bind(bind, None, beyond_loopback=wished)


def test_what_is_no_address_is_named() -> None:
    with pytest.raises(ValueError, match=r"'no such host' is no address"):
        interfaces.check_bind("no such host:7457", None, beyond_loopback=False)


@pytest.mark.parametrize(
    ("told", "peer"),
    [
        ("ipv4:10.0.0.7:51234", "ipv4:10.0.0.7"),
        ("ipv6:%5B::1%5D:51234", "ipv6:::1"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:51234", "ipv6:2001:db8:1:2::/64"),
        ("ipv6:%5B2001:db8:1:2::9%5D:51", "ipv6:2001:db8:1:2::/64"),
        ("ipv6:%5Bfe80::1%25eth0%5D:51", "ipv6:fe80::/64"),
        ("ipv6:%5B::ffff:10.0.0.7%5D:51", "ipv6:10.0.0.7"),
        ("unix:/run/sl.sock", "unix:/run/sl.sock"),
    ],
)
def test_a_peer_is_a_machine(told: str, peer: str) -> None:
    assert statuses.peer_of(told) == peer


FACT, DECISION, EITHER = c.ReportJobEnded(JobId(1)), c.SetPin(AppShuffle(1)), c.EndApplication()
HASHES = (tokens.hash_of("admin"),)


@pytest.mark.parametrize(
    ("bind", "administrators", "role", "command", "may"),
    [
        ("127.0.0.1:0", HASHES, Role.APPLICATION, FACT, True),
        ("127.0.0.1:0", HASHES, Role.APPLICATION, DECISION, False),
        ("127.0.0.1:0", HASHES, Role.ADMINISTRATOR, FACT, False),
        ("127.0.0.1:0", HASHES, Role.ADMINISTRATOR, DECISION, True),
        ("127.0.0.1:0", HASHES, Role.APPLICATION, EITHER, True),
        ("127.0.0.1:0", HASHES, Role.ADMINISTRATOR, EITHER, True),
        ("127.0.0.1:0", (), Role.APPLICATION, DECISION, True),
        ("unix:/run/sl.sock", (), Role.APPLICATION, DECISION, True),
        ("0.0.0.0:0", (), Role.APPLICATION, DECISION, False),
    ],
)
def test_who_may_say_what(
    bind: str, administrators: tuple[str, ...], role: Role, command: c.Command, may: bool
) -> None:
    gate = security.Gate(FakeCoordinator(), ServerOptions(bind=bind, administrators=administrators))
    if may:
        gate.permit(role, "app", [command])
        return
    with pytest.raises(statuses.Refused) as refused:
        gate.permit(role, "app", [EITHER, command])
    assert (refused.value.kind, refused.value.rejection.reason) == ("wrong role", Reason.PERMISSION_DENIED)
