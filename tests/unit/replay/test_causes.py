"""What one report tells of other shuffles is not what an expiry follows from."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, LookId, StageId
from coordinator.core.values import Outputs, Policy, RootKind, Rule
from replay.explain import explain
from replay.premature import premature
from tests.unit.replay.logs import Told, lineage

REACHABLE = Policy(Rule.REACHABLE, observe=False)


def root(name: str, *needs: int, kind: RootKind = RootKind.HANDLE) -> c.ReportedRoot:
    return c.ReportedRoot(name, kind, tuple(map(AppShuffle, needs)), f"`{name}` in app.py:1")


def look(told: Told, number: int, *roots: c.ReportedRoot, gone: tuple[str, ...] = ()) -> None:
    told.say(c.BeginLook(LookId(number)), c.ReportCut(LookId(number), roots, gone))


def written(told: Told, app_shuffle: int, reads: tuple[int, ...] = ()) -> None:
    """A map job of its own, begun and ended."""
    stage = int(told.state.meta.next_stage)
    job = JobId(stage)
    learned = (lineage(app_shuffle, f"map at app.py:{app_shuffle}", reads),)
    told.say(c.ReportJobStarted(job, StageId(stage), (), AppShuffle(app_shuffle), lineage=learned))
    told.stage(stage, "map", reads, app_shuffle)
    told.done(stage, 1_000)
    told.say(c.ReportJobEnded(job))


def follows(told: Told, app_shuffle: int) -> str:
    """The fact that its last expiry names."""
    chapters = explain(told.log, AppShuffle(app_shuffle)).chapters
    lines = [line.text for chapter in chapters for line in chapter.lines if line.kind == "GenerationExpired"]
    return lines[-1].partition("follows from event ")[2]


def number_of(told: Told, kind: type[e.Event], nth: int = -1) -> int:
    return [recorded.sequence for recorded in told.log if type(recorded.event) is kind][nth]


def two_held(policy: Policy = REACHABLE) -> Told:
    told = Told(policy=policy)
    written(told, 0)
    written(told, 1)
    look(told, 1, root("a", 0), root("b", 1))
    return told


def test_an_expiry_follows_from_the_root_that_is_gone_and_not_from_another_that_came() -> None:
    told = two_held()
    look(told, 2, root("c", 1), gone=("a",))
    gone = number_of(told, e.RootGone)
    assert follows(told, 0) == f"{gone}: handle `a` in app.py:1 needs nothing any more"


def test_or_from_the_root_that_lets_go_of_it() -> None:
    told = two_held()
    look(told, 2, root("a", 1), root("b", 1))
    cut = number_of(told, e.CutReported)
    assert follows(told, 0) == f"{cut}: handle `a` in app.py:1 needs app shuffle 1 and lets go of app shuffle 0"


def test_or_from_the_end_of_a_look_that_has_seen_nobody_who_needs_it() -> None:
    told = Told(policy=REACHABLE)
    written(told, 0)
    written(told, 1)
    look(told, 1, root("b", 1))
    assert follows(told, 0) == f"{number_of(told, e.LookEnded)}: look 1 at the program ended"


def test_a_root_that_does_not_count_for_the_policy_is_no_cause() -> None:
    told = Told(policy=Policy(Rule.FRONTIER, observe=False))
    written(told, 0)
    look(told, 1, root("p", 0, kind=RootKind.PLAN), root("h", 0))
    written(told, 1, reads=(0,))
    look(told, 2, gone=("p", "h"))
    assert follows(told, 0) == f"{number_of(told, e.RootGone, 0)}: plan `p` in app.py:1 needs nothing any more"


def test_what_was_missed_is_told_with_the_root_that_had_let_go_of_it() -> None:
    told = two_held()
    look(told, 2, root("c", 1), gone=("a",))
    told.carried_out()
    written(told, 0)
    (missed,) = premature(told.log)
    assert missed.chain[0].text == "handle `a` in app.py:1 needs nothing any more"


def test_after_a_resync_it_follows_from_the_truth_and_not_from_the_first_end_that_was_missed() -> None:
    told = Told(policy=Policy(Rule.EAGER, observe=False))
    written(told, 0)
    told.chain_job(job=3)
    told.say(c.ReportGap(1, "outbox"))
    written(told, 2, reads=(0,))
    there = (Outputs(AppShuffle(0), 4, 4), Outputs(AppShuffle(2), 3, 4))
    told.say(c.Resync(outputs=there))
    truth = number_of(told, e.GapRecorded)
    assert follows(told, 0).startswith(f"{truth}: the whole truth was told again")
    first = number_of(told, e.JobEnded)
    lost = explain(told.log, AppShuffle(2)).chapters[0].lines[-1].text
    assert lost.startswith(f"3 of 4 outputs left; found together with event {first}: ")
