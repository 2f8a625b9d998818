"""Clusters that the contract runs against. Their invariant: one process group a session, one prefix a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.etcd import Cluster, running_etcd


@pytest.fixture(scope="session")
def one_member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_etcd(tmp_path_factory.mktemp("etcd-1")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def three_members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_etcd(tmp_path_factory.mktemp("etcd-3"), size=3) as cluster:
        yield cluster
