"""Lineage that goes ahead of its jobs, over drawn programs whose lineages change: it keeps more, and ends the same."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from shuffle_lifecycle.v1 import service_pb2

from coordinator.core import commands as c
from coordinator.core import cuts
from coordinator.core.ids import ApplicationId, AppShuffle, ClientId
from coordinator.core.values import Driver
from coordinator.wire.messages import requests_of
from listener_bridge import translate
from listener_bridge.tap import facts
from listener_bridge.tap.facts import Fact, StageFact
from listener_bridge.translate import Translator
from tests.property.witness import Witness
from tests.unit.listener_bridge.fakes import stage

#: App shuffles that a job lists -> what each is made from, of those that are listed before it.
JOBS = st.lists(
    st.dictionaries(st.integers(0, 7), st.frozensets(st.integers(0, 7), max_size=3), min_size=1, max_size=5),
    min_size=1,
    max_size=6,
)


class Told:
    """One driver and its coordinator."""

    def __init__(self, tells_ahead: bool) -> None:
        self.witness = Witness()
        self.translator = Translator()
        self.translator.tells_ahead = tells_ahead
        self.witness.do(c.RegisterApplication(ApplicationId("app"), Driver()), 1)

    def tell(self, fact: Fact) -> None:
        with patch.object(translate, "LINEAGE_BYTES", 0):  # one a command, wherever it may go ahead
            told = self.translator.requests_of([fact])
        for request in requests_of(service_pb2.Batch(requests=told), ClientId("driver")):
            before = self.reached()
            self.witness.do(request.command, 1)
            if isinstance(request.command, c.ReportLineage):
                assert before <= self.reached()

    def reached(self) -> set[AppShuffle]:
        state = self.witness.state
        return cuts.reached(state, {start for job in state.jobs.values() for start in cuts.starts_of(job)})


def started(job: int, listed: dict[int, frozenset[int]]) -> Fact:
    """Stage ids are new in each job, app shuffles are not."""
    first = 10 * job
    ids = {shuffle: first + shuffle for shuffle in listed}
    stages: list[StageFact] = [
        stage(ids[shuffle], writes=shuffle, parents=tuple(ids[read] for read in sorted(reads) if read in ids))
        for shuffle, reads in listed.items()
    ]
    final = stage(first + 9, parents=(ids[next(iter(listed))],))
    return facts.JobStarted(0, job, 0, (*stages, final), final.stage_id, None, None)


@given(JOBS, st.data())
def test_what_goes_ahead_only_keeps_more_and_ends_as_what_is_told_at_once(
    jobs: list[dict[int, frozenset[int]]], data: st.DataObject
) -> None:
    ahead, at_once = Told(tells_ahead=True), Told(tells_ahead=False)
    for number, listed in enumerate(jobs):
        acyclic = {one: frozenset(read for read in reads if read < one) for one, reads in listed.items()}
        told: list[Fact] = [started(number, acyclic)]
        if data.draw(st.booleans()):
            told.append(facts.JobEnded(0, number, 0, True, None))
        if data.draw(st.booleans()):
            told.append(facts.ShuffleCleaned(0, data.draw(st.integers(0, 7))))
        for fact in told:
            ahead.tell(fact)
            at_once.tell(fact)
            assert ahead.witness.state.shuffles == at_once.witness.state.shuffles
            assert ahead.witness.state.jobs == at_once.witness.state.jobs
