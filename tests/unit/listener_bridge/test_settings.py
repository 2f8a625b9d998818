"""What people choose, and what they are told when it cannot be right."""

from __future__ import annotations

import pytest

from listener_bridge import settings
from listener_bridge.durations import milliseconds
from listener_bridge.settings import Policy, Pressure, Settings, Tls, WrongSettingError, policy_of_job, read
from listener_bridge.sizes import shown, size_bytes
from replay import units

P = settings.PREFIX


def test_nothing_chosen_observes_with_a_coordinator_inside() -> None:
    assert read({}) == Settings()
    assert str(read({}).policy) == "observe"


def test_every_key_is_read() -> None:
    conf = {
        P + "enabled": "true",
        P + "policy": "delayed",
        P + "delayed.rule": "eager",
        P + "grace": "5min",
        P + "address": "one:7457, two:7457",
        P + "store": "sqlite:///f.db",
        P + "token": "t",
        P + "service": "native",
        P + "deterministic": "true",
        P + "delete.indeterminate": "TRUE",
        P + "budget.premature": "3",
        P + "strict": "true",
        P + "looks": "false",
        P + "liveness": "false",
        P + "name": "nightly",
        P + "tls.enabled": "true",
        P + "tls.ca": "ca.pem",
        P + "tls.certificate": "our.pem",
        P + "tls.key": "our-key.pem",
        P + "history": "lessons.json",
        P + "archive": "/var/lib/logs",
        P + "retention": "2h",
        P + "pressure.high": "90",
        P + "pressure.low": "60 %",
        P + "pressure.capacity": "20g",
        P + "pressure.directories": "/a, /b",
        P + "prompt.bytes": "16m",
        "spark.app.name": "not ours",
    }
    expected = Settings(
        True, Policy("eager", False, 300_000), ("one:7457", "two:7457"), "sqlite:///f.db", "t", "native", True, True, 3,
        True, False, False, "nightly", Tls("ca.pem", "our.pem", "our-key.pem"), "lessons.json",
        "/var/lib/logs", 7_200_000, Pressure(90, 60, 20 << 30, ("/a", "/b")), 16 << 20,
    )  # fmt: skip
    assert {key.removeprefix(P) for key in conf if key.startswith(P)} == set(settings.KEYS)
    assert read(conf) == expected


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("observe", Policy("reachable", True)),
        ("frontier", Policy("frontier", False)),
        ("eager", Policy("eager", False)),
        ("history", Policy("history", False)),
        ("pressure", Policy("pressure", False)),
        ("reachable", Policy("reachable", False)),
        ("delayed", Policy("reachable", False, 60_000)),
    ],
)
def test_the_name_of_a_policy_is_its_rule(name: str, policy: Policy) -> None:
    assert read({P + "policy": name}).policy == policy


@pytest.mark.parametrize(
    ("conf", "below"),
    [
        ({}, 4 << 20),
        ({"policy": "reachable"}, 4 << 20),
        ({"policy": "reachable", "prompt.bytes": "0"}, 0),
        ({"policy": "reachable", "prompt.bytes": "16m"}, 16 << 20),
        ({"policy": "reachable", "grace": "30s"}, 0),
        ({"policy": "delayed"}, 0),
        ({"policy": "frontier"}, 0),
        ({"policy": "pressure"}, 0),
    ],
)
def test_only_what_waits_for_looks_may_wait_for_more(conf: dict[str, str], below: int) -> None:
    assert read({P + key: value for key, value in conf.items()}).patient_below_bytes == below


def test_arguments_go_before_the_conf() -> None:
    conf = {P + "policy": "eager", P + "budget.premature": "3"}
    found = read(conf, {"policy": "frontier", "budget_premature": 5, "strict": True, "address": ["a:1", "b:2"]})
    assert (found.policy.rule, found.premature_budget, found.strict, found.addresses) == (
        "frontier", 5, True, ("a:1", "b:2"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({P + "polcy": "eager"}, r"spark\.shuffleLifecycle\.polcy is not known.*did you mean spark.*\.policy\?"),
        ({P + "budgetPremature": "1"}, r"did you mean spark\.shuffleLifecycle\.budget\.premature\?"),
        (
            {P + "policy": "frontie"},
            r"policy: 'frontie' is not known; expected one of observe.*did you mean frontier\?",
        ),
        ({P + "grace": "9999999999999d"}, r"grace: '9+d' is too long; expected at most 36500d"),
        ({P + "grace": "9" * 5_000 + "ms"}, r"grace: '9+ms' is too long; expected at most 36500d"),
        ({P + "pressure.capacity": "1025p"}, r"'1025p' is too large; expected at most 1024p"),
        ({P + "pressure.capacity": "9" * 5_000 + "b"}, r"'9+b' is too large; expected at most 1024p"),
        ({P + "budget.premature": "9999999999"}, r"is no count; expected a whole number, from 0 to 999999999"),
        ({P + "pressure.high": "9" * 5_000}, r"is no percentage"),
        ({P + "grace": "30"}, r"grace: '30' is no duration; expected a whole number and one of ms"),
        ({P + "enabled": "yes"}, r"enabled: 'yes' is no flag; expected true or false"),
        ({P + "budget.premature": "-1"}, r"'-1' is no count"),
        ({P + "address": "host"}, r"'host' is no address; expected host:port"),
        ({P + "address": "a:1,b:99999"}, r"'b:99999' is no address; expected host:port with a port from 1 to 65535"),
        ({P + "address": "http://a:1"}, r"'http://a:1' is no address; expected host:port"),
        ({P + "address": "a:1;b:2"}, r"'a:1;b:2' is no address; .* several with commas between them"),
        ({P + "address": "a:1 b:2"}, r"'a:1 b:2' is no address; .* several with commas between them"),
        ({P + "address": "::1:7457"}, r"'::1:7457' is no address; .* an IPv6 host in \[\]"),
        ({P + "address": "a:1/"}, r"'a:1/' is no address; expected host:port"),
        ({P + "service": "magnet"}, r"'magnet' is not known; expected one of auto"),
        ({P + "pressure.high": "00501"}, r"'00501' is no percentage; expected a whole number from 1 to 100"),
        ({P + "pressure.high": "0.85"}, r"'0\.85' is no percentage; expected a whole number from 1 to 100"),
        ({P + "pressure.low": "90"}, r"pressure\.low is 90, above .*pressure\.high, which is 85"),
        ({P + "pressure.capacity": "20"}, r"'20' is no size; expected a whole number and one of b, k, m, g, t, p"),
    ],
)
def test_what_cannot_be_right_is_said(conf: dict[str, str], said: str) -> None:
    with pytest.raises(WrongSettingError, match=said):
        read(conf)


@pytest.mark.parametrize(
    "address",
    [
        *("a:1", "10.0.0.1:7457", "[::1]:7457", "[fe80::1%eth0]:7457", "unix:/run/a b", "unix-abstract:x:1"),
        *("dns:///a:1", "dns://8.8.8.8/a:1", "dns:a:1", "ipv4:10.0.0.1:1", "ipv6:[::1]:1", "vsock:2:1", "a_b.c-d:1"),
    ],
)
def test_what_grpc_takes_for_an_address_is_one(address: str) -> None:
    assert read({P + "address": address}).addresses == (address,)


def test_an_argument_that_is_none_is_as_if_not_given() -> None:
    """As in `attach(spark, token=os.environ.get("TOKEN"))`."""
    assert read({P + "token": "t"}, {"token": None, "store": None, "name": None}) == read({P + "token": "t"})
    with pytest.raises(WrongSettingError):
        read({}, {"tokem": None})


def test_an_unknown_argument_is_said() -> None:
    with pytest.raises(ValueError, match=r"attach knows no argument 'polici'.*did you mean policy\?"):
        read({}, {"polici": "eager"})


def test_a_job_chooses_by_local_properties() -> None:
    assert policy_of_job({}) is None
    assert policy_of_job({P + "grace": "1s"}) is None
    assert policy_of_job({P + "policy": "eager"}) == Policy("eager", False)
    assert policy_of_job({P + "enabled": "false"}) == Policy(observe=True)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("2min", 120_000), (" 1 H ", 3_600_000), ("1d", 86_400_000)],
)
def test_durations_are_read_as_spark_users_write_them(text: str, ms: int) -> None:
    assert milliseconds(text) == ms


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("17b", 17),
        ("1k", 1_024),
        ("2m", 2 << 20),
        ("2MB", 2 << 20),
        (" 3 GiB ", 3 << 30),
        ("1t", 1 << 40),
        ("1p", 1 << 50),
    ],
)
def test_sizes_are_read_as_spark_users_write_them(text: str, size: int) -> None:
    assert size_bytes(text) == size


def test_sizes_for_people_are_those_of_shufflectl() -> None:
    numbers = [sign + factor * 10**power for power in range(20) for factor in (1, 5) for sign in (-1, 0, 1)]
    assert [shown(number) for number in numbers] == [units.size(number) for number in numbers]
    assert (shown(0), shown(1_234), shown(61_000_000)) == ("0 B", "1.2 kB", "61.0 MB")


def test_a_high_watermark_below_the_usual_low_one_takes_it_along() -> None:
    assert read({P + "pressure.high": "50"}).pressure == Pressure(50, 50)


def test_who_wants_logs_to_leave_the_store_says_where_they_go() -> None:
    with pytest.raises(WrongSettingError, match=r"retention is 30d and .*archive is not given; expected an archive"):
        read({P + "retention": "30d"})
    chosen = read({P + "retention": "30d", P + "archive": "/var/lib/logs"})
    assert (chosen.archive, chosen.retention_ms) == ("/var/lib/logs", 30 * 86_400_000)


def test_tls_is_talked_where_a_file_is_named_and_not_where_it_is_switched_off() -> None:
    assert read({}).tls is None
    assert read({P + "tls.ca": "ca.pem"}).tls == Tls("ca.pem")
    assert read({P + "tls.enabled": "true"}).tls == Tls()
    assert read({P + "tls.enabled": "false", P + "tls.ca": "ca.pem"}).tls is None
    with pytest.raises(WrongSettingError, match=r"tls\.key is given without .*tls\.certificate"):
        read({P + "tls.key": "key.pem"})
