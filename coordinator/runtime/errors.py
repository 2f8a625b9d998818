"""What a replica says when it cannot do what it was asked.

Responsible for fact, value, expectation and next step of every failure, and for telling "nothing happened" from "it is
unknown". Refuses to know transport statuses. Invariant: a command that met an error with ``happened`` NOTHING is not in
the log and never will be; after UNKNOWN it may be, and asking again with the same number is always safe.

A refusal by the core (``Rejection``) is no error: it is an answer, and it is in the log.
"""

# The names say what happened; "Error" at their end would add nothing.
# ruff: noqa: N818

from __future__ import annotations

from enum import Enum

from coordinator.archive.api import ArchiveError, Missing
from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId
from coordinator.core.rejections import Reason, Rejection
from coordinator.explained import Explained

#: Whoever asks about more than one application.
ALL = ApplicationId("*")


class Happened(Enum):
    """What the asker may conclude."""

    NOTHING = "nothing happened"
    UNKNOWN = "it is unknown whether it happened"


class CoordinatorError(Explained):
    """The root of a replica's errors."""

    happened = Happened.NOTHING

    def __str__(self) -> str:
        return f"{self.fact}; expected {self.expected}; {self.happened.value}. {self.next_step}"


class UnknownApplication(CoordinatorError):
    """Nobody has registered it, here or on any replica of this store."""

    def __init__(self, application: ApplicationId) -> None:
        super().__init__(
            f"application {application!r} is not known",
            "an application that was registered at this store",
            "Register it first, or check the id with `shufflectl apps`; one that has ended may be in the archive "
            "alone, which `shufflectl` reads with --store and --archive.",
        )
        self.application = application


class ApplicationOver(CoordinatorError):
    """It has ended, or was reaped: its driver may only observe now."""

    def __init__(self, application: ApplicationId, how: str) -> None:
        super().__init__(
            f"application {application} is over ({how})",
            "a running application",
            "A driver that was taken for gone registers as a new application.",
        )
        self.application = application


class Unavailable(CoordinatorError):
    """The store did not answer in time; the command is not in the log."""

    def __init__(self, application: ApplicationId, cause: object) -> None:
        who = "somebody" if application == ALL else f"application {application}"
        super().__init__(
            f"the store was away while {who} asked ({cause})",
            "a store that can be reached and written",
            "Send the same requests again, here or to another replica.",
        )


class SetBack(Unavailable):
    """The store holds another log than the one that was read from it: it is read anew when somebody asks again."""

    def __init__(self, application: ApplicationId, last: int) -> None:
        Explained.__init__(
            self,
            f"the log of application {application} was read up to event {last}, and the store holds another one now",
            "what was read; a store that is set back to a copy loses what came after it",
            "Send the same requests again: it is read anew.",
        )


class Overtaken(Unavailable):
    """What was read last has left the store for the archive: the log is read anew when somebody asks again."""

    def __init__(self, application: ApplicationId, last: int) -> None:
        Explained.__init__(
            self,
            f"the log of application {application} was read here up to event {last}, and was archived further since",
            "a replica that hears what others append before it leaves the store",
            "Send the same requests again: it is read anew.",
        )


_SAME_NUMBERS = "Send the same requests with the same numbers again: what is in the log is not carried out twice."


class InDoubt(CoordinatorError):
    """The store did not say in time whether the commit was made."""

    happened = Happened.UNKNOWN

    def __init__(self, application: ApplicationId, waited_s: float = 0.0, cause: str = "") -> None:
        """``waited_s``: 0: nobody waits any more. ``cause``: why."""
        within = f" within {round(waited_s, 2):g} s" if waited_s else ""
        super().__init__(
            f"a commit of application {application} was not confirmed{within}{f' ({cause})' if cause else ''}",
            "an answer of the store",
            _SAME_NUMBERS,
        )


class PartlyDone(InDoubt):
    """The first requests of a batch are in the log, the others are not."""

    def __init__(self, application: ApplicationId, done: int, of: int, cause: object) -> None:
        Explained.__init__(
            self,
            f"{done} of {of} requests of application {application} are in the log, and the next ones are not ({cause})",
            "a store that can be written",
            _SAME_NUMBERS,
        )
        self.cause = cause


class Overloaded(CoordinatorError):
    """More waits than this replica keeps for one application."""

    def __init__(self, application: ApplicationId, waiting: int, limit: int) -> None:
        super().__init__(
            f"{waiting} requests of application {application} wait already",
            f"at most {limit}",
            "Send fewer at once, and the next ones after answers have come.",
        )


class TooManyApplications(CoordinatorError):
    """The store has as many running applications as it shall have."""

    def __init__(self, application: ApplicationId, limit: int) -> None:
        super().__init__(
            f"{limit} applications run, and {application} would be one more",
            f"at most {limit}",
            "End some, wait until those whose driver is gone are closed, or raise limits.applications.",
        )
        self.application = application


#: Commands that are not simply cut, and what is to be done instead.
_TOO_LARGE: dict[type[c.Command], str] = {
    c.ReportCut: "Nothing was done, since half a look proves nothing: tell roots of one kind as one, which needs what "
    "they need.",
    c.ReportJobStarted: "Nothing was done; tell lineage that is new before it, in several ReportLineage.",
    c.Resync: "Nothing was done; tell lineage and outputs before it, behind a ReportGap, in several ReportLineage and "
    "ReportOutputs; more than that must end first.",
}


def over_size(application: ApplicationId, command: type[c.Command], what: str, size: int, limit: int) -> Rejection:
    """One command alone makes more than a commit may hold: an answer, so that those behind it are answered too."""
    return Rejection(
        Reason.INVALID,
        f"one {command.__name__} of application {application} makes {size} {what}",
        f"at most {limit} in one commit",
        _TOO_LARGE.get(command, "Nothing was done; cut it into several commands."),
    )


def too_new(application: ApplicationId, version: int, readable: int) -> Rejection:
    """A command makes what another replica could not read: an answer, and nothing of it is written."""
    return Rejection(
        Reason.INVALID,
        f"a command of application {application} makes records of version {version}",
        f"at most {readable}, which every replica of this store can read",
        "`shufflectl replicas` shows who reads what; stop or upgrade the older one, then ask again.",
    )


class Draining(CoordinatorError):
    """This replica is being stopped."""

    def __init__(self, replica: str) -> None:
        super().__init__(
            f"replica {replica} is stopping", "a replica that serves", "Go to another replica, or come back later."
        )


class DamagedLog(CoordinatorError):
    """What is stored of the application cannot be read; it was left as it is, and others are served."""

    def __init__(self, application: ApplicationId, fact: object) -> None:
        super().__init__(
            f"the log of application {application} cannot be read: {fact}",
            "whole segments from the first event, or from a snapshot, on",
            "Nothing was changed; restore the record from the archive or a backup, other applications go on.",
        )
        self.application = application


class NewerLog(CoordinatorError):
    """A newer release has written what this one does not understand."""

    def __init__(self, application: ApplicationId, fact: object) -> None:
        super().__init__(
            f"the log of application {application} was written by a newer release: {fact}",
            "records of this release or an older one",
            "Nothing was changed; ask a replica of that release, or upgrade this one.",
        )
        self.application = application


class Archived(CoordinatorError):
    """These events have left the store, and no archive is named here."""

    def __init__(self, application: ApplicationId, below: int) -> None:
        super().__init__(
            f"events of application {application} below {below} are in the archive, and none is named here",
            f"the archive, or events from {below} on",
            "Name it: `archive` in the configuration, or --archive; or ask with --after.",
        )


class ArchiveUnread(CoordinatorError):
    """The archive cannot be read."""

    def __init__(self, application: ApplicationId, cause: ArchiveError) -> None:
        super().__init__(cause.fact, cause.expected, cause.next_step)
        self.application = application


class EventsMissing(ArchiveUnread):
    """The archive can be read and does not hold what it should."""


def unread(application: ApplicationId, cause: ArchiveError) -> ArchiveUnread:
    """What the archive says, in our words."""
    return (EventsMissing if isinstance(cause, Missing) else ArchiveUnread)(application, cause)


class Defect(CoordinatorError):
    """A mistake in this program; the application is loaded anew when it is asked for again."""

    happened = Happened.UNKNOWN

    def __init__(self, application: ApplicationId, cause: BaseException) -> None:
        super().__init__(
            f"application {application} was stopped on this replica by {cause!r}",
            "no mistake in this program",
            "Send the same requests again; please report this, with the replica's log.",
        )
