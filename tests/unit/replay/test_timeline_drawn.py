"""A real browser draws the page of a picture, and goes on as a live one grows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coordinator.core import commands as c
from coordinator.core import events as e
from coordinator.core.ids import AppShuffle, JobId, Sequence, ShuffleId, StageAttempt, StageId
from coordinator.core.values import Capabilities, Deletion, Driver, Loss, Outputs, Policy, Settings
from replay.timeline.page import data, live_page, page
from tests.support.browser import CHROMIUM, document
from tests.unit.replay.logs import (
    APP,
    Told,
    deleted_and_missed,
    fence_finds,
)
from tests.unit.replay.pictures import many, picture

#: Tells what is drawn, and of the first bar when the pointer is over it: once all is drawn, or that takes too long.
_PROBE = """<script>
const named = id => document.getElementById(id);
const ink = id => {
  const {width, height} = named(id), pixels = named(id).getContext("2d").getImageData(0, 0, width, height).data;
  return pixels.filter((value, i) => i % 4 === 3 && value).length;
};
const tell = () => {
  const bars = named("bars"), box = bars.getBoundingClientRect();
  const at = {clientX: box.left + 400, clientY: box.top + 10, bubbles: true};
  bars.dispatchEvent(new PointerEvent("pointermove", at));
  document.title = "PROBE" + JSON.stringify({
    damage: named("damage").textContent,
    tip: named("tip").hidden ? "" : named("tip").textContent, tiles: named("tiles").textContent,
    area: ink("area"), bars: ink("bars"), graph: ink("graph"),
    fits: document.documentElement.scrollWidth <= innerWidth,
  }) + "PROBE";
};
const look = tries => {
  const isDrawn = ["area", "bars", "graph"].every(id => ink(id));
  isDrawn || !tries ? setTimeout(tell, 100) : setTimeout(look, 100, tries - 1);
};
setTimeout(look, 500, 30);
</script></body>"""


#: A browser on a busy machine may give no frame to draw in before its own four seconds are over.
_FRAMES = "<script>window.requestAnimationFrame = draw => setTimeout(draw, 0);</script><body"


def probed(html: str, folder: Path) -> dict[str, Any]:
    """What a page tells that looks at itself in a real browser."""
    (folder / "page.html").write_text(html.replace("<body", _FRAMES, 1), encoding="utf-8")
    shown = document(f"file://{folder / 'page.html'}", folder)
    found = re.search(r"<title>PROBE(.*?)PROBE</title>", shown, re.DOTALL)
    assert found is not None, shown[:2_000]
    told: dict[str, Any] = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return told


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; what the page holds is checked in test_timeline")
@pytest.mark.parametrize("shuffles", [3, 5_000])
def test_a_browser_draws_it_and_hovering_names_the_call_site_and_the_events(shuffles: int, tmp_path: Path) -> None:
    log = deleted_and_missed().log if shuffles == 3 else many(shuffles)
    told = probed(page(picture(log)).replace("</body>", _PROBE), tmp_path)
    assert min(told["area"], told["bars"], told["graph"]) > 500, "every canvas is drawn on"
    assert f"{shuffles:,}shuffles written" in told["tiles"]
    assert told["fits"], "nothing is wider than the window"
    site, event = ("map at chain.py:12", "event 8") if shuffles == 3 else ("groupBy at nightly.py:0", "event 6")
    assert (site in told["tip"], event in told["tip"]) == (True, True), told["tip"]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; what the page holds is checked in test_timeline")
def test_a_page_of_a_damaged_log_says_so_as_text(tmp_path: Path) -> None:
    drawn, damage = picture(deleted_and_missed().log), "app.log, offset 9: <b>damaged</b>"
    assert probed(page(drawn, [damage]).replace("</body>", _PROBE), tmp_path)["damage"] == (
        f"Not all of the log could be read: {damage}"
    )
    assert probed(page(drawn).replace("</body>", _PROBE), tmp_path)["damage"] == ""


#: Tells how wide both drawings over time are, and how far the bars scroll, before and after a search.
_MEASURED = """<script>
const named = id => document.getElementById(id);
const tell = () => {
  const widths = ["area", "bars"].map(id => named(id).width), field = named("find");
  const reach = [named("scroll").scrollHeight];
  for (const wanted of ["#1", ""]) { field.value = wanted; field.dispatchEvent(new Event("input")); }
  reach.push(named("scroll").scrollHeight);
  document.title = "PROBE" + JSON.stringify({widths, reach}) + "PROBE";
};
const look = tries => named("tiles").textContent || !tries ? setTimeout(tell, 100) : setTimeout(look, 100, tries - 1);
setTimeout(look, 100, 30);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("shuffles", [1, 100])
def test_one_moment_is_at_one_place_above_and_below(shuffles: int, tmp_path: Path) -> None:
    """Many bars have a scroll bar, and few had one until their canvas had shrunk: it takes from their width."""
    above, below = probed(page(picture(many(shuffles))).replace("</body>", _MEASURED), tmp_path)["widths"]
    assert above == below


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_after_a_search_the_bars_scroll_as_far_as_before(tmp_path: Path) -> None:
    before, after = probed(page(picture(many(100))).replace("</body>", _MEASURED), tmp_path)["reach"]
    assert (before == after, before > 100 * 10) == (True, True), (before, after)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_what_a_stage_read_and_what_it_wrote_are_needed_together(tmp_path: Path) -> None:
    """When stage 1 ends, it has read 120 MB and written 60."""
    told = Told()
    told.whole_chain()
    tiles = probed(page(picture(told.log)).replace("</body>", _PROBE), tmp_path)["tiles"]
    assert "180 MBheld at the most; needed 180 MB" in tiles


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_page_counts_what_the_fence_found_from_the_fence_on(tmp_path: Path) -> None:
    """Figures: test_held."""
    log = fence_finds(150_000_000).log
    tiles = probed(page(picture(log)).replace("</body>", _PROBE), tmp_path)["tiles"]
    assert "210 MBheld at the most; needed 180 MB" in tiles
    assert "8.1 MB·sheld; needed 4.8 MB·s" in tiles


#: Tells how much is drawn of the last pixels above the area's floor, in its middle, after one has looked closer.
_CLOSER = """<script>
const named = id => document.getElementById(id), ratio = devicePixelRatio;
const filled = () => {
  const {width, height} = named("area").getBoundingClientRect();
  const pixels = named("area").getContext("2d").getImageData(width * ratio / 2, (height - 30) * ratio, 60, 4).data;
  return pixels.filter((value, i) => i % 4 === 3 && value).length / (60 * 4);
};
const before = [];
const closer = () => {
  before.push(filled());
  for (let i = 0; i < 4; i++) named("area").dispatchEvent(new KeyboardEvent("keydown", {key: "+"}));
  setTimeout(() => { document.title = "PROBE" + JSON.stringify({before: before[0], after: filled()}) + "PROBE"; }, 200);
};
const look = tries => named("tiles").textContent || !tries ? setTimeout(closer, 200) : setTimeout(look, 100, tries - 1);
setTimeout(look, 100, 30);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_what_was_held_before_is_held_where_one_looks_closer(tmp_path: Path) -> None:
    """Nothing changes there for ten minutes."""
    told = Told()
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    told.now_ms += 600_000
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.done(1, 60_000_000)
    found = probed(page(picture(told.log)).replace("</body>", _CLOSER), tmp_path)
    assert (found["before"], found["after"]) == (1, 1)


#: Looks closer, goes to the left end and to the right one, and tells each time which moments lie at the edges.
_MOVED = """<script>
const named = id => document.getElementById(id);
const press = (key, times) => {
  for (let i = 0; i < times; i++) named("area").dispatchEvent(new KeyboardEvent("keydown", {key}));
  const box = named("area").getBoundingClientRect();
  return [64, box.width - 18].map(x => {
    named("area").dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + 20}));
    return named("tip").textContent.match(/into the run(.*)$/)[1];
  });
};
const tell = () => {
  const found = {closer: press("+", 2), left: press("ArrowLeft", 20), right: press("ArrowRight", 40)};
  document.title = "PROBE" + JSON.stringify(found) + "PROBE";
};
const look = tries => named("tiles").textContent || !tries ? setTimeout(tell, 200) : setTimeout(look, 100, tries - 1);
setTimeout(look, 100, 30);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_who_goes_on_at_an_end_looks_no_closer(tmp_path: Path) -> None:
    log = many(1)[:-1]
    log.append(replace(log[-1], sequence=Sequence(len(log) + 1), time_ms=log[0].time_ms + 16_000))
    found = probed(page(picture(log)).replace("</body>", _MOVED), tmp_path)
    assert found == {"closer": ["3.5 s", "12.5 s"], "left": ["0 ms", "9.0 s"], "right": ["7.0 s", "16.0 s"]}


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_shuffle_that_was_first_written_from_a_cache_is_drawn(tmp_path: Path) -> None:
    """It stands behind its first writer; its reader far behind, where the second one had a shuffle to read."""
    stages = [StageAttempt(StageId(number), 0) for number in range(5)]
    events: list[e.Event] = [e.ApplicationRegistered(APP, Driver(name="cached"), Capabilities(), Policy(), Settings())]
    for stage, reads, writes in ((0, None, (1, 0)), (1, 1, None), (2, None, (2, 1)), (3, 1, (3, 1)), (4, 3, None)):
        events.append(e.StageSubmitted(stages[stage], name=f"stage {stage}"))
        events += [] if reads is None else [e.ReaderRegistered(ShuffleId(reads), stages[stage])]
        if writes is not None:
            events.append(e.GenerationStarted(ShuffleId(writes[0]), AppShuffle(writes[1]), stages[stage]))
        events.append(e.StageCompleted(stages[stage]))
        if writes is not None:
            events.append(e.GenerationCompleted(ShuffleId(writes[0]), 1_000_000))
        events += [e.GenerationLost(ShuffleId(2), Loss.OUTPUTS)] if stage == 2 else []
    log = [e.Recorded(Sequence(n), 1_790_000_000_000 + 40 * n, Sequence(n), one) for n, one in enumerate(events, 1)]
    told = probed(page(picture(log)).replace("</body>", _PROBE), tmp_path)
    assert min(told["area"], told["bars"], told["graph"]) > 500, "every canvas is drawn on"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_what_was_lost_while_it_was_read_was_never_idle(tmp_path: Path) -> None:
    told = Told()
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.done(0, 120_000_000)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.say(c.ReportOutputs((Outputs(AppShuffle(0), 0, 4),)))
    told.now_ms += 60_000
    told.done(1, 60_000_000)
    tip = probed(page(picture(told.log)).replace("</body>", _PROBE), tmp_path)["tip"]
    assert tip.endswith("idle0 ms"), tip


#: Tells what is written along the axes of the area.
_TEXTS = """<script>
const texts = [], plain = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
  if (this.canvas.id === "area") texts.push(text);
  return plain.call(this, text, ...at);
};
const told = () => { document.title = "PROBE" + JSON.stringify({texts}) + "PROBE"; };
const look = tries => texts.length || !tries ? setTimeout(told, 100) : setTimeout(look, 100, tries - 1);
setTimeout(look, 100, 30);
</script><body"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize(
    ("rest_ms", "label"),
    [
        (0, "14:13:20.100"),
        (600_000, "14:14:00"),
        (2 * 86_400_000, "09-22 00:00"),
        (7 * 86_400_000, "2026-09-25"),
        (100 * 86_400_000, "2026-11-03"),
    ],
)
def test_a_moment_on_the_axis_is_one_that_nobody_mistakes(rest_ms: int, label: str, tmp_path: Path) -> None:
    told = Told()
    told.chain_job()
    told.stage(0, "map at chain.py:12", writes=0)
    told.now_ms += rest_ms
    told.done(0, 120_000_000)
    told.stage(1, "groupBy at chain.py:14", reads=(0,), writes=1)
    told.now_ms += 100
    told.done(1, 60_000_000)
    texts = probed(page(picture(told.log)).replace("<body", _TEXTS), tmp_path)["texts"]
    assert label in texts, texts


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_nothing_is_written_twice_along_an_axis_where_there_is_nothing(tmp_path: Path) -> None:
    """A log of one event: of one moment, and without a byte."""
    texts = probed(page(picture(Told().log)).replace("<body", _TEXTS), tmp_path)["texts"]
    assert sorted(texts) == ["0 B", "1 B"], texts


#: Answers what a live page asks for, marks the first row, and tells before and after the second answer what is marked
#: and where the nodes of the graph are.
_REFRESHED = """<script>
const answers = %s;
window.fetch = async () => answers.length ? {status: 200, json: async () => answers.shift()} : {status: 204};
window.requestAnimationFrame = draw => setTimeout(draw, 0);  // the browser's own frames keep to the wall's clock
const named = id => document.getElementById(id), told = {};
const send = (id, kind, x, y) => {
  const box = named(id).getBoundingClientRect();
  named(id).dispatchEvent(new PointerEvent(kind, {clientX: box.left + x, clientY: box.top + y, bubbles: true}));
};
const ratio = devicePixelRatio, pixels = (id, x, y, size) =>
  named(id).getContext("2d").getImageData(x * ratio, y * ratio, Math.ceil(size * ratio), Math.ceil(size * ratio)).data;
const ringed = ([x, y]) => {
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const wanted = [1, 3, 5].map(at => parseInt(ink.slice(at, at + 2), 16));
  const near = pixels("graph", x - 20, y - 20, 40);
  let found = 0;
  for (let i = 0; i < near.length; i += 4) found += [...wanted, 255].every((value, k) => near[i + k] === value);
  return found;
};
const spots = () => {
  const {width, height} = named("graph").getBoundingClientRect(), met = {};
  for (let x = 0; x < width; x += 5) for (let y = 0; y < height; y += 5) {
    send("graph", "pointermove", x, y);
    if (named("tip").hidden) continue;
    const about = named("tip").textContent;
    const [name] = about.match(/of app shuffle \\d+/) || about.match(/stage [\\d.]+/);
    (met[name] = met[name] || []).push([x, y]);
  }
  send("graph", "pointerleave", 0, 0);
  const mean = list => [0, 1].map(k => Math.round(list.reduce((all, one) => all + one[k], 0) / list.length));
  return Object.fromEntries(Object.entries(met).map(([name, list]) => [name, mean(list)]));
};
const look = name => {
  const right = named("bars").getBoundingClientRect().width - 20;
  told[name] = {rows: [0, 1].map(row => pixels("bars", right, 6 + 18 * row, 1)[3]), asof: named("asof").textContent};
  told[name].spots = spots();
  setTimeout(() => { told[name].ring = ringed(told[name].spots["of app shuffle 0"]); }, 50);
};
setTimeout(() => { POINT; }, 700);
setTimeout(() => look("before"), 1000);
setTimeout(() => { HOVER; }, 1200);
setTimeout(() => look("after"), 3000);
setTimeout(() => { document.title = "PROBE" + JSON.stringify(told) + "PROBE"; }, 3600);
</script><script type="application/json" """


_POINTS, _CLICKS = "send('bars', 'pointermove', 400, 10)", "send('bars', 'click', 400, 10)"


def refreshed(folder: Path, marks: str, then: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is marked, and where nodes are, before and after a live page has more to draw."""
    log = [*deleted_and_missed().log, *more_branches()]
    answers = ",".join(data(picture(log[:many])) for many in (19, len(log)))
    probe = (_REFRESHED % f"[{answers}]").replace("POINT", marks).replace("HOVER", then)
    html = live_page("chain").replace('<script type="application/json" ', probe)
    told = probed(html, folder)
    return told["before"], told["after"]


def more_branches() -> list[e.Recorded]:
    """Two further readers of app shuffle 1, each of which writes a shuffle of its own."""
    found: list[e.Event] = []
    for number in (10, 11):
        stage, shuffle_id, app = StageAttempt(StageId(number), 0), ShuffleId(number), AppShuffle(number)
        found += [
            e.StageSubmitted(stage, reads=(AppShuffle(1),), writes=app, name=f"map at chain.py:{number}"),
            e.ReaderRegistered(ShuffleId(2), stage),
            e.GenerationStarted(shuffle_id, app, stage),
            e.StageCompleted(stage),
            e.GenerationCompleted(shuffle_id, 9_000_000),
        ]
    last = deleted_and_missed().log[-1]
    return [
        e.Recorded(Sequence(last.sequence + n), last.time_ms + 40 * n, Sequence(last.sequence + n), one)
        for n, one in enumerate(found, 1)
    ]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; what the page holds is checked in test_timeline")
@pytest.mark.parametrize(("marks", "then"), [(_CLICKS, ""), (_POINTS, _POINTS)])
def test_what_is_marked_stays_marked_and_where_it_is_as_a_live_page_grows(
    tmp_path: Path, marks: str, then: str
) -> None:
    before, after = refreshed(tmp_path, marks, then)
    assert (before["asof"], after["asof"]) == ("live, as of event 19", "live, as of event 42")
    assert before["rows"][0] > before["rows"][1] == 0, "the first row, and only that"
    assert after["rows"] == before["rows"]
    assert len(after["spots"]) > len(before["spots"]) >= 4
    if marks == _CLICKS:
        assert {name: after["spots"][name] for name in before["spots"]} == before["spots"]
        assert min(before["ring"], after["ring"]) > 10, "its node has a ring, whichever generation is the last one"


#: What a test of a page that is looked at begins with: how keys are pressed, and how pointers move over the area.
_HANDS = """<script>
const named = id => document.getElementById(id), told = {};
const press = (key, times) => {
  for (let i = 0; i < times; i++) named("area").dispatchEvent(new KeyboardEvent("keydown", {key}));
};
const point = (id, kind, x) => {
  const box = named(id).getBoundingClientRect();
  named(id).dispatchEvent(new PointerEvent(kind, {clientX: box.left + x, clientY: box.top + 20, bubbles: true}));
};
const edges = () => [64, named("area").getBoundingClientRect().width - 18].map(x => {
  point("area", "pointermove", x);
  return named("tip").textContent.match(/into the run(.*)$/)[1];
});
const drawn = {texts: [], strokes: 0}, pen = CanvasRenderingContext2D.prototype, {fillText, stroke} = pen;
pen.fillText = function (text, ...at) {
  if (this.canvas.id === "area") drawn.texts.push(text);
  return fillText.call(this, text, ...at);
};
pen.stroke = function (...path) {
  drawn.strokes += this.canvas.id === "area";
  return stroke.call(this, ...path);
};
const then = (...steps) => steps.length
  ? setTimeout(() => { steps[0](); then(...steps.slice(1)); }, 200)
  : (document.title = "PROBE" + JSON.stringify(told) + "PROBE");
const begin = tries => named("tiles").textContent || !tries ? then(STEPS) : setTimeout(begin, 100, tries - 1);
setTimeout(begin, 100, 30);
</script><body"""


def handled(steps: str, log: list[e.Recorded], folder: Path) -> dict[str, Any]:
    """What a page tells of which somebody does this."""
    return probed(page(picture(log)).replace("<body", _HANDS.replace("STEPS", steps), 1), folder)


def over(seconds: int, log: list[e.Recorded]) -> list[e.Recorded]:
    """The same log, whose last event is so late."""
    return [*log[:-1], replace(log[-1], time_ms=log[0].time_ms + 1_000 * seconds)]


def large_and_then_small() -> list[e.Recorded]:
    """100 MB that are deleted in the first second; 1 MB from the ninth second on."""
    log: list[tuple[int, e.Event]] = [
        (0, e.ApplicationRegistered(APP, Driver(name="large"), Capabilities(), Policy(), Settings()))
    ]
    for number, at, size in ((0, 100, 100_000_000), (1, 9_000, 1_000_000)):
        writer = StageAttempt(StageId(number), 0)
        log.append((at, e.GenerationStarted(ShuffleId(number + 1), AppShuffle(number), writer, JobId(number))))
        log.append((at + 50, e.StageCompleted(writer)))
        log.append((at + 50, e.GenerationCompleted(ShuffleId(number + 1), size)))
        log.append((at + 900, e.GenerationDeleted(ShuffleId(number + 1), Deletion.POLICY)))
    return over(
        16, [e.Recorded(Sequence(n), 1_790_000_000_000 + at, Sequence(n), one) for n, (at, one) in enumerate(log, 1)]
    )


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_who_looks_closer_sees_what_is_small_there(tmp_path: Path) -> None:
    steps = "() => { press('+', 2); press('ArrowRight', 20); drawn.texts = []; }, () => { told.texts = drawn.texts; }"
    texts = handled(steps, large_and_then_small(), tmp_path)["texts"]
    assert ("1.0 MB" in texts, "100 MB" in texts) == (True, False), texts


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_who_looks_closer_at_a_long_log_sees_lines(tmp_path: Path) -> None:
    """What lies beside the picture takes no pixel of it."""
    steps = (
        "() => { press('+', 15); press('ArrowLeft', 40); drawn.strokes = 0; }, () => { told.lines = drawn.strokes; }"
    )
    assert handled(steps, many(1_000), tmp_path)["lines"] == 2


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_what_nobody_read_is_not_marked_where_it_was_not_complete(tmp_path: Path) -> None:
    """Its whole bar is pale there, from the edge on."""
    steps = """() => { press('+', 2); press('ArrowRight', 20); }, () => {
      const ratio = devicePixelRatio, sheet = named("bars").getContext("2d");
      const pixel = x => [...sheet.getImageData(x * ratio, 13 * ratio, 1, 1).data];
      told.edge = pixel(64); told.inside = pixel(68);
    }"""
    found = handled(steps, over(16, many(1)[:7]), tmp_path)
    assert found["edge"] == found["inside"] != [0, 0, 0, 0]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_drag_that_the_browser_takes_over_is_none(tmp_path: Path) -> None:
    steps = """() => {
      point("area", "pointerdown", 200); point("area", "pointermove", 600); point("area", "pointercancel", 600);
      point("area", "pointerup", 600); told.edges = edges();
    }"""
    assert handled(steps, over(16, many(1)), tmp_path)["edges"] == ["0 ms", "16.0 s"]


#: Answers what a live page asks for: what cannot be drawn, and then that nothing is new.
_UNDRAWABLE = """<script>
const answers = [{status: 200, json: async () => ({sequence: 7})}], told = [];
window.fetch = async () => answers.shift() || {status: 204};
for (const at of [500, 3600]) setTimeout(() => told.push(document.getElementById("asof").textContent), at);
setTimeout(() => { document.title = "PROBE" + JSON.stringify({told}) + "PROBE"; }, 3700);
</script><script type="application/json" """


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_page_that_cannot_draw_does_not_say_that_nobody_answers(tmp_path: Path) -> None:
    html = live_page("chain").replace('<script type="application/json" ', _UNDRAWABLE)
    for told in probed(html, tmp_path)["told"]:
        assert told.startswith("this page cannot draw what it was told (")


_REFUSING = """<script>
const headers = new Headers({"content-type": KIND});
window.fetch = async () => ({status: 410, headers, text: async () => "in the archive\\n"});
setTimeout(() => {
  document.title = "PROBE" + JSON.stringify({asof: document.getElementById("asof").textContent}) + "PROBE";
}, 700);
</script><script type="application/json" """


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize(
    ("kind", "shown"),
    [("text/plain; charset=utf-8", "in the archive"), ("text/html", "the coordinator does not answer")],
)
def test_a_page_says_why_a_coordinator_shows_nothing(kind: str, shown: str, tmp_path: Path) -> None:
    """As where the log's first events have moved to the archive; what stands between has nothing to say."""
    refusing = _REFUSING.replace("KIND", json.dumps(kind))
    assert probed(live_page("chain").replace('<script type="application/json" ', refusing), tmp_path)["asof"] == shown


#: Out of sight after its first answer; seen again, and again hidden and seen while it waits for that answer.
_OUT_OF_SIGHT = """<script>
let hidden = true, asked = 0, answer = null;
Object.defineProperty(document, "hidden", {get: () => hidden});
window.fetch = () => { asked += 1; return new Promise(done => { answer = () => done({status: 204}); }); };
const turn = away => { hidden = away; document.dispatchEvent(new Event("visibilitychange")); };
const told = [];
setTimeout(() => { answer(); }, 100);
setTimeout(() => { told.push(asked); turn(false); told.push(asked); }, 3000);
setTimeout(() => { turn(true); turn(false); told.push(asked); }, 3100);
setTimeout(() => { document.title = "PROBE" + JSON.stringify({told}) + "PROBE"; }, 3300);
</script><script type="application/json" """


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_live_page_that_comes_into_sight_asks_at_once_and_once(tmp_path: Path) -> None:
    html = live_page("chain").replace('<script type="application/json" ', _OUT_OF_SIGHT)
    assert probed(html, tmp_path)["told"] == [1, 2, 2]
