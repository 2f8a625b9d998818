"""The picture holds what the log says, and its page is safe and small."""

from __future__ import annotations

import json
import re

import pytest

from coordinator.core import commands as c
from coordinator.core.ids import ApplicationId, AppShuffle, JobId, Span, StageId
from coordinator.core.values import Outputs
from replay.timeline.numbers import EVENTS, numbers
from replay.timeline.page import live_page, page, policy
from tests.unit.replay.logs import (
    Told,
    asked_in_vain,
    attempt,
    deleted_and_missed,
    wanted_while_fencing,
)
from tests.unit.replay.pictures import many, picture, rows
from tests.unit.replay.simulate.test_otherwise import written_in_parts


def test_a_bar_tells_when_and_by_which_events() -> None:
    told = deleted_and_missed()
    drawn = numbers(picture(told.log))
    first, second, third = rows(drawn)
    assert (first["id"], first["app"], first["bytes"], first["fate"]) == (1, 0, 120_000_000, "missed")
    assert [first[name] for name in ("begun", "complete", "read", "expired", "gone")] == [20, 30, 50, 50, 70]
    assert dict(zip(EVENTS, first["events"], strict=True)) == {
        "begun": 6, "complete": 8, "read last": 12, "expired": 14, "deleted": 18, "lost": 0, "missed": 25,
    }  # fmt: skip
    assert drawn["texts"][first["site"]] == "map at chain.py:12"
    assert (second["fate"], second["gone"]) == ("there", None)
    assert third["read"] == drawn["length_ms"], "it is being read"
    writer = drawn["stages"][first["writer"]]
    assert (writer[0], drawn["texts"][writer[2]]) == ("0.0", "job 0 (count at chain.py:20)")


def test_what_was_kept_when_it_was_to_be_fenced_has_not_expired() -> None:
    told = wanted_while_fencing()
    (first, _) = rows(numbers(picture(told.log)))
    assert (first["expired"], first["gone"], first["fate"]) == (None, None, "there")


def test_bytes_are_what_every_attempt_wrote_less_what_was_lost() -> None:
    log = written_in_parts().log
    sizes = [rows(numbers(picture(log[:length])))[:1] for length in range(len(log) + 1)]
    found = dict.fromkeys(row["bytes"] for [row] in filter(None, sizes))
    assert list(found) == [0, 60_000_000, 100_000_000, 50_000_000, 95_000_000]


def test_a_prefix_and_then_the_rest_give_what_the_whole_gives() -> None:
    log = deleted_and_missed().log
    for length in range(len(log)):
        part = picture(log[:length])
        for recorded in log[length:]:
            part.hear(recorded)
        assert numbers(part) == numbers(picture(log))


def test_a_picture_never_holds_more_than_it_may() -> None:
    drawn = picture(many(50), most=20)
    assert (len(drawn.bars), drawn.left_out) == (20, 30)
    assert len(drawn.stages) <= 40
    assert numbers(drawn)["left_out"] == 30


def test_stages_that_read_again_and_again_are_not_all_held() -> None:
    told = Told()
    told.whole_chain()
    told.stage(2, "count at chain.py:20", reads=(1,))
    told.done(2)
    for number in range(3, 303):
        told.say(c.ReportJobStarted(JobId(number), StageId(number), (AppShuffle(1),), None, (Span(number, number),)))
        told.stage(number, "count at chain.py:30", reads=(1,))
        told.done(number)
        told.say(c.ReportJobEnded(JobId(number), True))
    drawn = picture(told.log)
    (_, read) = rows(numbers(drawn))
    assert (read["reads"], len(read["readers"])) == (301, 12)
    named = {one for row in rows(numbers(drawn)) for one in (row["writer"], *row["readers"])}
    assert len(drawn.stages) == len(named)


@pytest.mark.parametrize("listed_again", [False, True])
def test_a_reader_whose_end_was_missed_reads_until_its_job_is_over(listed_again: bool) -> None:
    told = Told()
    told.whole_chain()
    told.stage(2, "count at chain.py:20", reads=(1,))
    jobs: list[c.ReportJobStarted] = []
    if listed_again:
        jobs = [c.ReportJobStarted(JobId(1), StageId(2), (AppShuffle(1),), None, (Span(2, 2),))]
        told.say(*jobs)
    told.say(c.ReportGap(0, "listener"))
    outputs = tuple(Outputs(AppShuffle(number), 4, 4) for number in range(2))
    stages = (c.ReportStageSubmitted(attempt(2), (AppShuffle(1),)),) if listed_again else ()
    told.say(c.Resync(tuple(jobs), stages, outputs=outputs))
    missed_ms = told.log[-1].time_ms
    told.now_ms += 3_600_000
    told.stage(9, "count at chain.py:40")
    told.done(9)
    drawn = numbers(picture(told.log))
    (_, read) = rows(drawn)
    ends_ms = drawn["length_ms"] if listed_again else missed_ms - told.log[0].time_ms
    assert read["read"] == ends_ms


def test_who_asked_and_by_its_submission_reads_something_else_has_not_read_it() -> None:
    told = asked_in_vain()
    first, second = rows(numbers(picture(told.log)))
    assert (first["read"], first["reads"], len(first["readers"])) == (50, 1, 1)
    assert (second["read"], second["reads"]) == (told.log[-1].time_ms - told.log[0].time_ms, 1)


def test_five_thousand_shuffles_are_a_small_page() -> None:
    assert len(page(picture(many(5_000)))) < 1_500_000


def test_no_text_of_a_log_becomes_markup() -> None:
    told = Told(name="</script><script>alert(1)</script><!--", application=ApplicationId("x"))
    made = page(picture(told.log))
    assert "<script>alert" not in made
    assert made.count("</script>") == 2
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', made, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["name"] == told.name


def test_a_page_is_told_of_damage() -> None:
    made = page(picture(Told().log), ["app.log, offset 9: </script>"])
    assert '"damage":["app.log, offset 9: \\u003c/script\\u003e"]' in made


def test_what_was_missed_counts_as_what_had_gone_and_not_as_what_it_cost() -> None:
    made = page(picture(deleted_and_missed().log))
    assert "had been deleted`" in made
    assert ")} written again" not in made


def test_a_page_loads_nothing() -> None:
    for made in (page(picture(deleted_and_missed().log)), live_page("chain")):
        assert not re.search(r"""(?:src|href)=|url\(|@import|https?://""", made)
    assert "default-src 'none'" in policy()


def test_what_colours_mean_is_on_paper_too() -> None:
    """Browsers leave backgrounds out where a page does not ask for them."""
    assert "print-color-adjust: exact" in page(picture(Told().log)).split("</style>")[0]
