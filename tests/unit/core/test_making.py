"""Records that are made and altered quickly are what `dataclasses` would have made."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import pytest

from coordinator.core import state, values
from coordinator.core.events import Event, Recorded
from coordinator.core.making import altering, maker, replace

KINDS = [
    *typing.get_args(Event),
    Recorded,
    *(kind for module in (state, values) for kind in vars(module).values() if dataclasses.is_dataclass(kind)),
]


def fields(kind: Any) -> dict[str, object]:
    return {field.name: object() for field in dataclasses.fields(kind)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_made_equals_what_the_class_makes(kind: Any) -> None:
    given = fields(kind)
    made, own = maker(kind)(*given.values()), kind(**given)
    assert type(made) is kind
    assert {name: getattr(made, name) for name in given} == {name: getattr(own, name) for name in given}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_altered_equals_what_dataclasses_replace(kind: Any) -> None:
    given, other = kind(**fields(kind)), fields(kind)
    for name in other:
        found, expected = (each(given, **{name: other[name]}) for each in (replace, dataclasses.replace))
        assert [getattr(found, one) for one in other] == [getattr(expected, one) for one in other]
        assert type(found) is kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_always_altered_alike_equals_it_too(kind: Any) -> None:
    given, other = kind(**fields(kind)), fields(kind)
    some = dict(list(other.items())[::2])
    found, expected = altering(kind, *some)(given, **some), dataclasses.replace(given, **some)
    assert [getattr(found, one) for one in other] == [getattr(expected, one) for one in other]
    assert type(found) is kind


def test_what_is_always_altered_is_named_whole() -> None:
    with pytest.raises(TypeError, match="Policy has no field colour"):
        altering(values.Policy, "grace_ms", "colour")
    with pytest.raises(TypeError, match="observe"):
        altering(values.Policy, "grace_ms", "observe")(values.Policy(), grace_ms=1)


def test_it_is_as_frozen_and_hashes_alike() -> None:
    made = replace(values.Policy(), grace_ms=5)
    assert (made, hash(made)) == (values.Policy(grace_ms=5), hash(values.Policy(grace_ms=5)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.grace_ms = 6  # type: ignore[misc]


def test_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        replace(values.Policy(), colour="red")


def test_a_class_that_does_more_than_store_makes_itself() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Sorted:
        many: tuple[int, ...]

        def __post_init__(self) -> None:
            object.__setattr__(self, "many", tuple(sorted(self.many)))

    assert maker(Sorted)((2, 1)).many == (1, 2)
    assert replace(Sorted((1,)), many=(3, 2)).many == (2, 3)
    assert altering(Sorted, "many")(Sorted((1,)), many=(3, 2)).many == (2, 3)
