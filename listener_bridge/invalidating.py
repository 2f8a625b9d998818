"""Giving up a generation: it may be half-written, or would mix with another one, or is lost in part.

Responsible for: carrying out invalidate directives. What is there is fenced first, then freed.
Refuses to know: why a generation is given up, and how a service fences and frees.
Invariant: the data of a later generation are left alone. Where that cannot be told yet, the directive is `Busy`, and
the coordinator sends it again.

A directive names its generation by the locator of an earlier fence, or by none: it was never fenced. ADR 17 says why
what is there is given up then, and when it may be another generation's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from listener_bridge import words
from listener_bridge.newest import Newest
from listener_bridge.outcomes import Outcomes
from listener_bridge.reporter import Reporter
from listener_bridge.shuffle_services import api
from listener_bridge.words import Directive, Outcome

FENCE_TIMEOUT_S = 5.0


class Invalidating:
    """One application's. `carry_out` is for the executor's thread, the rest for any.

    `free` frees what is fenced; `on_gone` is called with every app shuffle that has no outputs from then on.
    """

    def __init__(
        self,
        service: api.ShuffleService,
        reporter: Reporter,
        outcomes: Outcomes,
        newest: Newest,
        *,
        free: Callable[[api.Locator], api.FreeOutcome],
        on_gone: Callable[[int], None],
    ) -> None:
        self._service = service
        self._reporter = reporter
        self._outcomes = outcomes
        self._newest = newest
        self._free = free
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._unfreed: dict[int, tuple[int, api.Locator]] = {}  # directive -> its app shuffle, and what it has fenced

    def carry_out(self, directive: Directive) -> Outcome:
        """Fence and free what the directive names; gives the outcome to report."""
        locator = words.locator_of(directive.locator)
        _, fenced = self._unfreed.get(directive.directive, (None, None))
        if fenced is not None:
            return self._free_fenced(directive, fenced)
        if locator is None:
            return self._give_up_unnamed(directive)
        return self._give_up(directive, lambda: self._service.invalidate(locator, FENCE_TIMEOUT_S))

    def forget(self, app_shuffle: int) -> None:
        """Spark's cleaner has let the app shuffle go: nobody asks again for what could not be freed of it.

        To be called when `Newest` knows that.
        """
        with self._lock:
            for over in [one for one, (whose, _) in self._unfreed.items() if whose == app_shuffle]:
                del self._unfreed[over]

    def forget_all(self) -> None:
        """The coordinator has lost its log: nobody asks again. To be called when `Outcomes` knows that."""
        with self._lock:
            self._unfreed.clear()

    def _give_up(self, directive: Directive, fence: Callable[[], api.FenceOutcome]) -> Outcome:
        """Fences what is there of the app shuffle, in the way that `fence` does it, then frees it."""
        outcome = api.outcome_of(fence)
        if not isinstance(outcome, api.Fenced):
            return outcome
        self._on_gone(directive.app_shuffle)
        return self._free_fenced(directive, outcome.locator)

    def _free_fenced(self, directive: Directive, locator: api.Locator) -> Outcome:
        """Frees what was fenced. If that fails its locator is kept: the directive may come again without one."""
        outcome, app_shuffle = self._free(locator), directive.app_shuffle
        with self._lock:
            self._unfreed.pop(directive.directive, None)
            may_come_again = self._outcomes.is_asked(directive) and not self._newest.is_cleaned(app_shuffle)
            if isinstance(outcome, api.Failed) and may_come_again:
                self._unfreed[directive.directive] = app_shuffle, locator
        return outcome

    def _give_up_unnamed(self, directive: Directive) -> Outcome:
        """Gives up a generation that was never fenced, so that it has no locator: what is there now is meant."""
        newer = self._what_may_be_newer(directive)
        if newer is not None:
            return newer
        held = api.outcome_of(lambda: self._service.holds(directive.app_shuffle))
        if isinstance(held, api.Failed):
            return held
        if isinstance(held, api.NotHeld):
            return self._give_up_unseen(directive)
        return self._give_up(directive, lambda: self._service.invalidate(held.locator, FENCE_TIMEOUT_S))

    def _what_may_be_newer(self, directive: Directive) -> api.Superseded | api.Busy | None:
        """The outcome where what is there may be a later generation's; None: it is not.

        A coordinator of an older release does not name the newest generation, so there nobody can tell. A writer that
        was not told its generation yet may be writing a later one: the directive is to come again.
        """
        app_shuffle = directive.app_shuffle
        if not directive.newest_shuffle_id:
            return api.Superseded(f"what is there of app shuffle {app_shuffle}, whose generation nobody named")
        if self._reporter.asks_to_write(app_shuffle):
            return api.Busy((f"a writer of app shuffle {app_shuffle} that was not told its generation yet",))
        return self._newest.superseded(directive)

    def _give_up_unseen(self, directive: Directive) -> Outcome:
        """Gives up what Spark has no outputs of. A fence finds the files of failed tasks all the same."""
        outcome = self._give_up(directive, lambda: self._service.fence(directive.app_shuffle, FENCE_TIMEOUT_S))
        return api.Freed(0) if isinstance(outcome, api.Superseded) else outcome
