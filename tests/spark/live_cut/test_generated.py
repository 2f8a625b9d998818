"""Generated programs. Under `reachable`: the same results, nothing computed twice, and nothing left over. Under
`eager`, which guesses, the same results.

`PROGRAMS=100 PROGRAMS_FROM=2000` runs those seeds; a failure names its program's file, whose text is that seed's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.spark.bridge.conftest import Run
from tests.spark.live_cut.conftest import attached, let_go_of_caches
from tests.support.programs import program

FROM = int(os.environ.get("PROGRAMS_FROM", "0"))
COUNT = int(os.environ.get("PROGRAMS", "1"))

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def results_of(path: Path, spark: Any) -> Any:
    """Of one run as the main module, whose classes are the program's. Nothing of it is held but its results."""
    main = ModuleType("__main__")
    main.__file__ = str(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", main)
        exec(compile(path.read_text(), str(path), "exec"), main.__dict__)
        results = main.main(spark)
    main.__dict__.clear()
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
