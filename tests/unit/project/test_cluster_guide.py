"""What `make cluster` says that one can try is so, however many there are."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import cluster
import pytest


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(("true",), text=True)
    yield started
    started.wait()


@pytest.mark.parametrize(
    ("members", "replicas", "said"),
    [
        (3, 3, ["a replica: its drivers go on elsewhere", "a member of etcd: 2 of 3 are enough"]),
        (5, 2, ["a replica: its drivers go on elsewhere", "a member of etcd: 3 of 5 are enough"]),
        (
            1,
            1,
            [
                "a replica: its drivers go on alone, nothing is deleted",
                "a member of etcd: all are needed, nothing is deleted without it",
            ],
        ),
    ],
)
def test_what_follows_from_a_kill(process: subprocess.Popen[str], members: int, replicas: int, said: list[str]) -> None:
    names = [*(f"etcd-{n}" for n in range(members)), *(f"replica-{n}" for n in range(replicas))]
    children = [cluster.Child(name, process, re.compile(""), Path()) for name in names]
    told = cluster.guide(children, names[:members], names[members:], "etcd://x/y", "token")
    assert re.findall(r"kill -9 \d+ +# (.*)", told) == said
