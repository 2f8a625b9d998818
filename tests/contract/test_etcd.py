"""The contract, kept by real etcd. Its invariant: two clients share one prefix and no connection."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from state_backend.address import EtcdAddress
from state_backend.api import Revision
from state_backend.etcd.backend import EtcdBackend, open_etcd
from state_backend.testing.contract import Compact, StateBackendContract
from tests.support.etcd import PATIENT, Cluster

pytestmark = pytest.mark.etcd


class EtcdContract(StateBackendContract):
    @pytest.fixture
    def cluster(self) -> Cluster:
        raise NotImplementedError

    @pytest.fixture
    def address(self, cluster: Cluster) -> EtcdAddress:
        return EtcdAddress(cluster.endpoints, f"contract/{uuid.uuid4()}")

    @pytest.fixture
    async def backend(self, address: EtcdAddress) -> AsyncIterator[EtcdBackend]:
        async with await open_etcd(address, PATIENT) as backend:
            yield backend

    @pytest.fixture
    async def other(self, address: EtcdAddress) -> AsyncIterator[EtcdBackend]:
        endpoints = (*address.endpoints[1:], address.endpoints[0])
        async with await open_etcd(EtcdAddress(endpoints, address.prefix), PATIENT) as other:
            yield other

    @pytest.fixture
    def compact(self, cluster: Cluster) -> Compact:
        async def compact(revision: Revision) -> None:
            cluster.etcdctl("compact", str(revision))

        return compact


class TestOneMember(EtcdContract):
    @pytest.fixture
    def cluster(self, one_member: Cluster) -> Cluster:
        return one_member


class TestThreeMembers(EtcdContract):
    @pytest.fixture
    def cluster(self, three_members: Cluster) -> Cluster:
        return three_members
