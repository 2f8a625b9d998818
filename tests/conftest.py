"""What all tests share. Its markers say which part of the run a test belongs to (tools/parts.py)."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from listener_bridge import forks
from tests.support import answers

forks.import_grpc()  # as in a driver, before any test brings gRPC in: some of them fork

FOLDERS = {Path(__file__).parent / marker: marker for marker in ("spark", "remote")}

# Machines that run tests are shared and slow at times: a slow example is no failure, an unrepeatable one would be.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for folder in FOLDERS.keys() & set(item.path.parents):
            item.add_marker(FOLDERS[folder])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails may have been interrupted: the tests behind it in this process do not fail for that."""
    if call.excinfo is not None:
        answers.leave()
    return (yield)


LOGGERS = ("coordinator", "shuffle_lifecycle", "state_backend", "asyncio")


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """What a test does to its process's logging ends with it: which tests share a process is chance."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    configured, configuration = structlog.is_configured(), structlog.get_config()
    yield
    for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate = propagate
        logger.handlers[:] = handlers
    if configured:
        structlog.configure(**configuration)
    else:
        structlog.reset_defaults()
