"""What can go wrong with the store, told apart by what the caller may conclude.

Responsible for: one class per conclusion. Refuses to know: which backend met it.
Invariant: every error is exactly one of three: `NothingHappened` (the store is as it was before the call),
`OutcomeUnknown` (the call may have been applied, or may still be), `HoldLost` (something held by a lease is gone).

Every message says the fact, the value, what was expected, and what to do next.
"""

# The names say what the caller may conclude; "Error" at their end would add nothing.
# ruff: noqa: N818

from __future__ import annotations

from state_backend.values import FailedCompare, Keyspace, Revision

_OF_A_CLUSTER = "check that it runs, has a leader, and is reachable from here"


class StateBackendError(Exception):
    """The root of all errors of a state backend."""


class NothingHappened(StateBackendError):
    """The call changed nothing, and nothing of it will happen later."""


class OutcomeUnknown(StateBackendError):
    """A write was sent and no answer came: it was applied, or was not, or will be in a moment.

    Reading proves nothing, as the request may still be on its way. Submit the same transaction again, with the same
    compares, until it succeeds or a compare fails; then read who won.
    """

    def __init__(self, doing: str, cause: str) -> None:
        self.doing = doing
        self.cause = cause
        super().__init__(
            f"{doing} was sent to the store and not answered ({cause}); it may have been applied or may still be; "
            "submit it again with the same compares, reading alone proves nothing"
        )


class HoldLost(StateBackendError):
    """A lease ran out, or could not be shown to be alive: what was held by it may belong to somebody else now."""


# ---- nothing happened, and the same call may succeed later -----------------------------------------------------------


class Conflict(NothingHappened):
    """At least one compare did not hold. `failed` names each with what was found, as of `revision`."""

    def __init__(self, failed: tuple[FailedCompare, ...], revision: Revision) -> None:
        self.failed = failed
        self.revision = revision
        told = "; ".join(f"expected {failure.compare}, found {failure.found or 'no such key'}" for failure in failed)
        super().__init__(f"{told} at revision {revision}; nothing was changed; read again and decide again")


class Unavailable(NothingHappened):
    """No member of the store could be reached, or none could answer; no write of this call was sent."""

    def __init__(self, where: str, cause: str, advice: str = _OF_A_CLUSTER) -> None:
        self.where = where
        self.cause = cause
        super().__init__(
            f"the store at {where} cannot be reached ({cause}); nothing was changed; try again, and if it stays so "
            f"{advice}"
        )


class Compacted(NothingHappened):
    """History before `compacted_revision` is gone, so a read or watch at `asked_revision` would have a gap."""

    def __init__(self, asked_revision: Revision, compacted_revision: Revision) -> None:
        self.asked_revision = asked_revision
        self.compacted_revision = compacted_revision
        super().__init__(
            f"revision {asked_revision} is no longer in the store, whose history starts at {compacted_revision}; "
            "read the present state again and continue from its revision"
        )


class SetBack(Compacted):
    """The store was at `reached_revision` and is at `present_revision` now, so it was set back to a copy of itself."""

    def __init__(self, reached_revision: Revision, present_revision: Revision) -> None:
        super().__init__(Revision(reached_revision + 1), Revision(present_revision + 1))
        told = f"the store was at revision {reached_revision} and is at {present_revision} now, set back to a copy"
        self.args = (f"{told}; read the present state again and continue from its revision",)


class NoSpace(NothingHappened):
    """The store is full and refuses writes."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"the store at {where} refuses writes ({cause}); make space for it, then try again")


# ---- nothing happened, and the same call will fail again -------------------------------------------------------------


class InvalidKey(NothingHappened):
    """The key cannot be a key on every backend."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        super().__init__(f"the key {key!r} {reason}; make keys from their parts with state_backend.keys.join_key")


class InvalidRequest(NothingHappened):
    """The call cannot mean anything: an empty transaction, a limit below one, a time to live that is not positive."""

    def __init__(self, fact: str, expectation: str) -> None:
        super().__init__(f"{fact}; expected {expectation}; change the call")


class DuplicateKey(NothingHappened):
    """One transaction has two operations on one key."""

    def __init__(self, keyspace: Keyspace, key: str) -> None:
        self.keyspace = keyspace
        self.key = key
        super().__init__(
            f"the transaction has more than one operation on {keyspace.value}/{key}; expected at most one; "
            "say only what the key is to be in the end"
        )


class TooLarge(NothingHappened):
    """The request is beyond the limits that hold on all backends."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        self.what = what
        self.size = size
        self.limit = limit
        super().__init__(f"the transaction has {size} {what}; at most {limit} are allowed; cut it into smaller ones")


class NoSuchLease(NothingHappened):
    """A put named a lease that does not exist (any more)."""

    def __init__(self, lease: int) -> None:
        self.lease = lease
        super().__init__(f"there is no lease {lease:x}: it ran out or was revoked; grant a new one and put again")


class Denied(NothingHappened):
    """The store knows who we are and says no, or does not believe who we say we are."""

    def __init__(self, where: str, cause: str) -> None:
        self.cause = cause
        super().__init__(f"the store at {where} refused us ({cause}); check user, password, certificate and roles")


class WrongAddress(NothingHappened):
    """The address of the store cannot be understood. The message never repeats a password."""

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        super().__init__(
            f"the store address {address!r} {reason}; expected etcd://[user:password@]host:port[,host:port][/prefix]"
            "[?ca=FILE&cert=FILE&key=FILE], sqlite:///FILE or memory:"
        )


class Closed(NothingHappened):
    """The backend was closed by its owner."""

    def __init__(self, where: str) -> None:
        super().__init__(f"the store at {where} was closed here; open it again")


class Corrupt(NothingHappened):
    """What is stored is not what was written. The rest of the store is untouched and can be read."""

    def __init__(self, where: str, what: str) -> None:
        self.where = where
        self.what = what
        super().__init__(
            f"the store at {where} is damaged: {what}; nothing was changed; keep a copy of the file, then restore "
            "the record from the archive or a backup"
        )


class NotAStore(NothingHappened):
    """The file exists and is not one of our stores."""

    def __init__(self, where: str, found: str) -> None:
        super().__init__(
            f"{where} is not a store of the shuffle lifecycle coordinator ({found}); it was left as it is; "
            "give another path"
        )


class NewerStore(NothingHappened):
    """The store was written by a newer version than this one understands."""

    def __init__(self, where: str, found: int, supported: int) -> None:
        self.found = found
        self.supported = supported
        super().__init__(
            f"the store at {where} has schema version {found}; this program understands up to {supported}; "
            "it was left as it is; upgrade this program"
        )


# ---- something held is held no longer --------------------------------------------------------------------------------


class LeaseLost(HoldLost):
    """The lease ran out or could not be renewed in time; keys bound to it are gone or will be."""

    def __init__(self, lease: int, cause: str) -> None:
        self.lease = lease
        super().__init__(f"lease {lease:x} is lost ({cause}); what it held may be gone; grant a new one and put again")


class LockLost(HoldLost):
    """The lock is not ours any more; work under it must stop at once."""

    def __init__(self, name: str, cause: str) -> None:
        self.name = name
        super().__init__(
            f"the lock {name} is lost ({cause}); another holder may be at work; stop, take it again, and guard "
            "every write with the lock's own compare"
        )
