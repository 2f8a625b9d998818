"""Generated programs. Under `reachable`: the same results, nothing computed twice, and nothing left over. Under
`eager`, which guesses, the same results.

`PROGRAMS=100 PROGRAMS_FROM=2000` runs those seeds; a failure names its program's file, whose text is that seed's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import attached, let_go_of_caches
from tests.support.programs import program

FROM = int(os.environ.get("PROGRAMS_FROM", "0"))
COUNT = int(os.environ.get("PROGRAMS", "1"))

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def results_of(path: Path, spark: Any) -> Any:
    """Of one run; nothing of it is held afterwards but its results."""
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), names)
    results = names["main"](spark)
    names.clear()
    let_go_of_caches(spark)
    return results


@pytest.mark.newest
@pytest.mark.parametrize("seed", range(FROM, FROM + COUNT))
def test_a_generated_program_neither_notices_nor_leaves_anything(run: Run, tmp_path: Path, seed: int) -> None:
    path = tmp_path / f"program_{seed}.py"
    path.write_text(program(seed))
    alone = results_of(path, run.spark)
    with attached(run) as program_run:
        assert results_of(path, run.spark) == alone
        program_run.wait_gone(*program_run.written())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FROM, FROM + COUNT))
def test_what_a_guess_took_too_early_comes_back(run: Run, tmp_path: Path, seed: int) -> None:
    path = tmp_path / f"program_{seed}.py"
    path.write_text(program(seed))
    alone = results_of(path, run.spark)
    with run.attached("eager", budget_premature=1000) as (_, log):
        assert results_of(path, run.spark) == alone
        missed = len(log.events("premature_deletion"))
    print(f"seed {seed}: {missed} premature deletions")
