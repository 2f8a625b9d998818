"""Writes the documentation that the code knows better: the lifecycle's diagram and the list of events.

Responsible for ``docs/events.md`` and for the drawn part of ``docs/lifecycle.md``. Refuses to know prose.
Invariant: with ``--check`` nothing is written and a stale page is an error that names it.

    python tools/docs.py [--check]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- drawn from coordinator/core/lifecycle.py: make docs -->", "<!-- end of the drawing -->"


def diagram() -> str:
    """The lifecycle as a Mermaid state diagram, and as a table."""
    sys.path.insert(0, str(ROOT))
    from coordinator.core.lifecycle import TRANSITIONS, Life, Turn

    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {Life.WRITING.value}"]
    lines += [f"    {life.value} --> {then.value}: {turn.value}" for (life, turn), then in TRANSITIONS.items()]
    lines += [f"    {Life.DELETED.value} --> [*]", "```", "", "| | " + " | ".join(t.value for t in Turn) + " |"]
    lines.append("|---" * (len(Turn) + 1) + "|")
    for life in Life:
        cells = (TRANSITIONS.get((life, turn)) for turn in Turn)
        lines.append(f"| **{life.value}** | " + " | ".join(cell.value if cell else "" for cell in cells) + " |")
    return "\n".join(lines)


def lifecycle() -> str:
    """The page with the drawing put between its marks."""
    page = (ROOT / "docs" / "lifecycle.md").read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{diagram()}\n{END}{after}"


def events() -> str:
    """Every event with its fields and what is said of them, in the order of the source."""
    source = (ROOT / "coordinator" / "core" / "events.py").read_text()
    lines = source.splitlines()
    pieces = [
        "# Events",
        "",
        "What the log holds. This page is written from `coordinator/core/events.py` by `make docs`. Times are",
        "milliseconds since the epoch, sizes are bytes, tuples are ascending unless they say otherwise. An event is",
        "stored as protobuf (`proto/shuffle_lifecycle/v1/events.proto`, one message each, the same field names) in a",
        "record with its sequence number, its time, and `because`: the event that it follows from, of a report of many",
        "facts (a look, a resync) the first.",
        "",
    ]
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name != "Recorded":
            pieces += _event(node, lines)
    return "\n".join(pieces).rstrip() + "\n"


def _event(node: ast.ClassDef, lines: list[str]) -> Iterator[str]:
    yield f"## {node.name}"
    yield ""
    said = ast.get_docstring(node)
    if said:
        yield said
        yield ""
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
    for item in fields:
        comment = lines[item.lineno - 1].partition("#:")[2].strip()
        yield f"- `{ast.unparse(item.target)}`: `{ast.unparse(item.annotation)}`" + (f": {comment}" if comment else "")
    if fields:
        yield ""


def main() -> int:
    pages = {ROOT / "docs" / "events.md": events(), ROOT / "docs" / "lifecycle.md": lifecycle()}
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text() != text]
    if "--check" in sys.argv:
        for page in stale:
            print(f"{page.relative_to(ROOT)} is not what the code says; run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for page in stale:
        page.write_text(pages[page])
    return 0


if __name__ == "__main__":
    sys.exit(main())
