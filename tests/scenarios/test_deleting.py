"""Scenarios 19 to 24: deleting in two phases."""

from __future__ import annotations

from coordinator.core import commands as c
from coordinator.core.values import Capabilities, DirectiveKind, Ending, Level
from tests.scenarios.story import EAGER, OBSERVE, REACHABLE, Story, delayed, shuffle

FENCE, DELETE, INVALIDATE = DirectiveKind.FENCE, DirectiveKind.DELETE, DirectiveKind.INVALIDATE


def expiring(**extra: object) -> Story:
    """A1 is being fenced; nobody needs it."""
    story = Story(EAGER, **extra)  # type: ignore[arg-type]
    story.whole("s0>A, s1:A!")
    assert story.lives() == "A1 fencing"
    return story


def test_19_busy_with_a_reader_whose_submission_is_under_way() -> None:
    story = expiring()
    assert story.outcome(FENCE, c.Busy(("2.0",))) == ["A1 fence refused: busy, again at 1050"]
    story.job("s2>A, s3:A!")
    assert story.lives() == "A1 readable"
    assert story.submit("s3") == ["s3.0 submitted", "A1 read by s3.0"]
    assert story.complete("s3") == ["s3.0 completed", "A1 expired: read by a stage that wrote", "fence A1"]
    assert story.tick(50) == []
    assert story.delete_all()[-1] == "A1 deleted: policy, 100 bytes"


def test_19_busy_pauses_double_up_to_a_limit() -> None:
    story = expiring()
    pauses = []
    for _ in range(12):
        story.outcome(FENCE, c.Busy(("a task",)))
        due_ms = story.state.generations[1].due_ms
        pauses.append(due_ms - story.now_ms)
        story.tick(pauses[-1])
    assert pauses == [50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]


def test_19_after_a_use_they_begin_small_again() -> None:
    story = Story(EAGER)
    story.whole("s0>A, s1:A!")
    assert story.outcome(FENCE, c.Busy(("x",))) == ["A1 fence refused: busy, again at 1050"]
    assert story.tick(50) == ["fence A1"]
    assert story.outcome(FENCE, c.Busy(("x",))) == ["A1 fence refused: busy, again at 1150"]
    assert "A1 rescued: a live job reaches it (job 1)" in story.whole("-s2>A, s3:A!")
    assert story.outcome(FENCE, c.Busy(("x",))) == ["A1 fence refused: busy, again at 1100"]


def test_19_a_reader_that_is_known_keeps_it_when_busy() -> None:
    story = expiring()
    story.job("s2>A, s3:A!")
    assert story.submit("s3") == ["s3.0 submitted", "A1 read by s3.0"]
    assert story.outcome(FENCE, c.Busy(("3.0",))) == ["A1 fence refused: busy, kept"]
    assert story.complete("s3") == ["s3.0 completed", "A1 expired: read by a stage that wrote", "fence A1"]


def test_19a_who_asks_while_fencing_waits() -> None:
    story = expiring()
    assert story.read("A", "s9") == "not ready: being fenced; its outcome decides"
    assert story.read("A", "s9") == "not ready: being fenced; its outcome decides"
    assert story.log == []
    assert story.read("A", "s9.1") == "not ready: being fenced; its outcome decides"
    assert story.fenced() == [
        "A1 fenced",
        "A1 missed by s9.0",
        "recovery 1 of A1",
        "recovery 1 joined for A1 by s9.1",
        "delete A1",
    ]
    assert story.read("A", "s9") == "recover A1: recovery 1 of A"


def test_19a_and_gets_it_when_the_fence_is_refused() -> None:
    for refused in (c.Busy(("9.0",)), c.Revoked("shut down"), c.Cannot("no servers left"), c.Failed("x"), c.Freed(1)):
        story = expiring()
        story.read("A", "s9")
        assert story.outcome(FENCE, refused)[0].endswith(", kept")
        assert story.read("A", "s9") == "ready A1"
        assert story.log == []


def test_19a_a_revoked_fence_that_nobody_waits_for_is_asked_again() -> None:
    story = expiring()
    assert story.outcome(FENCE, c.Revoked("shut down")) == ["A1 fence refused: revoked, again at 1050"]
    assert story.tick(50) == ["fence A1"]


def two_fencing(**extra: object) -> Story:
    """Z1 and A1, made from it, are being fenced; a job has just started that reads A."""
    story = Story(EAGER, **extra)  # type: ignore[arg-type]
    story.whole("s0>Z, s1:Z>A, s2:A!")
    assert story.lives() == "Z1 fencing, A1 fencing"
    story.job("s3>Z, s4:Z>A, s5:A!")
    return story


def test_19a_what_goes_while_being_fenced_is_gone_when_the_fence_is_refused() -> None:
    story = two_fencing()
    assert story.lose(A=3) == ["A1 partial, 3 of 10"]
    assert story.lose(A=2) == []
    assert story.outcome(FENCE, c.Busy(("t",))) == [
        "Z1 fence refused: busy, again at 1050",
        "Z1 rescued: a live job reaches it (job 1)",
    ]
    assert story.outcome(FENCE, c.Busy(("5.0",))) == [
        "A1 fence refused: busy, again at 1050",
        "A1 rescued: a live job reaches it (job 1)",
    ]
    assert story.lives() == "Z1 readable, A1 partial"
    assert story.read("A", "s5") == "not ready: some of its outputs are gone and not yet back"
    assert story.submit("s4", tasks=7)[-1] == "A1 continued by s4.0"


def test_19a_all_of_it_too() -> None:
    story = two_fencing()
    assert story.lose(A=0) == ["A1 partial, 0 of 10"]
    story.outcome(FENCE, c.Busy(("t",)))
    story.outcome(FENCE, c.Busy(("5.0",)))
    assert story.submit("s4") == [
        "s4.0 submitted",
        "Z1 read by s4.0",
        "A1 lost: outputs gone",
        "recovery 1 of A1",
        "A2 begun by s4.0 for recovery 1",
    ]


def test_19a_and_a_part_is_all_where_it_cannot_be_completed() -> None:
    story = two_fencing(capabilities=Capabilities(completes_after_loss=False))
    assert story.lose(A=3) == ["A1 partial, 3 of 10"]
    story.outcome(FENCE, c.Busy(("t",)))
    assert story.outcome(FENCE, c.Busy(("5.0",))) == ["A1 fence refused: busy, again at 1050", "A1 lost: outputs gone"]
    assert story.read("A", "s5") == "recover A1: recovery 1 of A"


def test_19a_what_goes_while_being_fenced_changes_nothing_when_it_is_fenced() -> None:
    story = expiring()
    story.lose(A=3)
    assert story.fenced() == ["A1 fenced", "delete A1"]


def test_19b_a_reader_that_ended_just_before_the_fence_belongs_to_the_old_one() -> None:
    story = expiring()
    story.job("s2>A, s3:A!")
    assert story.submit("s3") == ["s3.0 submitted", "A1 read by s3.0"]
    assert story.complete("s3") == ["s3.0 completed"]
    story.end(1)
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.state.meta.premature == 0


def test_19b_a_writer_that_ended_just_before_the_fence_leaves_nothing_to_write() -> None:
    story = expiring()
    story.job("s2>A, s3:A!")
    assert story.submit("s2", tasks=1) == ["s2.0 submitted", "A1 continued by s2.0"]
    assert story.complete("s2") == ["s2.0 completed", "A1 complete"]
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.lives() == "A1 fenced"


def test_20_the_application_is_reaped() -> None:
    story = expiring()
    story.whole("s2>B, s3:B.")
    story.fenced()
    assert story.do(c.EndApplication(Ending.LOST)) == [
        "application lost",
        "A1 deleted: application lost, 0 bytes",
        "B1 deleted: application lost, 0 bytes",
    ]
    assert story.do(c.EndApplication()) == []
    assert story.read("A", "s9") == "failed precondition"


def test_20_a_thousand_records_close_in_steps() -> None:
    story = Story(OBSERVE)
    for number in range(26):
        letter = chr(ord("A") + number)
        story.whole(f"s{2 * number}>{letter}, s{2 * number + 1}:{letter}.")
    lines = story.do(c.EndApplication())
    assert (len(lines), lines[-1]) == (26, "more to sweep")
    assert story.tick() == ["Y1 deleted: application ended, 0 bytes", "Z1 deleted: application ended, 0 bytes", "swept"]
    assert story.tick() == []


def test_21_a_directive_stays_until_its_outcome_and_an_outcome_counts_once() -> None:
    story = expiring()
    (fence,) = story.state.directives
    assert story.fenced() == ["A1 fenced", "delete A1"]
    assert story.outcome(FENCE, c.Fenced(1), fence) == []
    (delete,) = story.state.directives
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    assert story.outcome(DELETE, c.Freed(7), delete) == []
    assert story.outcome(DELETE, c.Freed(7), 99) == []
    assert story.state.meta.bytes_freed == 100


def test_22_a_late_deletion_leaves_the_next_generation_alone() -> None:
    story = expiring()
    story.fenced()
    story.job("s2>A, s3:A!")
    assert story.submit("s2") == [
        "s2.0 submitted",
        "A1 missed by s2.0",
        "recovery 1 of A1",
        "A2 begun by s2.0 for recovery 1",
    ]
    assert story.outcome(DELETE, c.Superseded("2")) == ["A1 deleted: policy, 0 bytes (superseded)"]
    assert story.complete("s2") == ["s2.0 completed", "A2 complete", "recovery 1 closed"]
    assert story.state.meta.bytes_freed == 0


def test_22_a_fence_that_comes_too_late_for_its_generation() -> None:
    story = expiring()
    assert story.outcome(FENCE, c.Superseded("2")) == ["A1 lost: outputs gone"]
    story = expiring()
    story.job("s2>A, s3:A!")
    story.submit("s2")
    assert story.outcome(FENCE, c.Superseded("2")) == [
        "A1 lost: outputs gone",
        "recovery 1 of A1",
        "A2 begun by s2.0 for recovery 1",
    ]
    assert story.complete("s2") == ["s2.0 completed", "A2 complete", "recovery 1 closed"]


def test_23_a_failed_deletion_is_tried_again_and_not_counted() -> None:
    story = expiring()
    story.fenced()
    assert story.outcome(DELETE, c.Failed("disk full")) == ["A1 failed: disk full, again at 1200"]
    (directive,) = story.state.directives.values()
    assert (directive.due_ms, directive.failures) == (1_200, 1)
    assert story.outcome(DELETE, c.Busy(("1.0",))) == ["A1 failed: busy: 1.0, again at 1400"]
    assert story.outcome(DELETE, c.Fenced(3)) == [
        "A1 failed: answered with Fenced, which is no outcome of this directive, again at 1800"
    ]
    assert story.state.meta.bytes_freed == 0
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]


def test_23_a_failed_deletion_is_tried_again_for_its_own_generation() -> None:
    story = expiring()
    story.fenced()
    story.job("s2>A, s3:A!")
    story.run("s2")
    assert story.outcome(DELETE, c.Failed("disk full")) == ["A1 failed: disk full, again at 1200"]
    (directive,) = story.state.directives.values()
    assert story.teller.name_of(directive.shuffle_id) == "A1"
    assert story.freed() == ["A1 deleted: policy, 100 bytes"]
    assert story.lives() == "A2 readable"


def test_23_a_service_that_cannot_fence_is_asked_rarely() -> None:
    story = expiring()
    assert story.outcome(FENCE, c.Cannot("no servers left")) == ["A1 fence refused: cannot, again at 31000"]


def test_23_but_again_after_as_long_as_it_has_been_waiting_to_go() -> None:
    story = Story()
    story.whole("s0>A, s1:A!")
    story.at(1_000_000)
    story.look("")
    pauses = []
    for _ in range(4):
        story.outcome(FENCE, c.Cannot("no servers left"))
        pauses.append(story.state.generations[1].due_ms - story.now_ms)
        story.tick(pauses[-1])
    assert pauses == [30_000, 30_000, 60_000, 120_000]


def test_24_a_speculative_writer() -> None:
    story = expiring()
    assert story.outcome(FENCE, c.Busy(("task 7 of 0.0",))) == ["A1 fence refused: busy, again at 1050"]
    assert story.write("A", "s0") == "ready A1"
    assert story.tick(50) == ["fence A1"]
    assert story.write("A", "s0") == "not ready: stage 0.0 is over: no live job lists it, or a later attempt writes"
    assert story.fenced() == ["A1 fenced", "delete A1"]


def test_a_writer_that_joins_while_fencing_goes_on_when_it_was_busy() -> None:
    story = expiring()
    story.job("s2>A, s3:A!")
    assert story.submit("s2", tasks=4) == ["s2.0 submitted", "A1 continued by s2.0"]
    assert story.write("A", "s2") == "not ready: being fenced; its outcome decides"
    assert story.outcome(FENCE, c.Busy(("2.0",))) == ["A1 fence refused: busy, kept", "A1 partial, 0 of 10"]
    assert story.write("A", "s2") == "ready A1"
    assert story.complete("s2") == ["s2.0 completed", "A1 complete"]


def test_a_writer_that_joins_while_fencing_begins_anew_when_it_was_fenced() -> None:
    story = expiring()
    story.job("s2>A, s3:A!")
    story.submit("s2", tasks=4)
    assert story.fenced() == [
        "A1 fenced",
        "A1 missed by s2.0",
        "recovery 1 of A1",
        "A2 begun by s2.0 for recovery 1",
        "delete A1",
    ]
    assert story.complete("s2") == ["s2.0 completed", "A2 complete", "recovery 1 closed"]


def test_an_indeterminate_writer_that_joins_while_fencing_begins_anew_in_any_case() -> None:
    story = Story(levels={"A": Level.INDETERMINATE})
    story.whole("s0>A, s1:A!")
    story.look("")
    story.job("s2>A, s3:A!")
    story.submit("s2")
    assert story.outcome(FENCE, c.Busy(("2.0",))) == [
        "A1 fence refused: busy, kept",
        "A1 lost: invalidated",
        "invalidate A1",
        "recovery 1 of A1",
        "A2 begun by s2.0 for recovery 1",
    ]
    assert story.complete("s2") == ["s2.0 completed", "A2 complete", "recovery 1 closed"]


def test_a_half_written_one_that_is_being_fenced_and_written_again() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    story.end(succeeded=False)
    assert story.lives() == "A1 fencing"
    assert story.read("A", "s9") == "not ready: being fenced; its outcome decides"
    story.job("s2>A, s3:A!")
    assert story.submit("s2", tasks=4) == ["s2.0 submitted", "A1 continued by s2.0"]
    assert story.outcome(FENCE, c.Busy(("2.0",))) == [
        "A1 fence refused: busy, again at 1050",
        "A1 rescued: a writer asked (asked while it was being fenced)",
    ]
    assert story.complete("s2") == ["s2.0 completed", "A1 complete"]


def test_the_fence_of_what_was_lost_meanwhile_says_nothing() -> None:
    story = expiring(capabilities=Capabilities(completes_after_loss=False))
    assert story.miss("A1", None) == "not ready: being fenced; its outcome decides"
    story.outcome(FENCE, c.Busy())
    assert story.lose(A=3) == ["A1 lost: outputs gone"]
    assert story.tick(50) == []
    assert story.outcome(FENCE, c.Fenced(1), 1) == []


def test_an_expired_one_that_loses_outputs_is_still_let_go() -> None:
    story = Story(delayed(REACHABLE, 1_000))
    story.whole("s0>A, s1:A!")
    story.look("")
    assert story.lose(A=3) == ["A1 partial, 3 of 10"]
    assert story.tick(1_000) == ["fence A1"]
    assert story.delete_all()[-1] == "A1 deleted: policy, 100 bytes"


def test_a_pin_or_a_policy_comes_too_late_for_a_fence() -> None:
    story = expiring()
    assert story.do(c.SetPin(shuffle("A"), "mine")) == ["A pinned"]
    assert story.do(c.SetPolicy(OBSERVE)) == ["policy observe"]
    assert story.fenced() == ["A1 fenced", "delete A1"]


def test_a_pin_while_the_fence_waits_to_be_asked_again() -> None:
    story = expiring()
    story.outcome(FENCE, c.Busy())
    assert story.do(c.SetPin(shuffle("A"), "mine")) == ["A pinned", "A1 held: pin"]
    assert story.tick(50_000) == []
    assert story.do(c.RemovePin(shuffle("A"))) == ["A unpinned", "fence A1"]


def test_invalidation_that_fails_is_tried_again() -> None:
    story = Story(EAGER, levels={"A": Level.INDETERMINATE})
    story.job("s0>A, s1:A!")
    story.run("s0")
    assert story.submit("s0.1") == [
        "s0.1 submitted",
        "A1 lost: invalidated",
        "invalidate A1",
        "recovery 1 of A1",
        "A2 begun by s0.1 for recovery 1",
    ]
    assert story.outcome(INVALIDATE, c.Failed("x")) == ["A1 failed: x, again at 1200"]
    assert story.outcome(INVALIDATE, c.Freed(30)) == ["A1 invalidated, 30 bytes"]
    assert story.state.meta.bytes_freed == 30


def test_what_its_service_could_not_let_go_is_never_asked_to_go() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.submit("s0")
    assert story.do(c.ReportKept(shuffle("A"), "no servers are left")) == ["A pinned"]
    story.run("s0", "s1")
    assert story.lives() == "A1 expired"
    assert story.tick(1_000_000) == []
    assert story.outstanding(FENCE) == []
    assert story.do(c.RemovePin(shuffle("A"))) == ["A unpinned", "fence A1"]


def test_who_has_pinned_it_before_is_not_forgotten() -> None:
    story = Story(EAGER)
    story.job("s0>A, s1:A!")
    story.do(c.SetPin(shuffle("A"), "mine"))
    assert story.do(c.ReportKept(shuffle("A"), "no servers are left")) == []
    assert story.state.shuffles[shuffle("A")].pin == "mine"
    assert story.do(c.ReportKept(shuffle("Z"), "of something unknown")) == []
