"""Logs of whatever a simulated Spark and its program do, decided by the core.

Responsible for a few logs, the same ones in every run. Refuses to look at them. Invariant: every one has kept all of
the core's invariants while it was made.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

from coordinator.core.events import ApplicationRegistered, GenerationFenced, PrematureDeletion, Recorded
from coordinator.core.ids import ApplicationId
from coordinator.core.values import Policy, RootKind, Rule
from tests.property.test_machine import Machine

#: Rules that guess, and are free to act on it.
_DELETING = st.sampled_from([Policy(rule, observe=False) for rule in (Rule.EAGER, Rule.FRONTIER)])


def logs(count: int, steps: int = 40) -> list[list[Recorded]]:
    """So many logs, of applications with different ids; of those made the ones with most deletions."""
    made: list[list[Recorded]] = []

    class Recording(Machine):
        @initialize(policy=_DELETING, completes=st.booleans(), kind=st.sampled_from([RootKind.HANDLE, RootKind.PLAN]))
        def register(self, policy: Policy, completes: bool, kind: RootKind) -> None:
            super().register(policy, completes, budget=8, bound=4, capacity=0, kind=kind)

        def teardown(self) -> None:
            if hasattr(self, "witness"):
                made.append(self.witness.log)

    run_state_machine_as_test(  # type: ignore[no-untyped-call,unused-ignore]
        Recording,
        settings=settings(
            max_examples=6 * count,
            stateful_step_count=steps,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    different = {str(log[1:]): log for log in made}.values()
    chosen = sorted(different, key=_richness, reverse=True)[:count]
    return [_of(ApplicationId(f"app-{number}"), log) for number, log in enumerate(chosen)]


def _richness(log: list[Recorded]) -> tuple[int, int]:
    """How much is deleted and missed, then how many kinds of events there are."""
    let_go = sum(isinstance(one.event, (GenerationFenced, PrematureDeletion)) for one in log)
    return let_go, len({type(one.event) for one in log})


def _of(application: ApplicationId, log: list[Recorded]) -> list[Recorded]:
    registered = log[0].event
    assert isinstance(registered, ApplicationRegistered)
    return [replace(log[0], event=replace(registered, application=application)), *log[1:]]
