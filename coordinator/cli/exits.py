"""How shufflectl ends: exit codes, and the one sentence that goes with each.

Responsible for turning every error that a person can cause or meet into fact, value, expectation and next step, and
into its code. Refuses to print. Invariant: a code means the same after every verb; what has no row here is a mistake in
this program, and only that shows a traceback.
"""

from __future__ import annotations

import errno
from enum import IntEnum

import grpc

from coordinator.archive import api as archive
from coordinator.config import WrongConfig
from coordinator.core.rejections import Reason, Rejection
from coordinator.runtime import errors as runtime
from coordinator.server.certificates import WrongCertificates
from coordinator.server.interfaces import BindRefused, CannotListen, WrongBind
from coordinator.wire import errors as wire
from replay.explain import UnknownShuffle
from state_backend import errors as store


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    UNAVAILABLE = 4
    REFUSED = 5
    DAMAGED = 6
    NEWER = 7
    INTERRUPTED = 130  #: As shells have it: 128, and the number of SIGINT.


MEANINGS = {
    Exit.OK: "it was done",
    Exit.FAILED: "it failed, or a check of `doctor` did",
    Exit.USAGE: "wrong argument, configuration or address",
    Exit.NOT_FOUND: "no such application, shuffle, store or file",
    Exit.UNAVAILABLE: "the server or the store cannot be reached",
    Exit.REFUSED: "it was asked and said no: wrong token, or not possible now",
    Exit.DAMAGED: "damaged data were met; what can be read was shown",
    Exit.NEWER: "a newer release wrote it",
    Exit.INTERRUPTED: "it was interrupted (Ctrl-C)",
}


class Failure(Exception):  # noqa: N818 - it says what is so
    """The end of a verb, told to a person."""

    def __init__(self, exit_code: Exit, text: str) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class Nowhere(Failure):
    """There is no such application, or no store where one could be."""


def nowhere(fact: str, expected: str, next_step: str) -> Nowhere:
    """The same in words."""
    return Nowhere(Exit.NOT_FOUND, f"{fact}; expected {expected}. {next_step}")


def failure(exit_code: Exit, fact: str, expected: str, next_step: str) -> Failure:
    """Fact, value, expectation, next step."""
    return Failure(exit_code, f"{fact}; expected {expected}. {next_step}")


def refusal(rejection: Rejection) -> Failure:
    """What a coordinator has refused."""
    code = {Reason.NOT_FOUND: Exit.NOT_FOUND, Reason.INVALID: Exit.USAGE}.get(rejection.reason, Exit.REFUSED)
    return Failure(code, str(rejection))


def failure_of(error: BaseException) -> Failure | None:
    """The failure that an error is; None: a mistake in this program."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, grpc.aio.AioRpcError):
        return _of_call(error)
    if isinstance(error, UnknownShuffle):
        told = "`shufflectl events APP` tells of each, `shufflectl replay APP -o json` lists all that were written."
        return failure(Exit.NOT_FOUND, error.fact, error.expected, told)
    code = next((code for kinds, code in _CODES if isinstance(error, kinds)), None)
    if code is None and isinstance(error, OSError):
        return _of_system(error)
    return Failure(code, str(error)) if code is not None else None


def _of_system(error: OSError) -> Failure | None:
    if error.errno in _FULL:
        told = f"what was to be shown could not be written: {error.strerror}"
        return failure(Exit.FAILED, told, "room for it", "Make room, or write it elsewhere.")
    if error.errno in _NO_PATH and error.filename:
        told = f"{error.filename} cannot be looked at ({error.strerror})"
        return failure(Exit.NOT_FOUND, told, "a path that can be", "Check the path, and the rights of its folders.")
    return None


#: Where output goes there is no room.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: A path that a person has named leads nowhere, or through a folder that is closed to them.
_NO_PATH = frozenset({errno.EACCES, errno.ENAMETOOLONG})

_CODES: tuple[tuple[tuple[type[BaseException], ...], Exit], ...] = (
    ((WrongConfig, BindRefused, WrongBind, WrongCertificates), Exit.USAGE),
    ((store.WrongAddress, store.InvalidKey, archive.WrongArchive), Exit.USAGE),
    ((store.NewerStore, wire.TooNew, wire.UnknownEvent, runtime.NewerLog), Exit.NEWER),
    ((wire.NoFile,), Exit.NOT_FOUND),
    ((store.Corrupt, store.NotAStore, wire.WireError, runtime.DamagedLog, runtime.EventsMissing), Exit.DAMAGED),
    ((runtime.ArchiveUnread, archive.ArchiveAway), Exit.UNAVAILABLE),
    ((runtime.UnknownApplication, runtime.Archived), Exit.NOT_FOUND),
    ((store.Denied, store.NoSpace, runtime.ApplicationOver, runtime.Overloaded), Exit.REFUSED),
    ((store.StateBackendError, runtime.Unavailable, runtime.InDoubt, runtime.Draining), Exit.UNAVAILABLE),
    ((CannotListen, runtime.CoordinatorError, archive.ArchiveError), Exit.FAILED),
)

_OF_STATUS = {
    grpc.StatusCode.NOT_FOUND: Exit.NOT_FOUND,
    grpc.StatusCode.INVALID_ARGUMENT: Exit.USAGE,
    grpc.StatusCode.UNAVAILABLE: Exit.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: Exit.UNAVAILABLE,
    grpc.StatusCode.UNIMPLEMENTED: Exit.UNAVAILABLE,
    grpc.StatusCode.DATA_LOSS: Exit.DAMAGED,
    grpc.StatusCode.INTERNAL: Exit.FAILED,
    grpc.StatusCode.UNKNOWN: Exit.FAILED,
}


_BARE = ("deadline exceeded", "deadline_exceeded")


def _of_call(error: grpc.aio.AioRpcError) -> Failure:
    details = " ".join((error.details() or error.code().name).split())
    code = _OF_STATUS.get(error.code(), Exit.REFUSED)
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        details = f"who answers there is no coordinator of this release ({details}); check the address with `doctor`"
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and details.casefold() in _BARE:
        details = (
            "no answer within `--timeout-s`: the coordinator is busy, or its store is away; look with "
            "`shufflectl doctor`, or wait longer"
        )
    if error.code() is grpc.StatusCode.PERMISSION_DENIED:
        details += (
            " Here: `--token`, or SHUFFLECTL_TOKEN; an application's is `attach(spark).token` in its program. "
            "What only reads takes `--store` as well, without one."
        )
    return Failure(code, details)
