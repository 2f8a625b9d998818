"""When a session on Uniffle must only be observed, and what its locators name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from listener_bridge.shuffle_services import uniffle
from listener_bridge.shuffle_services.api import Cannot, Failed, Fenced, Freed, Locator, NotHeld, ObserveOnly

AS_IT_SHOULD_BE = {"clientType": "GRPC", "shuffleManagerRpcServiceEnabled": False, "dataReplica": 1}
STORAGE = {"spark.rss.storage.type": "MEMORY_LOCALFILE"}


class Properties:
    """Java's, as far as our code asks them."""

    def load(self, stream: Any) -> None:
        self._version = stream.version

    def getProperty(self, _: str, otherwise: str) -> str:  # noqa: N802 - Java's name
        return str(self._version or otherwise)


@dataclass
class Manager:
    """A shuffle manager by its class, its jar's version and its fields, which stand in a class above its own."""

    name: str = uniffle.MANAGER
    version: str | None = "0.9.2"
    fields: Mapping[str, object] = field(default_factory=lambda: AS_IT_SHOULD_BE)

    def getClass(self) -> Any:  # noqa: N802 - Java's name
        jar = None if self.version is None else SimpleNamespace(version=self.version, close=lambda: None)
        fields = [
            SimpleNamespace(
                getName=lambda name=name: name, setAccessible=lambda _: None, get=lambda _, value=value: value
            )
            for name, value in self.fields.items()
        ]
        above = SimpleNamespace(getDeclaredFields=lambda: fields, getSuperclass=lambda: None)
        return SimpleNamespace(
            getName=lambda: self.name,
            getClassLoader=lambda: SimpleNamespace(getResourceAsStream=lambda _: jar),
            getDeclaredFields=list,
            getSuperclass=lambda: above,
        )


def driver(
    manager: Manager,
    version: tuple[int, int] = (3, 5),
    conf: Mapping[str, str] = STORAGE,
    cleans: bool = True,
) -> Any:
    jvm = SimpleNamespace(java=SimpleNamespace(util=SimpleNamespace(Properties=Properties)))
    return SimpleNamespace(
        version=version,
        shuffle_manager=manager,
        conf=lambda key, default: conf.get(key, default),
        gateway=SimpleNamespace(jvm=jvm),
        context=SimpleNamespace(
            applicationId=lambda: "app-1", cleaner=lambda: SimpleNamespace(isDefined=lambda: cleans)
        ),
    )


@pytest.mark.parametrize("version", ["0.9.2", "0.10.0"])
def test_a_session_as_it_should_be_deletes(version: str) -> None:
    can = uniffle._capability(driver(Manager(version=version)))
    assert can.deletes is True
    assert not can.can_complete_generation_after_loss


def with_field(name: str, value: object) -> Manager:
    return Manager(fields={**AS_IT_SHOULD_BE, name: value})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (driver(Manager(name="a.Manager")), "is a.Manager, not Uniffle's"),
        (driver(Manager(), (4, 0)), "never tried with Spark 4.0"),
        (driver(Manager(version="0.9.1")), "client is 0.9.1; 0.9.2 and 0.10.0 were tried"),
        (driver(Manager(version=None)), "client is of an unknown version"),
        (driver(with_field("clientType", "GRPC_NETTY")), "client type is GRPC_NETTY"),
        (driver(with_field("shuffleManagerRpcServiceEnabled", True)), "leave off stage retry"),
        (driver(with_field("shuffleManagerRpcServiceEnabled", True)), "spark.rss.blockId.selfManagementEnabled"),
        (driver(with_field("shuffleManagerRpcServiceEnabled", True)), "UnifflePlugin in spark.plugins"),
        (driver(with_field("dataReplica", 2)), "spark.rss.data.replica is more than 1"),
        (driver(Manager(fields={})), "not as expected"),
        (driver(Manager(), conf={**STORAGE, "spark.speculation": "true"}), "spark.speculation=true"),
        (driver(Manager(), conf={**STORAGE, "spark.plugins": "a.SparkConnectPlugin"}), "serves Spark Connect"),
        (driver(Manager(), conf={}), "storage.type is not set"),
        (driver(Manager(), conf={"spark.rss.storage.type": "MEMORY_HDFS"}), "storage.type is MEMORY_HDFS"),
        (driver(Manager(), cleans=False), "spark.cleaner.referenceTracking=false"),
    ],
)
def test_why_a_session_is_only_observed(found: Any, said: str) -> None:
    answer = uniffle._capability(found).deletes
    assert isinstance(answer, ObserveOnly)
    assert said in answer.reason
    assert "\n" not in answer.reason


def observed() -> uniffle.UniffleShuffleService:
    return uniffle.UniffleShuffleService(SimpleNamespace(driver=driver(Manager(), (4, 1))))  # type: ignore[arg-type]


def test_where_it_must_not_act_it_says_so_and_asks_nobody() -> None:
    service = observed()
    locator = Locator(uniffle.SERVICE, "app-1/3/0/4/a:1")
    assert isinstance(service.holds(3), NotHeld)
    assert isinstance(service.fence(3, 1.0), Cannot)
    assert isinstance(service.free(locator, 1.0), Failed)
    assert isinstance(service.forget(locator, 1.0), Failed)
    assert isinstance(service.invalidate(locator, 1.0), Cannot)


@pytest.mark.parametrize(
    ("payload", "parts"),
    [
        ("app-1/3/0/4/10.0.0.1:19999", ("4", "10.0.0.1:19999")),
        ("app-1/3/2/4/a:1+b:2+[::1]:3", ("4", "a:1+b:2+[::1]:3")),
        ("app-1/3/2/4/", None),
        ("app-1/3/2/4/a:1+b", None),
        ("app-1/3/2/4/a:1+:2", None),
        ("app-1/3/2/x/a:1", None),
        ("app-1/3/x/4/a:1", None),
        ("app-1/3/2", None),
        ("app-2/3/2/4/a:1", None),
    ],
)
def test_what_a_locator_names(payload: str, parts: tuple[str, ...] | None) -> None:
    found = observed()._read(Locator(uniffle.SERVICE, payload))
    assert (None if found is None else found.parts) == parts
    assert found is None or found.app_shuffle == 3


def test_a_locator_of_another_service_is_not_read() -> None:
    assert observed()._read(Locator("celeborn", "app-1/3/0/4/a:1")) is None


def answering(**verbs: Any) -> uniffle.UniffleShuffleService:
    """A service whose Java answers that."""
    service = observed()
    service._java = SimpleNamespace(**verbs)
    service._driver = SimpleNamespace(  # type: ignore[assignment]
        gateway=SimpleNamespace(
            new_array=lambda _, length: [None] * length,
            jvm=SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(String=str))),
        )
    )
    return service


NO_SERVERS = "Uniffle has no servers left that app shuffle 3 has never used"


def test_where_no_servers_are_left_it_keeps_and_cannot_fence() -> None:
    refused = json.dumps({"e": "cannot", "why": NO_SERVERS})
    service = answering(cannotMove=lambda _: NO_SERVERS, fence=lambda *_: refused)
    assert service.keeps(3) == NO_SERVERS
    assert service.fence(3, 1.0) == Cannot(NO_SERVERS)
    assert service.invalidate(Locator(uniffle.SERVICE, "app-1/3/0/4/a:1"), 1.0) == Cannot(NO_SERVERS)


def test_where_servers_are_left_it_keeps_nothing() -> None:
    assert answering(cannotMove=lambda _: "").keeps(3) == ""


def test_where_nobody_tells_about_servers_it_keeps_nothing_and_a_fence_will_see() -> None:
    def silent(_: int) -> str:
        raise OSError("no coordinator")

    assert answering(cannotMove=silent).keeps(3) == ""
    assert observed().keeps(3) == ""


def test_a_fence_answers_the_servers_that_the_generation_had() -> None:
    told = {
        "e": "fenced", "shuffle": 3, "generation": 0, "locator": "0/4/a:1+b:2", "bytes": 70, "marker": "fenced-3-0",
    }  # fmt: skip
    named = Locator(uniffle.SERVICE, "app-1/3/0/4/a:1+b:2")
    assert answering(fence=lambda *_: json.dumps(told)).fence(3, 1.0) == Fenced(named, 70, "fenced-3-0")


def test_what_is_freed_is_purged_on_the_servers_that_the_locator_names() -> None:
    asked: list[tuple[Any, ...]] = []

    def free(*what: Any) -> str:
        asked.append(what)
        return json.dumps({"e": "freed", "bytes": 70})

    outcome = answering(free=free).free(Locator(uniffle.SERVICE, "app-1/3/0/4/a:1+b:2"), 2.0)
    assert outcome == Freed(70)
    assert asked == [(3, 0, 4, ["a:1", "b:2"], 2000)]


def test_a_server_that_has_blocks_left_is_not_freed() -> None:
    failed = json.dumps({"e": "failed", "why": "server a:1 still has 5 blocks"})
    outcome = answering(free=lambda *_: failed).free(Locator(uniffle.SERVICE, "app-1/3/0/4/a:1"), 2.0)
    assert outcome == Failed("server a:1 still has 5 blocks")
