"""Pictures of one application, as plain SVG.

Responsible for two drawings on one time axis: bytes held against bytes needed, and a bar for each shuffle from written
through last read to the end. Refuses to know pages. Invariant: a drawing has at most `MOST_BARS` bars and `MOST_STEPS`
steps, however many shuffles there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from replay.advise.advice import Advice, ShuffleAdvice
from replay.units import place, size, span

WIDTH = 1000
MOST_BARS = 24
MOST_STEPS = 400
_LEFT, _RIGHT = 70, 10
_BAR, _GAP = 11, 5
_AREA = 120


def areas(advice: Advice) -> str:
    """Bytes that Spark held, and of these the bytes that were still to be read."""
    shuffles = [one for one in advice.shuffles if one.written_ms is not None and one.bytes]
    held = _steps((one.written_ms or 0, advice.ended_ms, one.bytes) for one in shuffles)
    needed = _steps((one.written_ms or 0, _needed_until(one), one.bytes) for one in shuffles)
    top = max((value for _, value in held), default=0)
    if not top:
        return ""
    drawn = "".join(
        f'<path class="{name}" d="{_path(advice, steps, top)}"><title>{title}</title></path>'
        for name, steps, title in (("held", held, "held by Spark"), ("needed", needed, "still to be read"))
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {_AREA + 30}" role="img" aria-label="bytes held and needed over time">'
        f'<text x="{_LEFT - 8}" y="14" text-anchor="end">{size(top)}</text>'
        f'<text x="{_LEFT - 8}" y="{_AREA + 8}" text-anchor="end">0</text>{drawn}{_axis(advice, _AREA + 10)}</svg>'
    )


def bars(advice: Advice) -> str:
    """The shuffles that were held longest for nothing, weighed by their bytes."""
    shown = [one for one in advice.shuffles if one.written_ms is not None][:MOST_BARS]
    shown.sort(key=lambda one: (one.written_ms, one.app_shuffle))
    if not shown:
        return ""
    height = len(shown) * (_BAR + _GAP)
    drawn = "".join(_bar(advice, one, at * (_BAR + _GAP)) for at, one in enumerate(shown))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height + 24}" role="img" aria-label="life of each shuffle">'
        f"{drawn}{_axis(advice, height + 2)}</svg>"
    )


def _bar(advice: Advice, one: ShuffleAdvice, y: int) -> str:
    written, read, end = (_x(advice, at) for at in (one.written_ms or 0, _needed_until(one), advice.ended_ms))
    told = f"{place(one.call_site)}: {size(one.bytes)}, read {one.reads} times, then held for {span(one.idle_ms)}"
    return (
        f"<g><title>{escape(told)}</title>"
        f'<text x="{_LEFT - 8}" y="{y + 10}" text-anchor="end">{size(one.bytes)}</text>'
        f'<rect class="held" x="{read}" y="{y}" width="{max(end - read, 0.5):.1f}" height="{_BAR}" rx="1.5"/>'
        f'<rect class="needed" x="{written}" y="{y}" width="{max(read - written, 1.5):.1f}" height="{_BAR}" rx="1.5"/>'
        "</g>"
    )


def _axis(advice: Advice, y: int) -> str:
    length = advice.ended_ms - advice.started_ms
    marks = "".join(
        f'<text x="{_LEFT + (WIDTH - _LEFT - _RIGHT) * part / 4:.0f}" y="{y + 15}" '
        f'text-anchor="{_ANCHORS.get(part, "middle")}">{span(length * part // 4) if part else "start"}</text>'
        for part in range(5)
    )
    return f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>{marks}'


_ANCHORS = {0: "start", 4: "end"}


def _needed_until(one: ShuffleAdvice) -> int:
    return one.last_read_ms or one.written_ms or 0


def _x(advice: Advice, time_ms: int) -> float:
    length = max(advice.ended_ms - advice.started_ms, 1)
    part = min(max((time_ms - advice.started_ms) / length, 0.0), 1.0)
    return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * part, 1)


def _steps(spans: Iterable[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Moments in ms, and the bytes held from each on. At one moment what comes is added before what goes is taken off.

    Of very many, only those that can be told apart in a picture.
    """
    come: dict[int, int] = {}
    go: dict[int, int] = {}
    for begin, end, weight in spans:
        come[begin] = come.get(begin, 0) + weight
        go[end] = go.get(end, 0) - weight
    held, steps = 0, []
    for time_ms in sorted({*come, *go}):
        for change in filter(None, (come.get(time_ms), go.get(time_ms))):
            held += change
            steps.append((time_ms, held))
    return _thinned(steps)


def _thinned(steps: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """At most about `MOST_STEPS` steps: of those that fall together the one that holds most."""
    if len(steps) <= MOST_STEPS:
        return list(steps)
    each = -(-len(steps) // MOST_STEPS)
    return [max(steps[at : at + each], key=lambda step: step[1]) for at in range(0, len(steps), each)]


def _path(advice: Advice, steps: Sequence[tuple[int, int]], top: int) -> str:
    y = _AREA + 10.0
    drawn, before = [f"M{_LEFT},{y}"], y
    for time_ms, held in steps:
        x, height = _x(advice, time_ms), round(_AREA + 10 - _AREA * held / top, 1)
        drawn.append(f"L{x},{before}L{x},{height}")
        before = height
    return "".join(drawn) + f"L{WIDTH - _RIGHT},{before}L{WIDTH - _RIGHT},{y}Z"
