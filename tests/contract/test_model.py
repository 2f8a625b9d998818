"""Every store against the model. Its invariant: a fresh and empty store for every history."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from state_backend.address import EtcdAddress
from state_backend.api import Compare, Delete, Operation, Revision, StateBackend
from state_backend.etcd.backend import open_etcd
from state_backend.memory import MemoryBackend
from state_backend.sqlite.backend import open_sqlite
from state_backend.testing.model import model_machine
from tests.support.etcd import PATIENT, Cluster

QUICK = settings(max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
SLOW_STORE = settings(QUICK, max_examples=8)


async def open_memory() -> StateBackend:
    return MemoryBackend()


def test_memory() -> None:
    run_state_machine_as_test(model_machine(open_memory), settings=QUICK)


def test_sqlite(tmp_path: Path) -> None:
    async def open_fresh() -> StateBackend:
        return await open_sqlite(Path(tempfile.mkdtemp(dir=tmp_path)) / "store.db")

    run_state_machine_as_test(model_machine(open_fresh), settings=QUICK)


@pytest.mark.etcd
def test_etcd(one_member: Cluster) -> None:
    async def open_fresh() -> StateBackend:
        return await open_etcd(EtcdAddress(one_member.endpoints, f"model/{uuid.uuid4()}"), PATIENT)

    run_state_machine_as_test(model_machine(open_fresh), settings=SLOW_STORE)


class ForgetfulBackend(MemoryBackend):
    """Wrong in one way: deletes do nothing."""

    async def put_txn(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Revision:
        kept = [each for each in operations if not isinstance(each, Delete)]
        if not kept:
            return self.store.revision
        return await super().put_txn(compares, kept)


def test_the_machine_finds_a_store_that_forgets_a_delete() -> None:
    async def open_forgetful() -> StateBackend:
        return ForgetfulBackend()

    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            model_machine(open_forgetful),
            settings=settings(QUICK, max_examples=50, phases=[Phase.generate], print_blob=False),
        )
