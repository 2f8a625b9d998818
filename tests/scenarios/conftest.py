"""Whatever a scenario tells, a simulation of its log decides again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.property.witness import Witness
from tests.support.simulated import check_as_recorded


@pytest.fixture(autouse=True)
def simulated_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    told: list[Witness] = []
    begin = Witness.__init__

    def begin_noted(witness: Witness) -> None:
        begin(witness)
        told.append(witness)

    monkeypatch.setattr(Witness, "__init__", begin_noted)
    yield
    for witness in told:
        if witness.log and witness.log[0].sequence == 1:  # one that keeps only its end cannot be told again
            check_as_recorded(witness.log)
