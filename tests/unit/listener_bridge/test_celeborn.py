"""When a session on Celeborn must only be observed, and what its locators name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from listener_bridge.shuffle_services import celeborn
from listener_bridge.shuffle_services.api import Cannot, Failed, Locator, ObserveOnly

METHODS = {
    "org.apache.celeborn.client.LifecycleManager": ["unregisterShuffle", "workerSnapshots", "commitManager"],
    "org.apache.celeborn.client.CommitManager": [
        "getCommitHandler",
        "getMapperAttempts",
        "isStageEnd",
        "isStageEndOrInProcess",
        "setStageEnd",
        "committedPartitionInfo",
    ],
}
FIELDS = {
    "org.apache.celeborn.client.LifecycleManager": [
        "org$apache$celeborn$client$LifecycleManager$$shuffleIdMapping",
        "appShuffleDeterminateMap",
        "unregisterShuffleTime",
        "appUniqueId",
    ],
    "org.apache.celeborn.client.commit.CommitHandler": ["reducerFileGroupsMap"],
}


class Conf:
    """The client's settings, as our code asks them."""

    def __init__(self, **answers: bool) -> None:
        self._answers = answers
        for name, value in answers.items():
            setattr(self, name, lambda value=value: value)

    def getClass(self) -> Any:  # noqa: N802 - Java's name
        return SimpleNamespace(getMethods=lambda: [named(name) for name in self._answers])


def named(name: str) -> Any:
    return SimpleNamespace(getName=lambda: name)


@dataclass
class Manager:
    """A shuffle manager by its class, its client's methods and its settings."""

    name: str = celeborn.MANAGER
    methods: Mapping[str, list[str]] = field(default_factory=lambda: METHODS)
    fields: Mapping[str, list[str]] = field(default_factory=lambda: FIELDS)
    conf: Conf = field(default_factory=lambda: Conf(clientStageRerunEnabled=True))

    def getClass(self) -> Any:  # noqa: N802 - Java's name
        def load(name: str) -> Any:
            return SimpleNamespace(
                getMethods=lambda: [named(method) for method in self.methods[name]],
                getDeclaredFields=lambda: [named(one) for one in self.fields[name]],
            )

        of = SimpleNamespace(setAccessible=lambda _: None, get=lambda _: self.conf)
        return SimpleNamespace(
            getName=lambda: self.name,
            getClassLoader=lambda: SimpleNamespace(loadClass=load),
            getDeclaredField=lambda _: of,
        )


def driver(manager: Manager, version: tuple[int, int] = (3, 5), conf: Mapping[str, str] | None = None) -> Any:
    settings = dict(conf or {})
    return SimpleNamespace(
        version=version,
        shuffle_manager=manager,
        conf=lambda key, default: settings.get(key, default),
        context=SimpleNamespace(applicationId=lambda: "app-1"),
    )


def test_a_session_as_it_should_be_deletes() -> None:
    assert celeborn._capability(driver(Manager())).deletes is True
    older = Manager(conf=Conf(clientFetchThrowsFetchFailure=True))
    assert celeborn._capability(driver(older, (4, 0))).deletes is True


CLEANING = {"spark.celeborn.client.spark.fetch.cleanFailedShuffle": "true"}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (driver(Manager(), (4, 1)), "does not fit Spark 4.1"),
        (driver(Manager(name="a.Manager")), "is a.Manager, not Celeborn's"),
        (driver(Manager(conf=Conf(clientStageRerunEnabled=False))), "stageRerun.enabled=true"),
        (driver(Manager(conf=Conf())), "stageRerun.enabled=true"),
        (driver(Manager(methods={**METHODS, "org.apache.celeborn.client.CommitManager": []})), "getCommitHandler"),
        (
            driver(Manager(fields={**FIELDS, "org.apache.celeborn.client.commit.CommitHandler": []})),
            "reducerFileGroupsMap",
        ),
        (driver(Manager(methods={})), "not as expected"),
        (driver(Manager(), conf={"spark.plugins": "a.SparkConnectPlugin"}), "serves Spark Connect"),
        (driver(Manager(), conf=CLEANING), "never tried with early deletion"),
    ],
)
def test_why_a_session_is_only_observed(found: Any, said: str) -> None:
    answer = celeborn._capability(found).deletes
    assert isinstance(answer, ObserveOnly)
    assert said in answer.reason
    assert "\n" not in answer.reason


def test_where_it_must_not_act_it_says_so_and_asks_nobody() -> None:
    service = celeborn.CelebornShuffleService(SimpleNamespace(driver=driver(Manager(), (4, 1))))  # type: ignore[arg-type]
    locator = Locator(celeborn.SERVICE, "app-1/3/0/5")
    assert isinstance(service.fence(3, 1.0), Cannot)
    assert isinstance(service.free(Locator(celeborn.SERVICE, "app-2/3/0/5"), 1.0), Failed)
    assert isinstance(service.invalidate(Locator("native", locator.payload), 1.0), Cannot)


@pytest.mark.parametrize(
    ("payload", "ids"),
    [("app-1/3/0/5", (5,)), ("app-1/3/2/5+9", (5, 9)), ("app-1/3/2/", ()), ("app-1/3/2", None), ("app-2/3/2/5", None)],
)
def test_what_a_locator_names(payload: str, ids: tuple[int, ...] | None) -> None:
    service = celeborn.CelebornShuffleService(SimpleNamespace(driver=driver(Manager(), (4, 1))))  # type: ignore[arg-type]
    found = service._read(Locator(celeborn.SERVICE, payload))
    assert (None if found is None else celeborn._ids(found)) == ids
