"""What was released once is read for ever: field numbers and logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from coordinator.core import evolve
from coordinator.core.events import Event, GenerationCompleted, Recorded
from coordinator.core.state import State
from coordinator.wire import snapshots
from coordinator.wire.logfile import read_log, write_log
from tests.golden import golden

LOGS = sorted(golden.HERE.glob("*.log"), key=lambda log: [int(number) for number in log.stem.split(".")])
#: The log that this release writes byte for byte; older ones are read, and may be written differently.
NEWEST = LOGS[-1:]
#: Kinds of events that change the state; the others are kept for people.
RULES = [kind for kind, rule in evolve._APPLY.items() if rule.__name__ != "_nothing"]


def test_field_numbers_are_what_they_were() -> None:
    kept, present = golden.FIELDS.read_text().splitlines(), golden.listing()
    assert sorted(set(kept) - set(present)) == [], "released, and changed or gone: put them back"
    assert sorted(set(present) - set(kept)) == [], "new: run `python -m tests.golden.golden fields`"


def test_zero_is_unspecified_in_every_enum() -> None:
    zeros = [line for line in golden.listing() if line.endswith(" = 0")]
    assert zeros
    assert [line for line in zeros if "_UNSPECIFIED" not in line] == []


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_log_says_what_it_said(log: Path) -> None:
    told = json.loads(log.with_suffix(".json").read_text())
    read = [golden.rendering(recorded) for segment in read_log(log.read_bytes()) for recorded in segment.records]
    assert len(read) == len(told)
    assert [differences(old, new) for old, new in zip(told, read, strict=True) if differences(old, new)] == []


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_log_that_is_written_again_says_the_same(log: Path) -> None:
    segments = list(read_log(log.read_bytes()))
    assert list(read_log(b"".join(write_log(segments)))) == segments


@pytest.mark.parametrize("log", NEWEST, ids=lambda log: log.stem)
def test_the_newest_log_is_written_again_byte_for_byte(log: Path) -> None:
    assert b"".join(write_log(read_log(log.read_bytes()))) == log.read_bytes()


@pytest.mark.parametrize("log", NEWEST, ids=lambda log: log.stem)
def test_the_newest_log_holds_every_kind_of_event(log: Path) -> None:
    held = {type(recorded.event) for segment in read_log(log.read_bytes()) for recorded in segment.records}
    assert held == set(get_args(Event)), "an event is new: run `python -m tests.golden.golden log RELEASE`"


def test_logs_fold_into_the_states_that_they_did() -> None:
    """Whoever means to change them raises `VERSION` in `coordinator/wire/snapshots.py` first."""
    assert golden.states() == json.loads(golden.STATES.read_text()), "run `python -m tests.golden.golden folds`"


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_a_rule_that_is_left_out_folds_some_log_into_another_state(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = json.loads(golden.STATES.read_text())["states"]
    monkeypatch.setitem(evolve._APPLY, kind, left_out)
    stories = sorted(golden.FOLDS.glob("*.log"), key=lambda log: log.stat().st_size)
    assert any(golden.folded(log) != kept[log.stem] for log in stories)


def test_states_of_other_rules_are_not_taken_under_the_same_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "states.json"
    kept.write_bytes(golden.STATES.read_bytes())
    monkeypatch.setattr(golden, "STATES", kept)
    monkeypatch.setitem(evolve._APPLY, GenerationCompleted, left_out)
    with pytest.raises(SystemExit, match=r"other states than they did: raise VERSION .*: .*zombie"):
        golden.add_folds()
    monkeypatch.setattr(snapshots, "VERSION", snapshots.VERSION + 1)
    golden.add_folds()
    assert json.loads(kept.read_text()) == golden.states() != json.loads(golden.FOLDS.joinpath(kept.name).read_text())


def left_out(state: State, at: Recorded, event: Event) -> None:
    """A rule of the fold that does nothing."""


def test_a_difference_is_found() -> None:
    (recorded, *_) = golden.example_log()[0].records
    told = golden.rendering(recorded)
    later = golden.rendering(Recorded(recorded.sequence, recorded.time_ms + 1, recorded.because, recorded.event))
    assert differences(told, later) == ["time_ms"]
    assert differences(told, {name: value for name, value in told.items() if name != "driver"}) == ["driver"]


def test_a_log_is_never_overwritten() -> None:
    with pytest.raises(SystemExit, match="never overwritten"):
        golden.add_log(LOGS[0].stem)


def test_a_changed_field_number_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "fields.txt"
    kept.write_text("Span.first = 9 uint64\n")
    monkeypatch.setattr(golden, "FIELDS", kept)
    with pytest.raises(SystemExit, match=r"Span\.first = 9 uint64"):
        golden.add_fields()


def differences(old: Any, new: Any) -> list[str]:
    """Fields of the old telling that the new one tells otherwise; what is told in addition counts for nothing."""
    if isinstance(old, dict):
        return [name for name in old if name not in new or differences(old[name], new[name])]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [str(place) for place, pair in enumerate(zip(old, new, strict=True)) if differences(*pair)]
    return [] if old == new else [f"{old!r} -> {new!r}"]
