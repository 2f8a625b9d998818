"""Policy `pressure`: nothing goes while there is room; then what nobody needs, the cheapest first, as far as it must.

A disk of 1,000 bytes is full at 850, and full no more at 750. Every shuffle holds 100.
"""

from __future__ import annotations

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core import pressure
from coordinator.core.policies import REST_MS
from coordinator.core.sweep import next_due_ms
from coordinator.core.values import DirectiveKind, Level, Policy, Pressed, RootKind, Rule, Settings
from tests.scenarios.further import found
from tests.scenarios.story import OBSERVE, PRESSURE, Story, attempt_of, delayed, shuffle

FENCE = DirectiveKind.FENCE
HELD = "there is room on the disks, or others go first"
FULL = "a disk is full, and nobody is known to need it"


def three(policy: Policy = PRESSURE, held: str = "", **extra: object) -> Story:
    """A, B and C were read and are in nobody's way; a look has seen what the program still holds."""
    story = Story(policy, **extra)  # type: ignore[arg-type]
    for n, letter in enumerate("ABC"):
        story.whole(f"s{2 * n}>{letter}, s{2 * n + 1}:{letter}!")
    story.look(held)
    story.now_ms += REST_MS
    return story


def fences(lines: list[str]) -> list[str]:
    return [line.removeprefix("fence ") for line in lines if line.startswith("fence ")]


def test_nothing_goes_while_there_is_room() -> None:
    story = three()
    assert story.lives() == "A1 expired, B1 expired, C1 expired"
    assert {g.hold.value for g in story.state.generations.values()} == {HELD}
    assert story.disk(849, 151) == ["disk /x: 849 used, 151 free"]
    assert story.tick(100_000) == []


def test_above_the_high_watermark_they_go_until_the_low_one_is_reached() -> None:
    story = three()
    lines = story.disk(900, 100)
    assert fences(lines) == ["A1", "B1"]  # 900 - 200 is 700: enough
    assert story.delete_all()[-1] == "B1 deleted: policy, 100 bytes"
    assert story.lives() == "C1 expired"
    assert story.state.meta.disks[0].used_bytes == 700
    assert not story.state.meta.full
    assert story.disk(760, 240) == ["disk /x: 760 used, 240 free"]  # between the marks: not full again


def test_a_fence_that_tells_no_bytes_has_what_was_written_on_its_way_out() -> None:
    story = three()
    assert fences(story.disk(900, 100)) == ["A1", "B1"]
    assert story.outcome(FENCE, c.Fenced()) == ["A1 fenced", "delete A1"]
    assert story.state.generations[1].bytes == 100


def test_a_disk_that_is_not_there_any_more_is_not_full() -> None:
    story = three()
    assert fences(story.disk(850, 150)) == ["A1"]
    assert story.disk(0, 0) == ["disk /x: 0 used, 0 free"]
    story.delete_all()
    assert (story.state.meta.full, story.lives()) == (False, "B1 expired, C1 expired")


def test_nothing_lies_on_a_disk_that_is_not_there_any_more() -> None:
    """What is freed lies on the one that is left, so two are enough. The driver counts so, too."""
    story = three()
    story.disk(100, 900, "/y")
    story.disk(0, 0, "/y")
    assert fences(story.disk(900, 100)) == ["A1", "B1"]
    story.delete_all()
    assert [(disk.disk, disk.used_bytes) for disk in story.state.meta.disks] == [("/x", 700)]
    assert story.lives() == "C1 expired"


def test_one_that_was_full_stays_so_between_the_marks() -> None:
    story = three()
    story.disk(860, 140)
    story.delete_all()
    assert story.lives() == "C1 expired"
    story = three()
    assert fences(story.disk(849, 151)) == []
    assert fences(story.disk(850, 150)) == ["A1"]
    story.delete_all()
    assert fences(story.disk(800, 200)) == []  # what was reported goes before what was reckoned; it has been relieved


def test_what_sparks_own_cleaner_has_let_go_is_on_no_disk_either() -> None:
    story = three()
    story.disk(800, 200)
    assert story.do(c.ReportShuffleCleaned(shuffle("A"))) == ["A1 deleted: spark, 0 bytes", "A cleaned"]
    assert [(disk.used_bytes, disk.free_bytes) for disk in story.state.meta.disks] == [(700, 300)]


def test_what_was_freed_counts_however_much_was_written() -> None:
    story = three()
    story.disk(900, 100)
    story.fenced()
    story.outcome(DirectiveKind.DELETE, c.Freed(60))
    assert [(disk.used_bytes, disk.free_bytes) for disk in story.state.meta.disks] == [(840, 160)]


def test_the_cheapest_per_byte_goes_first() -> None:
    story = three(costs_ms={"A": 500, "B": 20, "C": 100})
    assert fences(story.disk(900, 100)) == ["B1", "C1"]
    asked = [recorded.event for recorded in story.log if isinstance(recorded.event, e.FenceRequested)]
    assert [one.pressed for one in asked] == [Pressed("/x", 90, 85, 100, 20), Pressed("/x", 80, 85, 100, 100)]


def test_what_costs_more_goes_first_where_it_frees_more_for_it() -> None:
    story = Story(PRESSURE)
    for n, (letter, held_bytes, cost_ms) in enumerate((("A", 400, 200), ("B", 100, 100))):
        story.job(f"s{2 * n}>{letter}, s{2 * n + 1}:{letter}!")
        story.submit(f"s{2 * n}")
        story.do(c.ReportStageCompleted(attempt_of(f"s{2 * n}"), shuffle_bytes_written=held_bytes, task_ms=cost_ms))
        story.run(f"s{2 * n + 1}")
        story.end(n)
    story.look("")
    assert fences(story.disk(860, 140)) == ["A1"]


def test_what_is_gone_behind_it_is_a_part_of_the_cost() -> None:
    story = Story(PRESSURE, costs_ms={"A": 50, "B": 10, "C": 30})
    story.whole("s0>A, s1:A>B, s2:B!")
    story.whole("s3>C, s4:C!")
    story.look("B C")
    assert pressure.cost_ms(story.state, story.state.current(shuffle("B"))) == 10
    assert fences(story.disk(850, 150)) == ["A1"]  # nobody reaches it: it goes before the others, whatever it costs
    story.fenced()
    assert pressure.cost_ms(story.state, story.state.current(shuffle("B"))) == 60
    story.delete_all()
    assert pressure.cost_ms(story.state, story.state.current(shuffle("B"))) == 60
    story.disk(700, 300)
    story.now_ms += REST_MS
    assert fences(story.disk(850, 150)) == ["C1"]


def test_what_nobody_reaches_goes_before_what_the_program_holds() -> None:
    story = three(held="A B", costs_ms={"A": 1, "B": 2, "C": 900})
    assert story.lives() == "A1 readable, B1 readable, C1 expired"
    assert story.disk(850, 150) == ["disk /x: 850 used, 150 free", "fence C1"]
    assert fences(story.delete_all()) == []


def test_what_the_program_holds_goes_where_nothing_else_is_left() -> None:
    story = three(held="A B C", costs_ms={"A": 9, "B": 2, "C": 5})
    assert story.disk(900, 100) == [
        "disk /x: 900 used, 100 free",
        f"B1 expired: {FULL}, held: {HELD}",
        "fence B1",
        f"C1 expired: {FULL}, held: {HELD}",
        "fence C1",
    ]


def test_what_was_used_a_moment_ago_is_left_to_the_next_job() -> None:
    story = three(held="A B C", costs_ms={"A": 1, "B": 2, "C": 3})
    story.whole("-s0>A, s6:A!")
    assert fences(story.disk(850, 150)) == ["B1"]
    story.delete_all()
    story.now_ms += REST_MS - 1
    assert fences(story.disk(990, 10)) == ["C1"]
    story.delete_all()
    story.now_ms += 1
    assert fences(story.disk(990, 10)) == ["A1"]


def test_and_goes_when_it_has_rested_though_nothing_else_happens() -> None:
    story = Story(PRESSURE, settings=Settings(pressure_capacity_bytes=300))
    story.whole("s0>A, s1:A!")
    story.whole("s2>B, s3:B!")
    story.look("AB")
    assert next_due_ms(story.state) is None  # there is room
    story.now_ms += 100
    story.job("s4>C, s5:C!")
    story.run("s4")
    story.submit("s5")
    assert story.state.meta.full
    assert next_due_ms(story.state) == 1_000 + REST_MS
    assert story.tick(REST_MS - 101) == []
    assert fences(story.tick(1)) == ["A1"]
    assert next_due_ms(story.state) is None  # what is on its way out is enough


def test_it_rests_from_its_last_use_however_old_it_is() -> None:
    story = Story(PRESSURE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.look("A")
    story.at(5_000)
    story.run("s1")
    story.end()
    story.disk(900, 100)
    assert next_due_ms(story.state) == 5_000 + REST_MS
    assert story.tick(REST_MS - 1) == []
    assert fences(story.tick(1)) == ["A1"]


def test_of_several_the_one_that_has_rested_longest_is_waited_for() -> None:
    story = Story(PRESSURE)
    for stage, letter, at_ms in ((0, "A", 5_000), (2, "B", 5_500)):
        story.at(at_ms)
        story.whole(f"s{stage}>{letter}, s{stage + 1}:{letter}!")
    story.look("A B")
    story.disk(900, 100)
    assert next_due_ms(story.state) == 5_000 + REST_MS


def test_what_lies_behind_the_frontier_rests_for_its_grace_alone() -> None:
    story = Story(delayed(PRESSURE, 100))
    story.job("s0>A, s1:A>B, s2:B!")
    story.run("s0", "s1", "s2")
    story.end()
    story.look("A B")
    story.disk(900, 100)
    assert next_due_ms(story.state) == 1_000 + 100
    assert story.tick(99) == []
    assert fences(story.tick(1)) == ["A1"]


def test_where_nothing_may_go_a_full_disk_waits_for_no_time() -> None:
    story = Story(PRESSURE)
    story.job("s0>A, s1:A!")
    story.run("s0")
    story.disk(990, 10)
    assert next_due_ms(story.state) is None


def test_what_lies_behind_the_frontier_goes_before_what_does_not() -> None:
    story = Story(PRESSURE, costs_ms={"A": 9})
    story.whole("s0>A, s1:A>B, s2:B!")
    story.look("AB")
    assert fences(story.disk(850, 150)) == ["A1"]
    story.delete_all()
    story.now_ms += REST_MS
    assert fences(story.disk(950, 50)) == ["B1"]


def test_without_looks_it_is_a_guess_all_the_same() -> None:
    story = Story(PRESSURE)
    story.whole("s0>A, s1:A>B, s2:B!")
    assert fences(story.disk(850, 150)) == ["A1"]


def test_nothing_is_guessed_after_facts_were_missed_until_what_is_there_was_told() -> None:
    story = Story(PRESSURE)
    story.whole("s0>A, s1:A!")
    story.now_ms += REST_MS
    story.do(c.ReportGap(1, "outbox"))
    assert story.disk(900, 100) == ["disk /x: 900 used, 100 free"]
    assert fences(story.do(c.Resync((), (), (), found(A=10)))) == ["A1"]


def test_what_no_look_has_seen_waits_for_one_where_looks_are_taken() -> None:
    story = three(held="A")
    story.whole("s6>D, s7:D!")
    assert fences(story.disk(990, 10)) == ["B1", "C1", "A1"]
    assert fences(story.look()) == []  # 990 - 300 is enough
    story.delete_all()
    assert fences(story.disk(990, 10)) == ["D1"]


@pytest.mark.parametrize("kind", [RootKind.PLAN, RootKind.PERSISTED, RootKind.ALGORITHM, RootKind.STREAM])
def test_what_is_needed_for_sure_never_goes(kind: RootKind) -> None:
    story = three()
    story.look("ABC", kind)
    assert fences(story.disk(999, 1)) == []
    assert story.lives() == "A1 readable, B1 readable, C1 readable"


def test_neither_does_what_a_live_job_reaches_or_somebody_reads() -> None:
    story = three(held="A B")
    story.job("s6:A>D, s7:D!")
    story.job("s8:C.")
    story.submit("s8")
    assert fences(story.disk(999, 1)) == ["B1"]
    assert story.life("A1") == story.life("C1") == "readable"


@pytest.mark.parametrize("observed", [Policy(Rule.PRESSURE, observe=True), OBSERVE])
def test_observing_fences_nothing(observed: Policy) -> None:
    story = three(observed)
    assert fences(story.disk(999, 1)) == []


def test_pins_and_a_switch_hold_under_pressure_too() -> None:
    story = three(settings=Settings(premature_budget=0))
    story.do(c.SetPin(shuffle("A"), "mine"))
    story.do(c.SetPin(shuffle("B"), "mine"))
    assert fences(story.disk(999, 1)) == ["C1"]
    story.delete_all()
    story.whole("s4>C, s6:C!")  # missed: the budget is spent
    assert story.state.meta.suspended is not None
    story.do(c.RemovePin(shuffle("A")))
    assert fences(story.disk(999, 1)) == []


def test_a_job_takes_back_what_was_let_go_and_not_fenced_yet() -> None:
    story = three(held="A B")
    story.disk(850, 150)
    assert story.lives() == "A1 readable, B1 readable, C1 fencing"
    assert story.outcome(FENCE, c.Busy(("a task",)))[0] == "C1 fence refused: busy, again at 2050"
    assert story.lives() == "A1 fencing, B1 readable, C1 expired"
    assert story.outcome(FENCE, c.Busy(("a task",)))[0] == "A1 fence refused: busy, again at 2050"
    assert "A1 rescued: a live job reaches it (job 3)" in story.job("s6:A.")


def test_where_there_is_room_again_it_is_kept_after_all() -> None:
    story = three(held="A B C")
    story.disk(850, 150)
    story.outcome(FENCE, c.Cannot("not now"))
    assert story.lives() == "A1 expired, B1 fencing, C1 readable"
    story.outcome(FENCE, c.Fenced(100))
    assert "A1 rescued: no disk is full any more ()" in story.delete_all()
    assert story.lives() == "A1 readable, C1 readable"


def test_unless_a_look_has_seen_since_that_nobody_reaches_it() -> None:
    story = Story(PRESSURE)
    story.whole("s0>A, s1:A!")
    story.look("A")
    story.now_ms += REST_MS
    assert fences(story.disk(900, 100)) == ["A1"]
    story.outcome(FENCE, c.Busy(("a task",)))
    assert story.look("") == ["look", "root A gone", "look ended"]
    assert story.disk(100, 900)[1:] == [
        "A1 rescued: no disk is full any more ()",
        f"A1 expired: in no live cut, held: {HELD}",
    ]


def test_missing_it_is_a_premature_deletion_with_the_usual_recovery() -> None:
    story = three(held="A B C", costs_ms={"A": 1, "B": 2, "C": 3})
    story.disk(850, 150)
    story.delete_all()
    lines = story.whole("s0>A, s6:A!")
    assert "A1 missed by s0.0" in lines
    assert "recovery 1 of A1" in lines
    assert story.state.meta.premature == 1
    story.look("A B C")
    story.disk(990, 10)
    assert story.life("A2") == "readable"  # missed once: the others go


def test_what_spark_calls_indeterminate_goes_only_where_nobody_reaches_it() -> None:
    story = three(held="A", levels={"A": Level.INDETERMINATE, "B": Level.INDETERMINATE})
    assert fences(story.disk(999, 1)) == ["B1", "C1"]
    assert story.life("A1") == "readable"


def test_a_grace_counts_from_its_last_use() -> None:
    story = three(delayed(PRESSURE, REST_MS + 500), held="A B C")
    assert fences(story.disk(850, 150)) == []
    assert fences(story.tick(499)) == []
    assert fences(story.tick(1)) == ["A1"]


def test_a_grace_and_the_pause_after_a_refused_fence_do_not_add_up() -> None:
    story = three(delayed(PRESSURE, 60_000), held="A B C")
    story.tick(60_000)
    assert fences(story.disk(850, 150)) == ["A1"]
    for letter, following in ("A", ["B1"]), ("B", ["C1"]), ("C", []):
        refused, *rest = story.outcome(FENCE, c.Busy(("9.0",)))
        assert refused == f"{letter}1 fence refused: busy, again at {story.now_ms + 50}"
        assert fences(rest) == following
    assert next_due_ms(story.state) == story.now_ms + 50
    assert fences(story.tick(50)) == ["A1"]


def test_data_on_two_disks_count_as_strewn_evenly() -> None:
    story = three()
    story.disk(100, 900, "/y")
    assert fences(story.disk(850, 150)) == ["A1", "B1"]  # 850 - 2 * 50 is 750
    story.delete_all()
    assert [(disk.disk, disk.used_bytes) for disk in story.state.meta.disks] == [("/x", 750), ("/y", 0)]


def test_a_capacity_counts_what_is_held() -> None:
    story = Story(PRESSURE, settings=Settings(pressure_capacity_bytes=350))
    for n, letter in enumerate("ABC"):
        story.whole(f"s{2 * n}>{letter}, s{2 * n + 1}:{letter}!")
    assert story.state.meta.full  # 300 of 350
    story.tick(REST_MS)
    assert [g.app_shuffle for g in story.state.generations.values() if g.life.value == "fencing"] == [0]
    assert "disk shuffle data of the application: 200 used, 150 free" in story.delete_all()
    assert not story.state.meta.full
    assert story.disk(999, 1) == []  # what is counted is not reported


def test_what_is_beyond_a_capacity_goes_at_once_down_to_the_low_watermark_of_it() -> None:
    """700 of 350, since one job reads them all: 200 is the most that is not above 75 percent of 350."""
    story = Story(PRESSURE, settings=Settings(pressure_capacity_bytes=350))
    story.whole("s0>A, s1>B, s2>C, s3>D, s4>E, s5>F, s6>G, s7:A,B,C,D,E,F,G!")
    assert fences(story.look("")) == ["A1", "B1", "C1", "D1", "E1"]
    told = [recorded.event.pressed for recorded in story.log if isinstance(recorded.event, e.FenceRequested)]
    assert [pressed.used_percent for pressed in told if pressed is not None] == [100, 100, 100, 100, 85]
    story.delete_all()
    assert story.lives() == "F1 expired, G1 expired"


def test_many_go_in_steps() -> None:
    story = Story(PRESSURE)
    for n in range(26):
        letter = chr(ord("A") + n)
        story.whole(f"s{2 * n}>{letter}, s{2 * n + 1}:{letter}!")
    story.look()
    story.tick()
    lines = story.disk(20_000, 1)
    assert (len(fences(lines)), lines[-1]) == (24, "more to sweep")
    assert fences(story.tick()) == ["Y1", "Z1"]


def test_another_policy_lets_go_at_once() -> None:
    story = three()
    assert fences(story.do(c.SetPolicy(Policy(Rule.REACHABLE, observe=False)))) == ["A1", "B1", "C1"]


def test_disks_that_come_and_go_take_nobody_s_place() -> None:
    story = Story(PRESSURE)
    for n in range(pressure.DISKS):
        story.disk(1, 1, f"/{n}")
        story.disk(0, 0, f"/{n}")
    assert story.disk(1, 1, "/last") == ["disk /last: 1 used, 1 free"]


def test_a_driver_that_tells_of_too_many_disks_is_heard_no_more() -> None:
    story = Story(PRESSURE)
    for n in range(pressure.DISKS):
        assert story.disk(1, 1, f"/{n}")
    assert story.disk(1, 1, "/another") == []
    assert story.disk(2, 1, "/0") != []
