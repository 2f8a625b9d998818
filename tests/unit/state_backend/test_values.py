"""Keys, limits, addresses and errors: what needs no store. Its invariant: no input gives an unclear answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state_backend import errors
from state_backend.address import (
    Credentials,
    EtcdAddress,
    MemoryAddress,
    SqliteAddress,
    TlsFiles,
    masked,
    parse_address,
)
from state_backend.api import Absent, FailedCompare, Keyspace, Present, Put, Revision, Stamp
from state_backend.errors import HoldLost, InvalidKey, NothingHappened, OutcomeUnknown, StateBackendError, WrongAddress
from state_backend.etcd.names import Names
from state_backend.keys import join_key, key_prefix, number_of, split_key
from state_backend.limits import check_key, check_transaction
from state_backend.memory import MemoryBackend
from state_backend.open import open_backend
from state_backend.sqlite.records import prefix_end
from state_backend.transaction import holds

parts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
printable = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=6)


@given(st.lists(parts, min_size=1, max_size=4))
def test_keys_give_their_parts_back(texts: list[str]) -> None:
    key = join_key(*texts)
    check_key(key)
    assert split_key(key) == tuple(texts)


@given(st.integers(0, 10**20 - 1), st.integers(0, 10**20 - 1))
def test_numbers_in_keys_sort_as_numbers(one: int, two: int) -> None:
    assert (join_key("a", one) < join_key("a", two)) == (one < two)


@given(st.integers(0, 10**20 - 1))
def test_a_number_in_a_key_is_read_as_it_was_written(number: int) -> None:
    part = join_key(number)
    assert number_of(part) == number
    damaged = [part[1:], part + "0", part[:-1] + "x", part[:-1] + "\u0663", " " + part[1:], "+" + part[1:], ""]
    assert [number_of(one) for one in damaged] == [None] * len(damaged)


@given(parts, parts)
def test_a_part_stays_within_its_prefix(one: str, two: str) -> None:
    assert join_key(two, 1).startswith(key_prefix(one)) == (one == two)


@pytest.mark.parametrize("part", ["", -1, 10**20])
def test_what_is_no_part_of_a_key(part: str | int) -> None:
    with pytest.raises(InvalidKey):
        join_key(part)


@given(printable, printable)
def test_the_end_of_a_prefix_is_above_exactly_its_keys(prefix: str, key: str) -> None:
    within = prefix <= key < prefix_end(prefix)
    assert within == key.startswith(prefix)


@given(printable.filter(bool), printable.filter(bool), st.none() | printable.filter(bool))
def test_etcd_names_give_their_keys_back_and_spans_hold_their_keys(key: str, prefix: str, after: str | None) -> None:
    names = Names("ours")
    name = names.encode(Keyspace.LIVE, key)
    start, end = names.span(Keyspace.LIVE, prefix, after)
    assert names.decode(Keyspace.LIVE, name) == key
    assert (start <= name < end) == (key.startswith(prefix) and (after is None or key > after))


def test_a_name_in_etcd_that_is_no_text_is_damage() -> None:
    with pytest.raises(errors.Corrupt, match=r"live/app/\\xff.* is no text"):
        Names("ours").decode(Keyspace.LIVE, b"ours/live/app/\xff")


def test_a_transaction_within_the_limits_brings_its_moves_compares() -> None:
    compare = Absent(Keyspace.HEADS, "a")
    assert check_transaction((compare,), (Put(Keyspace.HEADS, "a", b""),)) == (compare,)


@pytest.mark.parametrize("compare", [Absent(Keyspace.LIVE, "a"), Present(Keyspace.LIVE, "a")])
def test_absent_and_present_are_opposites(compare: Absent | Present) -> None:
    found = Stamp(Revision(1), Revision(1), 1)
    assert holds(compare, None) != holds(compare, found)


# ---- addresses -------------------------------------------------------------------------------------------------------


def test_an_address_names_its_store(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    assert parse_address("memory:") == MemoryAddress()
    assert parse_address(f"sqlite://{tmp_path}/store.db") == SqliteAddress(tmp_path / "store.db")
    assert parse_address("sqlite:store.db") == SqliteAddress(Path("store.db"))
    assert parse_address("etcd://a:1,b:2/x/y") == EtcdAddress(("a:1", "b:2"), "x/y")
    assert parse_address("etcd://u%40:p%3A@[::1]:2379") == EtcdAddress(("[::1]:2379",), "", Credentials("u@", "p:"))
    assert parse_address(f"etcd://a:1?ca={ca}") == EtcdAddress(("a:1",), tls=TlsFiles(ca))
    (spelled := tmp_path / "c++ ca.pem").touch()
    assert parse_address(f"etcd://a:1?ca={tmp_path}/c++%20ca.pem") == EtcdAddress(("a:1",), tls=TlsFiles(spelled))
    assert parse_address("etcd://a:1/team@here") == EtcdAddress(("a:1",), "team@here")
    assert parse_address("etcd://a:1?tls=true") == EtcdAddress(("a:1",), tls=TlsFiles())


@pytest.mark.parametrize(
    "address",
    [
        "",
        "store.db",
        "postgres://a:1/x",
        "memory:x",
        "sqlite://store.db",
        "sqlite:",
        "sqlite:///",
        "sqlite:///nowhere/at/all/store.db",
        "sqlite:///folder/store.db?mode=ro",
        "etcd://",
        "etcd://a",
        "etcd://a:b",
        "etcd://a:0",
        "etcd://a:1,,b:2",
        "etcd://ann@a:1",
        "etcd://:secret@a:1",
        "etcd://a:1/" + "x" * 65,
        "etcd://a:1?cert=/dev/null",
        "etcd://a:1?ca=/nowhere.pem",
        "etcd://a:1?tls=maybe",
        "etcd://a:1?speed=fast",
        "etcd://a:1/store#2",
    ],
)
async def test_an_address_that_names_no_store_is_refused_with_those_that_do(address: str) -> None:
    with pytest.raises(WrongAddress, match="expected etcd://"):
        await open_backend(address)


@pytest.mark.parametrize(
    "address",
    [
        *("etcd://ann:secret@a", "etcd://ann:secret@a:1?x=1", "etcd//ann:secret@a:1", "postgres://u:secret@h/x"),
        *("etcd://ann:secret/x@a:1", "etcd://ann:secret#x@a:1", "etcd://ann:secret?x@a:1", "etcd:ann:secret@a:1"),
        *("sqlite://ann:secret@a:1/x", "etcd://ann:1#secret@a:1", "etcd://ann:1?secret@a:1"),
        *("etcd://ann:secret//x@a", "etcd://ann:x//secret@a", "etcd://ann:[secret@a", "etcd://ann:secret\u2100@a:1"),
    ],
)
def test_a_wrong_address_does_not_tell_its_password(address: str) -> None:
    with pytest.raises(WrongAddress) as raised:
        parse_address(address)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("where", ["is_file", "open"])
def test_a_key_that_only_another_user_may_read_is_a_wrong_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    (key := tmp_path / "key.pem").touch()

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, where, denied)
    with pytest.raises(WrongAddress, match=r"which cannot be read \(Permission denied\)") as raised:
        parse_address(f"etcd://ann:secret@a:1?cert={key}&key={key}")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("address", ["sqlite:ann@corp.db", "sqlite:///home/a:b@corp/x.db", "SQLite:/a:b@c/x.db"])
def test_the_name_of_a_file_is_told_as_it_is(address: str) -> None:
    assert masked(address) == address


async def test_memory_opens() -> None:
    async with await open_backend("memory:") as backend:
        assert isinstance(backend, MemoryBackend)


# ---- errors ----------------------------------------------------------------------------------------------------------


def every_error(kind: type[StateBackendError]) -> list[type[StateBackendError]]:
    return [each for child in kind.__subclasses__() for each in (child, *every_error(child))]


def test_every_error_is_exactly_one_of_three() -> None:
    kinds = (NothingHappened, OutcomeUnknown, HoldLost)
    ours = [each for each in every_error(StateBackendError) if each.__module__ == errors.__name__]
    assert len(ours) > len(kinds)
    for error in ours:
        assert sum(issubclass(error, kind) for kind in kinds) == 1, error


def test_a_conflict_says_what_was_expected_found_and_next() -> None:
    failed = FailedCompare(Absent(Keyspace.HEADS, "app"), Stamp(Revision(7), Revision(3), 2))
    told = str(errors.Conflict((failed,), Revision(9)))
    for part in ("Absent", "app", "revision=7", "revision 9", "nothing was changed", "decide again"):
        assert part in told
