"""A real job on a small file system: it dies of a full disk, and does not under `pressure`.

The file system is a tmpfs in a mount namespace of its own, so nobody else's disk fills up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from coordinator.core import events as e
from coordinator.core.events import Recorded
from replay.explain import explain
from tests.spark.pressure import filling
from tests.support.logs import app_shuffles, deletions, folded, of, stored
from tests.support.simulated import check_as_recorded
from tests.support.small_disk import NoSmallDisk, on_a_small_disk

pytestmark = [pytest.mark.spark, pytest.mark.newest, pytest.mark.timeout(300)]

DISK_BYTES = 20_000_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """By policy; empty: without the plugin."""
    disk, folder = tmp_path_factory.mktemp("disk"), tmp_path_factory.mktemp("logs")
    program = [sys.executable, "-m", "tests.spark.pressure.filling", str(disk), f"sqlite://{folder}/log.db"]
    try:
        command = on_a_small_disk(disk, DISK_BYTES, program)
    except NoSmallDisk as why:
        pytest.skip(str(why))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3_000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {one["policy"]: {**one, "store": f"sqlite://{folder}/log.db", "disk": str(disk)} for one in told}


@pytest.fixture(scope="module")
def log(runs: dict[str, dict[str, Any]]) -> list[Recorded]:
    return stored(runs["pressure"]["store"], runs["pressure"]["application"])


def test_it_dies_of_a_full_disk_without_the_plugin_and_where_it_only_observes(runs: dict[str, dict[str, Any]]) -> None:
    assert runs[""]["death"] == runs["observe"]["death"] == filling.NO_SPACE


def test_under_pressure_it_ends_with_what_it_should(runs: dict[str, dict[str, Any]]) -> None:
    assert runs["pressure"]["death"] == ""
    assert runs["pressure"]["sums"] == filling.expected()


def test_no_more_went_than_had_to(log: list[Recorded]) -> None:
    """At most three rounds below the low watermark.

    The last one that went was up to one of them; and a round that is being written lies on the disk too, up to twice
    while its tasks join their files.
    """
    held = sum(event.bytes for event in of(log, e.GenerationCompleted))
    freed = sum(event.bytes for event in deletions(log))
    low = DISK_BYTES * filling.LOW // 100
    assert held > DISK_BYTES
    assert held - freed >= low - 3 * filling.ROWS * filling.ROW_BYTES


def test_the_log_explains_each_deletion(log: list[Recorded], runs: dict[str, dict[str, Any]]) -> None:
    asked = of(log, e.FenceRequested)
    assert asked
    for fence in asked:
        assert fence.pressed is not None
        assert fence.pressed.disk == runs["pressure"]["disk"]
        assert fence.pressed.used_percent > filling.LOW
        assert fence.pressed.bytes >= filling.ROWS * filling.ROW_BYTES
        assert fence.pressed.task_ms > 0
    refused = {event.directive for event in of(log, e.FenceRefused)}
    carried_out = [(fence.shuffle_id, fence.pressed) for fence in asked if fence.directive not in refused]
    assert carried_out
    assert {shuffle_id for shuffle_id, _ in carried_out} <= {event.shuffle_id for event in deletions(log)}
    for shuffle_id, why in carried_out:
        [chapter] = explain(log, shuffle_id=shuffle_id).chapters
        assert why is not None
        for words in (f"disk {why.disk} ", f"at {why.used_percent} %", f" {filling.HIGH} %"):
            assert words in chapter.verdict


def test_what_was_missed_came_back(log: list[Recorded]) -> None:
    """Only the first round is read again; whether it had gone by then depends on what each round has cost."""
    known = app_shuffles(log)
    missed = [known[event.shuffle_id] for event in of(log, e.PrematureDeletion)]
    assert missed in ([], [min(known.values())])
    assert len(of(log, e.RecoveryOpened)) == len(missed)


def test_the_log_is_whole_and_decides_the_same_again(log: list[Recorded]) -> None:
    folded(log)
    check_as_recorded(log)
