"""Lineage as a tree for people and as a graph for Graphviz.

Responsible for drawing. Refuses to ask. Invariant: every app shuffle is drawn, and what several have read is drawn in
full once.
"""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from coordinator.cli.output import styled
from coordinator.cli.rows import Row
from replay.phrases import became
from replay.units import place, printable, size

_COLOURS = {
    "readable": "palegreen",
    "writing": "lightcyan",
    "partial": "khaki",
    "expired": "khaki",
    "fencing": "orange",
    "fenced": "plum",
    "deleted": "lightgray",
    "lost": "lightcoral",
}

_DEEPEST = 20  #: Steps of a tree, where a terminal still has room; what is below them has one of its own.


def tree(graph: Row) -> Tree:
    """From what nobody has read down to what was made from no other shuffle."""
    known = {one["app_shuffle"]: one for one in graph["shuffles"]}
    read = {below for one in known.values() for below in one["reads"]}
    top = Tree(Text(f"lineage at event {graph['sequence']:,}; below each shuffle what it was made from", style="dim"))
    drawn: set[int] = set()
    for app_shuffle in sorted(known, reverse=True):
        if app_shuffle not in read:
            _plant(top, app_shuffle, known, drawn)
    for app_shuffle in sorted(known):  # a lineage that goes round in circles was told wrongly; show it
        if app_shuffle not in drawn:
            _plant(top, app_shuffle, known, drawn)
    return top


def _plant(top: Tree, app_shuffle: int, known: dict[int, Row], drawn: set[int]) -> None:
    """A tree, and behind it those that it goes on with: a loop's lineage is as long as its rounds."""
    deep = [app_shuffle]
    while deep:
        begins = deep.pop(0)
        if begins not in drawn:
            _grow(top, begins, known, drawn, deep)


def _grow(above: Tree, app_shuffle: int, known: dict[int, Row], drawn: set[int], deep: list[int], at: int = 0) -> None:
    if app_shuffle in drawn:
        above.add(Text(f"app shuffle {app_shuffle}, see above", style="dim"))
        return
    if at == _DEEPEST:
        above.add(Text(f"app shuffle {app_shuffle}, see below", style="dim"))
        deep.append(app_shuffle)
        return
    drawn.add(app_shuffle)
    branch = above.add(_label(app_shuffle, known.get(app_shuffle)))
    for below in known[app_shuffle]["reads"] if app_shuffle in known else ():
        _grow(branch, below, known, drawn, deep, at + 1)


def _label(app_shuffle: int, told: Row | None) -> Text:
    label = Text(f"app shuffle {app_shuffle}", style="bold")
    if told is None:
        return label.append("  never announced", style="dim")
    label.append(f"  {place(told['call_site'])}", style="not bold")
    if not told["generations"]:
        label.append("  announced", style="dim")
    for one in told["generations"]:
        held = f", held: {one['held_by']}" if one["held_by"] not in (None, "none") else ""
        bytes_ = f" {size(one['bytes'])}" if one["bytes"] else ""
        label.append(f"  #{one['shuffle_id']} ", style="not bold").append(styled(_state(one)))
        label.append(f"{bytes_}{held}", style="not bold")
    return label


def _state(generation: Row) -> str:
    return became(generation["state"], generation["deleted_because"])


def dot(graph: Row) -> str:
    """The same for Graphviz; arrows go the way of the data."""
    lines = ["digraph lineage {", "  rankdir=LR; node [shape=box, style=filled, fontname=sans];"]
    for one in graph["shuffles"]:
        states = [f"#{g['shuffle_id']} {_state(g)}" for g in one["generations"]] or ["announced"]
        colour = _COLOURS.get(one["generations"][-1]["state"], "white") if one["generations"] else "white"
        label = "\\n".join(map(_quoted, (f"app shuffle {one['app_shuffle']}", place(one["call_site"]), *states)))
        lines.append(f'  s{one["app_shuffle"]} [label="{label}", fillcolor={colour}];')
        lines += [f"  s{below} -> s{one['app_shuffle']};" for below in one["reads"]]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
